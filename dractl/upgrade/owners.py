"""Who owns the objects of findings: the tool that applies them, and their namespace."""

from collections.abc import Iterable

from msgspec.structs import replace

from dractl.cluster import ClusterState
from dractl.cluster.managers import of_object
from dractl.cluster.state import maps_at, text_at
from dractl.facts.images import runs
from dractl.upgrade.finding import Finding

_NAMED = 3


def owned(findings: Iterable[Finding], state: ClusterState, driver: str = "") -> tuple[Finding, ...]:
    """Findings with the owners of their objects: of nodes, which nobody owns, those of the workloads that run a
    ``driver``."""
    return tuple(replace(one, owner=_of(one, state, driver)) for one in findings)


def _of(finding: Finding, state: ClusterState, driver: str) -> str | None:
    names = finding.objects
    if driver and all(name.startswith("Node/") for name in names):
        names = tuple(runs(driver, (value for kind in state.kinds for value in state.all(kind).values())))
    found = dict.fromkeys(filter(None, (_owner(name, state) for name in names)))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(list(found)[:_NAMED]) + more or None


def _owner(named: str, state: ClusterState) -> str:
    """``Helm release llm, namespace ml``; of an object that a controller makes, the first that has a tool."""
    kind, _, rest = named.partition("/")
    namespace, _, name = rest.rpartition("/")
    seen = set[tuple[str, str]]()
    found = [f"namespace {namespace}"] if namespace else []
    while (kind, name) not in seen:
        seen.add((kind, name))
        value = state.get(kind, (namespace, name)) or state.get(kind, ("default", name))
        tool = of_object(value)
        if tool is not None:
            return ", ".join([tool.name, *found])
        above = next((ref for ref in maps_at(value, "metadata", "ownerReferences") if ref.get("controller")), {})
        if above:
            kind, name = text_at(above, "kind"), text_at(above, "name")
    return ", ".join(found)
