"""The problems of a node: its condition, and the pods that are stuck on it."""

from collections.abc import Iterator

from dractl.allocation import Features
from dractl.capacity.problems import Problem
from dractl.cluster import shell
from dractl.cluster.state import ClusterState, parse_key
from dractl.explain.fleet.stuck_pods import find_stuck_pods, node_condition
from dractl.explain.reasons.phrases import Names, Scope
from dractl.program import program_name
from dractl.scheduler.attempt import Scheduler


def find_node_problems(state: ClusterState, features: Features, node: str) -> Iterator[Problem]:
    """Yield the condition of a node that is not ready, and its stuck pods."""
    condition = node_condition(state, node)
    if condition is not None:
        node_step = shell.NextStep(
            "see what its kubelet says", shell.quote_command("kubectl describe node {}", node)
        )
        sentence = condition.sentence(Names(), Scope.ONE)
        yield Problem("node-not-ready", sentence, (f"Node/{node}",), (node_step,))
    for stuck in find_stuck_pods(Scheduler(state, features), node):
        namespace, name = parse_key(stuck.pod)
        pod_step = shell.NextStep(
            "see what helps",
            shell.quote_command(f"{program_name()} explain pod/{{}} -n {{}}", name, namespace),
        )
        yield Problem(
            "pod-hangs", f"pod {stuck.pod}: {stuck.why}", (f"Pod/{stuck.pod}",), (pod_step,)
        )
