"""The subjects to explain: those that are named, as kubectl takes names, or everything that waits for devices."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import IMPLICIT_PREFIX
from dractl.cluster.kinds import KINDS, kind_of, not_found
from dractl.cluster.labels import LabelQuery
from dractl.cluster.pods import consumers, is_pending
from dractl.cluster.state import (
    GROUPS,
    ClusterState,
    Key,
    at,
    map_at,
    maps_at,
    owning_pods,
    text_at,
)
from dractl.cluster.workloads import missing_pods, owned_pods, refused_owners, with_volumes
from dractl.errors import InputError, UsageError
from dractl.explain.reasons.phrases import first as some
from dractl.facts.resources import drivers_of
from dractl.model import pod_templates
from dractl.objects import Raw
from dractl.program import program_name
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import provided
from dractl.views import Pod

CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
_KINDS = "kinds: pod, claim, template, deploy, sts, ds, rs, job, cronjob, node"


class Question(Struct, frozen=True):
    """One subject. ``value`` is the object; of a workload without pods, the pod that its template would make."""

    kind: str
    key: Key
    value: Raw


def address(
    state: ClusterState, text: str, namespace: str | None, kinds: Mapping[str, str]
) -> tuple[str | None, str, str | None]:
    """The word for a kind (None: not said), the name and the namespace of ``NAME`` and ``KIND/NAME``, and of what our
    own answers print: ``NAMESPACE/NAME`` and ``KIND/NAMESPACE/NAME``."""
    first, *rest = text.split("/")
    if not all((first, *rest)):
        raise UsageError(
            f"{text} names no object", hint="write NAME, or KIND/NAME such as pod/train-0"
        )
    if not rest:
        return None, text, namespace
    if len(rest) == 2:
        return first, rest[1], rest[0]
    is_kind = first.lower() in KINDS or first.lower() in kinds
    if not is_kind and any(
        key[0] == first for kind in ("Pod", "ResourceClaim") for key in state.all(kind)
    ):
        return None, rest[0], first
    return first, "/".join(rest), namespace


def find(
    state: ClusterState,
    text: str,
    namespace: str | None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> list[Question]:
    """The subjects that ``NAME`` or ``KIND/NAME`` means; ``kinds`` are further words for kinds, as a cluster knows
    them. Raises UsageError for an unknown kind, InputError if no such object exists."""
    word, name, namespace = address(state, text, namespace, kinds)
    if word is None:
        found = _named(state, "Pod", name, namespace) or _named(
            state, "ResourceClaim", name, namespace
        )
        if not found:
            raise not_found(state, ("Pod", "ResourceClaim"), name, namespace)
        return found
    kind = kind_of(state, word, kinds, _KINDS)
    found = _named(state, kind, name, namespace)
    if found and kind in GROUPS:
        return found
    pods = [q for workload in found for q in _pods_of(state, workload)]
    if not found and kind not in GROUPS:  # a dump of pods without their Jobs
        where = dict.fromkeys(key[0] for key in state.all("Pod") if namespace in (None, key[0]))
        pods = _pending_first([q for space in where for q in _owned(state, kind, (space, name))])
    if not pods:
        raise not_found(state, (kind,), name, namespace)
    return pods


def labelled(
    state: ClusterState,
    words: Sequence[str],
    selector: LabelQuery,
    namespace: str | None,
    kinds: Mapping[str, str] = MappingProxyType({}),
) -> list[Question]:
    """The subjects of the kinds that ``words`` name (pods if there are none) whose labels a selector wants: of pods and
    claims those that wait. Raises UsageError for an unknown kind or a name, InputError if nothing has the labels."""
    named = [word for word in words if "/" in word]
    if named:
        raise UsageError(
            f"a name and -l exclude each other: {named[0]}",
            hint=f"{program_name()} explain pods -l app=web",
        )
    asked = [kind_of(state, word, kinds, _KINDS) for word in words] or ["Pod"]
    found = [
        Question(kind, key, value)
        for kind in asked
        for key, value in state.all(kind).items()
        if (not key[0] or _in(namespace, key))
        and selector.matches(map_at(value, "metadata", "labels"))
    ]
    if not found:
        where = f" in namespace {namespace}" if namespace else ""
        raise InputError(
            f"no {' or '.join(kind.lower() for kind in asked)} has these labels{where}",
            hint=_labels(state, asked),
        )
    subjects: list[Question] = []
    for question in found:
        if question.kind not in GROUPS:
            subjects += _pods_of(state, question)
        elif question.kind not in ("Pod", "ResourceClaim") or _waits(question):
            subjects.append(question)
    return list({(q.kind, q.key): q for q in subjects}.values())


def _labels(state: ClusterState, kinds: Iterable[str]) -> str:
    labels = (
        map_at(value, "metadata", "labels") for kind in kinds for value in state.all(kind).values()
    )
    there = sorted({f"{name}={value}" for own in labels for name, value in own.items()})
    return f"labels: {some(there, 5)}" if there else "none of them has labels"


def _waits(question: Question) -> bool:
    if question.kind == "Pod":
        return is_pending(question.value)
    return not map_at(question.value, "status", "allocation")


def _named(state: ClusterState, kind: str, name: str, namespace: str | None) -> list[Question]:
    return [
        Question(kind, key, value)
        for key, value in state.all(kind).items()
        if key[1] == name and (namespace is None or not key[0] or key[0] == namespace)
    ]


def _pods_of(state: ClusterState, workload: Question) -> Iterator[Question]:
    """The pending pods of a workload; where it has none at all, or cannot create some, the pod that it would make."""
    owned = _pending_first(_owned(state, workload.kind, workload.key))
    if missing_pods(state, workload.kind, workload.key, workload.value) or not owned:
        yield from (replace(made, kind=workload.kind) for made in made_pods(workload))
    yield from owned


def _pending_first(pods: list[Question]) -> list[Question]:
    """The pods that are pending, or all if none is."""
    return [pod for pod in pods if is_pending(pod.value)] or pods


def _owned(state: ClusterState, kind: str, key: Key) -> list[Question]:
    return [Question("Pod", pod_key, pod) for pod_key, pod in owned_pods(state, kind, key)]


def made_pods(workload: Question) -> Iterator[Question]:
    """A pod of each template of a workload."""
    for path, spec in pod_templates(dict(workload.value)):
        template: Any = workload.value
        for part in path[:-1]:
            template = at(template, part)
        namespace, name = workload.key
        metadata = {**map_at(template, "metadata"), "name": name, "namespace": namespace}
        metadata.pop("uid", None)
        pod: Raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        if workload.kind == "StatefulSet":
            replica = f"{name}-{at(workload.value, 'spec', 'ordinals', 'start') or 0}"
            pod = {
                **with_volumes(workload.value, {**pod, "metadata": {"name": replica}}),
                "metadata": metadata,
            }
        yield Question("Pod", workload.key, pod)


def everything(
    state: ClusterState, namespace: str | None, within: ClusterState | None = None
) -> list[Question]:
    """Every pending pod that DRA concerns, every unallocated claim that none of these uses, workloads whose pods are
    refused, and workloads of manifests whose pods do not exist yet. ``within``: only objects that are there too."""
    named = provided(state.classes)
    published = {text_at(value, "spec", "driver") for value in state.all("ResourceSlice").values()}
    refused = refused_owners(state)
    files = state if within is None else within
    found: list[Question] = []
    used: set[Key] = set()
    for key, pod in files.all("Pod").items():
        waits = (
            is_pending(pod) or text_at(pod, "status", "phase") == "Pending"
        )  # also on its node, for its devices
        if waits and _in(namespace, key) and _concerned(pod, named, published):
            found.append(Question("Pod", key, pod))
            used |= set(_claim_keys(key[0], pod))
    for kind in files.kinds:
        if kind in GROUPS:
            continue
        for key, value in files.all(kind).items():
            workload = Question(kind, key, value)
            if not _in(namespace, key):
                continue
            if text_at(
                value, "metadata", "uid"
            ):  # of a cluster: its pods are there, unless they are refused
                if (kind, key) not in refused or not missing_pods(state, kind, key, value):
                    continue
            elif any(owned_pods(state, kind, key)):
                continue
            for made in made_pods(workload):
                if _concerned(made.value, named):
                    found.append(Question(kind, key, made.value))
                    used |= set(_claim_keys(key[0], made.value))
    for key, claim in files.all("ResourceClaim").items():
        if not _in(namespace, key) or key in used or map_at(claim, "status", "allocation"):
            continue
        # A claim that was made for a pod has no life of its own: it goes with the pod, a moment later.
        if not (owning_pods(claim) and state.rights.sees("Pod", key[0])):
            found.append(Question("ResourceClaim", key, claim))
    if not found:
        found = [
            Question("ResourceClaimTemplate", key, value)
            for key, value in files.all("ResourceClaimTemplate").items()
            if _in(namespace, key) and not text_at(value, "metadata", "uid")
        ]
    return found


def _concerned(
    pod: Raw, provided: Container[str], published: AbstractSet[str] = frozenset()
) -> bool:
    """True if a pod has claims, or wants an extended resource that a class provides, or whose devices one of the
    ``published`` drivers has."""
    if maps_at(pod, "spec", "resourceClaims"):
        return True
    return any(
        name in provided
        or name.startswith(IMPLICIT_PREFIX)
        or not published.isdisjoint(drivers_of(name))
        for name in Pod(pod).extended_requests
    )


def _in(namespace: str | None, key: Key) -> bool:
    return namespace is None or key[0] == namespace


def _claim_keys(namespace: str, pod: Raw) -> Iterable[Key]:
    for entry in [
        *maps_at(pod, "spec", "resourceClaims"),
        *maps_at(pod, "status", "resourceClaimStatuses"),
    ]:
        if text_at(entry, "resourceClaimName"):
            yield namespace, text_at(entry, "resourceClaimName")


def claim_question(state: ClusterState, question: Question) -> PodClaim:
    """A claim, or what a template would make, as something to allocate."""
    namespace, name = question.key
    target = f"{question.kind}/{namespace}/{name}"
    if question.kind == "ResourceClaim":
        return PodClaim(
            "",
            question.key,
            question.value,
            state.decode(question.value),
            None,
            (target, ("spec",)),
        )
    made = {
        "apiVersion": question.value.get("apiVersion"),
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": at(question.value, "spec", "spec"),
    }
    return PodClaim("", question.key, made, state.decode(made), name, (target, ("spec", "spec")))


def pods_using(state: ClusterState, claim: Key) -> list[Question]:
    return [
        Question("Pod", (claim[0], text_at(pod, "metadata", "name")), pod)
        for pod in consumers(state, claim)
    ]
