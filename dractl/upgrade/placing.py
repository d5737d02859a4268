"""Outcomes for the same pods and claims with kube-scheduler of two releases, or with two versions
of drivers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Allocated, Exhausted, Fatal, Features
from dractl.cluster import ClusterState
from dractl.cluster.podgroups import find_pod_group
from dractl.cluster.schedulers import identify
from dractl.cluster.snapshot_gaps import has_unknown_values
from dractl.cluster.state import API_GROUPS, Key
from dractl.model import Target, pod_templates
from dractl.model.abbreviation import abbreviate
from dractl.objects import Raw
from dractl.scheduler.binding import deallocate
from dractl.scheduler.claims import PodClaim
from dractl.upgrade.finding import Finding, Level
from dractl.views import Pod

if TYPE_CHECKING:
    from dractl.scheduler.attempt import Scheduler
    from dractl.scheduler.verdict import Attempt, NodeVerdict

_MAX_LEADERS = 12  # number of nodes of different kinds whose devices are compared
_USERS_OF_SHARED_CLAIM = 2  # allocated claims with fewer users are judged separately
_MAX_SENTENCES = 64  # maximum number of sentences that explain makes


class Applicant(Struct, frozen=True):
    """Pods that the scheduler cannot tell apart, or a claim that no pod uses."""

    objects: tuple[str, ...]
    """The names of the objects, as ``KIND/[NAMESPACE/]NAME``."""
    key: Key
    """The namespace and name of the first of them."""
    pod: Raw | None
    """The first pod; None for a claim that no pod uses."""
    claim: PodClaim | None = None
    """The claim that no pod uses."""
    runs: bool = False
    """True if the pods have a node; the outcome is then found by recreating a pod."""
    about: str = ""
    """The words that begin the sentence about the subject."""
    is_unused: bool = False
    """True for a further pod of a claim that fewer than two pods use now. If such a pod loses its
    devices, that is a change and not a break.
    """


class Outcome(Struct, frozen=True):
    """The result of the scheduler for a subject."""

    subject: Applicant
    """The subject."""
    scheduler: Scheduler
    """The scheduler that made the attempt."""
    attempt: Attempt
    """The attempt."""
    fits: bool
    """True if the subject fits, together with its gang."""
    nodes: Mapping[str, NodeVerdict]
    """The nodes on which it fits."""
    undecided: tuple[str, ...]
    """The nodes for which the search ended without a proof."""
    unknown: tuple[str, ...] = ()
    """The nodes on which the subject fits or not, depending on values that no source shows."""

    @property
    def state(self) -> ClusterState:
        """The cluster in which it was attempted."""
        return self.scheduler.state

    @property
    def scheduler_message(self) -> str:
        """The scheduler's message, or the stop that ends the pod's attempt before any node is
        tried.
        """
        stops = (getattr(stop, "text", "") for stop in self.attempt.stops)
        return self.attempt.message or "; ".join(filter(None, stops))


Describe = Callable[[Outcome], str]
"""A function that makes the sentence about an outcome. Commands pass explain's function, since this
package is not allowed to import explain.
"""


def quote_scheduler(outcome: Outcome) -> str:
    """Return the nodes on which a subject fits, or else kube-scheduler's message."""
    return f"fits on {_join_nodes(outcome.nodes)}" if outcome.fits else outcome.scheduler_message


def list_subjects(state: ClusterState, manifests: ClusterState) -> tuple[Applicant, ...]:
    """Return the subjects of a cluster: the pods that want devices, grouped; the claims that no pod
    uses; and the pods that manifests make.
    """
    groups: dict[Hashable, list[Pod]] = {}
    schedulers = {pod.scheduler_name for pod in state.pods.values()}
    compared = {name for name in schedulers if identify(state, name).is_kube_scheduler}
    for key, pod in state.pods.items():
        if _wants_devices(pod) and not pod.has_ended and pod.scheduler_name in compared:
            group_key = (key[0], pod.is_pending, _interchange_key(state, key[0], pod))
            groups.setdefault(group_key, []).append(pod)
    applicants = [
        Applicant(
            tuple(f"Pod/{'/'.join(pod.key)}" for pod in pods),
            pods[0].key,
            pods[0].raw,
            runs=not pods[0].is_pending,
            about="" if pods[0].is_pending else "if it is recreated, it ",
        )
        for pods in groups.values()
    ]
    template_names = _template_names(manifests)
    for kind in manifests.kinds:
        for key in manifests.objects(kind):
            manifest_pod = _pod_of_manifest(state, kind, key, template_names)
            if manifest_pod is not None:
                applicants.append(
                    Applicant(("/".join(filter(None, (kind, *key))),), key, manifest_pod)
                )
    applicants += _template_applicants(state, manifests)
    claim_keys = {
        (namespace, claim)
        for (namespace, _), pod in state.pods.items()
        for claim in pod.claim_names
    }
    allocated: dict[tuple[str, str, bool, bool], list[Key]] = {}
    for key, claim in state.claims.items():
        if claim.is_allocated and not claim.owner_pods:
            is_timed = "allocationTimestamp" in claim.allocation
            has_room = len(claim.reserved_for) < _USERS_OF_SHARED_CLAIM
            similar = (key[0], repr(claim.raw.get("spec")), is_timed, has_room)
            allocated.setdefault(similar, []).append(key)
        elif not claim.is_allocated and key not in claim_keys:
            pod_claim = PodClaim("", key, claim.raw, state.decode(claim.raw))
            applicants.append(Applicant((f"ResourceClaim/{'/'.join(key)}",), key, None, pod_claim))
    for (*_, is_unused), keys in allocated.items():
        names = tuple(f"ResourceClaim/{'/'.join(key)}" for key in keys)
        applicants.append(
            Applicant(
                names,
                keys[0],
                _pod_with_claim(*keys[0]),
                about="a further pod that uses it ",
                is_unused=is_unused,
            )
        )
    return tuple(applicants)


