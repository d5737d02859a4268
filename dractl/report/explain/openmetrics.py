"""``explain -o openmetrics``: the pods and claims that wait, by the reason."""

from collections import Counter
from collections.abc import Sequence

from dractl.explain.answer import Explanation
from dractl.report import openmetrics


def render(answers: Sequence[Explanation]) -> str:
    """Return the number of subjects that do not fit, by kind, namespace and first reason.

    Every replica counts. Each kind has a total even if nothing waits, since a series that
    disappeared would keep its last value in queries for a while.
    """
    reasons: Counter[tuple[str, str, str]] = Counter()
    totals = Counter({"Pod": 0, "ResourceClaim": 0})
    for answer in answers:
        if not answer.fits:
            number, subject = 1 + len(answer.alike), answer.subject
            code = answer.reasons[0].code if answer.reasons else ""
            reasons[subject.kind, subject.namespace or "", code] += number
            totals[subject.kind] += number
    return openmetrics.render(
        openmetrics.gauge(
            "dractl_waiting",
            "Pods and claims that do not fit.",
            (({"kind": kind}, number) for kind, number in sorted(totals.items())),
        ),
        openmetrics.gauge(
            "dractl_waiting_by_reason",
            "Pods and claims that do not fit, by namespace and first reason.",
            (
                ({"kind": kind, "namespace": namespace, "reason": code}, number)
                for (kind, namespace, code), number in sorted(reasons.items())
            ),
        ),
    )
