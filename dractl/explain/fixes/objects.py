"""Create or correct the objects that end the scheduler's attempt before it tries any node."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace as change_fields

from dractl.cluster.changes import Change, Create, Delete, Patch
from dractl.cluster.schedulers import group_name, queue_name, scheduler_of
from dractl.cluster.state import Key
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, correct, make_ending
from dractl.explain.fixes.edits import Path, put, remove, replace
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
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
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.phrases import join_clauses
from dractl.explain.reasons.schedulers import UnseenScheduler
from dractl.explain.reasons.scheduling import NoConsumer
from dractl.model.nearest import nearest
from dractl.scheduler.charges import CLAIM_COUNT
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.pre_bind import RESERVED_LIMIT
from dractl.scheduler.rejection import VolumeClaimFault
from dractl.views import Claim, View
from dractl.views.namespace import ADMIN_ACCESS_LABEL

_API_VERSION = "resource.k8s.io/v1"
_KUEUE_DOMAIN = "kueue.x-k8s.io/"
_KUEUE_LABEL = f"{_KUEUE_DOMAIN}queue-name"
_OLD_ADMIN_LABEL = "resource.k8s.io/admin-access"
_MAX_CLASSES = 4  # the maximum number of classes for which a claim is created
_MAX_DRIVERS = 2  # the maximum number of drivers for which a class is created
_RECREATION_EFFECT = (
    "the pod is recreated, since the claim controller retries only with growing delays"
)
_FIELD_BY_KIND = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
}
"""Fields of a pod's ``spec.resourceClaims``, by the kind of the object that they name."""


# -- references --


@fix_for(ClaimMissing, TemplateMissing)
def fix_reference(
    problem: FixProblem, cause: ClaimMissing | TemplateMissing
) -> Iterator[Candidate]:
    """Name the right claim or template, copy it from another namespace, or create a new one."""
    missing = _MissingReference.find(problem, cause)
    if missing is None:
        return
    is_other_kind = cause.is_template if isinstance(cause, ClaimMissing) else cause.is_claim
    if is_other_kind and problem.pod is not None:
        yield _rename_field(problem, missing)
        return
    if cause.nearest and problem.pod is not None:
        patch = problem.patch(replace((*missing.path, missing.field), cause.nearest))
        title = f"change {missing.field} {missing.name} to {cause.nearest}"
        yield correct(title, patch, FixSlot(Topic.NAME, missing.name))
    if cause.nearest and not cause.elsewhere:
        return  # the intended object exists, so nobody would create another
    for model_name in cause.elsewhere:
        yield _copy_object(problem, missing, model_name)
    yield from _create_for_class(problem, missing)


@fix_for(NodeFilter)
def fix_volume_claim(problem: FixProblem, cause: NodeFilter) -> Iterator[Candidate]:
    """Name the PersistentVolumeClaim that was probably meant."""
    for fault in cause.unmet:
        if not isinstance(fault, VolumeClaimFault):
            continue
        namespace, _, name = fault.claim.partition("/")
        volume_claims = problem.state.objects("PersistentVolumeClaim")
        names = [other for space, other in volume_claims if space == namespace]
        meant = None if name in names else nearest(name, names)
        operations = [
            replace(("spec", "volumes", index, "persistentVolumeClaim", "claimName"), meant)
            for index, claim in enumerate(problem.question.pod.volume_claim_names)
            if claim == name
        ]
        if meant and operations and problem.pod is not None:
            title = f"change claimName {name} to {meant}"
            yield correct(title, problem.patch(*operations), FixSlot(Topic.NAME, name))


