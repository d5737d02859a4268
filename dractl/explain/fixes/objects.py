"""Fixes by creating or correcting what stops the pod before any node is looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.allocation import backing_classes
from dractl.cluster.changes import Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import at, map_at, maps_at, text_at
from dractl.explain.fixes.candidates import Candidate, Preference, Slot, Topic
from dractl.explain.fixes.edits import drop, put
from dractl.explain.fixes.owners import name_of
from dractl.scheduler.admission import ADMIN_LABEL
from dractl.scheduler.extended import wanted
from dractl.scheduler.prebind import RESERVED_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.cluster.changes import Change
    from dractl.explain.fixes.candidates import Case

_API = "resource.k8s.io/v1"


def references(case: Case) -> Iterator[Candidate]:
    """Claims and templates that are missing: the right name, a copy from another namespace, a new one."""
    namespace = case.question.key[0]
    for reason in case.reasons:
        missing = {"claim-missing": "claim", "template-missing": "template"}.get(reason.code)
        if missing is None or reason.pod_claim is None:
            continue
        kind = "ResourceClaim" if missing == "claim" else "ResourceClaimTemplate"
        field = "resourceClaimName" if missing == "claim" else "resourceClaimTemplateName"
        full = reason.claim if missing == "claim" else reason.template
        if full is None:
            continue
        name = full.rpartition("/")[2]
        index = next(
            (
                i
                for i, r in enumerate(maps_at(case.question.value, "spec", "resourceClaims"))
                if text_at(r, "name") == reason.pod_claim
            ),
            None,
        )
        entry = maps_at(case.question.value, "spec", "resourceClaims")[index] if index is not None else {}
        if reason.nearest and field in entry and case.state.get("Pod", case.question.key) is not None:
            change = {
                "op": "replace",
                "path": pointer("spec", "resourceClaims", index or 0, field),
                "value": reason.nearest,
            }
            yield Candidate(
                f"change {field} {name} to {reason.nearest}",
                (Patch("/".join(("Pod", *case.question.key)), (change,)),),
                Slot(Topic.NAME, name),
                Preference.CORRECT,
                corrects=True,
            )
        if reason.nearest and not reason.found:
            continue  # what was meant is there: nobody makes another one
        for other in reason.found:
            where, _, _ = other.partition("/")
            value = case.state.get(kind, (where, name))
            made = {
                "apiVersion": (value or {}).get("apiVersion", _API),
                "kind": kind,
                "metadata": {"name": name, "namespace": namespace},
                "spec": at(value, "spec"),
            }
            yield Candidate(
                f"create {missing} {namespace}/{name} as a copy of {other}",
                (Create(made),),
                Slot(Topic.CREATION, name),
                Preference.SUPPLY,
            )
        if missing == "claim" and not text_at(map_at(case.question.value), "kind") and reason.template:
            continue
        yield from _new(case, kind, namespace, name, reason.pod_claim)


def leftovers(case: Case) -> Iterator[Candidate]:
    """A claim of an earlier pod of the same name goes away, and this pod gets its own."""
    for reason in case.reasons:
        if reason.code == "claim-not-owned" and reason.claim:
            title = f"delete claim {reason.claim} of the earlier pod"
            change = Delete(f"ResourceClaim/{reason.claim}")
            yield Candidate(title, (change,), Slot(Topic.CLAIM, reason.claim), Preference.RESTORE)


def _new(case: Case, kind: str, namespace: str, name: str, pod_claim: str) -> Iterator[Candidate]:
    """A claim for one device of the class whose name resembles what the pod calls it."""
    words = [w for w in re.split(r"[^a-z0-9]+", f"{pod_claim} {name}".lower()) if len(w) > 1 and not w.isdigit()]
    names = sorted(n for _, n in case.state.all("DeviceClass"))
    names.sort(key=lambda n: -max((len(w) for w in words if w in n.lower()), default=0))
    for position, device_class in enumerate(names[:4]):
        devices = {
            "requests": [
                {
                    "name": pod_claim,
                    "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1},
                }
            ]
        }
        spec: dict[str, Any] = {"devices": devices}
        made = {
            "apiVersion": _API,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec if kind == "ResourceClaim" else {"spec": spec},
        }
        what = "claim" if kind == "ResourceClaim" else "template"
        effect = "ask for what the pod really needs"
        yield Candidate(
            f"create {what} {namespace}/{name}, for example for one {device_class}",
            (Create(made),),
            Slot(Topic.CREATION, name),
            Preference.SUPPLY,
            effect=effect,
            degree=position + 1,
        )


def together(case: Case) -> Iterator[Candidate]:
    """All references that are missing, created at once."""
    makers = [c for c in references(case) if isinstance(c.changes[0], Create)]
    firsts = {c.slot: c for c in reversed(makers)}
    if len(firsts) > 1:
        changes: tuple[Change, ...] = tuple(c.changes[0] for c in firsts.values())
        title = " and ".join(c.title for c in firsts.values())
        yield Candidate(title, changes, Slot(Topic.CREATION), Preference.SUPPLY)


def device_class(case: Case) -> Iterator[Candidate]:
    """A class that was not installed: for the driver that it is named after."""
    for reason in case.reasons:
        if reason.code != "class-missing" or reason.device_class is None or reason.nearest:
            continue
        name = reason.device_class
        drivers = sorted(d for d in case.about.drivers if d in name or name in d)
        for driver in drivers[:2]:
            kind = name.partition(".")[0]
            values = {
                str(a.value)
                for item in case.judge.slices
                if item.spec.driver == driver
                for d in item.spec.devices
                if (a := d.attributes.get("type") or d.attributes.get(f"{driver}/type")) is not None
            }
            expression = f"device.driver == '{driver}'"
            if kind in values and len(values) >= 1:
                expression += f" && device.attributes['{driver}'].type == '{kind}'"
            made = {
                "apiVersion": _API,
                "kind": "DeviceClass",
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": expression}}]},
            }
            yield Candidate(
                f"create DeviceClass {name} for driver {driver}",
                (Create(made),),
                Slot(Topic.CLASS, name),
                Preference.SUPPLY,
                effect="or install it with the driver's chart",
            )


def namespace(case: Case) -> Iterator[Candidate]:
    """The label for adminAccess."""
    if any(r.code == "admin-access-namespace" for r in case.reasons):
        name = case.question.key[0]
        operation = put(case.state.get("Namespace", ("", name)), ("metadata", "labels", ADMIN_LABEL), "true")
        yield Candidate(
            f"label namespace {name} with {ADMIN_LABEL}=true",
            (Patch(f"Namespace/{name}", (operation,)),),
            Slot(Topic.NAMESPACE),
            Preference.POLICY,
            effect="if this namespace may use adminAccess",
        )


def quota(case: Case) -> Iterator[Candidate]:
    """A larger quota, or one claim less in the namespace."""
    for reason in case.reasons:
        if reason.code != "quota-exceeded" or reason.resource is None or not reason.found:
            continue
        change = {"op": "replace", "path": pointer("spec", "hard", reason.resource), "value": str(reason.want)}
        yield Candidate(
            f"raise quota {reason.found[0]} from {reason.have} to {reason.want} devices",
            (Patch(f"ResourceQuota/{reason.found[0]}", (change,)),),
            Slot(Topic.QUOTA),
            Preference.POLICY,
            effect="the claim controller tries again with growing delays; recreate the pod to have it at once",
        )
        where = case.question.key[0]
        for key, claim in case.state.all("ResourceClaim").items():
            if key[0] != where:
                continue
            users = [text_at(c, "name") for c in maps_at(claim, "status", "reservedFor")]
            owned = maps_at(claim, "metadata", "ownerReferences")
            ending = case.owners.end([f"{where}/{users[0]}"]) if users and owned else None
            if ending is not None:
                slot = Slot(Topic.QUOTA, "end")
                yield Candidate(
                    ending.title, ending.changes, slot, Preference.END, effect=ending.effect, tried=ending.gone
                )
            elif not users:
                yield Candidate(
                    f"delete claim {'/'.join(key)}, which nobody uses",
                    (Delete("ResourceClaim/" + "/".join(key)),),
                    Slot(Topic.QUOTA, "end"),
                    Preference.IDLE,
                )


def gates(case: Case) -> Iterator[Candidate]:
    """The end of a pod's scheduling gates, or the default scheduler."""
    target = "/".join(("Pod", *case.question.key))
    if case.state.get("Pod", case.question.key) is None:
        return
    for reason in case.reasons:
        if reason.code == "scheduling-gated":  # whoever set the gates removes them, when it is this pod's turn
            change = {"op": "remove", "path": "/spec/schedulingGates"}
            yield Candidate(
                "wait until the owner of the scheduling gates removes them",
                (),
                Slot(Topic.GATES),
                Preference.AGAIN,
                tried=(Patch(target, (change,)),),
                effect=_gate_owner(case, reason.found),
                corrects=True,
            )
        elif reason.code == "scheduler-bypass" and "schedulerName" in map_at(case.question.value, "spec"):
            change = {"op": "remove", "path": "/spec/schedulerName"}
            yield Candidate(
                "remove schedulerName from the pod, so that the default scheduler takes it",
                (Patch(target, (change,)),),
                Slot(Topic.SCHEDULER),
                Preference.CORRECT,
            )


