"""Findings of an upgrade, its steps, the work that each step requires before it, and the owners of
the objects.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.cluster import ClusterState
from dractl.cluster.managers import manager_of
from dractl.facts.images import runs
from dractl.model.abbreviation import abbreviate
from dractl.views import Node, View

Level = Literal["breaks", "changes", "info"]
LEVELS: tuple[Level, ...] = ("breaks", "changes", "info")


class AttributeRead(Struct, frozen=True, omit_defaults=True):
    """An attribute or capacity that changes, with the place that reads it."""

    attribute: str
    """``domain/name``."""
    change: str
    """The code of its change, such as ``attribute-gone``."""
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
    """The object to change, as ``KIND/[NAMESPACE/]NAME``."""
    json: tuple[Operation, ...]


class Finding(Struct, frozen=True, rename={"earlier": "before", "later": "after"}):
    """One difference, with the objects that it affects."""

    code: str
    level: Level
    """``breaks``: something worked before the step and does not work after it; ``changes``: it
    behaves differently; ``info``: there is nothing to do.
    """
    message: str
    objects: tuple[str, ...] = ()
    """``KIND/[NAMESPACE/]NAME`` of each object."""
    owner: str | None = None
    """The tools that apply the objects, each with the namespace of its objects."""
    fix: str | None = None
    """A change of the objects that corrects the problem, as an imperative."""
    source: str | None = None
    """The source of the fact behind the finding, if it depends on one."""
    date: str | None = None
    """The date on which that source was read."""
    reads: tuple[AttributeRead, ...] | None = None
    """The attributes and capacities that change and that the objects read."""
    earlier: str | None = None
    """The answer of explain before the step, if the finding has one."""
    later: str | None = None
    """The answer of explain after the step, if the finding has one."""
    edits: tuple[ObjectEdit, ...] | None = None
    """Changes of the objects that make them fit both before and after the step, each proven on both
    sides; None if none is proven.
    """


class Step(Struct, frozen=True):
    """A release or a driver's version, the work before it, and its changes."""

    step: str
    """The title of the step."""
    before: tuple[str, ...] = ()
    """The work that has to be done before the step, as imperatives."""
    findings: tuple[Finding, ...] = ()
    """The findings of the step."""


class Plan(Struct, frozen=True):
    """An upgrade from one release to another."""

    start: str
    """The present release."""
    to: str
    """The later release."""
    steps: tuple[Step, ...]
    """The steps in their order."""
    drivers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The present and the later version of each driver."""
    not_compared: tuple[str, ...] = ()
    """Questions that the input does not answer."""
    kinds: tuple[str, ...] = ()
    """The kinds of objects that were read; other kinds were not compared."""

    def count(self, level: Level) -> int:
        """Return the number of findings of a level."""
        return sum(finding.level == level for step in self.steps for finding in step.findings)


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge the findings that differ only in their objects, and sort them with breaks first."""
    objects_by_finding: dict[Finding, dict[str, None]] = {}
    for finding in sorted(findings, key=lambda each: each.objects):
        objects_by_finding.setdefault(replace(finding, objects=()), {}).update(
            dict.fromkeys(finding.objects)
        )
    merged = [
        replace(finding, objects=tuple(objects)) for finding, objects in objects_by_finding.items()
    ]
    return tuple(sorted(merged, key=_rank))


def _rank(finding: Finding) -> tuple[Any, ...]:
    """Return a key that sorts findings: breaks come first, beginning with breaks of the user's own
    objects.
    """
    return LEVELS.index(finding.level), finding.reads is None, finding.code, finding.message


def list_affected(plan: Plan) -> tuple[str, ...]:
    """Return the objects with a break or a change, sorted."""
    findings = (one for step in plan.steps for one in step.findings if one.level != "info")
    return tuple(sorted({name for one in findings for name in one.objects}))


# -- work before a step --

_SKEW = 3
"""The number of minor releases by which a kubelet may be older than kube-apiserver
(kubernetes.io/releases/version-skew-policy).
"""
_CHANGED_KINDS = ("ResourceClaim", "DeviceClass")
UPGRADED_FIRST = ("driver-api", "program-api")
"""Codes of findings whose fix, the upgrade of a driver or program, has to come before the step."""