def _template_applicants(state: ClusterState, manifests: ClusterState) -> Iterator[Applicant]:
    """Yield a pod for stored templates that no pod uses, with one pod for all templates of a
    namespace that have equal specs.
    """
    kind = "ResourceClaimTemplate"
    used = {
        (key[0], reference.template_name)
        for key, pod in state.pods.items()
        for reference in pod.claim_references
    }
    keys_by_spec: dict[Hashable, list[Key]] = {}
    for key, value in state.objects(kind).items():
        if key not in used and key not in manifests.objects(kind):
            keys_by_spec.setdefault((key[0], repr(value.get("spec"))), []).append(key)
    for keys in keys_by_spec.values():
        names = tuple(f"{kind}/{'/'.join(key)}" for key in keys)
        pod = _pod_of_object(state, kind, keys[0])
        yield Applicant(names, keys[0], pod, about="a pod that uses it ")


def _pod_of_object(state: ClusterState, kind: str, key: Key) -> Raw:
    """Return a pod of a workload, or of a claim or template."""
    from dractl.capacity.copies import copies_of_object  # only needed with slices

    return copies_of_object(state, kind, key).pod


def _pod_with_claim(namespace: str, claim: str) -> Raw:
    """Return a pod that uses a claim in addition to the claim's pods."""
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


def _interchange_key(state: ClusterState, namespace: str, pod: Pod) -> Hashable:
    """Return a key that is equal for pods with the same demands.

    The pods' own names do not matter, and neither do the names of claims with equal specs.
    """
    claims = []
    for reference in pod.claim_references:
        claim = state.claim((namespace, reference.claim_name))
        demand = claim.spec if claim.exists else reference
        claims.append((repr(demand), pod.is_pending and claim.is_allocated))

    spec = {name: value for name, value in pod.spec.items() if name != "resourceClaims"}
    return tuple(claims), Pod({**pod.raw, "spec": spec}).scheduling_key


def _pod_of_manifest(state: ClusterState, kind: str, key: Key, used: frozenset[str]) -> Raw | None:
    """Return a pod of a workload, or a pod for a template that none of the manifests use. Return
    None for other objects of DRA, and for a pod that wants no devices.
    """
    if kind in API_GROUPS and (kind != "ResourceClaimTemplate" or key[1] in used):
        return None
    pod = _pod_of_object(state, kind, key)
    return pod if _wants_devices(Pod(pod)) else None


def _template_names(manifests: ClusterState) -> frozenset[str]:
    """Return the names of the templates that pods and workloads use."""
    values = (value for kind in manifests.kinds for value in manifests.objects(kind).values())
    pods = (Pod({"spec": spec}) for value in values for _, spec in pod_templates(value))
    return frozenset(ref.template_name for pod in pods for ref in pod.claim_references)


# -- outcomes of the scheduler --


def empty_cluster(state: ClusterState) -> ClusterState:
    """Return the cluster with no pod and no allocated claim."""
    claims = {
        key: deallocate(claim.raw) if "status" in claim.raw else claim.raw
        for key, claim in state.claims.items()
        if not claim.owners
    }
    return state.with_kinds({"Pod": {}, "ResourceClaim": claims})


