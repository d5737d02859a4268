"""The release of a cluster, from the kubelets in its dump."""

from __future__ import annotations

from pathlib import Path

import pytest

from dractl.inputs.kubelets import find_kubelet_release


@pytest.mark.parametrize(
    "text",
    [
        "status:\n  nodeInfo:\n    kubeletVersion: v1.36.2\n",
        '{"status": {"nodeInfo": {"kubeletVersion": "v1.36.2"}}}',
        "kubeletVersion: 'v1.36.2+k3s1'\n---\nkubeletVersion: v1.35.9\n",
    ],
)
def test_the_highest_kubelet_tells_the_release(tmp_path: Path, text: str) -> None:
    (tmp_path / "dump").write_text(text)
    assert find_kubelet_release([str(tmp_path / "dump")]) == "1.36"


def test_manifests_and_folders_tell_no_release(tmp_path: Path) -> None:
    (tmp_path / "claim.yaml").write_text("kind: ResourceClaim\n")
    (tmp_path / "node.yaml").write_text("kubeletVersion: v1.36.2\n")
    assert find_kubelet_release([str(tmp_path / "claim.yaml")]) is None
    assert find_kubelet_release([str(tmp_path), "-", str(tmp_path / "gone")]) is None
