"""Differences between Kubernetes releases, change by change: the one place that knows when something began.

Code asks for a change by its name (``target.has("counter-limits")``), never for a release, so a new release is a few
rows here and the code for what is new. Feature gates have their own table (:mod:`dractl.model.releases`), and so do the
allocator's variants (``allocation/features.py``) and upstream's bugs (``allocation/bugs.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class Change(Struct, frozen=True):
    """A change that is in effect from release ``since`` until before ``until`` (None: still in effect). ``source`` is
    its place in kubernetes/kubernetes, or in the named module."""

    since: str
    what: str
    source: str
    until: str | None = None


_VALIDATION = "pkg/apis/resource/validation/validation.go"
_DECLARATIVE = "pkg/apis/resource/v1/zz_generated.validations.go"
_PLUGIN = "pkg/scheduler/framework/plugins/dynamicresources"
_ALLOCATOR = "staging/src/k8s.io/dynamic-resource-allocation/structured/internal"
_INSTANCE = "pkg/controlplane/instance.go"
_REGISTRY = "pkg/registry/resource/utils.go"
_SCHEDULER = "pkg/scheduler"
_CEL = "staging/src/k8s.io/dynamic-resource-allocation/cel"

CHANGES: Final[Mapping[str, Change]] = {
    # in the API server
    "parameters-limit": Change("1.32", "opaque parameters are limited to 10 KiB", _VALIDATION),
    "selector-cost": Change("1.32", "the estimated cost of a selector is limited", _VALIDATION),
    "admin-access-namespace": Change("1.33", "adminAccess needs a label of the namespace", _VALIDATION),
    "exactly-or-first-available": Change("1.33", "a request is exactly or firstAvailable", _VALIDATION),
    "allocation-mode-checked": Change("1.33", "the mode has no default before it is checked", _VALIDATION),
    "reserved-for-256": Change("1.33", "a claim is reserved for up to 256 consumers instead of 32", _VALIDATION),
    "device-without-basic": Change("1.33", "internal types have no `basic` and no flat requests", _VALIDATION),
    "served-by-default": Change(
        "1.34", "resource.k8s.io is served without --runtime-config", "pkg/controlplane/instance.go"
    ),
    "admin-access-kubernetes-io": Change("1.34", "the label is resource.kubernetes.io/admin-access", _VALIDATION),
    "admin-access-in-status": Change(
        "1.34", "adminAccess in a status needs the label too", "pkg/registry/resource/utils.go"
    ),
    "match-or-distinct": Change("1.34", "a constraint is matchAttribute or distinctAttribute", _VALIDATION),
    "first-error-hides-the-rest": Change("1.35", "too many items, or none, end the checks of a field", _VALIDATION),
    "declarative-validation": Change("1.35", "generated rules are checked beside those by hand", _DECLARATIVE),
    "duplicates-at-the-item": Change("1.35", "a duplicate is reported at its item", _DECLARATIVE),
    "counters-apart-from-devices": Change("1.35", "a slice has sharedCounters or devices", _VALIDATION),
    "advanced-devices-limit": Change("1.35", "64 devices a slice if any has taints or counters", _VALIDATION),
    "counter-limits": Change("1.35", "numbers of counter sets and counters are limited one by one", _VALIDATION),
    "taints-16": Change("1.35", "a device has up to 16 taints instead of 4", _VALIDATION),
    "counter-set-names": Change("1.35", "the name of a consumed counter set is a label", _VALIDATION),
    "empty-names-invalid": Change("1.35", "an empty part of a name is invalid instead of required", _VALIDATION),
    "one-value-invalid": Change("1.35", "an attribute without a value is invalid instead of required", _VALIDATION),
    "class-generate-name": Change("1.35", "generateName of a class is not checked", _VALIDATION),
    "effect-none": Change("1.35", "taints have the effect None", "pkg/apis/resource/types.go"),
    "rules-without-class": Change("1.35", "DeviceTaintRules select by driver, pool and device alone", _VALIDATION),
    "list-attributes-limit": Change(
        "1.36", "values of attributes are limited, and lists make devices advanced", _VALIDATION
    ),
    "keys-at-the-map": Change("1.36", "a wrong key is reported at the map", _DECLARATIVE),
    "declared-where-stopped": Change("1.37", "generated rules go on where those by hand stop", _DECLARATIVE),
    "lower-case-domains": Change("1.37", "domains of attributes and drivers must be lower case", _DECLARATIVE),
    "both-attributes-checked": Change("1.37", "distinctAttribute is checked beside matchAttribute", _DECLARATIVE),
    "node-allocatable-resources": Change("1.37", "nodeAllocatableResources instead of ...Mappings", _VALIDATION),
    "one-value-generated": Change("1.37", "the union of an attribute's values is generated", _DECLARATIVE),
    "counter-keys-declared": Change("1.37", "keys of counters are checked whatever their number", _DECLARATIVE),
    "fractional-ranges": Change("1.37", "ranges of capacities are compared with fractions", _VALIDATION),
    "range-fields": Change("1.37", "a default outside of a range is reported at the default", _VALIDATION),
    "status-tolerations": Change("1.37", "tolerations of a status are checked", _VALIDATION),
    "conditions-declared": Change("1.37", "conditions of a status are checked by generated rules", _DECLARATIVE),
    "extended-name-details": Change("1.37", "what is wrong with an extendedResourceName is said", _VALIDATION),
    "owner-references-unique": Change(
        "1.37", "owner references must differ", "staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go"
    ),
    "older-wording": Change("1.31", "errors are worded and typed as before v1", _VALIDATION, until="1.34"),
    "paths-as-written": Change("1.37", "some paths are those of the version that was written", _DECLARATIVE),
    "class-config-by-request": Change("1.34", "a class's configuration names its requests", _ALLOCATOR),
    # in the scheduler
    "delegates-unless-offered": Change("1.35", "a plugin that offers none leaves a resource to DRA", _SCHEDULER),
    "filters-of-1.37": Change("1.37", "node filters run in the order of 1.37", "pkg/scheduler/apis/config/v1"),
    "empty-rule-taints-all": Change("1.31", "a DeviceTaintRule without selector taints all", _PLUGIN, until="1.37"),
    "rules-by-class": Change("1.31", "DeviceTaintRules name classes", _PLUGIN, until="1.35"),
    "taint-rules-gate": Change("1.35", "DeviceTaintRules have a gate of their own", _PLUGIN),
    "timeout-is-fatal": Change("1.36", "a node that times out ends the attempt for all nodes", _PLUGIN),
    "preemption-after-claims": Change(
        "1.37", "the message has preemption's part for pods with claims", "pkg/scheduler"
    ),
    "declared-features": Change("1.36", "NodeDeclaredFeatures is on", "pkg/features/kube_features.go"),
    "implicit-extended-names": Change("1.35", "deviceclass.resource.kubernetes.io/NAME is a resource", _PLUGIN),
    "groups-checked": Change("1.37", "pods of a PodGroup must have its priority and one scheduler", _SCHEDULER),
    "groups-held-by-one": Change(
        "1.37", "a pod that PreEnqueue holds back holds back its PodGroup", f"{_SCHEDULER}/backend/queue"
    ),
    "groups-in-one-cycle": Change("1.36", "the pods of a group are tried in one cycle, each once", _SCHEDULER),
    "minimum-mutable": Change("1.37", "minCount of a PodGroup can be changed", "pkg/apis/scheduling/v1beta1"),
    # in the allocator
    "shares-take-counters": Change("1.36", "a device that is only shared takes its counters", _ALLOCATOR),
    "shares-known-by-id": Change("1.37", "shares of stored claims are known by their ID: kubernetes#139034", _PLUGIN),
    "compatibility-groups": Change("1.37", "devices of a counter set have groups", _ALLOCATOR),
    "node-operations": Change("1.37", "devices can skip operations of nodes that declare it", _ALLOCATOR),
    "config-once": Change("1.37", "a configuration appears once in a result", _ALLOCATOR),
    "derived-attributes": Change("1.37", "a claim can derive attributes", _ALLOCATOR),
    "list-attributes": Change("1.36", "attributes can be lists", _ALLOCATOR),
    "strict-amounts": Change("1.37", "amounts are compared exactly, a negative one is an error", _ALLOCATOR),
    "devices-counted-by-request": Change("1.37", "the limit of 32 devices is checked request by request", _ALLOCATOR),
    "distinct-kept-by-gate": Change("1.35", "distinctAttribute goes with its gate", "pkg/registry/resource"),
    "distinct-allocated": Change("1.34", "constraints have distinctAttribute", _ALLOCATOR),
    "distinct-compared": Change("1.37", "distinctAttribute holds against devices of other requests", _ALLOCATOR),
    "errors-name-devices": Change("1.37", "errors of selectors name the device", _CEL),
}
