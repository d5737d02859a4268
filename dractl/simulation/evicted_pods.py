"""Pods that are about to be deleted by an eviction."""

from dractl.objects import items
from dractl.views import Pod


def mark_evicted(pod: Pod) -> Pod:
    """Return a pod with the condition that every eviction sets before the deletion.

    The eviction API (pkg/registry/core/pod/storage/eviction.go addConditionAndDeletePod) and the
    eviction controllers do, and the failure policy of a Job may ignore such pods.
    """
    condition = {"type": "DisruptionTarget", "status": "True"}
    conditions = [*items(pod.status.get("conditions")), condition]
    return Pod({**pod.raw, "status": {**pod.status, "conditions": conditions}}, pod.key)
