"""What an upgrade changes: findings, the steps at which they happen, what comes before these, and whom they concern."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.cluster import ClusterState
from dractl.cluster.managers import manager_of
from dractl.facts.images import runs
from dractl.views import Node, View

Level = Literal["breaks", "changes", "info"]
LEVELS: tuple[Level, ...] = ("breaks", "changes", "info")


class AttributeRead(Struct, frozen=True, omit_defaults=True):
    """An attribute or capacity that changes, and the place that reads it."""

    attribute: str
    """``domain/name``."""
    change: str
    """The code of what happens to it, such as ``attribute-gone``."""
    by: str
    """``selector``, ``matchAttribute``, ``distinctAttribute`` or ``capacity``."""
    path: str
    """The path of the place in the object."""
    expression: str = ""
    """The selector."""


class Operation(Struct, frozen=True, omit_defaults=True):
    """An operation of a JSON patch (RFC 6902)."""

    op: str
    path: str
    value: str | None = None


class ObjectEdit(Struct, frozen=True):
    """A change of an object of the input."""

    title: str
    patch: str
    """``KIND/[NAMESPACE/]NAME``."""
    json: tuple[Operation, ...]


class Finding(Struct, frozen=True, rename={"earlier": "before", "later": "after"}):
    """One difference, with the objects (``KIND/[NAMESPACE/]NAME``) that it is true of.

    ``breaks``: it worked before the step and does not after. ``changes``: it behaves differently. ``info``: there is
    nothing to do. ``owner``: who applies the objects, with their namespaces; ``source`` and ``date`` are a fact's.
    """

    code: str
    level: Level
    message: str
    objects: tuple[str, ...] = ()
    owner: str | None = None
    fix: str | None = None
    source: str | None = None
    date: str | None = None
    reads: tuple[AttributeRead, ...] | None = None
    """The attributes and capacities that change and that the objects read."""
    earlier: str | None = None
    """What explain says before the step."""
    later: str | None = None
    """What explain says after the step."""
    edits: tuple[ObjectEdit, ...] | None = None
    """Changes of the objects after which they fit before the step and after it, each proven on both sides."""


class Step(Struct, frozen=True):
    """A release or a driver's version, what has to be done before it, and what it changes."""

    step: str
    before: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Plan(Struct, frozen=True):
    """An upgrade from one release to another."""

    start: str
    """The present release."""
    to: str
    """The later release."""
    steps: tuple[Step, ...]
    """What each step changes."""
    drivers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The present and the later version of each driver."""
    not_compared: tuple[str, ...] = ()
    """What the input does not decide."""
    kinds: tuple[str, ...] = ()
    """The kinds of objects that were read: nothing is known of others."""

    def count(self, level: Level) -> int:
        """Number of findings of a level."""
        return sum(finding.level == level for step in self.steps for finding in step.findings)


def grouped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that differ in their objects alone become one; what breaks comes first."""
    found: dict[Finding, dict[str, None]] = {}
    for finding in findings:
        found.setdefault(replace(finding, objects=()), {}).update(dict.fromkeys(finding.objects))
    merged = [replace(finding, objects=tuple(objects)) for finding, objects in found.items()]
    return tuple(sorted(merged, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool, str, str]:
    """Return a key that sorts findings: what breaks first, and of that the user's own objects."""
    return LEVELS.index(finding.level), finding.reads is None, finding.code, finding.message


def concerned(plan: Plan) -> tuple[str, ...]:
    """The objects of which something breaks or changes, sorted."""
    found = (one for step in plan.steps for one in step.findings if one.level != "info")
    return tuple(sorted({name for one in found for name in one.objects}))


# -- what has to be done before a step --

_SKEW = 3
"""Minor releases that kubelet may be older than kube-apiserver (kubernetes.io/releases/version-skew-policy)."""
_SHOWN = 3
_CHANGED_KINDS = ("ResourceClaim", "DeviceClass")
UPGRADED_FIRST = ("driver-api", "program-api")
"""Codes of findings whose fix is a step before the release."""


def before_release(
    release: str, findings: Iterable[Finding], nodes: Iterable[Node]
) -> Iterator[str]:
    """Yield the steps before the control plane becomes a release.

    Objects that break are changed, and kubelets that are too old are upgraded; the others follow.
    """
    yield from _changes(findings)
    oldest = int(release.partition(".")[2]) - _SKEW
    kubelets = ((node.name, _minor(node)) for node in nodes)
    old = sorted(name for name, minor in kubelets if minor is not None and minor < oldest)
    if old:
        yield f"upgrade the kubelets of {_some(old)}: they may be at most {_SKEW} releases older than {release}"


def before_nodes(release: str, findings: Iterable[Finding], nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the steps before kubelets become a release, which they do after the control plane.

    Objects that break are changed, and nodes are drained, as for every minor release of kubelet
    (kubernetes.io/releases/version-skew-policy).
    """
    yield from _changes(findings)
    older = {node.name: _minor(node) for node in nodes}
    last = int(release.partition(".")[2])
    names = sorted(name for name, minor in older.items() if minor is not None and minor < last)
    if names:
        minors = sorted({minor for minor in older.values() if minor is not None and minor < last})
        kubelets = ", ".join(f"1.{minor}" for minor in minors)
        by_one = " one by one" if len(names) > 1 else ""
        yield f"drain {_some(names)}{by_one} (kubelet {kubelets})"


def before_driver(name: str, findings: Iterable[Finding]) -> Iterator[str]:
    """Before a driver is upgraded: what breaks is changed, and no claim holds a device that goes."""
    found = tuple(findings)
    yield from _changes(each for each in found if each.code != "held-device-gone")
    held = [each for one in found if one.code == "held-device-gone" for each in one.objects]
    if held:
        yield f"end the pods of {_some(sorted(set(held)))}: they hold devices that {name} will name otherwise"


def _changes(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield what is changed before a step; a driver that speaks no version of the API is upgraded."""
    broken = set[str]()
    for finding in findings:
        if finding.code in UPGRADED_FIRST and finding.fix is not None:
            yield finding.fix
        elif finding.level == "breaks":
            names = finding.objects
            if finding.reads:  # pods need no change of their own
                names = tuple(name for name in names if name.startswith(_CHANGED_KINDS))
            broken.update(names)
    if broken:
        yield f"change {_some(sorted(broken))}"


def _minor(node: Node) -> int | None:
    match = re.match(r"v?1\.(\d+)", node.kubelet_version)
    return int(match[1]) if match else None


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (
        f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    )


# -- who owns the objects: the tool that applies them, and their namespace --


def owned(
    findings: Iterable[Finding], state: ClusterState, driver: str = ""
) -> tuple[Finding, ...]:
    """Findings with the owners of their objects: of nodes, which nobody owns, those of the workloads that run a
    ``driver``."""
    return tuple(replace(one, owner=_of(one, state, driver)) for one in findings)


def _of(finding: Finding, state: ClusterState, driver: str) -> str | None:
    names = finding.objects
    if driver and all(name.startswith("Node/") for name in names):
        names = tuple(
            runs(driver, (value for kind in state.kinds for value in state.objects(kind).values()))
        )
    found = dict.fromkeys(filter(None, (_owner(name, state) for name in names)))
    return _some(list(found)) or None


def _owner(named: str, state: ClusterState) -> str:
    """Return the tool and namespace of an object, such as ``Helm release llm, namespace ml``.

    An object that a controller makes has the tool of the first owner that has one.
    """
    kind, _, full_name = named.partition("/")
    namespace, _, name = full_name.rpartition("/")
    seen = set[tuple[str, str]]()
    scope = [f"namespace {namespace}"] if namespace else []
    while (kind, name) not in seen:
        seen.add((kind, name))
        value = state.get(kind, (namespace, name)) or state.get(kind, ("default", name))
        tool = manager_of(value)
        if tool is not None:
            return ", ".join([tool.name, *scope])
        controller = View(value).controller
        if controller is not None:
            kind, name = controller.kind, controller.name
    return ", ".join(scope)
