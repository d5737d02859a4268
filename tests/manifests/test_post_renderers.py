"""Patches of HelmReleases, as parts of the objects that they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.manifests.post_renderers import expand_post_renderers

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.manifests import Document

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: monitor}
spec:
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: DaemonSet}
        patch: |
"""


def expand(one: Callable[[str | bytes], Document], *operations: str) -> object:
    """Return the object of which operations set parts."""
    document = one(RELEASE + "".join(f"          - {operation}\n" for operation in operations))
    (renderer,) = expand_post_renderers(document).value["spec"]["postRenderers"]
    return renderer["kustomize"]["patches"][0]["patch"]


def test_added_items_are_a_list(one: Callable[[str | bytes], Document]) -> None:
    """RFC 6902: ``-`` is the place behind the last item."""
    operations = (f"{{op: add, path: /spec/claims/-, value: {{name: {name}}}}}" for name in "ab")
    assert expand(one, *operations) == {"spec": {"claims": [{"name": "a"}, {"name": "b"}]}}


def test_item_below_a_value_that_is_no_list_is_left_out(
    one: Callable[[str | bytes], Document],
) -> None:
    assert expand(
        one,
        "{op: add, path: /spec/claims, value: none}",
        "{op: add, path: /spec/claims/-, value: {name: a}}",
    ) == {"spec": {"claims": "none"}}
