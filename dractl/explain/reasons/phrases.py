"""Words that sentences share: what the user calls claims and requests, lists, numbers, and who
holds devices.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct, field

from dractl.allocation import CLAIM_NAME
from dractl.cluster.devices import Holder
from dractl.model.names import RequestRef
from dractl.views import parse_timestamp

MAX_NAMED_VALUES = 4  # values that a message names
_SPECIAL = f"/{CLAIM_NAME}"  # the scheduler's own claim for extended resources


class Scope(Enum):
    """The nodes that a sentence is about."""

    ONE = "one node"
    ALL = "all nodes"


class Names(Struct, frozen=True, eq=False):
    """What the user calls claims and requests. ``claims``: ``namespace/name`` of each claim of the
    subject and its name in the pod; ``written``: what the pod has where the scheduler's claim for
    extended resources has a request.
    """

    claims: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    def request(self, ref: RequestRef) -> str:
        """``request gpu``, with its claim where there are several; an extended resource as the pod
        has it.
        """
        if ref.claim.endswith(_SPECIAL):
            return self.written.get(str(ref), f"request {ref}")
        if len(self.claims) < 2 or ref.claim not in self.claims:
            return f"request {ref}"
        return f"request {self.short_name(ref)}"

    def short_name(self, ref: RequestRef) -> str:
        """``claim/request``: a request among those of several claims."""
        if ref.claim.endswith(_SPECIAL):
            return self.written.get(str(ref), str(ref))
        claim = self.claims.get(ref.claim)
        return f"{claim}/{ref}" if claim is not None else str(ref)

    def join(self, refs: Sequence[RequestRef]) -> str:
        """``a, b`` or ``main/a, aux/b``."""
        several = len({ref.claim for ref in refs}) > 1 or refs[0].claim.endswith(_SPECIAL)
        return ", ".join(self.short_name(ref) if several else str(ref) for ref in refs)

    def requests(self, refs: Sequence[RequestRef]) -> str:
        """``request a`` or ``requests a, b``; extended resources as the pod has them."""
        if not refs:  # all have alternatives
            return "requests"
        if refs[0].claim.endswith(_SPECIAL):
            return self.join(refs)
        return self.request(refs[0]) if len(refs) == 1 else f"requests {self.join(refs)}"


def name_holders(holders: Sequence[Holder]) -> str:
    """``Deployment ml/web, pod ml/eval-0 and 2 more``: whoever uses the claims that hold devices,
    of most first.
    """

    def one(holder: Holder) -> str:
        if holder.consumer:
            return f"claim {holder.claim}, which is reserved for {holder.consumer}"
        if holder.pod is None:
            return f"claim {holder.claim}, which no pod uses"
        return holder.workload or f"pod {holder.pod}"

    names = list(count_devices_by_holder(holders, one))
    if len(names) > 1 and all(name.startswith("pod ") for name in names):
        names = [f"pods {names[0][4:]}", *(name[4:] for name in names[1:])]
    return abbreviate(names, 2)


def count_devices_by_holder(
    holders: Iterable[Holder], called: Callable[[Holder], str]
) -> Mapping[str, int]:
    """Whoever holds devices, as they are ``called``, with the numbers of them; those with most
    first.
    """
    held: Counter[str] = Counter()
    for holder in holders:
        held[called(holder)] += len(holder.devices)
    return dict(held.most_common())


def describe_holders(holders: Sequence[Holder], most: int = 3) -> str:
    """``claim ml/eval-0 ×8 (pod eval-0), …``."""
    if not holders:
        return "claims that are not in the input"
    by_claim: dict[str, list[Holder]] = {}
    whose = count_devices_by_holder(holders, lambda h: h.workload or h.claim)
    for holder in sorted(holders, key=lambda h: -whose[h.workload or h.claim]):
        by_claim.setdefault(holder.claim, []).append(holder)
    parts = []
    for claim, those in list(by_claim.items())[:most]:
        pods = [
            h.pod.rpartition("/")[2] + (", ended" if h.finished else "") for h in those if h.pod
        ]
        consumer = next((h.consumer for h in those if h.consumer), None)
        nobody = f"reserved for {consumer}" if consumer else "reserved for no pod"
        users = f"pod {', '.join(pods[:3])}" if pods else nobody
        parts.append(f"claim {claim}{times(len(those[0].devices))} ({users})")
    return join_names(parts, len(by_claim) - len(parts))


def join_names(names: Sequence[str], more: int = 0) -> str:
    """``a, b and 3 more``."""
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def abbreviate(names: Sequence[str], most: int = 3) -> str:
    """The first few of many names."""
    return join_names(names[:most], len(names) - most)


def times(number: int) -> str:
    """`` ×8``, and nothing for one."""
    return f" ×{number}" if number > 1 else ""


def tally(values: Iterable[str] | Mapping[str, int]) -> str:
    """``Ampere ×64, Hopper ×2``: the values, the most frequent first."""
    counted = Counter(values).most_common()
    shown = ", ".join(f"{value}{times(count)}" for value, count in counted[:MAX_NAMED_VALUES])
    return shown + (
        f", {len(counted) - MAX_NAMED_VALUES} more values"
        if len(counted) > MAX_NAMED_VALUES
        else ""
    )


def capitalize(clause: str) -> str:
    """A clause as it begins a sentence."""
    return clause[:1].upper() + clause[1:]


def plural(number: int, noun: str) -> str:
    """``1 device``, ``2 devices``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def age(since: str | None, now: float | None) -> str:
    """How long ago a time (RFC 3339) is at ``now``, in seconds since 1970, as kubectl prints ages:
    ``5d``. Empty where one of them is not known.
    """
    began = parse_timestamp(since or "")
    if began is None or now is None:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if now - began >= 2 * size:
            return f"{int((now - began) // size)}{unit}"
    return f"{max(int(now - began), 0)}s"