class _MissingReference(Struct, frozen=True):
    """A reference of a pod to a claim or template that does not exist."""

    kind: str
    """The kind of the object."""
    namespace: str
    """The namespace of the object, and of the pod."""
    name: str
    """The name of the object."""
    pod_claim: str
    """The name of the entry in ``spec.resourceClaims``."""
    entry: Mapping[str, Any]
    """The entry."""
    path: Path
    """The path of the entry."""

    @classmethod
    def find(cls, problem: FixProblem, cause: ClaimMissing | TemplateMissing) -> Self | None:
        """Return the reference of a cause; None for a generated claim, since no pod names it."""
        is_template = isinstance(cause, TemplateMissing)
        kind = "ResourceClaimTemplate" if is_template else "ResourceClaim"
        full_name = cause.template if isinstance(cause, TemplateMissing) else cause.claim
        reference = problem.claim_reference(cause.pod_claim)
        if full_name is None or cause.pod_claim is None or reference is None:
            return None
        index, entry = reference
        namespace, _, name = full_name.partition("/")
        path = ("spec", "resourceClaims", index)
        missing = cls(kind, namespace, name, cause.pod_claim, entry, path)
        return missing if missing.field in entry else None

    @property
    def field(self) -> str:
        """The field that names the object."""
        return _FIELD_BY_KIND[self.kind]

    @property
    def noun(self) -> str:
        """The word for the object in titles."""
        return "claim" if self.kind == "ResourceClaim" else "template"

    def manifest(self, api_version: str, spec: Any) -> dict[str, Any]:
        """Return a manifest of the object with a spec."""
        return {
            "apiVersion": api_version,
            "kind": self.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }


def _rename_field(problem: FixProblem, missing: _MissingReference) -> Candidate:
    """Move the name to the field for the kind of object that has it: a claim, or a template."""
    kind = next(kind for kind in _FIELD_BY_KIND if kind != missing.kind)
    field = _FIELD_BY_KIND[kind]
    kept = {key: value for key, value in missing.entry.items() if key != missing.field}
    return correct(
        f"name {missing.name} by {field} instead of {missing.field}",
        problem.patch(replace(missing.path, {**kept, field: missing.name})),
        FixSlot(Topic.NAME, missing.name),
        f"{missing.name} is a {kind}",
    )


def _copy_object(problem: FixProblem, missing: _MissingReference, model_name: str) -> Candidate:
    """Copy an object of the same name from another namespace."""
    key = (model_name.partition("/")[0], missing.name)
    model = problem.state.get(missing.kind, key)
    api_version = (model or {}).get("apiVersion", _API_VERSION)
    return Candidate(
        f"create {missing.noun} {missing.namespace}/{missing.name} as a copy of {model_name}",
        (Create(missing.manifest(api_version, (model or {}).get("spec"))),),
        FixSlot(Topic.CREATION, missing.name),
        Preference.SUPPLY,
    )


def _create_for_class(problem: FixProblem, missing: _MissingReference) -> Iterator[Candidate]:
    """Create a claim for one device of a class whose name resembles the claim's."""
    words = [
        word
        for word in re.split(r"[^a-z0-9]+", f"{missing.pod_claim} {missing.name}".lower())
        if len(word) > 1 and not word.isdigit()
    ]

    def similarity(device_class: str) -> int:
        return max((len(word) for word in words if word in device_class.lower()), default=0)

    names = sorted(name for _, name in problem.state.objects("DeviceClass"))
    names.sort(key=similarity, reverse=True)
    for position, device_class in enumerate(names[:_MAX_CLASSES]):
        exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": 1}
        request = {"name": missing.pod_claim, "exactly": exactly}
        spec: dict[str, Any] = {"devices": {"requests": [request]}}
        if missing.kind == "ResourceClaimTemplate":
            spec = {"spec": spec}
        yield Candidate(
            f"create {missing.noun} {missing.namespace}/{missing.name}, "
            f"for example for one {device_class}",
            (Create(missing.manifest(_API_VERSION, spec)),),
            FixSlot(Topic.CREATION, missing.name),
            Preference.SUPPLY,
            effect="ask for what the pod really needs",
            degree=position + 1,
        )


@fix_once_for(ClaimMissing, TemplateMissing)
def create_all_references(problem: FixProblem) -> Iterator[Candidate]:
    """Create all missing claims and templates at once, from the first candidate for each."""
    creations = [
        candidate
        for cause in problem.causes
        if isinstance(cause, ClaimMissing | TemplateMissing)
        for candidate in fix_reference(problem, cause)
        if isinstance(candidate.changes[0], Create)
    ]
    first_by_slot = {candidate.slot: candidate for candidate in reversed(creations)}
    if len(first_by_slot) > 1:
        yield Candidate(
            " and ".join(candidate.title for candidate in first_by_slot.values()),
            tuple(candidate.changes[0] for candidate in first_by_slot.values()),
            FixSlot(Topic.CREATION),
            Preference.SUPPLY,
        )


