"""What kube-scheduler of two releases, or beside two versions of drivers, does with the same pods and claims."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, Exhausted, Fatal, Features
from dractl.capacity import copies
from dractl.capacity.gangs import find_gang_wait
from dractl.capacity.replicas import scheduling_key
from dractl.cluster import ClusterState
from dractl.cluster.podgroups import find_pod_group
from dractl.cluster.schedulers import identify
from dractl.cluster.state import API_GROUPS, Key
from dractl.model import pod_templates
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.binding import deallocate
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.upgrade.finding import Finding, Level
from dractl.views import Pod

_LEADERS = 12  # nodes of different kinds whose devices are compared
_NAMED = 3
_SHARED = 2  # users of a claim
_MAX_SENTENCES = 64  # that explain makes


class Applicant(Struct, frozen=True):
    """Pods that the scheduler cannot tell apart, or a claim that no pod uses (``pod`` is None then). ``objects`` are
    their names; ``runs``: they have a node, which is asked about as if one of them were recreated. ``about`` begins the
    sentence about it. ``alone``: what it loses, nobody uses now."""

    objects: tuple[str, ...]
    key: Key
    pod: Raw | None
    claim: PodClaim | None = None
    runs: bool = False
    about: str = ""
    alone: bool = False


class Outcome(Struct, frozen=True):
    """What became of a subject. ``undecided`` are nodes for which the search ended without a proof."""

    subject: Applicant
    scheduler: Scheduler
    attempt: Attempt
    fits: bool
    nodes: Mapping[str, NodeVerdict]
    undecided: tuple[str, ...]

    @property
    def state(self) -> ClusterState:
        """The cluster in which it was attempted."""
        return self.scheduler.state

    @property
    def said(self) -> str:
        """The scheduler's message, or what stops the pod before any node."""
        stops = (getattr(stop, "text", "") for stop in self.attempt.stops)
        return self.attempt.message or "; ".join(filter(None, stops))


Describe = Callable[[Outcome], str]
"""Makes the sentence about an outcome; a command gives that of explain, a room above this one."""


def quote_scheduler(outcome: Outcome) -> str:
    """Return the nodes on which a subject fits, or what kube-scheduler says."""
    return f"fits on {_some(outcome.nodes)}" if outcome.fits else outcome.said


def subjects(state: ClusterState, manifests: ClusterState) -> tuple[Applicant, ...]:
    """Return the pods of a cluster that want devices, grouped; its claims that no pod uses; and the
    pods that manifests make.
    """
    groups: dict[Hashable, list[Pod]] = {}
    schedulers = {pod.scheduler_name for pod in state.pods.values()}
    compared = {name for name in schedulers if identify(state, name).is_kube_scheduler}
    for key, pod in state.pods.items():
        if _wants_devices(pod) and not pod.has_ended and pod.scheduler_name in compared:
            alike = (key[0], pod.is_pending, _kind(state, key[0], pod))
            groups.setdefault(alike, []).append(pod)
    found = [
        Applicant(
            tuple(f"Pod/{'/'.join(pod.key)}" for pod in pods),
            pods[0].key,
            pods[0].raw,
            runs=not pods[0].is_pending,
            about="" if pods[0].is_pending else "if it is recreated, it ",
        )
        for pods in groups.values()
    ]
    used = _used(manifests)
    for kind in manifests.kinds:
        for key in manifests.objects(kind):
            made = _made(state, kind, key, used)
            if made is not None:
                found.append(Applicant(("/".join(filter(None, (kind, *key))),), key, made))
    found += _unused_templates(state, manifests)
    named = {
        (namespace, claim)
        for (namespace, _), pod in state.pods.items()
        for claim in pod.claim_names
    }
    allocated: dict[tuple[str, str, bool, bool], list[Key]] = {}
    for key, claim in state.claims.items():
        if claim.is_allocated and not claim.owner_pods:
            is_timed = "allocationTimestamp" in claim.allocation
            has_room = len(claim.reserved_for) < _SHARED
            similar = (key[0], repr(claim.raw.get("spec")), is_timed, has_room)
            allocated.setdefault(similar, []).append(key)
        elif not claim.is_allocated and key not in named:
            pod_claim = PodClaim("", key, claim.raw, state.decode(claim.raw))
            found.append(Applicant((f"ResourceClaim/{'/'.join(key)}",), key, None, pod_claim))
    for (*_, alone), keys in allocated.items():
        names = tuple(f"ResourceClaim/{'/'.join(key)}" for key in keys)
        found.append(
            Applicant(
                names, keys[0], _further(*keys[0]), about="a further pod that uses it ", alone=alone
            )
        )
    return tuple(found)


