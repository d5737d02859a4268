"""The copy that no longer fits: why it stays pending, and which devices stay stranded."""

from collections.abc import Mapping

from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity import Fit, StrandedDevices, find_stranded_devices
from dractl.explain.answer import Explanation, Reason
from dractl.explain.ask import Question
from dractl.explain.explain import Explainer, Options
from dractl.objects.values import drop_uid
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.unknown_values import list_unknown_values
from dractl.views import Pod


def question_of_copy(fit: Fit) -> Question:
    """Return the question about the next copy of a subject."""
    pod = Pod(fit.subject.copy(fit.fits + 1))
    # fit answers for kube-scheduler, and names another scheduler only in a notice.
    spec = {key: value for key, value in pod.spec.items() if key != "schedulerName"}
    return Question("Pod", pod.key, {**drop_uid(pod.raw), "spec": spec})


def explain_next_copy(fit: Fit, features: Features) -> Explanation | None:
    """Explain why the next copy stays pending; return None if it does not."""
    if fit.next_attempt.fits and not fit.undecided:
        return None

    explainer = Explainer(fit.state, features, Options(fixes=0))
    return explainer.explain(question_of_copy(fit), fit.next_attempt)


def mark_undecided(fit: Fit, features: Features) -> Fit:
    """Mark a fit as undecided if the next copy may fit for some values of described machines that
    no source shows.
    """
    if fit.undecided or not list_unknown_values(fit.state):
        return fit
    explanation = explain_next_copy(fit, features)
    return replace(fit, undecided=True) if may_fit(explanation) else fit


def may_fit(explanation: Explanation | None) -> bool:
    """Return True if a copy may fit although its attempt fails, since the attempt does not know all
    values of the devices.
    """
    return explanation is not None and (explanation.fits or explanation.verdict == "undecided")


def list_reasons_by_node(explanation: Explanation | None) -> dict[str, tuple[Reason, ...]]:
    """Return the reasons of an explanation by node, equal nodes included."""
    nodes = explanation.nodes if explanation is not None else ()
    return {name: node.reasons for node in nodes for name in (node.name, *node.like)}


def find_stranded(
    fit: Fit, features: Features, by_node: Mapping[str, tuple[Reason, ...]]
) -> tuple[StrandedDevices, ...]:
    """Find stranded devices; ``by_node`` has the reasons against the next
    copy."""

    def describe(node: str) -> str:
        return "; ".join(dict.fromkeys(reason.brief for reason in by_node.get(node, ())[:3]))

    stranded = find_stranded_devices(fit, Scheduler(fit.state, features), describe)
    return tuple(
        devices
        for devices in stranded
        if not any(reason.is_unknown_machine for reason in by_node.get(devices.node, ()))
    )
