"""The pods of a node that is rebooted without a drain."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.impact.aftermath import Aftermath, compare_pending_pods, fail_pods
from dractl.impact.nodes import NodeInQuestion, judge_terminating_pod, note_environment, note_state
from dractl.impact.plugins import list_drivers_to_unprepare
from dractl.impact.result import Impact, PodImpact, sort_pods
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod

# pkg/controller/nodelifecycle/config/v1alpha1/defaults.go NodeMonitorGracePeriod, and
# plugin/pkg/admission/defaulttolerationseconds
_SILENCE = (
    "a node that is silent for 50 s counts as unreachable, and its pods are deleted 300 s later"
    " unless they tolerate node.kubernetes.io/unreachable for longer"
)


def find_reboot_impact(node: NodeInQuestion) -> Impact:
    """Return the effects of a reboot without a drain: no eviction, and claims prepared anew."""
    pods = [_judge_reboot(node, pod) for pod in node.pods]
    ended = [impact.key for impact in pods if impact.effect == "evicted"]
    aftermath = fail_pods(Aftermath(Scheduler(node.cordoned, node.features)), ended)
    nodes = aftermath.nodes
    return Impact(
        (f"reboot Node/{node.name}",),
        pods=sort_pods([PodImpact(i.key, i.effect, i.why, i.at, nodes.get(i.key)) for i in pods]),
        pending=compare_pending_pods(Scheduler(node.state, node.features), aftermath),
        steps=tuple(_list_reboot_steps(node)),
        notes=tuple(
            dict.fromkeys(
                (
                    "a reboot ignores PodDisruptionBudgets; drain the node first to move its pods",
                    _SILENCE,
                    *aftermath.notes,
                    *note_state(node),
                    *note_environment(node, "reboot"),
                )
            )
        ),
    )


def _judge_reboot(node: NodeInQuestion, pod: Pod) -> PodImpact:
    if pod.deletion_timestamp:
        return judge_terminating_pod(node, pod)
    drivers = list(list_drivers_to_unprepare(node.state, pod))
    if pod.restart_policy == "Never" and not pod.is_mirror:
        owner = pod.controller
        why = "its containers end, and restartPolicy is Never: it fails"
        if owner is None:
            why += "; no controller creates it again"
        return PodImpact(pod.key, "evicted", why, 0)
    gone = node.find_missing_plugin(pod)
    if gone is not None:
        why = f"its containers cannot start again: {gone.why}, and its claim is prepared anew"
        return PodImpact(pod.key, "blocked", why)
    why = "its containers end, and start again on the node"
    if drivers:
        why += f" once {', '.join(drivers)} has registered and prepared its claim anew"
    return PodImpact(pod.key, "waits", why)


def _list_reboot_steps(node: NodeInQuestion) -> Iterator[NextStep]:
    yield NextStep(
        "drain it first: pods move if they can, and claims are unprepared while drivers run",
        quote_command("kubectl drain {} --ignore-daemonsets", node.name),
    )
    yield NextStep(f"reboot {node.name}")
    for driver in node.plugins:
        yield NextStep(
            f"wait until {driver} publishes the devices of {node.name} again",
            quote_command(
                "kubectl get resourceslices --field-selector spec.nodeName={}", node.name
            ),
        )
    yield NextStep(f"uncordon {node.name}", quote_command("kubectl uncordon {}", node.name))