_QUEUE = "kueue.x-k8s.io/queue-name"


def _gate_owner(case: Case, gates: tuple[str, ...]) -> str:
    """Who removes scheduling gates, if the pod or its workload says so: for Kueue its queue, for others the domain."""
    pod = case.question.value
    owner = name_of(case.state.get("Pod", case.question.key), case.question.key[0])
    workload = case.state.get(*parse_target(owner)) if owner is not None else None
    for value in (pod, workload):
        queue = text_at(value, "metadata", "labels", _QUEUE) or text_at(value, "metadata", "annotations", _QUEUE)
        if queue and any(gate.startswith("kueue.x-k8s.io/") for gate in gates):
            return f"Kueue does, when LocalQueue {case.question.key[0]}/{queue} admits its Workload"
    domains = dict.fromkeys(gate.partition("/")[0] for gate in gates if "/" in gate)
    return f"the controller of {', '.join(domains)} does" if domains else ""


def shared_claims(case: Case) -> Iterator[Candidate]:
    """A claim that is allocated elsewhere, or for too many: end users, or an own claim."""
    if any(r.code == "binding-pending" and r.driver for r in case.reasons):
        return  # it is this pod's, and in the right place
    for claim in case.claims:
        if not claim.allocated:
            continue
        users = [
            text_at(c, "name") for c in maps_at(claim.value, "status", "reservedFor") if c.get("resource") == "pods"
        ]
        others = [u for u in users if u != case.question.key[1]]
        if len(users) >= RESERVED_LIMIT:
            endings = (case.owners.end([f"{claim.key[0]}/{u}"]) for u in others)
            ending = next((e for e in endings if e is not None), None)
            if ending is not None:
                slot = Slot(Topic.CLAIM, "reserved")
                yield Candidate(
                    ending.title, ending.changes, slot, Preference.END, effect=ending.effect, tried=ending.gone
                )
            continue
        if others:
            ending = case.owners.end([f"{claim.key[0]}/{u}" for u in others])
            if ending is not None:
                effect = "; ".join(filter(None, (f"claim {claim.key[1]} is allocated again", ending.effect)))
                slot = Slot(Topic.CLAIM, "unpin")
                yield Candidate(ending.title, ending.changes, slot, Preference.END, effect=effect, tried=ending.gone)
        else:
            yield Candidate(
                f"deallocate claim {claim.full_name}",
                (_deallocate(claim.full_name),),
                Slot(Topic.CLAIM, "unpin"),
                Preference.RESTORE,
                effect="no pod uses it; it is allocated again",
            )
        yield from _own_claim(case, claim.name, claim.key[1], claim.value)


