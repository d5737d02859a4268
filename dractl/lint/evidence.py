"""Facts about drivers in other objects of a repository: gates that are set, and attributes that are
added.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from dractl.manifests import Document
from dractl.objects import items, mapping, text
from dractl.validation.roles import BINDINGS, Binding, binding_of

_SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
_MAX_DEPTH = 32


class Evidence(Struct, frozen=True):
    """Facts about drivers in other objects of a repository."""

    gates: frozenset[str] = frozenset()
    """The feature gates of drivers that values of their charts switch on."""
    attributes: frozenset[str] = frozenset()
    """Full names of attributes that objects make the SR-IOV driver publish."""
    quotas: frozenset[str] = frozenset()
    """The resources that Kueue's ClusterQueues have quotas for."""
    bindings: tuple[Binding, ...] = ()
    """The bindings of roles."""
    node_accounts: frozenset[str] = frozenset()
    """Names of the service accounts that DaemonSets run as."""
    preemption_policies: Mapping[str, str] = MappingProxyType({})
    """The preemption policy of each PriorityClass, by name."""


NOTHING = Evidence()


def evidence_of(documents: Iterable[Document]) -> Evidence:
    """Return the evidence in documents of any kind."""
    gates: set[str] = set()
    attributes: set[str] = set()
    quotas: set[str] = set()
    bindings: list[Binding] = []
    node_accounts: set[str] = set()
    preemption_policies: dict[str, str] = {}
    sets_gates: dict[str, bool] = {}  # by file, since each search reads the whole text
    for document in documents:
        if document.file not in sets_gates:
            sets_gates[document.file] = "featureGates" in document.text
        if sets_gates[document.file]:
            gates.update(_gates(document.value, 0))
        kind = document.kind
        if kind == "DeviceAttributes":
            names = mapping(mapping(document.value.get("spec")).get("attributes"))
            attributes.update(
                name if "/" in name else f"{_SRIOV}/{name}" for name in map(str, names)
            )
        elif kind == "SriovResourceFilter":  # an older kind than DeviceAttributes
            attributes.add(f"{_SRIOV}/resourceName")
        elif kind == "ClusterQueue":
            for group in items(mapping(document.value.get("spec")).get("resourceGroups")):
                quotas.update(
                    name
                    for name in items(mapping(group).get("coveredResources"))
                    if isinstance(name, str)
                )
        elif kind in BINDINGS:
            bindings.extend(filter(None, [binding_of(document.value)]))
        elif kind == "PriorityClass" and document.name:
            policy = text(document.value.get("preemptionPolicy"))
            preemption_policies[document.name] = policy or "PreemptLowerPriority"
        elif kind == "DaemonSet":
            template = mapping(mapping(document.value.get("spec")).get("template"))
            node_accounts.add(text(mapping(template.get("spec")).get("serviceAccountName")))
    facts = (gates, attributes, quotas, node_accounts, preemption_policies)
    if not any(facts) and not bindings:
        return NOTHING
    return Evidence(
        frozenset(gates),
        frozenset(attributes),
        frozenset(quotas),
        tuple(bindings),
        frozenset(node_accounts),
        preemption_policies,
    )


def _gates(value: Any, depth: int) -> Iterator[str]:
    """Yield the gates that are on below a key ``featureGates``, as charts' values and HelmReleases
    have it.
    """
    inside = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, item in inside:
        if key == "featureGates" and isinstance(item, dict):
            yield from (str(name) for name, on in item.items() if on in (True, "true"))
        elif isinstance(item, dict | list) and depth < _MAX_DEPTH:
            yield from _gates(item, depth + 1)
