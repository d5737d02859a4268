"""Fixes by creating or correcting what stops the pod before any node is looked at."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dractl.cluster.changes import Change, Create, Delete, Patch, parse_target, pointer
from dractl.cluster.state import at, map_at, maps_at, text_at
from dractl.cluster.workloads import workload_target
from dractl.explain.fixes.candidates import (
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    fix_for,
    fix_once_for,
)
from dractl.explain.fixes.edits import put, remove, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.settings import recreate_subject
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingPending
from dractl.explain.reasons.claims import (
    ClaimMissing,
    ClaimNotOwned,
    SchedulingGated,
    TemplateMissing,
)
from dractl.explain.reasons.limits import AdminAccessNamespace, ClassMissing, QuotaExceeded
from dractl.explain.reasons.schedulers import UnseenScheduler
from dractl.explain.reasons.scheduling import NoConsumer
from dractl.scheduler.charges import CLAIM_COUNT
from dractl.scheduler.pre_bind import RESERVED_LIMIT
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_API_VERSION = "resource.k8s.io/v1"
_KUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_OLD_ADMIN_LABEL = "resource.k8s.io/admin-access"


# -- references --


@fix_for(ClaimMissing, TemplateMissing)
def fix_reference(
    problem: FixProblem, cause: ClaimMissing | TemplateMissing
) -> Iterator[Candidate]:
    """A claim or template that is missing: the right name, a copy from another namespace, a new one."""
    kind, field, full_name = "ResourceClaim", "resourceClaimName", getattr(cause, "claim", None)
    if isinstance(cause, TemplateMissing):
        kind, field, full_name = (
            "ResourceClaimTemplate",
            "resourceClaimTemplateName",
            cause.template,
        )
    reference = problem.claim_reference(cause.pod_claim)
    if (
        full_name is None
        or cause.pod_claim is None
        or reference is None
        or field not in reference[1]
    ):
        return  # a generated claim: nobody names it
    namespace, _, name = full_name.partition("/")
    if (
        cause.is_template if isinstance(cause, ClaimMissing) else cause.is_claim
    ) and problem.pod is not None:
        intended_field = (
            "resourceClaimTemplateName" if field == "resourceClaimName" else "resourceClaimName"
        )
        entry = {**{k: v for k, v in reference[1].items() if k != field}, intended_field: name}
        change = replace(("spec", "resourceClaims", reference[0]), entry)
        intended_kind = "ResourceClaimTemplate" if field == "resourceClaimName" else "ResourceClaim"
        yield Candidate(
            f"name {name} by {intended_field} instead of {field}",
            (problem.patch(change),),
            FixSlot(Topic.NAME, name),
            Preference.CORRECT,
            effect=f"{name} is a {intended_kind}",
            corrects=True,
        )
        return
    if cause.nearest and problem.pod is not None:
        path = pointer("spec", "resourceClaims", reference[0], field)
        yield Candidate(
            f"change {field} {name} to {cause.nearest}",
            (problem.patch({"op": "replace", "path": path, "value": cause.nearest}),),
            FixSlot(Topic.NAME, name),
            Preference.CORRECT,
            corrects=True,
        )
    if cause.nearest and not cause.elsewhere:
        return  # what was meant is there: nobody creates another one
    noun = "claim" if kind == "ResourceClaim" else "template"
    for full_name_elsewhere in cause.elsewhere:
        model = problem.state.get(kind, (full_name_elsewhere.partition("/")[0], name))
        manifest = {
            "apiVersion": (model or {}).get("apiVersion", _API_VERSION),
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": at(model, "spec"),
        }
        yield Candidate(
            f"create {noun} {namespace}/{name} as a copy of {full_name_elsewhere}",
            (Create(manifest),),
            FixSlot(Topic.CREATION, name),
            Preference.SUPPLY,
        )
    yield from _create_for_class(problem, kind, namespace, name, cause.pod_claim)


def _create_for_class(
    problem: FixProblem, kind: str, namespace: str, name: str, pod_claim: str
) -> Iterator[Candidate]:
    """A claim for one device of the class whose name resembles what the pod calls it."""
    words = [
        word
        for word in re.split(r"[^a-z0-9]+", f"{pod_claim} {name}".lower())
        if len(word) > 1 and not word.isdigit()
    ]
    names = sorted(class_name for _, class_name in problem.state.objects("DeviceClass"))
    names.sort(
        key=lambda class_name: (
            -max((len(word) for word in words if word in class_name.lower()), default=0)
        )
    )
    for position, device_class in enumerate(names[:4]):
        exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}
        spec: dict[str, Any] = {"devices": {"requests": [{"name": pod_claim, "exactly": exactly}]}}
        manifest = {
            "apiVersion": _API_VERSION,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec if kind == "ResourceClaim" else {"spec": spec},
        }
        noun = "claim" if kind == "ResourceClaim" else "template"
        yield Candidate(
            f"create {noun} {namespace}/{name}, for example for one {device_class}",
            (Create(manifest),),
            FixSlot(Topic.CREATION, name),
            Preference.SUPPLY,
            effect="ask for what the pod really needs",
            degree=position + 1,
        )


@fix_once_for(ClaimMissing, TemplateMissing)
def create_all_references(problem: FixProblem) -> Iterator[Candidate]:
    """All references that are missing, created at once."""
    missing_references = (
        c for c in problem.causes if isinstance(c, ClaimMissing | TemplateMissing)
    )
    creations = [
        c
        for cause in missing_references
        for c in fix_reference(problem, cause)
        if isinstance(c.changes[0], Create)
    ]
    creation_by_slot = {c.slot: c for c in reversed(creations)}
    if len(creation_by_slot) > 1:
        changes: tuple[Change, ...] = tuple(c.changes[0] for c in creation_by_slot.values())
        title = " and ".join(c.title for c in creation_by_slot.values())
        yield Candidate(title, changes, FixSlot(Topic.CREATION), Preference.SUPPLY)


@fix_for(ClaimNotOwned)
def delete_old_claim(_: FixProblem, cause: ClaimNotOwned) -> Iterator[Candidate]:
    """A claim of an earlier pod of the same name deleted, so that this pod gets its own."""
    if cause.claim:
        title = f"delete claim {cause.claim} of the earlier pod"
        change = Delete(f"ResourceClaim/{cause.claim}")
        yield Candidate(title, (change,), FixSlot(Topic.CLAIM, cause.claim), Preference.RESTORE)


@fix_for(ClassMissing)
def create_class(problem: FixProblem, cause: ClassMissing) -> Iterator[Candidate]:
    """A class that was not installed: for the driver that it is named after."""
    name = cause.device_class
    if name is None or cause.nearest:
        return
    if cause.driver:
        yield from _create_driver_class(problem, cause)
        return
    for driver in sorted(
        device for device in problem.case.drivers if device in name or name in device
    )[:2]:
        device_type = name.partition(".")[0]
        published_types = {
            str(attribute.value)
            for resource_slice in problem.scheduler.slices
            if resource_slice.spec.driver == driver
            for device in resource_slice.spec.devices
            if (
                attribute := device.attributes.get("type")
                or device.attributes.get(f"{driver}/type")
            )
            is not None
        }
        expression = f"device.driver == '{driver}'"
        if device_type in published_types:
            expression += f" && device.attributes['{driver}'].type == '{device_type}'"
        manifest = {
            "apiVersion": _API_VERSION,
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
        yield Candidate(
            f"create DeviceClass {name} for driver {driver}",
            (Create(manifest),),
            FixSlot(Topic.CLASS, name),
            Preference.SUPPLY,
            effect="or install it with the driver's chart",
        )


def _create_driver_class(problem: FixProblem, cause: ClassMissing) -> Iterator[Candidate]:
    """The class as its driver installs it, if the driver publishes devices."""
    from dractl.drivers.classes import installed_by
    from dractl.model import Target

    installed_class = installed_by(
        cause.device_class or "", Target.of(problem.scheduler.features.release)
    )
    if installed_class is not None and not cause.silent:
        yield Candidate(
            f"create DeviceClass {cause.device_class} for driver {cause.driver}",
            (Create(dict(installed_class[1])),),
            FixSlot(Topic.CLASS, cause.device_class or ""),
            Preference.SUPPLY,
            effect="or install it with the driver's chart",
        )


# -- admission and gates --


@fix_for(AdminAccessNamespace)
def label_namespace(problem: FixProblem, cause: AdminAccessNamespace) -> Iterator[Candidate]:
    """The label for adminAccess."""
    value = problem.state.get("Namespace", ("", cause.namespace))
    labelling = Patch(
        f"Namespace/{cause.namespace}",
        (put(value, ("metadata", "labels", ADMIN_ACCESS_LABEL), "true"),),
    )
    recreation = (
        recreate_subject(problem)
        if problem.pod is not None and text_at(problem.pod, "metadata", "uid")
        else ()
    )
    has_old_label = map_at(value, "metadata", "labels").get(_OLD_ADMIN_LABEL)
    effects = (
        "if this namespace may use adminAccess",
        f"it has the label of Kubernetes 1.32, {_OLD_ADMIN_LABEL}, which is no longer read"
        if has_old_label
        else "",
        "the pod is recreated: the claim controller would try again with growing delays only"
        if recreation
        else "",
    )
    yield Candidate(
        f"label namespace {cause.namespace} with {ADMIN_ACCESS_LABEL}=true",
        (labelling, *recreation),
        FixSlot(Topic.NAMESPACE),
        Preference.POLICY,
        effect="; ".join(filter(None, effects)),
        consequences=(labelling,) if recreation else (),
    )


@fix_for(QuotaExceeded)
def fix_quota(problem: FixProblem, cause: QuotaExceeded) -> Iterator[Candidate]:
    """A larger quota, or one claim less in the namespace."""
    if cause.resource is None or not cause.quotas:
        return
    change = replace(("spec", "hard", cause.resource), str(cause.want))
    raised = Patch(f"ResourceQuota/{cause.quotas[0]}", (change,))
    counted = (
        "devices"
        if cause.device_class
        else "claims"
        if cause.resource == CLAIM_COUNT
        else cause.resource
    )
    # The scheduler itself tries again to create the claim for extended resources, which is none of the pod's claims.
    again = (
        recreate_subject(problem) if problem.pod is not None and cause.pod_claim is not None else ()
    )
    delays = (
        "the pod is recreated: the claim controller would try again with growing delays only"
        if again
        else ""
    )
    yield Candidate(
        f"raise quota {cause.quotas[0]} from {cause.have} to {cause.want} {counted}",
        (raised, *again),
        FixSlot(Topic.QUOTA),
        Preference.POLICY,
        effect=delays,
        consequences=(raised,),
    )
    where = problem.question.key[0]
    slot = FixSlot(Topic.QUOTA, "end")
    for key, claim in problem.state.objects("ResourceClaim").items():
        if key[0] != where:
            continue
        users = [text_at(c, "name") for c in maps_at(claim, "status", "reservedFor")]
        owned = maps_at(claim, "metadata", "ownerReferences")
        ending = problem.owners.plan_ending([f"{where}/{users[0]}"]) if users and owned else None
        if ending is not None:
            effect = "; ".join(filter(None, (ending.effect, delays)))
            yield Candidate(
                ending.title,
                (*ending.changes, *again),
                slot,
                ending.preference,
                effect=effect,
                consequences=ending.deletions,
            )
        elif not users:
            deleted = Delete("ResourceClaim/" + "/".join(key))
            title = f"delete claim {'/'.join(key)}, which nobody uses"
            yield Candidate(
                title,
                (deleted, *again),
                slot,
                Preference.IDLE,
                effect=delays,
                consequences=(deleted,),
            )


@fix_for(SchedulingGated)
def await_gate_removal(problem: FixProblem, cause: SchedulingGated) -> Iterator[Candidate]:
    """The end of a pod's scheduling gates: whoever set them removes them, when it is this pod's turn."""
    if problem.pod is not None:
        yield Candidate(
            "wait until the owner of the scheduling gates removes them",
            (),
            FixSlot(Topic.GATES),
            Preference.AGAIN,
            effect=_gate_owner(problem, cause.gates),
            consequences=(problem.patch(remove("spec", "schedulingGates")),),
            corrects=True,
        )


def _gate_owner(problem: FixProblem, gates: tuple[str, ...]) -> str:
    """Who removes scheduling gates, if the pod or its workload says so: for Kueue its queue, for others the domain."""
    owner = workload_target(problem.pod, problem.question.key[0])
    workload = problem.state.get(*parse_target(owner)) if owner is not None else None
    for value in (problem.pod, workload):
        queue = text_at(value, "metadata", "labels", _KUEUE_LABEL) or text_at(
            value, "metadata", "annotations", _KUEUE_LABEL
        )
        if queue and any(gate.startswith("kueue.x-k8s.io/") for gate in gates):
            return (
                f"Kueue does, when LocalQueue {problem.question.key[0]}/{queue} admits its Workload"
            )
    controllers = dict.fromkeys(gate.partition("/")[0] for gate in gates if "/" in gate)
    return f"the controller of {', '.join(controllers)} does" if controllers else ""


@fix_for(UnseenScheduler)
def fix_scheduler_name(problem: FixProblem, cause: UnseenScheduler) -> Iterator[Candidate]:
    """The name that a misspelt one stands for; the default scheduler in place of one that is
    unknown and does not run; a known one, started. A pod of a scheduler that is known, or may run,
    is not moved to another one: that would take it out of its gang and its queue."""
    slot = FixSlot(Topic.SCHEDULER)
    if cause.title:
        if cause.takes_claims:
            title = f"start {cause.title}" + ("" if cause.absent else ", unless it runs")
            yield Candidate(title, (), slot, Preference.RESTORE)
        return
    if problem.pod is None or "schedulerName" not in map_at(problem.pod, "spec"):
        return
    path = pointer("spec", "schedulerName")
    if cause.nearest and cause.nearest_runs:
        yield Candidate(
            f"change schedulerName {cause.plugin} to {cause.nearest}",
            (problem.patch({"op": "replace", "path": path, "value": cause.nearest}),),
            slot,
            Preference.CORRECT,
            corrects=True,
        )
    elif cause.absent and not cause.nearest:
        yield Candidate(
            "remove schedulerName from the pod, so that the default scheduler schedules it",
            (problem.patch(remove("spec", "schedulerName")),),
            slot,
            Preference.CORRECT,
        )


# -- claims --


@fix_once_for(Cause)
def release_shared_claim(problem: FixProblem) -> Iterator[Candidate]:
    """A claim that is allocated elsewhere, or used by too many pods: its users ended, or another claim."""
    node = text_at(problem.question.value, "spec", "nodeName")
    if node or any(isinstance(c, BindingPending) and c.driver for c in problem.causes):
        return  # it is this pod's, and in the right place
    for claim in problem.claims:
        if not claim.allocated:
            continue
        users = [
            text_at(c, "name")
            for c in maps_at(claim.value, "status", "reservedFor")
            if c.get("resource") == "pods"
        ]
        other_users = [
            f"{claim.key[0]}/{user}" for user in users if user != problem.question.key[1]
        ]
        if len(users) >= RESERVED_LIMIT:
            endings = (problem.owners.plan_ending([user]) for user in other_users)
            ending = next((e for e in endings if e is not None), None)
            if ending is not None:
                slot, effect = FixSlot(Topic.CLAIM, "reserved"), ending.effect
                yield Candidate(
                    ending.title,
                    ending.changes,
                    slot,
                    ending.preference,
                    effect=effect,
                    consequences=ending.deletions,
                )
            yield from _replace_shared_claim(problem, claim.name, claim.key[1], claim.value)
            continue
        slot = FixSlot(Topic.CLAIM, "unpin")
        if other_users:
            ending = problem.owners.plan_ending(other_users)
            if ending is not None:
                effect = "; ".join(
                    filter(None, (f"claim {claim.key[1]} is allocated again", ending.effect))
                )
                yield Candidate(
                    ending.title,
                    ending.changes,
                    slot,
                    ending.preference,
                    effect=effect,
                    consequences=ending.deletions,
                )
        else:
            why = "only this pod is to use it" if users else "no pod uses it"
            deallocate = (remove("status", "allocation"),)
            yield Candidate(
                f"deallocate claim {claim.full_name}",
                (Patch(f"ResourceClaim/{claim.full_name}", deallocate),),
                slot,
                Preference.RESTORE,
                effect=f"{why}; it is allocated again",
            )
        yield from _replace_shared_claim(problem, claim.name, claim.key[1], claim.value)


def _replace_shared_claim(
    problem: FixProblem, pod_claim: str, name: str, value: Mapping[str, Any] | None
) -> Iterator[Candidate]:
    """A claim of the pod's own, made from a template, instead of the shared one."""
    reference = problem.claim_reference(pod_claim)
    if reference is None or problem.pod is None:
        return
    template = f"own-{name}"
    manifest = {
        "apiVersion": (value or {}).get("apiVersion", _API_VERSION),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": template, "namespace": problem.question.key[0]},
        "spec": {"spec": at(value, "spec")},
    }
    new_entry = {"name": pod_claim, "resourceClaimTemplateName": template}
    change = replace(("spec", "resourceClaims", reference[0]), new_entry)
    yield Candidate(
        f"give the pod its own claim instead of the shared claim {name}",
        (Create(manifest), problem.patch(change)),
        FixSlot(Topic.CLAIM, "own"),
        Preference.ADAPT,
    )


@fix_for(NoConsumer)
def create_consumer(problem: FixProblem, _: NoConsumer) -> Iterator[Candidate]:
    """A pod for a claim that no pod uses."""
    namespace, name = problem.question.key
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"claims": [{"name": "claim"}]},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"use-{name}", "namespace": namespace},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "claim", "resourceClaimName": name}],
        },
    }
    yield Candidate(
        f"create a pod that uses claim {name}",
        (Create(pod),),
        FixSlot(Topic.CONSUMER),
        Preference.SUPPLY,
    )
