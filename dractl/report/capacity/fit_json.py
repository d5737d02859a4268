"""``fit -o json``: the schema dractl/fit/v1."""

from collections.abc import Sequence
from typing import Any

from dractl.capacity import Fit, StrandedDevices
from dractl.capacity.aligned_counts import AlignedCounts
from dractl.capacity.placing import NodeFit
from dractl.capacity.what_if import list_unjudged_resources
from dractl.explain.answer import Reason, plain
from dractl.report.alignment.json import constraint_json
from dractl.report.capacity.fit_report import FitReport


def free_devices_json(devices: StrandedDevices) -> dict[str, Any]:
    """Return stranded devices, which no further copy can use, as a plain value."""
    return {
        "driver": devices.driver,
        "pcieRoot": devices.pcie_root,
        "node": devices.node,
        "devices": list(devices.devices),
        "why": devices.why,
    }


def fit_value(report: FitReport, release: str) -> dict[str, Any]:
    """Return the number of copies that fit as a plain value."""
    fit, maximum, shape = report.fit, report.maximum, report.fit.subject.shape
    unjudged = list_unjudged_resources(fit.subject.state, fit.subject.pod)
    value = {
        "schema": "dractl/fit/v1",
        "subject": fit.subject.name,
        "constraint": None if shape is None else shape.constraint,
        "kubernetesVersion": release,
        "fits": report.count,
        "aligned": None if report.aligned is None else _alignment_value(fit, report.aligned),
        "handedOut": _plugin_values(fit),
        "replicas": report.replicas,
        "undecided": fit.undecided,
        "nodes": [_node_value(node, report.by_node.get(node.name, ())) for node in fit.nodes],
        "stops": plain(tuple(report.stops)),
        "schedulerMessage": None if report.is_unknown else fit.next_attempt.message,
        "preempts": [{"node": node, "pods": list(pods)} for node, pods in fit.preempts],
        "stranded": [free_devices_json(devices) for devices in report.stranded],
        "unjudged": list(unjudged),
        "most": None
        if maximum is None
        else {"fits": maximum.fits, "proven": maximum.proven, "bound": maximum.bound},
    }
    absent = {
        "constraint": shape is None,
        "aligned": report.aligned is None,
        "handedOut": not fit.plugin_allocations,
        "preempts": not fit.preempts,
        "unjudged": not unjudged,
    }
    return {key: item for key, item in value.items() if not absent.get(key)}


def _node_value(node: NodeFit, reasons: Sequence[Reason]) -> dict[str, Any]:
    alignments = [
        {"alignment": group.alignment, "copies": group.copies} for group in node.alignments
    ]
    return {
        "name": node.name,
        "fits": node.fits,
        "devices": list(node.devices),
        **({"alignments": alignments} if alignments else {}),
        "stops": [{"code": reason.code, "message": reason.brief} for reason in reasons],
    }


def _plugin_values(found: Fit) -> list[dict[str, Any]]:
    return [
        {
            "node": allocation.node,
            "resource": allocation.resource,
            "driver": allocation.driver,
            "offered": allocation.offered,
            "inUse": allocation.used,
        }
        for allocation in found.plugin_allocations
    ]


def _alignment_value(found: Fit, aligned: AlignedCounts) -> dict[str, Any]:
    with_ = None if aligned.constraint is None else constraint_json(aligned.constraint)
    return {
        "firstFit": aligned.first,
        "placed": found.fits,
        "unknown": aligned.unknown,
        "possible": aligned.possible,
        "with": with_,
        "fitsWith": aligned.fits_with_constraint if with_ is not None else None,
    }
