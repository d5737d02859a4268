"""The diagnosis of a subject that waits: what each node has against it, and the causes, what matters most first."""

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.ask import CLAIMS
from dractl.explain.case import Case
from dractl.explain.diagnose.between import spanning
from dractl.explain.diagnose.gangs import NO_GANG, Gang
from dractl.explain.diagnose.nodes import NodeFindings, findings
from dractl.explain.inquire import Attempted
from dractl.explain.rank import ranked_causes
from dractl.reasons.base import Cause


class Diagnosis(Struct, frozen=True):
    """``found`` are the causes of each node, ``ranked`` those of the subject, ``behind`` those that span objects, and
    ``group`` is what the pod is placed with. ``one_node``: a single node was asked about."""

    attempted: Attempted
    case: Case
    found: tuple[NodeFindings, ...]
    ranked: tuple[Cause, ...] = ()
    behind: tuple[Cause, ...] = ()
    group: Gang = NO_GANG
    one_node: bool = False

    @property
    def of_claim(self) -> bool:
        """True if the question is about a claim that no pod waits for, or a template."""
        return self.attempted.question.kind in CLAIMS


def diagnose(attempted: Attempted, case: Case, group: Gang = NO_GANG, *, one_node: bool = False) -> Diagnosis:
    """The diagnosis of a case."""
    own = diagnosis_of(attempted, case)
    spans = attempted.decided and not own.of_claim
    behind = spanning(case, own.found, own.ranked) if spans else ()
    return replace(own, behind=behind, group=group, one_node=one_node)


def diagnosis_of(attempted: Attempted, case: Case) -> Diagnosis:
    """The diagnosis of the attempt alone."""
    found = tuple(findings(case))
    return Diagnosis(attempted, case, found, ranked_causes(case, found) if attempted.decided else ())
