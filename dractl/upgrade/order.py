"""What has to be done before a step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dractl.cluster.state import text_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from dractl.upgrade.finding import Finding

_SKEW = 3
"""Minor releases that kubelet may be older than kube-apiserver (kubernetes.io/releases/version-skew-policy)."""
_SHOWN = 3


def before_release(release: str, findings: Iterable[Finding], nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Before the control plane becomes a release: what breaks is changed, and no kubelet is too old for it.
    Kubelets follow."""
    yield from _changes(findings)
    old = sorted(text_at(node, "metadata", "name") for node in nodes if _too_old(node, release))
    if old:
        yield f"upgrade the kubelets of {_some(old)}: they may be at most {_SKEW} releases older than {release}"


def before_driver(name: str, findings: Iterable[Finding]) -> Iterator[str]:
    """Before a driver is upgraded: what breaks is changed, and no claim holds a device that goes."""
    found = tuple(findings)
    yield from _changes(each for each in found if each.code != "held-device-gone")
    held = [each for one in found if one.code == "held-device-gone" for each in one.objects]
    if held:
        yield f"end the pods of {_some(sorted(set(held)))}: they hold devices that {name} will name otherwise"


def _changes(findings: Iterable[Finding]) -> Iterator[str]:
    broken = sorted({each for one in findings if one.level == "breaks" for each in one.objects})
    if broken:
        yield f"change {_some(broken)}"


def _too_old(node: Mapping[str, Any], release: str) -> bool:
    found = re.match(r"v?1\.(\d+)", text_at(node, "status", "nodeInfo", "kubeletVersion"))
    return found is not None and int(found[1]) < int(release.partition(".")[2]) - _SKEW


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
