"""The consequences of a failed Job, for itself and for its JobSet."""

from msgspec import Struct

from dractl.cluster.state import ClusterState
from dractl.simulation.controllers import ControllerAction, WorkloadChange
from dractl.simulation.controllers.jobset import RestartDecision, decide_restart
from dractl.simulation.effects import list_jobs
from dractl.simulation.workload_pods import WorkloadKey, list_active_pods
from dractl.views import JobSet, Pod


class JobFailure(Struct, frozen=True):
    """The consequences of a failed Job."""

    action: ControllerAction
    """Pods that end, and pods that a JobSet creates instead."""

    finished_jobs: dict[WorkloadKey, str]
    """Jobs that create no more pods by themselves, each with a message about its failure; the
    message is empty if its JobSet restarts the Job.
    """

    note: str = ""
    """The action of the JobSet, as a sentence; empty if the message already states it."""


def fail_job(
    initial: ClusterState, state: ClusterState, change: WorkloadChange, action: ControllerAction
) -> JobFailure:
    """Apply a failed Job: delete its pods or, under a JobSet, fail or restart the set.

    ``initial`` is the cluster before the change, ``action`` the next step of the Job's controller.
    """
    job = (change.kind, change.key)
    job_set = _find_job_set(state, change)
    if not job_set.exists:
        return JobFailure(action, {job: action.failure})
    decision = decide_restart(job_set, change.current, action.failure_reason)
    jobs = list_jobs(state, job_set.key) if decision.whole or decision.failure else [job]
    ended_pods = _list_pods(state, jobs)
    name = "/".join(job_set.key)
    if decision.failure:
        message = f"{action.failure}, and JobSet {name} with it: {decision.failure}"
        return JobFailure(ControllerAction(ended_pods), dict.fromkeys(jobs, message))
    return JobFailure(
        ControllerAction(ended_pods, _list_pods(initial, jobs)),
        dict.fromkeys(jobs, ""),
        f"JobSet {name} restarts {_describe_restart(change.key[1], decision)}",
    )


def _find_job_set(state: ClusterState, change: WorkloadChange) -> JobSet:
    """Return the JobSet of a Job; without fields if it has none, or if the input lacks it."""
    owner = change.current.controller
    if owner is None or owner.kind != "JobSet":
        return JobSet(None)
    key = (change.key[0], owner.name)
    return JobSet(state.get("JobSet", key), key)


def _list_pods(state: ClusterState, jobs: list[WorkloadKey]) -> tuple[Pod, ...]:
    return tuple(pod for job in jobs for pod in list_active_pods(state, job))


def _describe_restart(job: str, decision: RestartDecision) -> str:
    """Return ``as a whole, with 2 restarts left``."""
    scope = "as a whole" if decision.whole else f"Job {job}"
    number = decision.remaining_restarts
    if number is None:
        return scope
    return f"{scope}, with {number} restart{'s' * (number != 1)} left"
