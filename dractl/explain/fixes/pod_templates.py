"""Change pods where people write them: in pod templates of workloads, or in claim templates."""

from collections.abc import Collection

from dractl.cluster.changes import Patch, apply_patch, parse_pointer, parse_target
from dractl.cluster.state import ClusterState, Key
from dractl.cluster.workloads import WORKLOAD_KINDS, workload_target
from dractl.explain.ask import Question
from dractl.explain.fixes.edits import move_operation
from dractl.objects import Raw
from dractl.views import Pod, Workload

_TEMPLATE_POINTER = "/spec/template"
_TEMPLATE_PATH = ("spec", "template")
# Kinds that replace their pods when the pod template changes. They end broken pods first.
_ROLLOUT_KINDS = ("Deployment", "DaemonSet")


def describe_affected_pods(state: ClusterState, restarted: Collection[Key], patch: Patch) -> str:
    """Describe the other pods that a change of a template affects, besides those in ``restarted``;
    "" if there are none.
    """
    kind, key = parse_target(patch.target)
    if any(str(o["path"]).startswith(_TEMPLATE_POINTER) for o in patch.operations):
        return f"for every pod of {kind} {'/'.join(key)}"
    if kind != "ResourceClaimTemplate":
        return ""
    users = [user for user in state.pods_of_template(key) if user not in restarted]
    pods = state.pods
    count = sum(not pods[user].has_ended for user in users)
    return f"{count} more pod{'s use' if count > 1 else ' uses'} the template" if count else ""


def pods_to_recreate(state: ClusterState, question: Question, change: Patch) -> list[Key]:
    """Return the waiting pods that have to be recreated so that a change reaches them.

    A claim keeps the spec that its template had, and only Deployments and DaemonSets replace pods
    whose template changes.
    """
    kind, key = parse_target(change.target)
    if question.kind != "Pod":
        return []
    owner = workload_target(state, question.key)
    if kind == "ResourceClaimTemplate":
        users = state.pods_of_template(key) if owner is not None else ()
        pending = [user for user in users if state.pod(user).is_pending]
        replicas = [user for user in pending if workload_target(state, user) == owner]
        return replicas or [question.key]
    is_replaced = kind in _ROLLOUT_KINDS or kind == "Job" or "replicas" in str(change)
    return [question.key] if change.target == owner and not is_replaced else []


def move_to_template(state: ClusterState, key: Key, patch: Patch) -> Patch | None:
    """Return a patch of a pod as a patch of the object in which a person writes the pod.

    That is the pod template of its workload, or the pod itself. Return None if the template lacks
    the changed part: a controller or admission put it into the pod, and would do so again (the
    DaemonSet controller's affinity, a RuntimeClass's nodeSelector).
    """
    pod = state.get("Pod", key)
    target = workload_target(state, key)
    if target is None or target.partition("/")[0] not in WORKLOAD_KINDS:
        return patch
    workload = state.get(*parse_target(target)) or _stand_in_workload(pod)
    operations: list[Raw] = []
    for operation in patch.operations:
        if _is_copied_limit(operation, workload):
            continue
        moved_operation = move_operation(operation, pod, workload, _TEMPLATE_PATH)
        if moved_operation is None:
            return None
        operations.append(moved_operation)
        # Each operation sees the result of the earlier ones
        if operation is not patch.operations[-1]:
            pod = apply_patch(pod or {}, (operation,))
            workload = apply_patch(workload, (moved_operation,))
    return Patch(target, tuple(operations)) if operations else None


def _stand_in_workload(pod: Raw | None) -> Raw:
    """Return a stand-in for a workload that the input lacks, made from its pod.

    The stand-in lacks the tolerations that admission adds (kubernetes
    plugin/pkg/admission/defaulttolerationseconds).
    """
    view = Pod(pod)
    spec = dict(view.spec)
    authored_tolerations = [
        entry
        for entry, toleration in zip(view.toleration_entries, view.tolerations, strict=True)
        if not toleration.key.startswith("node.kubernetes.io/")
    ]
    spec.pop("tolerations", None)
    if authored_tolerations:
        spec["tolerations"] = authored_tolerations
    return {"spec": {"template": {"spec": spec}}}


def _is_copied_limit(operation: Raw, workload: Raw) -> bool:
    """Return whether an operation changes a request that the API server copied from a limit.

    The API server copies the limits of extended resources.
    """
    match parse_pointer(str(operation.get("from") or operation["path"])):
        case ["spec", "containers", index, "resources", "requests", resource] if "/" in resource:
            containers = Workload(workload).template_pod.containers_in("containers")
            return any(
                resource not in container.requests and resource in container.amounts("limits")
                for container in containers[int(index) : int(index) + 1]
            )
    return False
