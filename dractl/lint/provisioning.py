"""The verdict of a node autoscaler on the claims of the input, for all instance types whose devices
it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dractl.errors import DractlError
from dractl.facts.autoscalers import device_tables
from dractl.lint.model import Claim, Manifest, Run
from dractl.lint.published import classes as installed_classes
from dractl.model import DeviceClass, ResourceClaim, decode
from dractl.model.reader import DecodeError

if TYPE_CHECKING:  # imported late: files without claims do not need it
    from dractl.autoscaler import Judgement

AUTOSCALER = "karpenter"


def judge_claims(run: Run, claims: Sequence[Claim]) -> Mapping[str, Judgement] | None:
    """Judge the claims of one pod on each instance type of the tables.

    None if a class is not known, or if the API server refuses an object: another rule reports that.
    """
    memory = _judgements(run.whole)
    key = tuple((id(claim.subject), claim.path) for claim in claims)
    if key not in memory:
        memory[key] = _judge(run.whole, claims)
    return memory[key]


@lru_cache(1)  # several rules ask about the same claims
def _judgements(run: Run) -> dict[object, Mapping[str, Judgement] | None]:  # noqa: ARG001
    return {}


def _judge(run: Run, claims: Sequence[Claim]) -> Mapping[str, Judgement] | None:
    from dractl.autoscaler import judge

    tables = device_tables().get(AUTOSCALER)
    decoded = [_decode_claim(claim) for claim in claims]
    if tables is None or None in decoded:
        return None
    classes = {}
    for name in dict.fromkeys(part.device_class for claim in claims for part in claim.alternatives):
        device_class = _find_class(run, name)
        if device_class is None:
            return None
        classes[name] = device_class
    return {
        instance_type: judge([claim for claim in decoded if claim], classes, instance_type, tables)
        for instance_type in tables.types
    }


def is_served(run: Run, claims: Sequence[Claim]) -> bool | None:
    """Return True if an instance type serves the claims, False if none does, None if that is
    unknown.
    """
    judgements = judge_claims(run, claims)
    if judgements is None:
        return None
    return any(item.verdict == "serves" for item in judgements.values())


def class_claim(subject: Manifest) -> Claim:
    """Return a claim for one device of a DeviceClass."""
    request = {"name": "device", "exactly": {"deviceClassName": subject.name, "count": 1}}
    return Claim(subject, ("spec",), {"requests": [request]})


def explain_refusal(run: Run, claims: Sequence[Claim]) -> str | None:
    """Return the reason why the nearest instance type does not serve the claims.

    Return None if an instance type serves them, or if that is unknown.
    """
    judgements = judge_claims(run, claims)
    if not judgements or any(item.verdict != "never" for item in judgements.values()):
        return None
    types = device_tables()[AUTOSCALER].types
    nearest = max(
        judgements,
        key=lambda name: (
            judgements[name].stage,
            sum(len(group.names) for group in types[name].groups),
        ),
    )
    return judgements[nearest].reason


def _decode_claim(claim: Claim) -> ResourceClaim | None:
    devices: dict[str, Any] = dict(claim.devices)
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": claim.subject.name or ""},
        "spec": {"devices": devices},
    }
    decoded = _decode_object(value)
    return decoded if isinstance(decoded, ResourceClaim) else None


def _find_class(run: Run, name: str) -> DeviceClass | None:
    """Return a class of the input, else the class that its driver installs under that name."""
    subject = run.device_class(name)
    if subject is not None:
        spec: Mapping[str, Any] = subject.spec
    elif name in installed_classes():
        selectors = installed_classes()[name].selectors
        spec = {"selectors": [{"cel": {"expression": text}} for text in selectors]}
    else:
        return None
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec,
    }
    decoded = _decode_object(value)
    return decoded if isinstance(decoded, DeviceClass) else None


def _decode_object(value: Mapping[str, Any]) -> object:
    try:
        return decode(value)
    except (DractlError, DecodeError):
        return None