def _deallocate(full_name: str) -> Patch:
    return Patch(f"ResourceClaim/{full_name}", ({"op": "remove", "path": "/status/allocation"},))


def _own_claim(case: Case, pod_claim: str, name: str, value: Mapping[str, Any] | None) -> Iterator[Candidate]:
    """A claim of its own, made from a template, instead of the shared one."""
    index = next(
        (
            i
            for i, r in enumerate(maps_at(case.question.value, "spec", "resourceClaims"))
            if text_at(r, "name") == pod_claim
        ),
        None,
    )
    if index is None or case.state.get("Pod", case.question.key) is None:
        return
    template = f"own-{name}"
    made = {
        "apiVersion": (value or {}).get("apiVersion", _API),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": template, "namespace": case.question.key[0]},
        "spec": {"spec": at(value, "spec")},
    }
    entry = {"name": pod_claim, "resourceClaimTemplateName": template}
    change = {"op": "replace", "path": pointer("spec", "resourceClaims", index), "value": entry}
    yield Candidate(
        f"give the pod a claim of its own instead of the shared claim {name}",
        (Create(made), Patch("/".join(("Pod", *case.question.key)), (change,))),
        Slot(Topic.CLAIM, "own"),
        Preference.ADAPT,
    )


def consumer(case: Case) -> Iterator[Candidate]:
    """A pod for a claim that no pod uses."""
    if not any(r.code == "no-consumer" for r in case.reasons):
        return
    namespace_name, name = case.question.key
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"use-{name}", "namespace": namespace_name},
        "spec": {
            "containers": [
                {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"claims": [{"name": "claim"}]}}
            ],
            "resourceClaims": [{"name": "claim", "resourceClaimName": name}],
        },
    }
    yield Candidate(f"create a pod that uses claim {name}", (Create(pod),), Slot(Topic.CONSUMER), Preference.SUPPLY)


