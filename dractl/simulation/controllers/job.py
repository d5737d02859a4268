"""Replace the pods of a Job, or let it fail (kubernetes pkg/controller/job/job_controller.go)."""

from dractl.objects import Raw, text
from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.replicas import recreate_deleted_pods
from dractl.views import Pod, Workload

_EXIT_CODES_OF_DELETED_POD = (137, 143)  # exit codes after SIGKILL and SIGTERM


def reconcile_job(change: WorkloadChange) -> ControllerAction:
    """Replace the deleted pods of a Job, unless their deletion ends the Job.

    A Job counts deleted pods as failed (isPodFailed): if their number exceeds its backoffLimit, the
    Job fails, and all its pods end. A suspended Job ends its pods without failing.
    """
    if change.current.is_suspended:
        return ControllerAction(pods_to_delete=change.active_pods)
    all_deleted = change.deleted_pods and len(change.deleted_pods) == len(change.previous_pods)
    have_failed = any(map(_has_failed, change.deleted_pods))
    if all_deleted and not have_failed and change.current.controller is None:
        # A Job that was suspended and resumed recreates its pods: none of them has failed.
        return recreate_deleted_pods(change)
    policy_actions = [failure_action(change.current, pod) for pod in change.deleted_pods]
    failures = sum(action != "Ignore" for action in policy_actions)
    if "FailJob" in policy_actions:
        cause = "its podFailurePolicy ends it with the first killed pod"
        return _fail(change, "PodFailurePolicy", cause)
    if change.current.exists and failures:
        total, limit = change.current.failed + failures, change.current.backoff_limit
        if total > limit:
            cause = f"backoffLimit {limit}, and {total} of its pods have ended"
            return _fail(change, "BackoffLimitExceeded", cause)
    if failures and change.current.backoff_limit_per_index == 0:
        return NO_ACTION  # an index whose pod has failed is not retried
    return recreate_deleted_pods(change)


def _has_failed(pod: Pod) -> bool:
    """Return whether a pod is evicted, or all of its containers have been killed on its node."""
    states = {container.state for container in pod.container_statuses if not container.is_init}
    return pod.is_disruption_target or states == {"terminated"}


def _fail(change: WorkloadChange, reason: str, cause: str) -> ControllerAction:
    return ControllerAction(
        pods_to_delete=change.active_pods,
        failure=f"Job {'/'.join(change.key)} fails: {cause}",
        failure_reason=reason,
    )


def count_failures_left(job: Workload) -> int:
    """Return how many more pods of a Job may fail before it fails itself."""
    return job.backoff_limit - job.failed


def failure_action(job: Workload, pod: Pod) -> str:
    """Return the action that a Job's podFailurePolicy takes on a deleted pod, ``Count`` if none.

    SIGTERM or SIGKILL ends the containers of a running pod. A deletion sets no condition; an
    eviction sets DisruptionTarget before it (pkg/controller/job/pod_failure_policy.go
    matchPodFailurePolicy).
    """
    if not pod.node_name:
        return "Count"
    for rule in job.failure_rules:
        if any(_matches_condition(pattern, pod) for pattern in rule.pod_conditions):
            return rule.action
        operator = rule.exit_code_operator
        matches = [code in rule.exit_codes for code in _EXIT_CODES_OF_DELETED_POD]
        if (operator == "In" and any(matches)) or (operator == "NotIn" and not all(matches)):
            return rule.action
    return "Count"


def _matches_condition(pattern: Raw, pod: Pod) -> bool:
    """Return whether a pod has the condition of a rule. A rule without a status means True."""
    condition = pod.condition(text(pattern.get("type")))
    return bool(condition.type) and condition.status == (text(pattern.get("status")) or "True")