def _unused_templates(state: ClusterState, manifests: ClusterState) -> Iterator[Applicant]:
    """Yield a pod for the stored templates that no pod uses, once for those with equal specs."""
    kind = "ResourceClaimTemplate"
    used = {
        (key[0], reference.template_name)
        for key, pod in state.pods.items()
        for reference in pod.claim_references
    }
    alike: dict[Hashable, list[Key]] = {}
    for key, value in state.objects(kind).items():
        if key not in used and key not in manifests.objects(kind):
            alike.setdefault((key[0], repr(value.get("spec"))), []).append(key)
    for keys in alike.values():
        names = tuple(f"{kind}/{'/'.join(key)}" for key in keys)
        pod = copies.copies_of_object(state, kind, keys[0]).pod
        yield Applicant(names, keys[0], pod, about="a pod that uses it ")


def _further(namespace: str, claim: str) -> Raw:
    """Return a pod that joins the pods of a claim."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "further", "namespace": namespace, "uid": "further"},
        "spec": {
            "containers": [{"name": "main"}],
            "resourceClaims": [{"name": "claim", "resourceClaimName": claim}],
        },
    }


def _wants_devices(pod: Pod) -> bool:
    return bool(pod.claim_references or pod.extended_requests)


def _kind(state: ClusterState, namespace: str, pod: Pod) -> Hashable:
    """Return a key that is equal for pods that want the same.

    Their own names do not matter, nor do the names of claims with equal specs.
    """
    claims = []
    for reference in pod.claim_references:
        claim = state.claim((namespace, reference.claim_name))
        wanted = claim.spec if claim.exists else reference
        claims.append((repr(wanted), pod.is_pending and claim.is_allocated))
    spec = {name: value for name, value in pod.spec.items() if name != "resourceClaims"}
    return tuple(claims), scheduling_key(Pod({**pod.raw, "spec": spec}))


def _made(state: ClusterState, kind: str, key: Key, used: frozenset[str]) -> Raw | None:
    """Return a pod of a workload, or a pod for a template that nothing among the manifests uses."""
    if kind in API_GROUPS and (kind != "ResourceClaimTemplate" or key[1] in used):
        return None
    pod = copies.copies_of_object(state, kind, key).pod
    return pod if _wants_devices(Pod(pod)) else None


def _used(manifests: ClusterState) -> frozenset[str]:
    """Return the names of the templates that pods and workloads use."""
    values = (value for kind in manifests.kinds for value in manifests.objects(kind).values())
    pods = (Pod({"spec": spec}) for value in values for _, spec in pod_templates(value))
    return frozenset(ref.template_name for pod in pods for ref in pod.claim_references)


# -- what the scheduler does --


def emptied(state: ClusterState) -> ClusterState:
    """Return the cluster with no pod and no allocated claim."""
    claims = {
        key: deallocate(claim.raw) if "status" in claim.raw else claim.raw
        for key, claim in state.claims.items()
        if not claim.owners
    }
    return state.with_kinds({"Pod": {}, "ResourceClaim": claims})


def outcome(scheduler: Scheduler, subject: Applicant) -> Outcome:
    """Return what the scheduler does with a subject; a pod that runs is recreated first."""
    if subject.runs:
        scheduler = scheduler.with_state(_without(scheduler.state, subject))
    if subject.pod is None:
        assert subject.claim is not None
        attempt, starts = scheduler.attempt_claim(subject.claim), True
    else:
        attempt = scheduler.attempt_pod(subject.pod, recreated=subject.runs)
        given = attempt.claim_to_deallocate(Pod(subject.pod).uid)
        if given is not None and given.value is not None:
            released = scheduler.state.replace("ResourceClaim", given.key, deallocate(given.value))
            scheduler = scheduler.with_state(released)
            attempt = scheduler.attempt_pod(subject.pod, recreated=subject.runs)
        state, pod, group = (
            scheduler.state,
            subject.pod,
            find_pod_group(scheduler.state, Pod(subject.pod)),
        )
        alone = group is None or not attempt.fits
        starts = (
            alone
            or find_gang_wait(state, pod, group, scheduler.features, recreated=subject.runs) is None
        )
    nodes = {node.name: node for node in attempt.nodes if node.fits} if attempt.fits else {}
    open_ = tuple(
        node.name
        for node in attempt.nodes
        if node.passes_filters and isinstance(node.allocator_verdict, Exhausted)
    )
    return Outcome(subject, scheduler, attempt, attempt.fits and starts, nodes, open_)


def _without(state: ClusterState, subject: Applicant) -> ClusterState:
    """Return the cluster without a pod and what is reserved for it alone."""
    changed = dict(state.objects("ResourceClaim"))
    for key in state.claims_of_pod(subject.key):
        claim = state.claim(key)
        if len(claim.reserved_for) > 1:
            continue
        if claim.owners:
            del changed[key]
        elif "status" in claim.raw:
            changed[key] = deallocate(claim.raw)
    pods = {key: pod for key, pod in state.objects("Pod").items() if key != subject.key}
    return state.with_kinds({"Pod": pods, "ResourceClaim": changed})


# -- what differs --


def difference(
    before: Outcome, after: Outcome, describe: Describe = quote_scheduler
) -> tuple[str, Level, str] | None:
    """Code, level and sentence of what differs between two outcomes; None if nothing does."""
    if before.fits and not after.fits:
        if after.undecided:
            return None
        failed = after.attempt.fatal_node
        error = failed is not None and isinstance(failed.allocator_verdict, Fatal)
        return (
            "selector-error" if error else "no-longer-fits",
            "breaks",
            f"no longer fits: {describe(after)}",
        )
    if after.fits and not before.fits:
        where = f"fits now, on {_some(after.nodes)}"
        return (
            None
            if before.undecided
            else ("fits-now", "changes", f"{where}; before: {describe(before)}")
        )
    if not after.fits:
        text = f"still does not fit; kube-scheduler says now: {after.said}"
        return None if before.said == after.said else ("other-message", "info", text)
    lost, won = sorted(before.nodes.keys() - after.nodes), sorted(after.nodes.keys() - before.nodes)
    if lost or won:
        parts = [
            f"no longer on {_some(lost)}" if lost else "",
            f"also on {_some(won)}" if won else "",
        ]
        return "other-nodes", "changes", f"fits {' and '.join(filter(None, parts))}"
    return _devices(before, after)


def _devices(before: Outcome, after: Outcome) -> tuple[str, Level, str] | None:
    """Nodes that a scheduler cannot tell apart stand for each other."""
    leaders = {name: None for each in (before, after) for name in _leaders(each)}
    for name in list(leaders)[:_LEADERS]:
        old, new = taken(before, name), taken(after, name)
        if old != new:
            outcomes = (before.nodes[name].allocator_verdict, after.nodes[name].allocator_verdict)
            random = any(one is not None and one.unordered for one in outcomes)
            gets = "can get" if random else "gets"
            return (
                "other-devices",
                "changes",
                f"on {name} it {gets} {_list(new - old)} instead of {_list(old - new)}",
            )
    return None


def _leaders(one: Outcome) -> list[str]:
    return list(
        {verdict.group: name for name, verdict in reversed(tuple(one.nodes.items()))}.values()
    )


def taken(one: Outcome, node: str) -> frozenset[str]:
    """``REQUEST: DRIVER/POOL/DEVICE`` of the devices on a node."""
    verdict = one.nodes[node]
    found = one.scheduler.allocate(verdict.node, verdict.claims)
    results = found.results if isinstance(found, Allocated) else ()
    return frozenset(
        f"{device.request}: {device.driver}/{device.pool}/{device.device}"
        for result in results
        for device in result.devices.results
    )


def _some(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:_NAMED]) + (
        f" and {len(found) - _NAMED} more nodes" if len(found) > _NAMED else ""
    )


def _list(devices: frozenset[str]) -> str:
    return _some(devices).replace(" more nodes", " more") or "nothing"


class Difference(Struct, frozen=True):
    """What differs for a subject between two outcomes."""

    subject: Applicant
    before: Outcome
    """What became of it before the step."""
    after: Outcome
    """What becomes of it after the step."""
    code: str
    """The code of the finding."""
    level: Level
    message: str
    """What differs, as a clause about the subject."""
    where: str = ""
    """The words for the empty cluster, if it differs only there."""

    @property
    def shows_fit(self) -> bool:
        """True if the subject fits on one side alone."""
        return self.before.fits != self.after.fits

    def finding(self, describe: Describe) -> Finding:
        """Return it as a finding, with what explain says on both sides if the subject fits on one of them alone."""
        message = f"{self.subject.about}{self.message}{self.where}"
        found = Finding(self.code, self.level, message, self.subject.objects)
        if not self.shows_fit:
            return found
        return replace(found, earlier=describe(self.before), later=describe(self.after))


Outcomes = Sequence[tuple[Outcome, Outcome]]
"""By subject what happens in the present cluster, and in the empty one."""


class Placing:
    """The subjects of a cluster, and what each release's scheduler does with them, present and empty."""

    def __init__(
        self, state: ClusterState, manifests: ClusterState, describe: Describe = quote_scheduler
    ) -> None:
        self.subjects = subjects(state, manifests)
        self._describe = describe
        self._sentences: dict[int, tuple[Outcome, str]] = {}
        self.undecided: dict[str, None] = {}

    def describe(self, outcome: Outcome) -> str:
        """Return the sentence about an outcome, made once; after many the scheduler is quoted, which takes no time."""
        if id(outcome) not in self._sentences:
            make = self._describe if len(self._sentences) < _MAX_SENTENCES else quote_scheduler
            self._sentences[id(outcome)] = outcome, make(outcome)
        return self._sentences[id(outcome)][1]

    def outcomes(self, state: ClusterState, features: Features) -> Outcomes:
        """Return what a scheduler does with every subject."""
        present = Scheduler(state, features)
        empty = present.with_state(emptied(state))
        return [
            (outcome(present, one), outcome(empty, replace(one, runs=True)))
            for one in self.subjects
        ]

    def compare(self, before: Outcomes, after: Outcomes) -> Iterator[Difference]:
        """What differs for each subject; in the empty cluster only where the present one shows nothing."""
        for subject, old, new in zip(self.subjects, before, after, strict=True):
            for one in (*old, *new):
                if one.undecided and not one.fits:
                    named = f"{subject.objects[0]} on {_some(one.undecided)} in {one.scheduler.features.release}"
                    self.undecided[f"{named}: the search ended without a proof (undecided)"] = None
            for (earlier, later), where in zip(
                zip(old, new, strict=True), ("", " (in an empty cluster)"), strict=True
            ):
                found = difference(earlier, later, self.describe)
                if found is not None:
                    code, level, message = found
                    level = "changes" if subject.alone and level == "breaks" else level
                    yield Difference(subject, earlier, later, code, level, message, where)
                    break

    def differences(self, before: Outcomes, after: Outcomes) -> Iterator[Finding]:
        """Yield what differs for each subject as findings."""
        for each in self.compare(before, after):
            yield each.finding(self.describe)
