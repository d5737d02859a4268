"""The validation rules by kind: what an API server says to a document once it is decoded, defaulted and converted.

``RULES`` names every rule: ``RC`` and ``RS`` as upstream's order of checks gives them (claims and templates, slices),
``DC`` classes, ``DT`` taint rules, ``PS`` pool status requests, ``CS`` the status of claims, ``PC`` claims of pods,
``OM`` object metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dractl.validation.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.model.releases import Target
    from dractl.validation.violation import Violation

RULES: Final[Mapping[str, str]] = {
    "RC-01": "more than 32 requests, constraints or configurations",
    "RC-02": "two requests of one name",
    "RC-03": "a request's name is no DNS label",
    "RC-04": "a request has neither `exactly` nor `firstAvailable`",
    "RC-05": "a request has both `exactly` and `firstAvailable`",
    "RC-06": "more than 8 alternatives, or two of one name",
    "RC-07": "an alternative's name is no DNS label",
    "RC-08": "no device class",
    "RC-09": "the device class is no DNS subdomain",
    "RC-10": "more than 32 selectors",
    "RC-11": "a selector without `cel`",
    "RC-12": "a CEL expression of more than 10 KiB",
    "RC-13": "a CEL expression that does not compile, or gives no bool",
    "RC-14": "a CEL expression that may cost too much",
    "RC-15": "a count beside allocationMode All",
    "RC-16": "a count below 1",
    "RC-17": "an unknown allocationMode",
    "RC-18": "a toleration's key, operator, value or effect",
    "RC-19": "adminAccess in a namespace without the label for it",
    "RC-20": "a constraint names more than 32 requests, or one twice",
    "RC-21": "a constraint names a request that is not there",
    "RC-22": "matchAttribute is no fully qualified name",
    "RC-23": "distinctAttribute is no fully qualified name",
    "RC-24": "a constraint without an attribute",
    "RC-25": "a configuration names too many requests, one twice, or one that is not there",
    "RC-26": "a configuration without `opaque`",
    "RC-27": "a configuration's driver",
    "RC-28": "a configuration without parameters",
    "RC-29": "parameters of more than 10 KiB",
    "RC-30": "parameters that are no object",
    "RC-31": "derived attributes: too many, one twice, wrong name, expression or type",
    "RC-32": "a derived attribute that no constraint uses",
    "RC-33": "derived attributes that may cost too much",
    "RS-01": "the driver's name",
    "RS-02": "the pool's name",
    "RS-03": "resourceSliceCount below 1",
    "RS-04": "a negative generation",
    "RS-06": "the node's name",
    "RS-07": "allNodes or perDeviceNodeSelection is false",
    "RS-08": "the node selector",
    "RS-09": "a slice for no node",
    "RS-10": "a slice for nodes in two ways",
    "RS-11": "sharedCounters and devices in one slice",
    "RS-12": "too many devices",
    "RS-13": "two devices of one name",
    "RS-14": "a device's name is no DNS label",
    "RS-15": "more than 32 attributes and capacities",
    "RS-16": "more than 48 values of attributes",
    "RS-17": "the name of an attribute or capacity",
    "RS-18": "an attribute with no value, or several",
    "RS-19": "an attribute's text of more than 64 bytes",
    "RS-20": "an attribute's version",
    "RS-21": "an empty list as an attribute",
    "RS-22": "a request policy on a device that cannot be shared",
    "RS-23": "validValues and validRange in one policy",
    "RS-24": "a request policy without default",
    "RS-25": "validValues are not in order",
    "RS-26": "more than 10 validValues, or one twice",
    "RS-27": "a valid value above the capacity",
    "RS-28": "the default is none of the validValues",
    "RS-29": "bounds of a validRange",
    "RS-30": "step of a validRange",
    "RS-32": "counters that a device consumes",
    "RS-33": "a device has to be for nodes in one way, as perDeviceNodeSelection is set",
    "RS-34": "a device is for certain nodes without perDeviceNodeSelection",
    "RS-35": "binding conditions",
    "RS-36": "shared counters",
    "RS-37": "node allocatable resources",
    "RS-38": "partitionTypeAttribute",
    "RS-39": "skipNodeOperations",
    "RS-40": "a taint's key",
    "RS-41": "a taint's value",
    "RS-42": "a taint's effect",
    "RS-43": "too many taints",
    "RS-44": "a device without `basic` (up to 1.32)",
    "DC-01": "more than 32 selectors",
    "DC-02": "a selector without `cel`",
    "DC-03": "a CEL expression of more than 10 KiB",
    "DC-04": "a CEL expression that does not compile, or gives no bool",
    "DC-05": "a CEL expression that may cost too much",
    "DC-06": "more than 32 configurations",
    "DC-07": "a configuration without `opaque`",
    "DC-08": "a configuration's driver",
    "DC-09": "a configuration without parameters",
    "DC-10": "parameters of more than 10 KiB",
    "DC-11": "parameters that are no object",
    "DC-12": "extendedResourceName is no extended resource name",
    "DT-01": "the selector's driver",
    "DT-02": "the selector's pool",
    "DT-03": "the selector's device",
    "DT-04": "the selector's device class or CEL selectors (1.34)",
    "DT-05": "the taint's key",
    "DT-06": "the taint's value",
    "DT-07": "the taint's effect",
    "PS-01": "the driver's name",
    "PS-02": "the pool's name",
    "PS-03": "a limit that is not 1 to 1000",
    "PS-04": "defaultPartitionTypeAttribute",
    "CS-01": "reservedFor: too many, one twice, or incomplete",
    "CS-02": "a claim is reserved, but not allocated",
    "CS-03": "more than 32 allocated devices, or 64 configurations",
    "CS-04": "a device is allocated for a request that is not there",
    "CS-05": "the driver, pool, name or share of an allocated device",
    "CS-06": "an allocated device's conditions, tolerations or operations to skip",
    "CS-07": "a configuration of the allocation",
    "CS-08": "the node selector of the allocation",
    "CS-09": "a device is allocated with adminAccess in a namespace without the label for it",
    "CS-10": "the driver, pool, name or share of a device that a status is about, or two statuses of one device",
    "CS-11": "the status of a device that is not allocated",
    "CS-12": "conditions of a device",
    "CS-13": "a device's data are no object, or longer than 10 KiB",
    "CS-14": "network data of a device",
    "PC-01": "a pod's claim without name",
    "PC-02": "two claims of one name",
    "PC-03": "a pod's claim has a name that is no DNS label",
    "PC-04": "a pod's claim is both a claim and a template",
    "PC-05": "a pod's claim is neither a claim nor a template",
    "PC-06": "the name of a claim or template is no DNS subdomain",
    "PC-07": "a container's claim without name",
    "PC-08": "a container names a claim twice",
    "PC-09": "a container names a claim that its pod does not have",
    "PC-10": "a container's request is no DNS label",
    "PC-11": "claims for the pod as a whole",
    "PC-12": "an ephemeral container, or its resources",
    "PC-13": "an extended resource's request and limit",
    "PC-14": "more than 4 claims in a pod group, or 8 groups in a workload",
    "PC-15": "the name of a resource",
    "PC-16": "an extended resource for the pod as a whole",
    "OM-01": "no name",
    "OM-02": "the name or namespace",
    "OM-03": "generateName, or what is made of it",
    "OM-04": "labels",
    "OM-05": "annotations",
    "OM-06": "finalizers",
    "OM-07": "owner references",
    "OM-08": "a negative generation",
    "OM-09": "metadata that a template cannot give to its claims",
}
"""Every rule id, and in a few words what it is about."""


def check(
    value: Mapping[str, Any],
    target: Target,
    *,
    namespaces: Mapping[str, Mapping[str, str]],
    written: str = "v1",
) -> Iterator[Violation]:
    """What the API server of ``target`` holds against a document in the shape of v1.

    ``namespaces``: the labels of those that are known. Paths are those of the v1 shape. ``written``: the version that
    the document had; 1.37 spells some fields as that version does.
    """
    found = _check(value, target, namespaces, written)
    if not target.at_least("1.34"):
        from dractl.validation.older import reworded

        return reworded(found, target)
    return found


def _check(
    value: Mapping[str, Any], target: Target, namespaces: Mapping[str, Mapping[str, str]], written: str
) -> Iterator[Violation]:
    from dractl.validation.metadata import object_meta

    root, kind = Place(value, step=written if target.at_least("1.37") else ""), value["kind"]
    spec = root.child("spec")
    yield from object_meta(kind, root.child("metadata"), target)
    match kind:
        case "ResourceClaim" | "ResourceClaimTemplate":
            yield from _claim(root, target, namespaces)
        case "DeviceClass":
            from dractl.validation import classes

            yield from classes.spec(spec, target)
        case "ResourceSlice":
            from dractl.validation import slices

            yield from slices.spec(spec, target)
        case "DeviceTaintRule":
            from dractl.validation import taints

            yield from taints.taint_rule_spec(spec, target)
        case "ResourcePoolStatusRequest":
            from dractl.validation import taints

            yield from taints.pool_status_request_spec(spec, target)
        case "PodGroup":
            from dractl.validation import podgroups

            yield from podgroups.pod_group(spec)
        case "Workload":
            from dractl.validation import podgroups

            yield from podgroups.workload(spec)
        case _:
            from dractl.validation.pods import pods

            yield from pods(value)


def _claim(root: Place, target: Target, namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[Violation]:
    from dractl.validation import claims
    from dractl.validation.metadata import template_meta

    spec = root.child("spec")
    if root.child("kind").text == "ResourceClaimTemplate":
        yield from template_meta(spec.child("metadata"))
        spec = spec.child("spec")
    namespace = root.child("metadata", "namespace").text or "default"
    yield from claims.admin_access(spec, namespaces.get(namespace), target)
    yield from claims.spec(spec, target)
