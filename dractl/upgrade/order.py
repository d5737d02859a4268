"""What has to be done before a step."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dractl.cluster.state import text_at
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


def before_nodes(release: str, nodes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Before kubelets become a release, which they do after the control plane: nodes are drained, as for every minor
    release of kubelet (kubernetes.io/releases/version-skew-policy)."""
    older = {text_at(node, "metadata", "name"): _minor(node) for node in nodes}
    last = int(release.partition(".")[2])
    names = sorted(name for name, minor in older.items() if minor is not None and minor < last)
    if names:
        found = sorted({minor for minor in older.values() if minor is not None and minor < last})
        yield f"drain {_some(names)}, one after the other: kubelet {', '.join(f'1.{minor}' for minor in found)} there"


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
    minor = _minor(node)
    return minor is not None and minor < int(release.partition(".")[2]) - _SKEW


def _minor(node: Mapping[str, Any]) -> int | None:
    found = re.match(r"v?1\.(\d+)", text_at(node, "status", "nodeInfo", "kubeletVersion"))
    return int(found[1]) if found else None


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