def steps_before_release(
    release: str, findings: Iterable[Finding], nodes: Iterable[Node]
) -> Iterator[str]:
    """Yield the steps that are needed before the control plane is upgraded to a release.

    Objects that break have to be changed, and kubelets that are too old have to be upgraded; other
    kubelets follow later.
    """
    yield from _change_steps(findings)
    oldest = int(release.partition(".")[2]) - _SKEW
    kubelets = ((node.name, _minor(node)) for node in nodes)
    old = sorted(name for name, minor in kubelets if minor is not None and minor < oldest)
    if old:
        yield (
            f"upgrade the kubelets of {abbreviate(old)}: they may be at most {_SKEW} releases "
            f"older than {release}"
        )


def steps_before_nodes(
    release: str, findings: Iterable[Finding], nodes: Iterable[Node]
) -> Iterator[str]:
    """Yield the steps that are needed before kubelets are upgraded to a release, after the control
    plane.

    Objects that break have to be changed, and nodes have to be drained, as for every minor release
    of kubelet (kubernetes.io/releases/version-skew-policy).
    """
    yield from _change_steps(findings)
    older = {node.name: _minor(node) for node in nodes}
    last = int(release.partition(".")[2])
    names = sorted(name for name, minor in older.items() if minor is not None and minor < last)
    if names:
        minors = sorted({minor for minor in older.values() if minor is not None and minor < last})
        kubelets = ", ".join(f"1.{minor}" for minor in minors)
        by_one = " one by one" if len(names) > 1 else ""
        yield f"drain {abbreviate(names)}{by_one} (kubelet {kubelets})"


def steps_before_driver(name: str, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the steps before a driver is upgraded: objects that break are changed, and pods that
    hold a vanishing device are ended.
    """
    all_findings = tuple(findings)
    yield from _change_steps(each for each in all_findings if each.code != "held-device-gone")
    holders = [
        each for one in all_findings if one.code == "held-device-gone" for each in one.objects
    ]
    if holders:
        yield (
            f"end the pods of {abbreviate(sorted(set(holders)))}: they hold devices that {name} "
            "will name otherwise"
        )


def _change_steps(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the changes that are needed before a step; for a driver that speaks no served API
    version, the change is its upgrade.
    """
    broken = set[str]()
    for finding in findings:
        if finding.code in UPGRADED_FIRST and finding.fix is not None:
            yield finding.fix
        elif finding.level == "breaks":
            names = finding.objects
            if finding.reads:  # claims and classes name attributes, pods do not
                names = tuple(name for name in names if name.startswith(_CHANGED_KINDS))
            broken.update(names)
    if broken:
        yield f"change {abbreviate(sorted(broken))}"


def _minor(node: Node) -> int | None:
    match = re.match(r"v?1\.(\d+)", node.kubelet_version)
    return int(match[1]) if match else None


# -- who owns the objects: the tool that applies them, and their namespace --


def add_owners(
    findings: Iterable[Finding], state: ClusterState, driver: str = ""
) -> tuple[Finding, ...]:
    """Return the findings with the owners of their objects.

    Nodes have no owner. If a finding has only nodes, it gets the owners of the workloads that run
    ``driver``.
    """
    return tuple(replace(one, owner=_owners(one, state, driver)) for one in findings)


def _owners(finding: Finding, state: ClusterState, driver: str) -> str | None:
    names = finding.objects
    if driver and all(name.startswith("Node/") for name in names):
        names = tuple(
            runs(driver, (value for kind in state.kinds for value in state.objects(kind).values()))
        )
    owners = dict.fromkeys(filter(None, (_owner(name, state) for name in names)))
    return abbreviate(list(owners)) or None


def _owner(named: str, state: ClusterState) -> str:
    """Return the tool and namespace of an object, such as ``Helm release llm, namespace ml``.

    For an object that a controller makes, this is the tool of the first of its owners that has one.
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