@fix_for(ClaimNotOwned)
def delete_old_claim(_: FixProblem, cause: ClaimNotOwned) -> Iterator[Candidate]:
    """Delete the claim of an earlier pod of the same name, so that this pod gets its own."""
    if cause.claim:
        title = f"delete claim {cause.claim} of the earlier pod"
        change = Delete(f"ResourceClaim/{cause.claim}")
        yield Candidate(title, (change,), FixSlot(Topic.CLAIM, cause.claim), Preference.RESTORE)


@fix_for(ClassMissing)
def create_class(problem: FixProblem, cause: ClassMissing) -> Iterator[Candidate]:
    """Create a class that was not installed, for the driver that it is named after."""
    name = cause.device_class
    if name is None or cause.nearest:
        return
    if cause.driver:
        yield from _create_driver_class(problem, cause)
        return
    drivers = sorted(driver for driver in problem.case.drivers if driver in name or name in driver)
    for driver in drivers[:_MAX_DRIVERS]:
        expression = f"device.driver == '{driver}'"
        device_type = name.partition(".")[0]
        if device_type in _find_device_types(problem, driver):
            expression += f" && device.attributes['{driver}'].type == '{device_type}'"
        manifest = {
            "apiVersion": _API_VERSION,
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
        yield _class_creation(name, driver, manifest)


def _find_device_types(problem: FixProblem, driver: str) -> set[str]:
    """Return the values of the attribute ``type`` of a driver's devices."""
    attributes = (
        device.attributes.get("type") or device.attributes.get(f"{driver}/type")
        for resource_slice in problem.scheduler.slices
        if resource_slice.spec.driver == driver
        for device in resource_slice.spec.devices
    )
    return {str(attribute.value) for attribute in attributes if attribute is not None}


def _class_creation(name: str, driver: str, manifest: Mapping[str, Any]) -> Candidate:
    """Return a candidate that creates a class from a manifest."""
    return Candidate(
        f"create DeviceClass {name} for driver {driver}",
        (Create(manifest),),
        FixSlot(Topic.CLASS, name),
        Preference.SUPPLY,
        effect="or install it with the driver's chart",
    )


def _create_driver_class(problem: FixProblem, cause: ClassMissing) -> Iterator[Candidate]:
    """Create the class as its driver installs it, if the driver publishes devices."""
    from dractl.drivers.classes import find_installed_class
    from dractl.model import Target

    name = cause.device_class or ""
    installed_class = find_installed_class(name, Target.of(problem.scheduler.features.release))
    if installed_class is not None and not cause.silent:
        yield _class_creation(name, cause.driver or "", dict(installed_class[1]))


# -- admission and gates --


@fix_for(AdminAccessNamespace)
def label_namespace(problem: FixProblem, cause: AdminAccessNamespace) -> Iterator[Candidate]:
    """Label a namespace for adminAccess."""
    value = problem.state.get("Namespace", ("", cause.namespace))
    path = ("metadata", "labels", ADMIN_ACCESS_LABEL)
    labelling = Patch(f"Namespace/{cause.namespace}", (put(value, path, "true"),))
    old_label = ""
    if View(value).labels.get(_OLD_ADMIN_LABEL):
        old_label = f"it has the label of Kubernetes 1.32, {_OLD_ADMIN_LABEL}"
        old_label += ", which is no longer read"
    recreation = recreate_subject(problem) if View(problem.pod).uid else ()
    recreation_effect = _RECREATION_EFFECT if recreation else ""
    yield Candidate(
        f"label namespace {cause.namespace} with {ADMIN_ACCESS_LABEL}=true",
        (labelling, *recreation),
        FixSlot(Topic.NAMESPACE),
        Preference.POLICY,
        effect=join_clauses("if this namespace may use adminAccess", old_label, recreation_effect),
        consequences=(labelling,) if recreation else (),
    )


@fix_for(QuotaExceeded)
def fix_quota(problem: FixProblem, cause: QuotaExceeded) -> Iterator[Candidate]:
    """Raise a quota, or remove a claim from the namespace."""
    # kube-scheduler itself retries the claim for extended resources, which is not among the pod's
    # claims.
    waits_for_controller = problem.pod is not None and cause.pod_claim is not None
    recreation = recreate_subject(problem) if waits_for_controller else ()
    effect = _RECREATION_EFFECT if recreation else ""
    change = replace(("spec", "hard", cause.resource), str(cause.want))
    raised_quota = Patch(f"ResourceQuota/{cause.quota_name}", (change,))
    noun = "claims" if cause.resource == CLAIM_COUNT else cause.resource
    if cause.device_class:
        noun = "devices"
    yield Candidate(
        f"raise quota {cause.quota_name} from {cause.have} to {cause.want} {noun}",
        (raised_quota, *recreation),
        FixSlot(Topic.QUOTA),
        Preference.POLICY,
        effect=effect,
        consequences=(raised_quota,),
    )
    namespace = problem.question.key[0]
    for key, claim in problem.state.claims.items():
        if key[0] == namespace:
            yield from _remove_claim(problem, key, claim, recreation)


def _remove_claim(
    problem: FixProblem, key: Key, claim: Claim, recreation: tuple[Change, ...]
) -> Iterator[Candidate]:
    """Remove a claim from the namespace: end the pod that owns it, or delete an unused claim."""
    effect = _RECREATION_EFFECT if recreation else ""
    slot = FixSlot(Topic.QUOTA, "end")
    users = [consumer.name for consumer in claim.consumers]
    is_owned = bool(claim.owners)
    ending = problem.owners.plan_ending([f"{key[0]}/{users[0]}"]) if users and is_owned else None
    if ending is not None:
        yield make_ending(ending, slot, join_clauses(ending.effect, effect), recreation)
    elif not users:
        deletion = Delete(f"ResourceClaim/{'/'.join(key)}")
        yield Candidate(
            f"delete claim {'/'.join(key)}, which nobody uses",
            (deletion, *recreation),
            slot,
            Preference.IDLE,
            effect=effect,
            consequences=(deletion,),
        )


@fix_for(SchedulingGated)
def open_gates(problem: FixProblem, cause: SchedulingGated) -> Iterator[Candidate]:
    """Wait for the owner of the scheduling gates, or remove gates that a person wrote."""
    if problem.pod is None:
        return
    removal = problem.patch(remove(("spec", "schedulingGates")))
    owner = _gate_owner(problem, cause.gates)
    wait = Candidate(
        "wait until the owner of the scheduling gates removes them",
        (),
        FixSlot(Topic.GATES),
        Preference.AGAIN,
        effect=owner,
        consequences=(removal,),
        corrects=True,
    )
    if all(gate.startswith(_KUEUE_DOMAIN) for gate in cause.gates):
        yield wait
        return
    noun, pronoun = ("gates", "them") if len(cause.gates) > 1 else ("gate", "it")
    yield Candidate(
        f"remove scheduling {noun} {', '.join(cause.gates)} from the pod",
        (removal,),
        FixSlot(Topic.GATES, "removal"),
        Preference.CORRECT,
        effect=join_clauses(f"only if the owner agrees, which normally removes {pronoun}", owner),
    )
    yield wait


def _gate_owner(problem: FixProblem, gates: tuple[str, ...]) -> str:
    """Return the owner of scheduling gates, if the pod or its workload names it.

    The owner is the queue for Kueue, and otherwise the domain of the gate.
    """
    for value in (problem.pod, problem.workload):
        view = View(value)
        queue = view.local_queue or view.annotations.get(_KUEUE_LABEL)
        if queue and any(gate.startswith(_KUEUE_DOMAIN) for gate in gates):
            return (
                f"Kueue does, when LocalQueue {problem.question.key[0]}/{queue} admits its Workload"
            )
    controllers = dict.fromkeys(gate.partition("/")[0] for gate in gates if "/" in gate)
    return f"the controller of {', '.join(controllers)} does" if controllers else ""


@fix_for(UnseenScheduler)
def fix_scheduler_name(problem: FixProblem, cause: UnseenScheduler) -> Iterator[Candidate]:
    """Start a known scheduler, correct a misspelt name, or use the default scheduler.

    The default scheduler can replace a scheduler that does not run. A pod that names a group or
    queue stays with its scheduler, since no other one knows them.
    """
    slot = FixSlot(Topic.SCHEDULER)
    is_named = problem.pod is not None and "schedulerName" in View(problem.pod).spec
    removal = problem.patch(remove(("spec", "schedulerName")))
    use_default = Candidate(
        "remove schedulerName from the pod, so that the default scheduler schedules it",
        (removal,),
        slot,
        Preference.CORRECT if cause.absent else Preference.ADMIT,
    )
    if cause.title:
        if is_named and cause.takes_claims and not _is_grouped(problem):
            is_stopped = "" if cause.absent else f"{cause.title} does not run and "
            condition = (
                f"only if {is_stopped}the pod does not need {cause.title}: it names no group or"
                " queue of that scheduler"
            )
            yield change_fields(use_default, effect=condition)
        if cause.takes_claims:
            title = f"start {cause.title}" + ("" if cause.absent else ", unless it runs")
            start = FixSlot(Topic.SCHEDULER, "start")
            yield Candidate(title, (), start, Preference.REPAIR, consequences=(removal,))
        return
    if not is_named:
        return
    if cause.nearest and cause.nearest_runs:
        patch = problem.patch(replace(("spec", "schedulerName"), cause.nearest))
        yield correct(f"change schedulerName {cause.plugin} to {cause.nearest}", patch, slot)
    elif cause.absent and not cause.nearest:
        yield use_default


def _is_grouped(problem: FixProblem) -> bool:
    """Return whether a pod names a group or a queue, which only its own scheduler knows."""
    pod = problem.case.pod
    facts = scheduler_of(problem.state, problem.question.value, problem.question.key).facts
    return bool(group_name(pod, facts) or queue_name(pod, facts))


# -- claims --


@fix_once_for(Cause)
def release_shared_claim(problem: FixProblem) -> Iterator[Candidate]:
    """Release or replace a claim that is allocated on the wrong node or has too many users."""
    node = problem.question.pod.node_name
    if node or any(isinstance(c, BindingPending) and c.driver for c in problem.causes):
        return  # only this pod uses the claim, and it is allocated on the right node
    for claim in problem.claims:
        if not claim.allocated:
            continue
        users = Claim(claim.value).consumer_pods
        others = (user for user in users if user != problem.question.key[1])
        other_users = [f"{claim.key[0]}/{user}" for user in others]
        if len(users) >= RESERVED_LIMIT:
            yield from _end_users(problem, [[user] for user in other_users], "reserved")
        elif other_users:
            effect = f"claim {claim.key[1]} is allocated again"
            yield from _end_users(problem, [other_users], "unpin", effect)
        else:
            yield _deallocate(claim, is_reserved=bool(users))
        yield from _replace_shared_claim(problem, claim.name, claim.key[1], claim.value)


def _end_users(
    problem: FixProblem, choices: Sequence[Sequence[str]], aspect: str, effect: str = ""
) -> Iterator[Candidate]:
    """End the first group of a claim's users that can end."""
    endings = (problem.owners.plan_ending(users) for users in choices)
    ending = next((ending for ending in endings if ending is not None), None)
    if ending is not None:
        slot = FixSlot(Topic.CLAIM, aspect)
        yield make_ending(ending, slot, join_clauses(effect, ending.effect))


def _deallocate(claim: PodClaim, *, is_reserved: bool) -> Candidate:
    """Deallocate a claim that no other pod uses."""
    reason = "only this pod is to use it" if is_reserved else "no pod uses it"
    deallocation = Patch(f"ResourceClaim/{claim.full_name}", (remove(("status", "allocation")),))
    return Candidate(
        f"deallocate claim {claim.full_name}",
        (deallocation,),
        FixSlot(Topic.CLAIM, "unpin"),
        Preference.RESTORE,
        effect=f"{reason}; it is allocated again",
    )


def _replace_shared_claim(
    problem: FixProblem, pod_claim: str, name: str, value: Mapping[str, Any] | None
) -> Iterator[Candidate]:
    """Give the pod a claim of its own, made from a template, instead of the shared one."""
    reference = problem.claim_reference(pod_claim)
    if reference is None or problem.pod is None:
        return
    template = f"own-{name}"
    manifest = {
        "apiVersion": (value or {}).get("apiVersion", _API_VERSION),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": template, "namespace": problem.question.key[0]},
        "spec": {"spec": (value or {}).get("spec")},
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
    """Create a pod for a claim that no pod uses."""
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