def _renamed(case: Case, resource: str, name: str) -> Iterator[Candidate]:
    """The pod with the extended resource's right name."""
    if case.question.kind != "Pod" or case.state.get("Pod", case.question.key) is None:
        return
    operations = []
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(maps_at(case.question.value, "spec", kind)):
            for field in ("requests", "limits"):
                amounts = map_at(container, "resources", field)
                if resource in amounts and name not in amounts:
                    path = ("spec", kind, index, "resources", field)
                    operations.append({"op": "move", "from": pointer(*path, resource), "path": pointer(*path, name)})
    patch = Patch("/".join(("Pod", *case.question.key)), tuple(operations))
    title = f"change extended resource {resource} to {name}"
    yield Candidate(title, (patch,), Slot(Topic.NAME, resource), Preference.CORRECT, corrects=True)


def _without_resource(case: Case, resource: str) -> Iterator[Candidate]:
    """The pod without an extended resource beside a claim: what is left of a device plug-in."""
    if not case.claims or case.state.get("Pod", case.question.key) is None:
        return
    operations = [
        drop(case.question.value, ("spec", kind, index, "resources", field, resource))
        for kind in ("initContainers", "containers")
        for index, container in enumerate(maps_at(case.question.value, "spec", kind))
        for field in ("limits", "requests")
        if resource in map_at(container, "resources", field)
    ]
    yield Candidate(
        f"remove {resource} from the limits of the pod's containers",
        (Patch("/".join(("Pod", *case.question.key)), tuple(operations)),),
        Slot(Topic.EXTENDED, resource),
        Preference.CORRECT,
        effect="the pod's claims give it its devices",
        corrects=True,
    )


def extended_resources(case: Case) -> Iterator[Candidate]:
    """A pod without the resource, a class that provides it, or a smaller amount of it."""
    for reason in case.reasons:
        if reason.code != "extended-resource-unmapped" or not reason.resource:
            continue
        if reason.nearest:
            yield from _renamed(case, reason.resource, reason.nearest)
        else:
            yield from _without_resource(case, reason.resource)
        if reason.nearest is None and reason.device_class and not case.claims:
            change = {"op": "add", "path": "/spec/extendedResourceName", "value": reason.resource}
            yield Candidate(
                f"set extendedResourceName of class {reason.device_class} to {reason.resource}",
                (Patch(f"DeviceClass/{reason.device_class}", (change,)),),
                Slot(Topic.EXTENDED),
                Preference.POLICY,
                effect="for every pod",
            )
    provided = backing_classes(case.state.classes, case.judge.features)
    target = "/".join(("Pod", *case.question.key))
    if case.question.kind != "Pod" or case.state.get("Pod", case.question.key) is None:
        return
    init = len(maps_at(case.question.value, "spec", "initContainers"))
    best = max((len(r.candidates) for _, r in case.requests()), default=0)
    for resource, containers in wanted(case.question.value).items():
        if resource not in provided:
            continue
        for index, amount in containers:
            container = index - init
            for less in dict.fromkeys((best, amount - 1, 1)):
                if container < 0 or not 0 < less < amount:
                    continue
                operations = [
                    {
                        "op": "replace",
                        "path": pointer("spec", "containers", container, "resources", field, resource),
                        "value": str(less),
                    }
                    for field in ("requests", "limits")
                    if at(case.question.value, "spec", "containers", container, "resources", field, resource)
                    is not None
                ]
                yield Candidate(
                    f"lower {resource} from {amount} to {less}",
                    (Patch(target, tuple(operations)),),
                    Slot(Topic.AMOUNT, resource),
                    Preference.LESS,
                    degree=amount - less,
                )
