"""The subjects to explain: named ones, as kubectl takes names, or everything that waits for
devices.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.kinds import KINDS_BY_WORD, object_not_found, resolve_kind
from dractl.cluster.labels import LabelQuery
from dractl.cluster.pods import pods_using_claim
from dractl.cluster.start_failures import lacks_devices
from dractl.cluster.state import API_GROUPS, ClusterState, Key, at
from dractl.cluster.workloads import (
    count_missing_pods,
    pods_of_workload,
    with_volumes,
    workloads_with_refusals,
)
from dractl.errors import InputError, UsageError
from dractl.facts.resources import drivers_of
from dractl.model import pod_templates
from dractl.model.abbreviation import abbreviate as some
from dractl.objects import IMPLICIT_PREFIX, Raw
from dractl.program import program_name
from dractl.properties import cached_property
from dractl.scheduler.claims import EditableSpec, PodClaim
from dractl.scheduler.extended import classes_by_resource
from dractl.views import Claim, Pod, View, Workload
from dractl.views.claim_template import ClaimTemplate

CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
_KINDS_HINT = "kinds: pod, claim, template, deploy, sts, ds, rs, job, cronjob, node"


class Question(Struct, frozen=True, dict=True):
    """One subject."""

    kind: str
    key: Key
    value: Raw
    """The object; for a workload without pods, the pod that its template would make."""

    @cached_property
    def view(self) -> View:
        """The object, with the fields that all kinds have."""
        return View(self.value)

    @cached_property
    def pod(self) -> Pod:
        """The object as a pod; a claim does not have a pod's fields."""
        return Pod(self.value)


class Address(Struct, frozen=True):
    """The name of an object as a user writes it."""

    word: str | None
    """The word for its kind; None if the address has none."""
    name: str
    namespace: str | None
    """The namespace in the address, else the current one; None means every namespace."""


def parse_address(
    state: ClusterState, text: str, namespace: str | None, kinds: Mapping[str, str]
) -> Address:
    """Parse ``NAME`` and ``KIND/NAME``, and the forms that dractl prints: ``NAMESPACE/NAME`` and
    ``KIND/NAMESPACE/NAME``.
    """
    first, *others = text.split("/")
    if not all((first, *others)):
        raise UsageError(
            f"{text} names no object", hint="write NAME, or KIND/NAME such as pod/train-0"
        )
    if not others:
        return Address(None, text, namespace)
    if len(others) == 2:
        return Address(first, others[1], others[0])
    is_kind = first.lower() in KINDS_BY_WORD or first.lower() in kinds
    if not is_kind and any(
        key[0] == first for kind in ("Pod", "ResourceClaim") for key in state.objects(kind)
    ):
        return Address(None, others[0], first)
    return Address(first, "/".join(others), namespace)