def find_outcome(scheduler: Scheduler, subject: Applicant) -> Outcome:
    """Return the scheduler's outcome for a subject; a pod that runs is recreated first."""
    if subject.runs:
        scheduler = scheduler.with_state(_remove_subject(scheduler.state, subject))
    if subject.pod is None:
        assert subject.claim is not None
        attempt, starts = scheduler.attempt_claim(subject.claim), True
    else:
        attempt = scheduler.attempt_pod(subject.pod, recreated=subject.runs)
        claim_change = attempt.claim_to_deallocate(Pod(subject.pod).uid)
        if claim_change is not None and claim_change.value is not None:
            deallocated = scheduler.state.replace(
                "ResourceClaim", claim_change.key, deallocate(claim_change.value)
            )
            scheduler = scheduler.with_state(deallocated)
            attempt = scheduler.attempt_pod(subject.pod, recreated=subject.runs)
        state, pod = scheduler.state, subject.pod
        group = find_pod_group(state, Pod(pod))
        starts = group is None or not attempt.fits
        if group is not None and attempt.fits:
            from dractl.capacity.gangs import find_gang_wait  # only needed for gangs

            wait = find_gang_wait(state, pod, group, scheduler.features, recreated=subject.runs)
            starts = wait is None
    nodes = {node.name: node for node in attempt.nodes if node.fits} if attempt.fits else {}
    undecided = tuple(
        node.name
        for node in attempt.nodes
        if node.passes_filters and isinstance(node.allocator_verdict, Exhausted)
    )
    unknown = () if attempt.fits else _list_unknown_nodes(scheduler, attempt)
    return Outcome(subject, scheduler, attempt, attempt.fits and starts, nodes, undecided, unknown)


def _list_unknown_nodes(scheduler: Scheduler, attempt: Attempt) -> tuple[str, ...]:
    """Return the nodes with values that no source shows and on which the claims have conditions."""
    state, features = scheduler.state, scheduler.features
    if not has_unknown_values(state):
        return ()
    from dractl.simulation.unknown_values import list_conditions, list_unknown_values

    names_by_node = list_unknown_values(state)
    names = frozenset[str]().union(*names_by_node.values())
    target = Target(features.release, features.on)
    reads = list_conditions(attempt.claims, state, names, target) if names else frozenset()
    return tuple(node for node, unknown in names_by_node.items() if unknown & reads)


def _remove_subject(state: ClusterState, subject: Applicant) -> ClusterState:
    """Return the cluster without a pod and without the claims that are reserved only for it."""
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


# -- differences --


class Divergence(Struct, frozen=True):
    """The difference between two outcomes, in the form of a finding."""

    code: str
    """The code of the finding."""
    level: Level
    """The level."""
    message: str
    """The difference, as a clause about the subject."""


def compare_outcomes(
    before: Outcome, after: Outcome, describe: Describe = quote_scheduler
) -> Divergence | None:
    """Return the difference between two outcomes; None if there is none, or if none is proven."""
    if before.fits and not after.fits:
        if after.undecided or after.unknown:
            return None
        fatal = after.attempt.fatal_node
        is_error = fatal is not None and isinstance(fatal.allocator_verdict, Fatal)
        code = "selector-error" if is_error else "no-longer-fits"
        return Divergence(code, "breaks", f"no longer fits: {describe(after)}")
    if after.fits and not before.fits:
        if before.undecided or before.unknown:
            return None
        message = f"fits now, on {_join_nodes(after.nodes)}; before: {describe(before)}"
        return Divergence("fits-now", "changes", message)
    if not after.fits:
        if before.scheduler_message == after.scheduler_message:
            return None
        message = f"still does not fit; kube-scheduler says now: {after.scheduler_message}"
        return Divergence("other-message", "info", message)
    lost, won = before.nodes.keys() - after.nodes, after.nodes.keys() - before.nodes
    if lost or won:
        parts = [
            f"no longer on {_join_nodes(lost)}" if lost else "",
            f"also on {_join_nodes(won)}" if won else "",
        ]
        message = f"fits {' and '.join(filter(None, parts))}"
        return Divergence("other-nodes", "changes", message)
    return _compare_devices(before, after)


def _compare_devices(before: Outcome, after: Outcome) -> Divergence | None:
    """Return the first difference between the devices of two outcomes on the same node; None if
    there is none.

    Nodes that a scheduler cannot tell apart count as the same node.
    """
    leaders = {name: None for each in (before, after) for name in _leaders(each)}
    for name in list(leaders)[:_MAX_LEADERS]:
        old, new = devices_on(before, name), devices_on(after, name)
        if old != new:
            verdicts = (before.nodes[name].allocator_verdict, after.nodes[name].allocator_verdict)
            is_random = any(verdict is not None and verdict.unordered for verdict in verdicts)
            gets = "can get" if is_random else "gets"
            gained, lost = (
                abbreviate(sorted(each)) or "nothing" for each in (new - old, old - new)
            )
            message = f"on {name} it {gets} {gained} instead of {lost}"
            return Divergence("other-devices", "changes", message)
    return None


