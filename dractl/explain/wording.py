"""Sentences: the one place where causes are put into words.

A sentence names the request first, then what is wrong, what was found, and what is allowed or nearest. ``brief`` leaves
out what tables show elsewhere: who holds the devices, and what may not be read.
"""
# ruff: noqa: ARG001 (all sentences are made by functions of one signature)

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.allocation import CLAIM_NAME
from dractl.explain import causes
from dractl.explain.refusals import labels_text, unmet
from dractl.explain.selectors import MOST, readable
from dractl.scheduler.quota import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dractl.cluster.devices import Holder
    from dractl.explain.causes import Cause
    from dractl.explain.selectors import Misfit
    from dractl.model.names import RequestRef

C = TypeVar("C", bound="Cause")

_SPECIAL = f"/{CLAIM_NAME}"  # the scheduler's own claim for extended resources


class Scope(Enum):
    """The nodes that a sentence is about."""

    ONE = "one node"
    ALL = "all nodes"


class Names(Struct, frozen=True):
    """What the user calls claims and requests. ``claims``: ``namespace/name`` of each claim of the subject and its name
    in the pod; ``written``: what the pod has where the scheduler's claim for extended resources has a request."""

    claims: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    def request(self, ref: RequestRef) -> str:
        """``request gpu``, with its claim where there are several; an extended resource as the pod has it."""
        if ref.claim.endswith(_SPECIAL):
            return self.written.get(str(ref), f"request {ref}")
        if len(self.claims) < 2 or ref.claim not in self.claims:
            return f"request {ref}"
        return f"request {self.short(ref)}"

    def short(self, ref: RequestRef) -> str:
        """``claim/request``: a request among those of several claims."""
        if ref.claim.endswith(_SPECIAL):
            return self.written.get(str(ref), str(ref))
        claim = self.claims.get(ref.claim)
        return f"{claim}/{ref}" if claim is not None else str(ref)

    def among(self, refs: Sequence[RequestRef]) -> str:
        """``a, b`` or ``main/a, aux/b``."""
        several = len({ref.claim for ref in refs}) > 1 or refs[0].claim.endswith(_SPECIAL)
        return ", ".join(self.short(ref) if several else str(ref) for ref in refs)

    def requests(self, refs: Sequence[RequestRef]) -> str:
        """``request a`` or ``requests a, b``; extended resources as the pod has them."""
        if not refs:  # all have alternatives
            return "requests"
        if refs[0].claim.endswith(_SPECIAL):
            return self.among(refs)
        return self.request(refs[0]) if len(refs) == 1 else f"requests {self.among(refs)}"

    def pod_claim(self, claim: str) -> str | None:
        """The pod's own name for a claim; None for a claim asked about by itself."""
        return self.claims.get(claim)


def say(cause: Cause, names: Names, scope: Scope = Scope.ONE, *, brief: bool = False) -> str:
    """The sentence about a cause."""
    kind = next(kind for kind in type(cause).__mro__ if kind in _SENTENCES)
    if brief and isinstance(cause, causes.NotReadable):
        cause = replace(cause, missing=() if cause.quote else cause.missing)
    sentence = _SENTENCES[kind](cause, names, scope)
    holders: Sequence[Holder] = getattr(cause, "holders", ())
    if not holders or not isinstance(cause, _NAMES_HOLDERS) or not getattr(cause, "exists", True):
        return sentence
    if brief:  # the funnel names the counters only
        return f"{sentence}; held by {by_whom(holders)}" if isinstance(cause, causes.CountersShort) else sentence
    return f"{sentence}; held by {held_by(holders)}"


def whose(cause: Cause) -> str:
    """``; held by Deployment ml/web``: what a headline adds to the brief sentence about devices that are in use."""
    holders: Sequence[Holder] = getattr(cause, "holders", ())
    if isinstance(cause, causes.DeviceInUseSamePod | causes.CountersShort) or not getattr(cause, "exists", True):
        return ""
    return f"; held by {by_whom(holders)}" if holders and isinstance(cause, _NAMES_HOLDERS) else ""


def by_whom(holders: Sequence[Holder], most: int = 2) -> str:
    """``Deployment ml/web, pod ml/eval-0 and 2 more``: whoever uses the claims that hold devices."""

    def one(holder: Holder) -> str:
        if holder.pod is None:
            return f"claim {holder.claim}, which no pod uses"
        return holder.workload or f"pod {holder.pod}"

    names = list(dict.fromkeys(map(one, holders)))
    if len(names) > 1 and all(name.startswith("pod ") for name in names):
        names = [f"pods {names[0][4:]}", *(name[4:] for name in names[1:])]
    return first(names, most)


def held_by(holders: Sequence[Holder], most: int = 3) -> str:
    """``claim ml/eval-0 ×8 (pod eval-0), …``."""
    if not holders:
        return "claims that are not in the input"
    by_claim: dict[str, list[Holder]] = {}
    for holder in holders:
        by_claim.setdefault(holder.claim, []).append(holder)
    parts = []
    for claim, those in list(by_claim.items())[:most]:
        pods = [h.pod.rpartition("/")[2] + (", ended" if h.finished else "") for h in those if h.pod]
        users = f"pod {', '.join(pods[:3])}" if pods else "reserved for no pod"
        parts.append(f"claim {claim}{times(len(those[0].devices))} ({users})")
    return listed(parts, len(by_claim) - len(parts))


