"""Next steps if no change of objects helps, or before one is made: those of the causes, and of what is no cause."""

from collections.abc import Sequence

from dractl.cluster.idle import idle
from dractl.cluster.paste import NextStep, command
from dractl.cluster.state import ClusterState
from dractl.explain.answer import Fix
from dractl.explain.ask import Question
from dractl.explain.diagnose.gangs import Gang
from dractl.reasons.base import Cause
from dractl.reasons.between import PodsNotCreated
from dractl.reasons.next_step import AskedObject

_MOST = 3  # steps that an answer has


def next_steps(
    asked: AskedObject, found: Sequence[Cause], fixes: Sequence[Fix], then: Sequence[NextStep] = ()
) -> tuple[NextStep, ...]:
    """The next steps for the causes of an answer, first those for causes that others only follow from, and ``then``
    those given. Where there are fixes, only what belongs to a cause that no change of objects can reach."""
    # Without a pod nothing else of it can be looked at.
    found = [cause for cause in found if isinstance(cause, PodsNotCreated)] or found
    ordered = sorted(found, key=lambda cause: not cause.underlying)
    theirs = [step for cause in ordered if cause.beside_fixes or not fixes for step in cause.steps(asked)]
    steps: list[NextStep] = []
    for step in (*theirs[: _MOST - 1], *then[:1], *theirs[_MOST - 1 :], *then[1:]):
        if all(step.command != other.command and step.text != other.text for other in steps):
            steps.append(step)
    if not steps and not fixes and found:
        steps.append(
            NextStep(
                f"see what the scheduler says about the {asked.kind.lower()} now",
                command("kubectl describe {} {} -n {}", asked.kind.lower(), asked.name, asked.namespace),
            )
        )
    return tuple(steps[:_MOST])


def of_group(question: Question, group: Gang, found: Sequence[Cause], fixes: Sequence[Fix]) -> tuple[NextStep, ...]:
    """The next steps for a pod that waits for its group, about the group alone; none for others."""
    if not group.causes or not found or found[0] is not group.causes[0]:
        return ()
    return next_steps(AskedObject(question.kind, *question.key), found[:1], fixes)


def of_idle(state: ClusterState, question: Question) -> tuple[NextStep, ...]:
    """The next step for a workload that wants no pods now; none for others."""
    resting = idle(question.kind, question.key, state.get(question.kind, question.key))
    if resting is None or not resting.resume:
        return ()
    text = "see what its queue waits for" if "kueue" in resting.resume else "have it create its pods"
    return (NextStep(text, resting.resume),)
