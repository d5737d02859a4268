"""Words that sentences share: the user's names of claims and requests, lists, numbers, and the
holders of devices.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from msgspec import Struct, field

from dractl.allocation import CLAIM_NAME
from dractl.cluster.devices import Holder
from dractl.model.abbreviation import abbreviate, join_names
from dractl.model.names import RequestRef

MAX_NAMED_VALUES = 4
"""The number of values that a message names."""
_SPECIAL_CLAIM = f"/{CLAIM_NAME}"
"""The end of the name of the claim that the scheduler itself makes for extended resources."""


class Scope(Enum):
    """The nodes that a sentence is about."""

    ONE = "one node"
    ALL = "all nodes"


class Names(Struct, frozen=True, eq=False):
    """The names that the user has given to claims and requests."""

    claims: Mapping[str, str] = field(default_factory=dict)
    """The name that the pod gives each claim of the subject, by ``namespace/name``."""
    written: Mapping[str, str] = field(default_factory=dict)
    """The text in the pod's manifest for each request of the claim for extended resources."""

    def request(self, ref: RequestRef) -> str:
        """Return ``request gpu``, with its claim if there are several; an extended resource is
        named as in the pod.
        """
        if ref.claim.endswith(_SPECIAL_CLAIM):
            return self.written.get(str(ref), f"request {ref}")
        if len(self.claims) < 2 or ref.claim not in self.claims:
            return f"request {ref}"
        return f"request {self.short_name(ref)}"

    def short_name(self, ref: RequestRef) -> str:
        """Return ``claim/request``, the name of a request among those of several claims."""
        if ref.claim.endswith(_SPECIAL_CLAIM):
            return self.written.get(str(ref), str(ref))
        claim = self.claims.get(ref.claim)
        return f"{claim}/{ref}" if claim is not None else str(ref)

    def join(self, refs: Sequence[RequestRef]) -> str:
        """Return the requests as ``a, b`` or ``main/a, aux/b``; "its requests" if ``refs`` is
        empty, since ``refs`` leaves out requests with alternatives.
        """
        if not refs:
            return "its requests"
        several = len({ref.claim for ref in refs}) > 1 or refs[0].claim.endswith(_SPECIAL_CLAIM)
        return ", ".join(self.short_name(ref) if several else str(ref) for ref in refs)

    def requests(self, refs: Sequence[RequestRef]) -> str:
        """Return ``request a`` or ``requests a, b``; extended resources are named as in the pod."""
        if not refs:  # requests with alternatives are left out
            return "requests"
        if refs[0].claim.endswith(_SPECIAL_CLAIM):
            return self.join(refs)
        return self.request(refs[0]) if len(refs) == 1 else f"requests {self.join(refs)}"


def name_holders(holders: Sequence[Holder]) -> str:
    """Return ``Deployment ml/web, pod ml/eval-0 and 2 more``: the users of the claims that hold
    devices, those with the most devices first.
    """

    def name_holder(holder: Holder) -> str:
        if holder.consumer:
            return f"claim {holder.claim}, which is reserved for {holder.consumer}"
        if holder.pod is None:
            return f"claim {holder.claim}, which no pod uses"
        return holder.workload or f"pod {holder.pod}"

    names = list(count_devices_by_holder(holders, name_holder))
    if len(names) > 1 and all(name.startswith("pod ") for name in names):
        names = [f"pods {names[0][4:]}", *(name[4:] for name in names[1:])]
    return abbreviate(names, 2)


def count_devices_by_holder(
    holders: Iterable[Holder], label: Callable[[Holder], str]
) -> Mapping[str, int]:
    """Count the devices of each holder, largest count first; ``label`` names a holder."""
    counts: Counter[str] = Counter()
    for holder in holders:
        counts[label(holder)] += len(holder.devices)
    return dict(counts.most_common())


@lru_cache(maxsize=1024)
def describe_holders(holders: tuple[Holder, ...], limit: int = 3) -> str:
    """Return ``claim ml/eval-0 ×8 (pod eval-0), …``. The text is cached, since many pods wait for
    devices of the same holders.
    """
    if not holders:
        return "claims that are not in the input"
    by_claim: dict[str, list[Holder]] = {}
    counts = count_devices_by_holder(holders, lambda h: h.workload or h.claim)
    for holder in sorted(holders, key=lambda h: -counts[h.workload or h.claim]):
        by_claim.setdefault(holder.claim, []).append(holder)
    parts = []
    for claim, users in list(by_claim.items())[:limit]:
        pods = [
            h.pod.rpartition("/")[2] + (", ended" if h.finished else "") for h in users if h.pod
        ]
        consumer = next((h.consumer for h in users if h.consumer), "no pod")
        text = f"pod {', '.join(pods[:3])}" if pods else f"reserved for {consumer}"
        parts.append(f"claim {claim}{times(len(users[0].devices))} ({text})")
    return join_names(parts, len(by_claim) - len(parts))


def join_clauses(*clauses: str) -> str:
    """Return ``a; b``: the clauses that are not empty, each once."""
    return "; ".join(dict.fromkeys(filter(None, clauses)))


def times(number: int) -> str:
    """Return `` ×8``; nothing for a single thing."""
    return f" ×{number}" if number > 1 else ""


def tally(values: Iterable[str] | Mapping[str, int]) -> str:
    """Return ``Ampere ×64, Hopper ×2``: the values, the most frequent first."""
    counted = Counter(values).most_common()
    text = ", ".join(f"{value}{times(count)}" for value, count in counted[:MAX_NAMED_VALUES])
    remaining = len(counted) - MAX_NAMED_VALUES
    return f"{text}, {remaining} more values" if remaining > 0 else text


def capitalize(clause: str) -> str:
    """Return a clause with a capital letter, for the beginning of a sentence."""
    return clause[:1].upper() + clause[1:]


def plural(number: int, noun: str) -> str:
    """Return ``1 device`` or ``2 devices``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