def listed(names: Sequence[str], more: int = 0) -> str:
    """``a, b and 3 more``."""
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def first(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names."""
    return listed(names[:most], len(names) - most)


def times(number: int) -> str:
    """`` ×8``, and nothing for one."""
    return f" ×{number}" if number > 1 else ""


def tally(values: Iterable[str] | Mapping[str, int]) -> str:
    """``Ampere ×64, Hopper ×2``: the values, the most frequent first."""
    counted = Counter(values).most_common()
    shown = ", ".join(f"{value}{times(count)}" for value, count in counted[:MOST])
    return shown + (f", {len(counted) - MOST} more values" if len(counted) > MOST else "")


def instead(misfit: Misfit) -> str:
    """Values that devices have instead of what a selector wants: ``memory: 40Gi ×8, not published by 2``."""
    reference = misfit.reference
    if reference is None:
        return f"driver: {tally(dict(misfit.values))}" if misfit.values else ""
    if misfit.values:
        lacking = f", not published by {misfit.missing}" if misfit.missing else ""
        kinds = f"; {reference.name} is {misfit.kinds[0]}, not {misfit.kinds[1]}" if misfit.kinds else ""
        return f"{reference.name}: {tally(dict(misfit.values))}{lacking}{kinds}"
    kind = "attribute" if reference.kind == "attributes" else "capacity"
    name = f"{kind} {reference.full_name}" if reference.name else f"domain {reference.domain}"
    near = f"; there is {misfit.nearest}" if misfit.nearest else ""
    if misfit.in_other_map:
        right = (
            ("a capacity", "device.capacity")
            if reference.kind == "attributes"
            else ("an attribute", "device.attributes")
        )
        near = f"; {reference.name} is {right[0]}, read by {right[1]}"
    return f"{name} exists on 0 of {misfit.devices} devices{near}"


def plural(number: int, noun: str) -> str:
    """``1 device``, ``2 devices``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# -- sentences, by cause --

_SENTENCES: dict[type[Any], Callable[[Any, Names, Scope], str]] = {}
_NAMES_HOLDERS = (
    causes.AllNeedsFree,
    causes.DeviceInUse,
    causes.DeviceInUseSamePod,
    causes.CountersShort,
    causes.CapacityShort,
    causes.ConstraintConflict,
)


def _says(kind: type[C]) -> Callable[[Callable[[C, Names, Scope], str]], Callable[[C, Names, Scope], str]]:
    def register(make: Callable[[C, Names, Scope], str]) -> Callable[[C, Names, Scope], str]:
        _SENTENCES[kind] = make
        return make

    return register


def _lead(cause: causes.OfRequest, names: Names) -> str:
    return f"{names.request(cause.request)}: " if cause.request is not None else ""


# claims


@_says(causes.ClaimMissing)
def _claim_missing(cause: causes.ClaimMissing, names: Names, scope: Scope) -> str:
    if cause.none_known:
        why = f"claim {cause.claim} is not in the input, which has no ResourceClaim at all"
    elif cause.template is not None:
        return (
            f"claim {cause.claim}, made from template {cause.template}, was deleted; it is not created again while the "
            "pod exists"
        )
    else:
        why = f"claim {cause.claim} does not exist"
    if cause.elsewhere:
        return f"{why}; {cause.elsewhere[0]} does, but claims are namespaced"
    if cause.nearest:
        return f"{why}; the namespace has {cause.nearest}"
    if cause.unlabelled:
        why += (
            f". Nothing says why: if it was refused for adminAccess, namespace {cause.unlabelled} lacks the label "
            "resource.kubernetes.io/admin-access=true"
        )
    return why


@_says(causes.ClaimNotCreated)
def _claim_not_created(cause: causes.ClaimNotCreated, names: Names, scope: Scope) -> str:
    why = f"the claim of template {cause.template} has not been created"
    if cause.refusal:
        return f"the claim of template {cause.template} cannot be created: {cause.refusal}"
    if cause.event:
        return f"{why}; the claim controller says: {cause.event}"
    if cause.template_is_younger:
        return f"{why}; the template was created after the pod: the controller tries again with growing delays"
    if cause.new:
        return f"{why} yet; the pod was created a few seconds ago"
    return f"{why}, and no event says why: is kube-controller-manager running?"


@_says(causes.TemplateMissing)
def _template_missing(cause: causes.TemplateMissing, names: Names, scope: Scope) -> str:
    if cause.none_known:
        why = f"template {cause.template} is not in the input, which has no ResourceClaimTemplate at all"
    else:
        why = f"template {cause.template} does not exist, so the claim is not created"
    if cause.elsewhere:
        return f"{why}; {cause.elsewhere[0]} does, but templates are namespaced"
    return f"{why}; the namespace has {cause.nearest}" if cause.nearest else why


@_says(causes.ClaimNotOwned)
def _claim_not_owned(cause: causes.ClaimNotOwned, names: Names, scope: Scope) -> str:
    return f"claim {cause.claim} was made for another pod of this name: this pod does not own it"


@_says(causes.ClaimDeleting)
def _claim_deleting(cause: causes.ClaimDeleting, names: Names, scope: Scope) -> str:
    if cause.asked:
        return f"claim {cause.claim} is being deleted"
    why = f"claim {cause.claim} is being deleted and cannot be used"
    if cause.gone:
        why += f"; it is still reserved for pod {', '.join(cause.gone)}, which does not exist in the input"
    elif cause.users:
        why += f"; pod {', '.join(cause.users)} still uses it"
    if cause.finalizers:
        why += f"; finalizers: {', '.join(cause.finalizers)}"
    return why


@_says(causes.ClaimUnsetSource)
def _claim_unset_source(cause: causes.ClaimUnsetSource, names: Names, scope: Scope) -> str:
    why = f"pod claim {cause.pod_claim} names neither a resourceClaimName nor a resourceClaimTemplateName"
    return why + (" (the old form source: {…} is no longer read)" if cause.old_form else "")


@_says(causes.SchedulingGated)
def _scheduling_gated(cause: causes.SchedulingGated, names: Names, scope: Scope) -> str:
    gates = ", ".join(cause.gates)
    if cause.queue and any("kueue" in gate for gate in cause.gates):
        return f"Kueue has not admitted the pod to LocalQueue {cause.queue} yet: scheduling gate {gates} holds it back"
    return f"scheduling is held back by the pod's scheduling gates: {gates}"


@_says(causes.GangTooSmall)
def _gang_too_small(cause: causes.GangTooSmall, names: Names, scope: Scope) -> str:
    more = cause.have - cause.placed
    here = f" ({cause.placed} on nodes, {more} more)" if cause.placed else ""
    together = f" on nodes with {cause.domain}" if cause.domain else ""
    fit = "fits" if cause.have == 1 else "fit"
    if cause.want == 1:
        lead = f"no {'other ' if cause.placed else ''}pod of {cause.group} fits{together}"
    else:
        lead = f"{cause.group} starts with {cause.want} pods at once or none, and {cause.have} {fit}{together}{here}"
    return f"{lead}; the next one, {cause.pod}: {cause.why}"


@_says(causes.GangIncomplete)
def _gang_incomplete(cause: causes.GangIncomplete, names: Names, scope: Scope) -> str:
    exist = f"only {cause.have} exist{'s' if cause.have == 1 else ''}"
    return f"{cause.group} starts with {cause.want} pods at once or none, and {exist}; the scheduler tries none before"


@_says(causes.GangHeldBack)
def _gang_held_back(cause: causes.GangHeldBack, names: Names, scope: Scope) -> str:
    return f"{cause.group} waits for its pod {cause.pod}, which is held back before scheduling: {cause.why}"


@_says(causes.PodGroupMissing)
def _podgroup_missing(cause: causes.PodGroupMissing, names: Names, scope: Scope) -> str:
    near = f"; there is {cause.nearest}" if cause.nearest else ""
    return f"{cause.group} does not exist, so the scheduler tries none of its pods{near}"


@_says(causes.PodGroupRefused)
def _podgroup_refused(cause: causes.PodGroupRefused, names: Names, scope: Scope) -> str:
    return f"the scheduler tries no pod of {cause.group}: {cause.text}"


@_says(causes.QuotaExceeded)
def _quota_exceeded(cause: causes.QuotaExceeded, names: Names, scope: Scope) -> str:
    if cause.event:
        return f"the claim of pod claim {cause.pod_claim} was refused: {cause.event}"
    limit: object = f"{cause.have} {cause.resource}"
    if cause.resource == CLAIMS and isinstance(cause.have, int):
        limit = f"{plural(cause.have, 'claim')} ({CLAIMS})"
    if cause.device_class is not None and isinstance(cause.have, int):
        limit = f"{plural(cause.have, 'device')} of {cause.device_class}"
    return f"quota {cause.quotas[0]} allows {limit}; {cause.used} used, {cause.more} more wanted"


@_says(causes.AdminAccessNamespace)
def _admin_access_namespace(cause: causes.AdminAccessNamespace, names: Names, scope: Scope) -> str:
    return (
        f"request {cause.request_name} wants adminAccess, and namespace {cause.namespace} lacks the label "
        "resource.kubernetes.io/admin-access=true"
    )


@_says(causes.ClassMissing)
def _class_missing(cause: causes.ClassMissing, names: Names, scope: Scope) -> str:
    if cause.upstream:
        return cause.upstream
    lead = f"{_lead(cause, names)}device class {cause.device_class}"
    if cause.silent and cause.known:
        return f"{lead} does not exist, and its driver {cause.driver} publishes no devices"
    if cause.none_known:
        return f"{lead} is not in the input, which has no DeviceClass at all"
    if not cause.known:
        return f"{lead} does not exist; the cluster has no DeviceClass at all"
    if cause.nearest:
        return f"{lead} does not exist; there is {cause.nearest}"
    return f"{lead} does not exist; there are {first(cause.known, 5)}"


@_says(causes.BindingPending)
def _binding_pending(cause: causes.BindingPending, names: Names, scope: Scope) -> str:
    until = f"ten minutes after {cause.since}" if cause.since else "after ten minutes"
    return (
        f"claim {cause.claim} is allocated; the scheduler waits until the driver of {cause.devices[0]} sets "
        f"{', '.join(cause.conditions)} in the claim's status.devices; it gives up {until} and allocates again"
    )


@_says(causes.BindingFailed)
def _binding_failed(cause: causes.BindingFailed, names: Names, scope: Scope) -> str:
    return f"claim {cause.claim} cannot be used: {cause.failure}"


@_says(causes.ReservedLimit)
def _reserved_limit(cause: causes.ReservedLimit, names: Names, scope: Scope) -> str:
    return f"claim {cause.claim} is reserved for {cause.have} pods; the limit is {cause.want}"


@_says(causes.NoConsumer)
def _no_consumer(cause: causes.NoConsumer, names: Names, scope: Scope) -> str:
    return (
        f"no pod uses claim {cause.claim}: a claim is allocated when a pod that uses it is scheduled, until then "
        "pending is its normal state"
    )


# what drivers publish


@_says(causes.NoSlicesForDriver)
def _no_slices_for_driver(cause: causes.NoSlicesForDriver, names: Names, scope: Scope) -> str:
    if cause.none_known:
        where = "cluster" if cause.listed else "input"
        why = f"{_lead(cause, names)}the {where} has no ResourceSlice at all"
        return f"{why}; driver {cause.driver} publishes nothing" if cause.driver else why
    why = f"{_lead(cause, names)}driver {cause.driver} publishes no ResourceSlice"
    if cause.nearest:
        why += f"; there is {cause.nearest}"
    return f"{why} (class {cause.device_class})" if cause.device_class else why


@_says(causes.NoSlicesOnNode)
def _no_slices_on_node(cause: causes.NoSlicesOnNode, names: Names, scope: Scope) -> str:
    where = "this node" if scope is Scope.ONE else "any of these nodes"
    if cause.driver is None:
        return f"{_lead(cause, names)}no driver publishes a device on {where}"
    return f"{_lead(cause, names)}{cause.driver} publishes no device on {where}"


@_says(causes.SliceNodeMismatch)
def _slice_node_mismatch(cause: causes.SliceNodeMismatch, names: Names, scope: Scope) -> str:
    if cause.selectors:
        there = labels_text(cause.labels, len(cause.nodes) < 2)
        why = f"{_lead(cause, names)}slice {cause.slice} is only for nodes with {cause.selectors[0]}"
        return f"{why}; {there}" if there else why
    return f"{_lead(cause, names)}{plural(len(cause.devices), 'device')} of the slice are for other nodes"


def _pool(cause: causes.OfPool, names: Names, fault: str) -> str:
    if cause.upstream:
        return cause.upstream
    if cause.all_mode and cause.request is not None:
        return f"{names.request(cause.request)} wants all devices, and pool {cause.pool} {fault}"
    return f"pool {cause.pool} {fault}"


@_says(causes.PoolIncomplete)
def _pool_incomplete(cause: causes.PoolIncomplete, names: Names, scope: Scope) -> str:
    have, want = cause.have or 0, cause.want or 0
    if have > want:
        return _pool(
            cause,
            names,
            f"is incomplete: {plural(have, 'slice')} of generation {cause.generation} exist, and each announces {want}",
        )
    return _pool(cause, names, f"is incomplete: {have} of {want} slices of generation {cause.generation} exist")


@_says(causes.PublishedTwice)
def _published_twice(cause: causes.PublishedTwice, names: Names, scope: Scope) -> str:
    slices = " and ".join(f"{name} (created {when})" if when else name for name, when in cause.slices[:3])
    more = f" and {len(cause.slices) - 3} more" if len(cause.slices) > 3 else ""
    both = f"; {'all' if len(cause.slices) > 2 else 'both'} have {first(cause.both)}" if cause.both else ""
    return (
        f"pool {cause.pool} is published twice, by slices {slices}{more}{both}: do two installations of the driver "
        "run, or has an earlier one left its slices?"
    )


@_says(causes.PoolObsolete)
def _pool_obsolete(cause: causes.PoolObsolete, names: Names, scope: Scope) -> str:
    return _pool(cause, names, f"is ignored: here it has generation {cause.generation}, elsewhere a newer one")


@_says(causes.PoolInvalid)
def _pool_invalid(cause: causes.PoolInvalid, names: Names, scope: Scope) -> str:
    return _pool(cause, names, f"is invalid: {cause.fault}")


# one request


@_says(causes.SelectorFalse)
def _selector_false(cause: causes.SelectorFalse, names: Names, scope: Scope) -> str:
    there = instead(cause.misfit) if cause.misfit is not None else ""
    detail = f" ({_false(cause)}{there})" if there else ""
    if cause.of_class:
        of = plural(cause.of, "device")
        return f"{_lead(cause, names)}class {cause.device_class} matches none of {of}{detail}"
    have = cause.have or 0
    why = f"{_lead(cause, names)}{readable(cause.selector)} is true on {have} of {plural(cause.of, 'device')}"
    if have and (cause.want or 0) > 1:
        why += f", {cause.want} wanted"
    return why + detail


def _false(cause: causes.SelectorFalse) -> str:
    """The part of a longer selector that is false."""
    part = readable(cause.part) if cause.part else ""
    return f"{part} is false: " if part and part != readable(cause.selector) else ""


@_says(causes.SelectorError)
def _selector_error(cause: causes.SelectorError, names: Names, scope: Scope) -> str:
    if cause.upstream:
        return cause.upstream
    there = instead(cause.misfit) if cause.misfit is not None else ""
    detail = f" ({there})" if there else ""
    if cause.selector is None:
        return f"{_lead(cause, names)}{cause.error}{detail}"
    on = f"{len(cause.devices)} devices" if len(cause.devices) > 1 else f"device {cause.devices[0]}"
    if cause.on:
        on += f" of node {first(cause.on)}"
    return f"{_lead(cause, names)}{readable(cause.selector)} fails on {on}: {cause.error}{detail}"


@_says(causes.AttributeMissing)
def _attribute_missing(cause: causes.AttributeMissing, names: Names, scope: Scope) -> str:
    request = names.request(cause.request) if cause.request is not None else "the request"
    why = f"attribute {cause.attribute} exists on {cause.publish} of {plural(cause.of, 'device')} of {request}"
    return f"{why}; there is {cause.nearest}" if cause.nearest else why


@_says(causes.DeviceInUse)
def _device_in_use(cause: causes.DeviceInUse, names: Names, scope: Scope) -> str:
    if scope is Scope.ALL and cause.free and len(cause.nodes) > 1:
        most = f"no node has more than {cause.free} of {cause.of} matching devices free"
        return f"{_lead(cause, names)}{most}, {cause.want} wanted"
    return _lead(cause, names) + _in_use(cause.free, cause.of, cause.want)


@_says(causes.DeviceInUseSamePod)
def _device_in_use_same_pod(cause: causes.DeviceInUseSamePod, names: Names, scope: Scope) -> str:
    return f"{_lead(cause, names)}{_in_use(cause.free, cause.of, cause.want)} by the pod's own claims"


def _in_use(free: int, of: int, want: int) -> str:
    if free:
        return f"{free} of {of} matching devices {'is' if free == 1 else 'are'} free, {want} wanted"
    return "the only matching device is in use" if of == 1 else f"all {of} matching devices are in use"


@_says(causes.Rivals)
def _rivals(cause: causes.Rivals, names: Names, scope: Scope) -> str:
    devices = ", ".join(cause.devices[:3]) + (" …" if len(cause.devices) > 3 else "")
    both = " and ".join(
        names.short(r) if len({r.claim for r in cause.requests}) > 1 else str(r) for r in cause.requests
    )
    return f"requests {both} want {cause.want} devices, and both would have to take them from {devices}"


@_says(causes.AllNeedsFree)
def _all_needs_free(cause: causes.AllNeedsFree, names: Names, scope: Scope) -> str:
    request = names.request(cause.request) if cause.request is not None else "the request"
    taken = cause.taken
    return f"{request} wants all {cause.want} matching devices; {taken} {'is' if taken == 1 else 'are'} in use"


@_says(causes.Tainted)
def _tainted(cause: causes.Tainted, names: Names, scope: Scope) -> str:
    number = sum(number for _, number in cause.taints)
    has = "has" if number == 1 else "have"
    of = f"{number} of {number + cause.have} devices {has}" if cause.have else f"{plural(number, 'device')} {has}"
    why = f"{_lead(cause, names)}{of} a taint that is not tolerated: {_taints(cause)}"
    if cause.have and (cause.want or 0) > cause.have:
        why += f"; {cause.want} wanted"
    return f"{why}; the request tolerates {', '.join(cause.tolerates)}" if cause.tolerates else why


@_says(causes.AllNeedsUntainted)
def _all_needs_untainted(cause: causes.AllNeedsUntainted, names: Names, scope: Scope) -> str:
    request = names.request(cause.request) if cause.request is not None else "the request"
    number = sum(number for _, number in cause.taints)
    tainted = f"{number} {'is' if number == 1 else 'are'} tainted: {_taints(cause)}"
    return f"{request} wants all {cause.want} matching devices; {tainted}"


def _taints(cause: causes.Tainted) -> str:
    wide = ", which selects every device of its driver" if cause.sweeping else ""
    by = f" (DeviceTaintRule {', '.join(cause.rules)}{wide})" if cause.rules else ""
    return ", ".join(taint + times(number) for taint, number in cause.taints[:3]) + by


@_says(causes.CountersShort)
def _counters_short(cause: causes.CountersShort, names: Names, scope: Scope) -> str:
    parts = tuple(dict.fromkeys(device.rpartition("/")[2] for device in cause.devices))
    what = f"device {parts[0]} shares" if len(parts) == 1 else f"devices {first(parts, 2)} share"
    why = (
        f"{_lead(cause, names)}{what} hardware with partitions that are in use: counter set {cause.counter_set} has "
        f"too little left of {', '.join(cause.counters[:4])}"
    )
    why += f" (wants {cause.want}, free {cause.free})" if cause.want is not None else ""
    return why


@_says(causes.CapacityMissing)
def _capacity_missing(cause: causes.CapacityMissing, names: Names, scope: Scope) -> str:
    why = f"{_lead(cause, names)}capacity {cause.capacity} exists on 0 of {plural(len(cause.devices), 'device')}"
    return f"{why}; they publish {', '.join(cause.known[:5])}" if cause.known else why


@_says(causes.CapacityShort)
def _capacity_short(cause: causes.CapacityShort, names: Names, scope: Scope) -> str:
    why = f"{_lead(cause, names)}capacity {cause.capacity}: wants {cause.want}"
    if cause.asked is not None:
        why += f" ({cause.asked}, rounded up to what the device allows)"
    if cause.free != cause.have:
        return f"{why}, at most {cause.free} of {cause.have} is free on one device"
    return f"{why}, the largest has {cause.have}"


@_says(causes.CapacityPolicy)
def _capacity_policy(cause: causes.CapacityPolicy, names: Names, scope: Scope) -> str:
    why = f"{_lead(cause, names)}capacity {cause.capacity}: wants {cause.want}"
    return f"{why}, and the request policy allows {cause.allowed}" if cause.allowed else f"{why}: {cause.problem}"


@_says(causes.GateOff)
def _gate_off(cause: causes.GateOff, names: Names, scope: Scope) -> str:
    return cause.upstream if not cause.detail else f"{_lead(cause, names)}{cause.detail}"


@_says(causes.NotEnough)
def _not_enough(cause: causes.NotEnough, names: Names, scope: Scope) -> str:
    request = names.request(cause.request) if cause.request is not None else "the request"
    there = f"the node has {cause.have}" if scope is Scope.ONE else f"no node has more than {cause.have}"
    return f"{request} wants {plural(cause.want, 'device')}; {there} of class {cause.device_class}"


# requests together


@_says(causes.NotEnoughTogether)
def _not_enough_together(cause: causes.NotEnoughTogether, names: Names, scope: Scope) -> str:
    where = "the node has" if scope is Scope.ONE else "no node has more than"
    return f"{names.requests(cause.requests)} want {cause.want} devices together; {where} {cause.have} that match"


@_says(causes.AttributeType)
def _attribute_type(cause: causes.AttributeType, names: Names, scope: Scope) -> str:
    types = ", ".join(f"{request}: {'/'.join(kinds)}" for request, kinds in cause.types)
    short = cause.attribute.rpartition("/")[2]
    why = (
        f"{cause.constraint} over {names.among(cause.requests)}: the devices publish {short} with different types "
        f"({types})"
    )
    return f"{why}; lists are matched only with the feature gate {cause.gate}" if cause.gate else why


@_says(causes.ConstraintConflict)
def _constraint_conflict(cause: causes.ConstraintConflict, names: Names, scope: Scope) -> str:
    if cause.want is not None:
        over = names.among(cause.requests)
        there = f"there {'is' if cause.have == 1 else 'are'} {cause.have}"
        return f"{cause.constraint} over {over}: {cause.want} different values wanted, {there}"
    short = (cause.attribute or "").rpartition("/")[2]
    wants = " and ".join(f"{number} {request}" for request, number in cause.counts) or names.among(cause.requests)
    # A PCIe root or a NUMA node is a place that has devices; other attributes are values that devices share.
    place = (cause.attribute or "").startswith("resource.kubernetes.io/")
    why = f"no {short} has {wants}" if place else f"no value of {short} is shared by {wants}"
    if not cause.devices:
        return why
    return f"{why} that are free" if cause.exists else f"{why}, in use or not"


@_says(causes.AllUnderConstraint)
def _all_under_constraint(cause: causes.AllUnderConstraint, names: Names, scope: Scope) -> str:
    request = names.request(cause.request) if cause.request is not None else "the request"
    return f"{request} wants all devices, and not all of them satisfy {cause.constraint or 'a constraint'}"


@_says(causes.SearchConflict)
def _search_conflict(cause: causes.SearchConflict, names: Names, scope: Scope) -> str:
    if len(cause.requests) == 1:
        why = f"{names.request(cause.requests[0])}: one device would fit; {cause.total} together do not"
    else:
        why = f"each of the {names.requests(cause.requests)} would fit alone; together they do not"
    if not cause.counter_sets:
        return why
    sets = ", ".join(cause.counter_sets[:3]) + (" …" if len(cause.counter_sets) > 3 else "")
    return f"{why}: their devices draw on the same counters, of {sets}"


@_says(causes.ClaimLimit)
def _claim_limit(cause: causes.ClaimLimit, names: Names, scope: Scope) -> str:
    wants = names.among(cause.requests) if cause.requests else "the requests"
    return f"claim {cause.claim}: {wants} want {cause.want or 'too many'} devices, and a claim can have {cause.have}"


# nodes, and the rest of the scheduler


@_says(causes.PinnedNode)
def _pinned_node(cause: causes.PinnedNode, names: Names, scope: Scope) -> str:
    where = ", ".join(cause.places or cause.pools)
    users = f" (used by pod {first(cause.users)})" if cause.users else ""
    return f"claim {cause.claim}{users} is already allocated on {where}, so the pod must go there"


@_says(causes.NodeFilter)
def _node_filter(cause: causes.NodeFilter, names: Names, scope: Scope) -> str:
    used = f"mostly used by {first(cause.users)}" if cause.users else ""
    near = f"there is {cause.nearest}" if cause.nearest else ""
    tolerates = f"the pod tolerates {', '.join(cause.tolerates)}" if cause.tolerates else ""
    labels = labels_text(cause.labels, len(cause.nodes) < 2)
    details = "; ".join(filter(None, (unmet(cause.unmet), labels, near, tolerates, used)))
    upstream = "; ".join(cause.texts)
    if not details or not upstream:
        return details or upstream
    # What counts nodes is long and says little: it comes last, where a narrow screen may cut it off.
    return f"{details} ({upstream})" if upstream.startswith("node(s)") else f"{upstream} ({details})"


@_says(causes.NoNodes)
def _no_nodes(cause: causes.NoNodes, names: Names, scope: Scope) -> str:
    return "the input has no node on which the pod could run"


@_says(causes.Unchecked)
def _unchecked(cause: causes.Unchecked, names: Names, scope: Scope) -> str:
    where = listed(cause.nodes[:1], cause.fitting - 1)
    quotes = "; ".join(cause.quotes)
    why = f"the scheduler says: {quotes}; that is not checked here, and everything else would fit on {where}"
    volumes = ", ".join(f"{name} ({state})" for name, state in cause.volumes)
    return f"{why}; PersistentVolumeClaims of the pod: {volumes}" if volumes else why


@_says(causes.OtherScheduler)
def _other_scheduler(cause: causes.OtherScheduler, names: Names, scope: Scope) -> str:
    return (
        f"spec.schedulerName is {cause.plugin}: kube-scheduler ignores the pod, and the input does not show whether "
        f"{cause.plugin} runs or supports DRA; the rest is what kube-scheduler would say"
    )


@_says(causes.PlacedByHand)
def _placed_by_hand(cause: causes.PlacedByHand, names: Names, scope: Scope) -> str:
    where = ", ".join(cause.nodes) + ("" if cause.exists else ", which does not exist,")
    return (
        f"the pod was put on node {where} without the scheduler having allocated claim {cause.claim}: "
        "spec.nodeName was set by hand or by another controller"
    )


@_says(causes.NotPrepared)
def _not_prepared(cause: causes.NotPrepared, names: Names, scope: Scope) -> str:
    faults = "; ".join(f"{path} of claim {claim}: {why}" for claim, path, why in cause.faults)
    return f"{cause.headline}; the driver refuses {faults}" if faults else cause.headline


@_says(causes.TimeoutRisk)
def _timeout_risk(cause: causes.TimeoutRisk, names: Names, scope: Scope) -> str:
    why = (
        "the scheduler would try combinations for more than 10 seconds and give up "
        "(timed out trying to allocate devices)"
    )
    return (
        why
        if cause.because is None
        else f"{why}; the part that cannot be satisfied: {say(cause.because, names, scope)}"
    )


@_says(causes.SchedulerError)
def _scheduler_error(cause: causes.SchedulerError, names: Names, scope: Scope) -> str:
    return cause.upstream


@_says(causes.UpstreamBug)
def _upstream_bug(cause: causes.UpstreamBug, names: Names, scope: Scope) -> str:
    if not cause.fits_without:
        return cause.effect
    issue = f" ({cause.issue})" if cause.issue else ""
    return f"it would fit on {first(cause.nodes)}, but for a known bug in the scheduler: {cause.effect}{issue}"


@_says(causes.ExtendedResourceUnmapped)
def _extended_resource_unmapped(cause: causes.ExtendedResourceUnmapped, names: Names, scope: Scope) -> str:
    if cause.nearest:
        by = f", of class {cause.device_class}" if cause.device_class else ""
        return f"nothing provides {cause.resource}; there is {cause.nearest}{by}"
    why = (
        f"the node offers no {cause.resource}; its DRA driver has devices of class {cause.device_class}, which does "
        f"not provide {cause.resource} (spec.extendedResourceName)"
    )
    return f"{why}; the feature gate DRAExtendedResource is off, too" if cause.gate_off else why


@_says(causes.WouldFitNow)
def _would_fit_now(cause: causes.WouldFitNow, names: Names, scope: Scope) -> str:
    since = f" at {cause.since}" if cause.since else ""
    if cause.leaving:
        pods = first(cause.leaving)
        return f"kube-scheduler preempts pods of lower priority on {cause.nodes[0]}, and waits until they end: {pods}"
    return (
        f"it fits now (on {cause.nodes[0]}), but the scheduler's last attempt{since} failed and it has not tried "
        "again; it does so at an event that concerns the pod, or after five minutes"
    )


@_says(causes.Mixed)
def _mixed(cause: causes.Mixed, names: Names, scope: Scope) -> str:
    why = f"the nodes have {len(cause.codes)} different reasons"
    if cause.nearest_cause is None:
        return why
    return f"{why}; nearest is {cause.nearest_node}: {say(cause.nearest_cause, names)}"


# between objects


@_says(causes.OldReplicas)
def _old_replicas(cause: causes.OldReplicas, names: Names, scope: Scope) -> str:
    how = ", ".join(f"{k} {v}" for k, v in (("maxSurge", cause.surge), ("maxUnavailable", cause.unavailable)) if v)
    old = f"{plural(len(cause.pods), 'old replica')} {'holds' if len(cause.pods) == 1 else 'hold'}"
    why = f"the rolling update of {cause.owner} waits for itself: its {old} the devices that the new one needs"
    return f"{why} ({how})" if how else why


@_says(causes.OwnReplicas)
def _own_replicas(cause: causes.OwnReplicas, names: Names, scope: Scope) -> str:
    if cause.earlier:
        return f"Job {cause.earlier}, an earlier run of {cause.owner}, still holds the devices"
    held = f"{plural(len(cause.pods), 'other pod')} of {cause.owner} {'hold' if len(cause.pods) > 1 else 'holds'}"
    if cause.together:
        return f"{held} the devices; this one gets its turn only if they end without it"
    if cause.ends:
        return f"nothing is wrong: {held} the devices, and this one waits its turn"
    return f"{held} the devices ({first([name.rpartition('/')[2] for name in cause.pods])})"


@_says(causes.ClaimEach)
def _claim_each(cause: causes.ClaimEach, names: Names, scope: Scope) -> str:
    return (
        f"each replica has its own claim, from template {cause.template}, and devices are shared only among the pods "
        "of one ResourceClaim"
    )


@_says(causes.HoldersTerminating)
def _holders_terminating(cause: causes.HoldersTerminating, names: Names, scope: Scope) -> str:
    one = len(cause.pods) == 1
    return (
        f"pod {first(cause.pods)} on {first(cause.on)}, which {'holds' if one else 'hold'} the devices, "
        f"{'is' if one else 'are'} Terminating since {cause.since}"
    )


@_says(causes.HoldersEnded)
def _holders_ended(cause: causes.HoldersEnded, names: Names, scope: Scope) -> str:
    one = len(cause.claims) == 1
    return (
        f"claim{'' if one else 's'} {first(cause.claims)} still {'holds' if one else 'hold'} devices for pod "
        f"{first(cause.pods)}, which {'has' if len(cause.pods) == 1 else 'have'} ended: kube-controller-manager has "
        f"not released {'it' if one else 'them'}"
    )


@_says(causes.LostNodes)
def _lost_nodes(cause: causes.LostNodes, names: Names, scope: Scope) -> str:
    one = len(cause.places) == 1
    state = ("does not answer" if one else "do not answer") if cause.unready else "no longer exists"
    if not one and not cause.unready:
        state = "no longer exist"
    where = f"node {first(cause.places)}"
    if cause.claim is not None:
        return f"claim {cause.claim} is allocated on {where}, which {state}"
    return f"devices are held on {where}, which {state}"


@_says(causes.DriverAbsent)
def _driver_absent(cause: causes.DriverAbsent, names: Names, scope: Scope) -> str:
    number = len(cause.nodes)
    return (
        f"{first(cause.nodes)} {'has' if number == 1 else 'have'} {cause.label} like {first(cause.like)}, but "
        f"{cause.driver} publishes nothing there: is its driver running on {'it' if number == 1 else 'them'}?"
    )


@_says(causes.UnknownNodes)
def _unknown_nodes(cause: causes.UnknownNodes, names: Names, scope: Scope) -> str:
    one = len(cause.places) == 1
    where = f"{'node' if one else 'nodes'} {first(cause.places)}, which {'does' if one else 'do'} not exist"
    why = f"slices of {cause.driver} are for {where}"
    return f"{why}; there is node {cause.nearest}" if cause.nearest else why


@_says(causes.OldTemplate)
def _old_template(cause: causes.OldTemplate, names: Names, scope: Scope) -> str:
    return (
        f"claim {cause.claim} was made from an earlier version of template {cause.template}; the template's changes do "
        "not reach it until the pod is recreated"
    )


@_says(causes.OldRevision)
def _old_revision(cause: causes.OldRevision, names: Names, scope: Scope) -> str:
    return (
        f"the pod was made from an earlier version of {cause.owner}, whose changes do not reach it until it is deleted"
    )


@_says(causes.EvictionLoop)
def _eviction_loop(cause: causes.EvictionLoop, names: Names, scope: Scope) -> str:
    return (
        f"pods of {cause.owner} are evicted by a device taint as soon as they run ({cause.evicted} so far): a "
        "toleration without effect NoExecute does not keep them there"
    )


@_says(causes.NotTriedYet)
def _not_tried_yet(cause: causes.NotTriedYet, names: Names, scope: Scope) -> str:
    if cause.new:
        return "the scheduler has not tried the pod yet, which was created a few seconds ago"
    since = f" since it was created at {cause.since}" if cause.since else ""
    return f"the scheduler has not tried the pod{since} (no PodScheduled condition): is kube-scheduler running?"


@_says(causes.AddedByAdmission)
def _added_by_admission(cause: causes.AddedByAdmission, names: Names, scope: Scope) -> str:
    return f"the pod's owner did not ask for {cause.what}: {cause.by or 'admission'} added it"


@_says(causes.NoNodeHasAll)
def _no_node_has_all(cause: causes.NoNodeHasAll, names: Names, scope: Scope) -> str:
    places = ", ".join(f"{request} on {node}" for request, node in cause.where)
    return f"no node has devices for all requests: there are devices for {places}"


@_says(causes.PodsNotCreated)
def _pods_not_created(cause: causes.PodsNotCreated, names: Names, scope: Scope) -> str:
    return f"{cause.owner} cannot create its pods: {cause.event}"


@_says(causes.NotReadable)
def _not_readable(cause: causes.NotReadable, names: Names, scope: Scope) -> str:
    where = f"may fit on {first(cause.nodes)}" if cause.fitting else ""
    quote = f'the scheduler says "{cause.quote}"' if cause.quote else ""
    context = ", but ".join(filter(None, (where, quote)))
    missing = "; ".join(cause.missing)
    return f"{context}{'; ' if quote else ', but '}{missing}" if context and missing else context or missing