def find_subjects(
    state: ClusterState,
    text: str,
    namespace: str | None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> list[Question]:
    """Return the subjects that ``NAME`` or ``KIND/NAME`` means.

    ``kinds`` maps further words for kinds, as a cluster knows them. Raises UsageError for an
    unknown kind, InputError if no such object exists.
    """
    address = parse_address(state, text, namespace, kinds)
    word, name, namespace = address.word, address.name, address.namespace
    if word is None:
        matches = _match_name(state, "Pod", name, namespace) or _match_name(
            state, "ResourceClaim", name, namespace
        )
        if not matches:
            raise object_not_found(state, ("Pod", "ResourceClaim"), name, namespace)
        return matches
    kind = resolve_kind(state, word, kinds, _KINDS_HINT)
    matches = _match_name(state, kind, name, namespace)
    if matches and kind in API_GROUPS:
        return matches
    pods = [q for workload in matches for q in _pods_of(state, workload)]
    if not matches and kind not in API_GROUPS:  # the input can be a dump of pods without their Jobs
        namespaces = dict.fromkeys(
            key[0] for key in state.objects("Pod") if namespace in (None, key[0])
        )
        pods = _prefer_pending(
            [q for other in namespaces for q in _pods_of_owner(state, kind, (other, name))]
        )
    if not pods and matches:
        raise _no_pods_error(state, matches[0])
    if not pods:
        raise object_not_found(state, (kind,), name, namespace)
    return pods


def _no_pods_error(state: ClusterState, subject: Question) -> InputError:
    """Return the error for an object without pods and without a pod template.

    A PodGroup names no pods: the pods name their group in ``spec.schedulingGroup`` (kubernetes,
    staging/src/k8s.io/api/core/v1/types.go, PodSchedulingGroup).
    """
    namespace, name = subject.key
    hint = (
        f"its pods have schedulingGroup.podGroupName: {name}"
        if subject.kind == "PodGroup"
        else None
    )
    place = "" if state.shows("Pod", namespace) else " in the input"
    return InputError(
        f"{subject.kind.lower()} {name} in namespace {namespace} has no pods{place}", hint=hint
    )


def find_by_labels(
    state: ClusterState,
    words: Sequence[str],
    selector: LabelQuery,
    namespace: str | None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> list[Question]:
    """Return the subjects whose labels match a selector, of the kinds that ``words`` name (by
    default pods).

    Only pods and claims that are pending count. Raises UsageError for an unknown kind or a name,
    InputError if nothing has the labels.
    """
    names = [word for word in words if "/" in word]
    if names:
        raise UsageError(
            f"a name and -l exclude each other: {names[0]}",
            hint=f"{program_name()} explain pods -l app=web",
        )
    kinds_to_search = [resolve_kind(state, word, kinds, _KINDS_HINT) for word in words] or ["Pod"]
    matches = [
        Question(kind, key, value)
        for kind in kinds_to_search
        for key, value in state.objects(kind).items()
        if (not key[0] or _is_in_namespace(namespace, key)) and selector.matches(View(value).labels)
    ]
    if not matches:
        place = f" in namespace {namespace}" if namespace else ""
        raise InputError(
            f"no {' or '.join(kind.lower() for kind in kinds_to_search)} has these labels{place}",
            hint=_labels_hint(state, kinds_to_search),
        )
    subjects: list[Question] = []
    for question in matches:
        if question.kind not in API_GROUPS:
            subjects += _pods_of(state, question)
        elif question.kind not in ("Pod", "ResourceClaim") or _is_pending(question):
            subjects.append(question)
    return list({(q.kind, q.key): q for q in subjects}.values())


def _labels_hint(state: ClusterState, kinds: Iterable[str]) -> str:
    labels = (View(value).labels for kind in kinds for value in state.objects(kind).values())
    present = sorted({f"{name}={value}" for mapping in labels for name, value in mapping.items()})
    return f"labels: {some(present, 5)}" if present else "none of them has labels"


def _is_pending(question: Question) -> bool:
    if question.kind == "Pod":
        return question.pod.is_pending
    return not Claim(question.value).is_allocated


def _match_name(state: ClusterState, kind: str, name: str, namespace: str | None) -> list[Question]:
    return [
        Question(kind, key, value)
        for key, value in state.objects(kind).items()
        if key[1] == name and (namespace is None or not key[0] or key[0] == namespace)
    ]


def _pods_of(state: ClusterState, workload: Question) -> Iterator[Question]:
    """Yield the pending pods of a workload.

    If the workload has no pods, or cannot create some, the pod that its template makes comes first.
    """
    owned = _prefer_pending(_pods_of_owner(state, workload.kind, workload.key))
    if count_missing_pods(state, workload.kind, workload.key) or not owned:
        yield from (replace(made, kind=workload.kind) for made in pods_from_templates(workload))
    yield from owned


def _prefer_pending(pods: list[Question]) -> list[Question]:
    """Return the pending pods, or all pods if none is pending."""
    return [question for question in pods if question.pod.is_pending] or pods


def _pods_of_owner(state: ClusterState, kind: str, key: Key) -> list[Question]:
    return [Question("Pod", pod_key, pod) for pod_key, pod in pods_of_workload(state, kind, key)]


def pods_from_templates(workload: Question) -> Iterator[Question]:
    """Yield a pod of each template of a workload."""
    for path, spec in pod_templates(dict(workload.value)):
        template: Any = workload.value
        for part in path[:-1]:
            template = at(template, part)
        namespace, name = workload.key
        metadata = {**Workload(template).metadata, "name": name, "namespace": namespace}
        metadata.pop("uid", None)
        pod: Raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        if workload.kind == "StatefulSet":
            replica = f"{name}-{Workload(workload.value).first_ordinal}"
            pod = {
                **with_volumes(workload.value, {**pod, "metadata": {"name": replica}}),
                "metadata": metadata,
            }
        yield Question("Pod", workload.key, pod)


def find_all_waiting(
    state: ClusterState, namespace: str | None, within: ClusterState | None = None
) -> list[Question]:
    """Return every subject that waits for devices.

    Such subjects are pending pods that DRA concerns, pods that have lost their devices, unallocated
    claims that these pods do not use,
    workloads whose pods are refused, and workloads of manifests without pods. If ``within`` is
    given, only its objects count.
    """
    files = state if within is None else within
    pods = [
        *_pods_that_wait(state, files, namespace),
        *_workloads_without_pods(state, files, namespace),
    ]
    used = {(q.key[0], name) for q in pods for name in q.pod.claim_names}
    subjects = [*pods, *_claims_that_wait(state, files, namespace, used)]
    return subjects or [
        Question("ResourceClaimTemplate", key, value)
        for key, value in files.objects("ResourceClaimTemplate").items()
        if _is_in_namespace(namespace, key) and not View(value).uid
    ]


def _pods_that_wait(
    state: ClusterState, files: ClusterState, namespace: str | None
) -> Iterator[Question]:
    """Yield pods that DRA concerns and that are pending, or wait on their node for devices. The
    latter may have run before.
    """
    resources = classes_by_resource(state.classes)
    drivers = {item.spec.driver for item in state.slices}
    for key, pod in files.pods.items():
        if not _is_in_namespace(namespace, key) or not _concerns_dra(pod, resources, drivers):
            continue
        if pod.is_pending or pod.phase == "Pending" or lacks_devices(state, pod):
            yield Question("Pod", key, pod.raw)


def _workloads_without_pods(
    state: ClusterState, files: ClusterState, namespace: str | None
) -> Iterator[Question]:
    """Yield the pods that workloads would create: refused pods, and pods of manifests."""
    resources = classes_by_resource(state.classes)
    refused = workloads_with_refusals(state)
    for kind in files.kinds:
        for key, value in files.objects(kind).items() if kind not in API_GROUPS else ():
            if not _is_in_namespace(namespace, key):
                continue
            if View(value).uid:
                # The pods of a workload in a cluster exist already, unless the API server refuses
                # them.
                if (kind, key) not in refused or not count_missing_pods(state, kind, key):
                    continue
            elif any(pods_of_workload(state, kind, key)):
                continue
            for pod in pods_from_templates(Question(kind, key, value)):
                if _concerns_dra(pod.pod, resources):
                    yield Question(kind, key, pod.value)


def _claims_that_wait(
    state: ClusterState, files: ClusterState, namespace: str | None, used: Container[Key]
) -> Iterator[Question]:
    """Yield unallocated claims that are not ``used`` by a waiting pod.

    A claim that was created for a pod is left out: it is deleted soon after the pod.
    """
    for key, claim in files.claims.items():
        if not _is_in_namespace(namespace, key) or key in used or claim.is_allocated:
            continue
        if not (claim.owner_pods and state.shows("Pod", key[0])):
            yield Question("ResourceClaim", key, claim.raw)


def _concerns_dra(
    pod: Pod, resources: Container[str], published: AbstractSet[str] = frozenset()
) -> bool:
    """Return True if a pod has claims or wants an extended resource that DRA provides.

    DRA provides a resource if ``resources`` has it, or if it is the implicit resource of a class.
    Resources of the ``published`` drivers count, too, even if no class maps them.
    """
    if pod.claim_references:
        return True
    return any(
        name in resources
        or name.startswith(IMPLICIT_PREFIX)
        or not published.isdisjoint(drivers_of(name))
        for name in pod.extended_requests
    )


def _is_in_namespace(namespace: str | None, key: Key) -> bool:
    return namespace is None or key[0] == namespace


def claim_question(state: ClusterState, question: Question) -> PodClaim:
    """Return a claim, or the claim that a template would make, as the scheduler allocates it."""
    namespace, name = question.key
    target = f"{question.kind}/{namespace}/{name}"
    if question.kind == "ResourceClaim":
        return PodClaim(
            "",
            question.key,
            question.value,
            state.decode(question.value),
            None,
            EditableSpec(target, ("spec",)),
        )
    claim = {
        "apiVersion": question.value.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": ClaimTemplate(question.value).claim_spec,
    }
    editable = EditableSpec(target, ("spec", "spec"))
    return PodClaim("", question.key, claim, state.decode(claim), name, editable)


def pods_using(state: ClusterState, claim: Key) -> list[Question]:
    return [
        Question("Pod", (claim[0], pod.name), pod.raw) for pod in pods_using_claim(state, claim)
    ]
