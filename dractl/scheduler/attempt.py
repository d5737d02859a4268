"""The scheduler's verdict on a pod or claim in a cluster, node by node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dractl.allocation import (
    Allocated,
    AllocatedState,
    Allocator,
    Fatal,
    Features,
    NodeError,
    Unsupported,
    apply_taint_rules,
)
from dractl.cluster.state import at, maps_at, text_at
from dractl.errors import Unsupported as UnsupportedError
from dractl.explain.answer import Reason
from dractl.model.nearest import nearest
from dractl.scheduler import extended
from dractl.scheduler import wording as message
from dractl.scheduler.binding import failure, reserved_for
from dractl.scheduler.groups import Groups
from dractl.scheduler.node_filters import NodeFilters, Rejection, full_name, matches_term
from dractl.scheduler.preenqueue import PodClaim, enter

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from dractl.allocation import Verdict as Outcome
    from dractl.cel import Program
    from dractl.cluster.state import ClusterState
    from dractl.model import Node, ResourceSlice

    Raw = Mapping[str, Any]

RESERVED_LIMIT = 256
CANNOT_ALLOCATE = "cannot allocate all claims"
NOT_ON_NODE = "resourceclaim not available on the node"
TIMED_OUT = "timed out trying to allocate devices"


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What the scheduler finds on one node, filters first. ``outcome`` is the allocator's, also where a filter refuses
    the node, so that one sees what would be without it; None where nothing is left to allocate."""

    node: Raw
    name: str
    rejection: Rejection | None
    elsewhere: tuple[PodClaim, ...]  # allocated claims that cannot be used here
    claims: tuple[PodClaim, ...]  # those to allocate
    outcome: Outcome | None
    group: Hashable = None  # equal for nodes that the allocator cannot tell apart
    victims: tuple[str, ...] = ()  # pods of lower priority that the scheduler ends so that no filter refuses the node

    @property
    def allocates(self) -> bool:
        """Whether the allocator finds devices here before the scheduler loses its patience."""
        return self.outcome is None or (isinstance(self.outcome, Allocated) and not self.outcome.times_out)

    @property
    def times_out(self) -> bool:
        """True if the scheduler gives up before it has an answer for the node."""
        return self.outcome is not None and self.outcome.times_out

    @property
    def fits(self) -> bool:
        return (self.rejection is None or bool(self.victims)) and not self.elsewhere and self.allocates

    @property
    def asked(self) -> bool:
        """Whether the scheduler asks DRA about this node."""
        return self.rejection is None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on the whole subject: what stops it before any node, or the nodes."""

    claims: tuple[PodClaim, ...]
    stopped: tuple[Reason, ...]
    nodes: tuple[NodeVerdict, ...]
    fatal: NodeVerdict | None  # its error ends the attempt for all nodes
    late: Reason | None  # what fails after a node was found
    message: str | None

    @property
    def fits(self) -> bool:
        return not self.stopped and self.fatal is None and self.late is None and any(n.fits for n in self.nodes)


class Judge:
    """Verdicts for one cluster. :meth:`after` makes one for a changed cluster that shares what did not change."""

    def __init__(self, state: ClusterState, features: Features, before: Judge | None = None) -> None:
        self.state = state
        self.features = features
        self.slices: tuple[ResourceSlice, ...]
        # Only the DeviceTaintRules of 1.34 name classes.
        sources = ("ResourceSlice", "DeviceTaintRule", *(() if features.at_least("1.35") else ("DeviceClass",)))
        if before is not None and _same(before.state, state, *sources):
            self.slices = before.slices
        else:
            self.slices = apply_taint_rules(state.slices, state.taint_rules, features, classes=state.classes)
        self.nodes: tuple[Raw, ...]
        if before is not None and _same(before.state, state, "Node", "ResourceSlice"):
            self.nodes = before.nodes
        else:
            self.nodes = nodes_of(state)
        self.held = AllocatedState.from_claims(state.claims, features)
        self.signatures: dict[tuple[int, str], tuple[ResourceSlice, int]] = {} if before is None else before.signatures
        # What the node filters said of a pod stays true as long as pods and nodes are the same.
        same = before is not None and _same(before.state, state, "Pod", "Node", "Namespace")
        self.filtered: dict[object, tuple[Raw, dict[str, Rejection | None]]] = (
            before.filtered if before is not None and same else {}
        )
        if before is None:
            self.allocator = Allocator(self.slices, state.classes, state=self.held, features=features)
        else:
            self.allocator = before.allocator.replace(
                slices=None if self.slices is before.slices else self.slices,
                classes=None if _same(before.state, state, "DeviceClass") else state.classes,
                state=self.held,
            )

    def compile(self, expression: str) -> Program:
        """A selector, or a part of one, as the scheduler compiles it."""
        from dractl.cel import environment
        from dractl.model import Target

        gates = self.features.on if self.features.cel_on is None else self.features.cel_on
        return environment(Target(self.features.release, gates), "stored").compile(expression)

    def after(self, state: ClusterState) -> Judge:
        return Judge(state, self.features, self)

    # -- pods and claims --

    def pod(self, pod: Raw, *, anew: bool = False) -> Judgement:
        """The scheduler's verdict on a pod; with ``anew`` on the pod as if it were created again."""
        entry = enter(self.state, pod, anew=anew)
        if entry.reasons:
            return Judgement(entry.claims, entry.reasons, (), None, None, entry.condition)
        return self._judge(pod, entry.claims)

    def claim(self, claim: PodClaim) -> Judgement:
        """The verdict on a claim by itself, as if a pod without any other wish used it."""
        return self._judge(None, (claim,))

    def _judge(self, pod: Raw | None, claims: tuple[PodClaim, ...]) -> Judgement:
        resources = extended.classes_by_resource(self.state) if self._extended else {}
        wanted = extended.wanted(pod) if pod is not None and resources else {}
        provided = frozenset(name for name in wanted if name in resources)
        missing = self._missing_classes(claims)
        open_claims = tuple(c for c in claims if not c.allocated)
        if missing:
            text = missing[0][1]
            said = message.whole_pod_error(len(self.nodes), text)
            said = self._with_preemption(pod, said, [message.NOT_HELPFUL] * len(self.nodes), claims=False)
            return Judgement(claims, tuple(reason for reason, _ in missing), (), None, None, said)
        if not self.nodes:
            reason = Reason("node-filter", "the source has no node on which the pod could run")
            return Judgement(claims, (reason,), (), None, None, message.NO_NODES)
        rejections = {} if pod is None else self._filter(pod, provided)
        groups = Groups(self.slices, self.held, self._texts(claims), self.signatures)
        verdicts = []
        known: dict[Hashable, Outcome | None] = {}
        for node in self.nodes:
            here = open_claims
            group = groups.key(node)
            if provided and pod is not None:
                special = extended.special_claim(self.state, pod, node, self.features)
                here = here if special is None else (*here, special)
                group = (group, None if special is None else repr(special.value))
            verdicts.append(self._node(node, rejections, claims, here, group, known))
        return self._conclude(pod, claims, tuple(verdicts), provided)

    @property
    def _extended(self) -> bool:
        return "DRAExtendedResource" in self.features.on

    def _filter(self, pod: Raw, provided: frozenset[str]) -> dict[str, Rejection | None]:
        """What the filters before DRA say of each node; nothing where the source has no nodes."""
        if not self.state.has("Node"):
            return {}
        known = self.filtered.get((id(pod), provided))
        if known is None or known[0] is not pod:
            filters = NodeFilters(self.state, pod, ignored_resources=provided)
            known = pod, {text_at(node, "metadata", "name"): filters(node) for node in self.nodes}
            self.filtered[id(pod), provided] = known
        return known[1]

    def _texts(self, claims: tuple[PodClaim, ...]) -> list[str]:
        """Everything that may name what is read of a device."""
        selectors = [
            text_at(selector, "cel", "expression")
            for value in self.state.all("DeviceClass").values()
            for selector in maps_at(value, "spec", "selectors")
        ]
        return [*selectors, *(repr(at(claim.value, "spec")) for claim in claims)]

    def _node(
        self,
        node: Raw,
        rejections: Mapping[str, Rejection | None],
        claims: tuple[PodClaim, ...],
        here: tuple[PodClaim, ...],
        group: Hashable,
        known: dict[Hashable, Outcome | None],
    ) -> NodeVerdict:
        rejection = rejections.get(text_at(node, "metadata", "name"))
        elsewhere = tuple(c for c in claims if c.allocated and (not available_on(c, node) or self._failed(c)))
        if group not in known:
            known[group] = self.allocate(node, here)
        return NodeVerdict(node, text_at(node, "metadata", "name"), rejection, elsewhere, here, known[group], group)

    def _failed(self, claim: PodClaim) -> bool:
        return self.features.binding_conditions and failure(claim) is not None

    def allocate(self, node: Raw, claims: tuple[PodClaim, ...]) -> Outcome | None:
        """The allocator's verdict on one node; None where there is nothing to allocate."""
        if not claims:
            return None
        decoded: Node = self.state.decode(node)
        outcome = self.allocator.allocate(decoded, [c.claim for c in claims if c.claim is not None])
        if isinstance(outcome, Unsupported):
            raise UnsupportedError(outcome.message, hint="dractl says nothing rather than something wrong")
        return outcome

    def _missing_classes(self, claims: tuple[PodClaim, ...]) -> list[tuple[Reason, str]]:
        """PreFilter: every class that a request names must exist; with the scheduler's text."""
        known = sorted(name for _, name in self.state.all("DeviceClass"))
        found: list[tuple[Reason, str]] = []
        for claim in claims:
            if claim.allocated or claim.claim is None:
                continue
            for request in claim.claim.spec.devices.requests:
                options = (
                    [(request.name, request.exactly)]
                    if request.exactly
                    else [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
                )
                for name, option in options:
                    wanted = option.device_class_name if option is not None else ""
                    if not wanted or wanted in known:
                        continue
                    near = nearest(wanted, known) or self._class_of_driver(wanted)
                    why = f"request {name}: device class {wanted} does not exist"
                    if not known:
                        why = f"request {name}: device class {wanted} is not in the source, which has no class at all"
                    elif near:
                        why += f"; there is {near}"
                    else:
                        why += f"; there are {', '.join(known[:5])}"
                    reason = Reason(
                        "class-missing",
                        why,
                        pod_claim=claim.name or None,
                        claim=claim.full_name,
                        request=name,
                        device_class=wanted,
                        nearest=near,
                        found=tuple(known),
                    )
                    found.append((reason, f"request {name}: device class {wanted} does not exist"))
        return found

    def _class_of_driver(self, driver: str) -> str | None:
        """The class whose selector wants this driver, where a driver's name was written in place of the class."""
        for (_, name), value in sorted(self.state.all("DeviceClass").items()):
            for selector in maps_at(value, "spec", "selectors"):
                if driver in text_at(selector, "cel", "expression"):
                    return name
        return None

    # -- the whole attempt --

    def _conclude(
        self,
        pod: Raw | None,
        claims: tuple[PodClaim, ...],
        nodes: tuple[NodeVerdict, ...],
        provided: frozenset[str],
    ) -> Judgement:
        fatal = next((n for n in nodes if n.asked and self.is_fatal(n.outcome)), None)
        if fatal is not None:
            return Judgement(claims, (), nodes, fatal, None, message.filter_error(self._fatal_text(fatal)))
        if any(n.fits for n in nodes):
            late = self._late(pod, claims, nodes, mapped=bool(provided))
            return Judgement(claims, (), nodes, None, late[0] if late else None, late[1] if late else None)
        texts = [text for n in nodes for text in (n.rejection.texts if n.rejection is not None else self._dra_texts(n))]
        said = message.fit_error(len(nodes), texts)
        preempting, second = self._preempt(pod, nodes, provided)
        if preempting:
            return Judgement(claims, (), preempting, None, None, None)
        said = self._with_preemption(pod, said, second, claims=bool(claims or provided))
        return Judgement(claims, (), nodes, None, None, said)

    def _dra_texts(self, verdict: NodeVerdict) -> tuple[str, ...]:
        """What the DRA plugin says of a node; nothing where it has nothing against it."""
        if not verdict.allocates:
            return (self._node_text(verdict.outcome),)
        return (NOT_ON_NODE,) if verdict.elsewhere else ()

    def _preempt(
        self, pod: Raw | None, nodes: tuple[NodeVerdict, ...], provided: frozenset[str]
    ) -> tuple[tuple[NodeVerdict, ...], list[str]]:
        """The verdicts with the victims that make room on some nodes, else nothing and what preemption says of each
        node (framework/preemption/preemption.go, defaultpreemption SelectVictimsOnNode)."""
        texts: list[str] = []
        found: list[NodeVerdict] = []
        filters = None
        for n in nodes:
            if n.rejection is None or n.rejection.final or pod is None:
                texts.append(message.NOT_HELPFUL)
                found.append(n)
                continue
            filters = filters or NodeFilters(self.state, pod, ignored_resources=provided)
            victims = filters.victims(n.node)
            refused = filters.without(victims, n.node)(n.node) if victims else None
            said = (message.NO_VICTIMS,) if not victims else refused.texts if refused else self._dra_texts(n)
            texts += said
            names = tuple(full_name(victim) for victim in victims)
            found.append(n if said else replace(n, victims=names))
        return (tuple(found), []) if any(n.victims for n in found) else ((), texts)

    def _with_preemption(self, pod: Raw | None, first: str, second: list[str], *, claims: bool) -> str:
        never = text_at(pod, "spec", "preemptionPolicy") == "Never"
        told = message.NEVER_PREEMPTS if never else message.fit_error(len(self.nodes), second)
        return message.with_preemption(first, told, release_1_37=self.features.at_least("1.37"), claims=claims)

    def is_fatal(self, outcome: Outcome | None) -> bool:
        if isinstance(outcome, Fatal):
            return True
        return outcome is not None and outcome.times_out and self.features.at_least("1.36")

    def _fatal_text(self, verdict: NodeVerdict) -> str:
        if isinstance(verdict.outcome, Fatal):
            return verdict.outcome.message
        return f"node {verdict.name}: {TIMED_OUT}"

    def _node_text(self, outcome: Outcome | None) -> str:
        if isinstance(outcome, NodeError):
            return outcome.message
        return TIMED_OUT if outcome is not None and outcome.times_out else CANNOT_ALLOCATE

    def _late(
        self, pod: Raw | None, claims: tuple[PodClaim, ...], nodes: tuple[NodeVerdict, ...], *, mapped: bool
    ) -> tuple[Reason, str] | None:
        """What fails in Score and PreBind, after a node was found. ``mapped``: a class provides an extended resource
        that the pod wants."""
        joined = [c for c in claims if c.allocated and not reserved_for(c, pod)]
        for claim in joined:
            reserved = len(maps_at(claim.value, "status", "reservedFor"))
            if reserved >= RESERVED_LIMIT:
                name = claim.key[1]
                text = (
                    f'running PreBind plugin "DynamicResources": add reservation to claim {claim.full_name}: '
                    f'ResourceClaim.resource.k8s.io "{name}" is invalid: status.reservedFor: Too many: {reserved + 1}: '
                    f"must have at most {RESERVED_LIMIT} items"
                )
                why = f"claim {claim.full_name} is reserved for {reserved} pods, and {RESERVED_LIMIT} is the most"
                reason = Reason(
                    "reserved-limit",
                    why,
                    pod_claim=claim.name,
                    claim=claim.full_name,
                    have=reserved,
                    want=RESERVED_LIMIT,
                )
                return reason, text
        if not self.features.upstream_bugs:
            return None
        untimed = self._untimed(joined)
        if untimed is not None:
            return untimed
        if mapped and pod is not None and claims:
            bug = self._mapping_bug(pod, nodes)
            if bug is not None:
                return bug
        return self._score_bug(claims, nodes)

    def _untimed(self, joined: list[PodClaim]) -> tuple[Reason, str] | None:
        """A claim that was allocated without a time, as a scheduler without binding conditions does: one that has them
        writes the time with the reservation of another pod, which the API server refuses (dynamicresources.go
        bindClaim; pkg/apis/resource/validation, ValidateImmutableField of status.allocation)."""
        if not self.features.binding_conditions:
            return None
        claim = next((c for c in joined if not at(c.value, "status", "allocation", "allocationTimestamp")), None)
        if claim is None:
            return None
        text = (
            f'running PreBind plugin "DynamicResources": add reservation to claim {claim.full_name}: '
            f'ResourceClaim.resource.k8s.io "{claim.key[1]}" is invalid: status.allocation: Invalid value: null: '
            "field cannot be modified once set"
        )
        why = (
            f"claim {claim.full_name} was allocated without allocationTimestamp, by Kubernetes 1.35 or before, or with "
            "DRADeviceBindingConditions off: no further pod can join it until its pods end and it is allocated anew"
        )
        users = tuple(text_at(user, "name") for user in maps_at(claim.value, "status", "reservedFor"))
        reason = Reason("upstream-bug", why, pod_claim=claim.name or None, claim=claim.full_name, found=users)
        return reason, text

    def _mapping_bug(self, pod: Raw, nodes: tuple[NodeVerdict, ...]) -> tuple[Reason, str] | None:
        """A pod with a claim and an extended resource that a class provides, on nodes whose device plugin has it: the
        scheduler makes an empty claim for the resource and then cannot bind it (extendeddynamicresources.go
        filterExtendedResources, patchPodExtendedResourceClaimStatus)."""
        fitting = [n for n in nodes if n.fits]
        if any(c.key[1] == extended.SPECIAL_NAME for n in fitting for c in n.claims):
            return None
        name = f"{text_at(pod, 'metadata', 'namespace') or 'default'}/{text_at(pod, 'metadata', 'name')}"
        text = (
            'running PreBind plugin "DynamicResources": nil or empty request mappings, '
            f"no update of pod {name} ExtendedResourceClaimStatus"
        )
        why = (
            "the pod has claims and wants an extended resource that a device class provides, and the device plugin of "
            f"node {fitting[0].name} has it: the scheduler makes an empty claim for it and fails to bind the pod"
        )
        return Reason("upstream-bug", why, nodes=tuple(n.name for n in fitting)), text

    def _score_bug(self, claims: tuple[PodClaim, ...], nodes: tuple[NodeVerdict, ...]) -> tuple[Reason, str] | None:
        """kubernetes#139016: scoring alternatives counts allocations against all claims, also those allocated before.
        It happens where more than one node is left to score."""
        if self.features.release != "1.35" or sum(n.fits for n in nodes) < 2:
            return None
        open_claims = [c for c in claims if not c.allocated and c.claim is not None]
        mixed = len(open_claims) < len(claims) and any(
            request.first_available for c in open_claims if c.claim for request in c.claim.spec.devices.requests
        )
        if not mixed:
            return None
        text = (
            'running Score plugins: plugin "DynamicResources" failed with: '
            f"number of allocations {len(open_claims)} is smaller than number of claims"
        )
        why = (
            "one claim of the pod is allocated already and another has alternatives (firstAvailable): scoring counts "
            "allocations wrongly in this release"
        )
        claim = open_claims[0]
        return Reason("upstream-bug", why, pod_claim=claim.name, claim=claim.full_name, issue="kubernetes#139016"), text


def available_on(claim: PodClaim, node: Raw) -> bool:
    """Whether an allocated claim can be used on a node."""
    selector = at(claim.value, "status", "allocation", "nodeSelector")
    if not isinstance(selector, dict):
        return True
    return any(matches_term(term, node) for term in maps_at(selector, "nodeSelectorTerms"))


def nodes_of(state: ClusterState) -> tuple[Raw, ...]:
    """The nodes; where the source has none, those that the slices name, of which nothing else is known."""
    nodes = state.all("Node")
    if nodes:
        return tuple(value for _, value in sorted(nodes.items()))
    names = sorted({text_at(value, "spec", "nodeName") for value in state.all("ResourceSlice").values()} - {""})
    return tuple(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": n, "labels": {"kubernetes.io/hostname": n}}}
        for n in names
    )


def _same(before: ClusterState, after: ClusterState, *kinds: str) -> bool:
    return all(before.all(kind) is after.all(kind) for kind in kinds)
