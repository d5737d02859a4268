"""Pods that are about to be deleted by an eviction, or have failed on their node."""

from dractl.objects import items
from dractl.views import Pod

_EXIT_CODE_OF_SIGKILL = 137


def mark_evicted(pod: Pod) -> Pod:
    """Return a pod with the condition that every eviction sets before the deletion.

    The eviction API (pkg/registry/core/pod/storage/eviction.go addConditionAndDeletePod) and the
    eviction controllers set it. The failure policy of a Job may ignore such pods.
    """
    condition = {"type": "DisruptionTarget", "status": "True"}
    conditions = [*items(pod.status.get("conditions")), condition]
    return Pod({**pod.raw, "status": {**pod.status, "conditions": conditions}}, pod.key)


def mark_failed(pod: Pod) -> Pod:
    """Return a pod whose containers have been killed, without a condition that states the reason.

    Its phase stays, since the owner still has to notice the failure.
    """
    killed = {"terminated": {"exitCode": _EXIT_CODE_OF_SIGKILL}}
    statuses = [
        {"name": container.get("name"), "state": killed} for container in pod.main_containers
    ]
    return Pod({**pod.raw, "status": {**pod.status, "containerStatuses": statuses}}, pod.key)