def _leaders(result: Outcome) -> list[str]:
    return list(
        {verdict.group: name for name, verdict in reversed(tuple(result.nodes.items()))}.values()
    )


def devices_on(result: Outcome, node: str) -> frozenset[str]:
    """Return ``REQUEST: DRIVER/POOL/DEVICE`` for each device on a node."""
    verdict = result.nodes[node]
    verdict_on_node = result.scheduler.allocate(verdict.node, verdict.claims)
    results = verdict_on_node.results if isinstance(verdict_on_node, Allocated) else ()
    return frozenset(
        f"{device.request}: {device.driver}/{device.pool}/{device.device}"
        for result in results
        for device in result.devices.results
    )


def _join_nodes(nodes: Iterable[str]) -> str:
    return abbreviate(sorted(nodes), noun="nodes")


class Difference(Struct, frozen=True):
    """The difference for a subject between two outcomes."""

    subject: Applicant
    """The pod, claim or template."""
    before: Outcome
    """The outcome before the step."""
    after: Outcome
    """The outcome after the step."""
    code: str
    """The code of the finding."""
    level: Level
    message: str
    """The difference, as a clause about the subject."""
    where: str = ""
    """The words for the empty cluster, if the outcomes differ only there."""

    @property
    def shows_fit(self) -> bool:
        """True if the subject fits on only one side."""
        return self.before.fits != self.after.fits

    def finding(self, describe: Describe) -> Finding:
        """Return the difference as a finding, with explain's answers for both sides if the subject
        fits on only one of them.
        """
        message = f"{self.subject.about}{self.message}{self.where}"
        finding = Finding(self.code, self.level, message, self.subject.objects)
        if not self.shows_fit:
            return finding
        return replace(finding, earlier=describe(self.before), later=describe(self.after))


Outcomes = Sequence[tuple[Outcome, Outcome]]
"""The outcomes of each subject in the present cluster, and in the empty one."""


class Placing:
    """The subjects of a cluster. For each subject, it has the outcomes of each release's scheduler
    in the present cluster and in the empty one.
    """

    def __init__(
        self, state: ClusterState, manifests: ClusterState, describe: Describe = quote_scheduler
    ) -> None:
        self.subjects = list_subjects(state, manifests)
        self._describe = describe
        self._sentences: dict[int, tuple[Outcome, str]] = {}
        self.undecided: dict[str, None] = {}

    def describe(self, outcome: Outcome) -> str:
        """Return the sentence about an outcome, which is made once. After many sentences, the
        scheduler is quoted instead, which takes no time.
        """
        if id(outcome) not in self._sentences:
            make = self._describe if len(self._sentences) < _MAX_SENTENCES else quote_scheduler
            self._sentences[id(outcome)] = outcome, make(outcome)
        return self._sentences[id(outcome)][1]

    def outcomes(self, state: ClusterState, features: Features) -> Outcomes:
        """Return the outcomes of a scheduler for every subject."""
        from dractl.scheduler.attempt import Scheduler  # only needed for a cluster

        # One cluster after the other, since values derived from claims are kept only for the last
        # one.
        present = Scheduler(state, features)
        in_present = [find_outcome(present, one) for one in self.subjects]
        empty = present.with_state(empty_cluster(state))
        in_empty = [find_outcome(empty, replace(one, runs=True)) for one in self.subjects]
        return list(zip(in_present, in_empty, strict=True))

    def compare(self, before: Outcomes, after: Outcomes) -> Iterator[Difference]:
        """Yield the difference for each subject; the empty cluster is used only if the present one
        shows no difference.
        """
        for subject, old, new in zip(self.subjects, before, after, strict=True):
            for each in (*old, *new):
                if each.undecided and not each.fits:
                    named = (
                        f"{subject.objects[0]} on {_join_nodes(each.undecided)} in "
                        f"{each.scheduler.features.release}"
                    )
                    self.undecided[f"{named}: the search ended without a proof (undecided)"] = None
                if each.unknown and not each.fits:
                    self.undecided[
                        f"{subject.objects[0]} on {_join_nodes(each.unknown)}: it may depend on"
                        " values that no source shows, such as PCIe roots (undecided)"
                    ] = None
            for (earlier, later), words in zip(
                zip(old, new, strict=True), ("", " (in an empty cluster)"), strict=True
            ):
                change = compare_outcomes(earlier, later, self.describe)
                if change is not None:
                    level = change.level
                    level = "changes" if subject.is_unused and level == "breaks" else level
                    yield Difference(
                        subject, earlier, later, change.code, level, change.message, words
                    )
                    break

    def differences(self, before: Outcomes, after: Outcomes) -> Iterator[Finding]:
        """Yield the differences for each subject as findings."""
        for each in self.compare(before, after):
            yield each.finding(self.describe)
