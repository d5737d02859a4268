"""The commands that carry out a plan: cordon, evict, wait, uncordon."""

import json
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from dractl.cluster.shell import quote_command
from dractl.planning.plan import Step

_WAIT = "--timeout=10m"
_READY_FIELDS = {
    "Deployment": "readyReplicas",
    "Job": "ready",
    "ReplicaSet": "readyReplicas",
    "ReplicationController": "readyReplicas",
}
"""The fields of a workload's status that count its ready pods."""


class Batch(Struct, frozen=True):
    """Steps that are carried out at once: one step, or the steps of a gang."""

    steps: tuple[Step, ...]
    commands: tuple[str, ...]
    """Commands to run one after the other."""


def list_batches(steps: Sequence[Step]) -> list[Batch]:
    """Return the steps with their commands; the steps of a gang form one batch."""
    batches = []
    for _, group in groupby(enumerate(steps), lambda entry: entry[1].gang or entry[0]):
        members = tuple(step for _, step in group)
        batches.append(Batch(members, tuple(filter(None, _commands(members)))))
    return batches


def _commands(steps: Sequence[Step]) -> list[str]:
    nodes = tuple(dict.fromkeys(node for step in steps for node in step.cordon))
    marks = " ".join("{}" for _ in nodes)
    return [
        quote_command(f"kubectl cordon {marks}", *nodes) if nodes else "",
        *(_evict(step) for step in steps),
        *(_wait_for_end(step) for step in steps),
        *dict.fromkeys(c for step in steps if step.target for c in _wait_for_new_pod(step)),
        quote_command(f"kubectl uncordon {marks}", *nodes) if nodes else "",
    ]


def _evict(step: Step) -> str:
    namespace, name = step.pod
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
    }
    return quote_command(
        "echo {} | kubectl create --raw {} -f -",
        json.dumps(eviction, separators=(",", ":")),
        f"/api/v1/namespaces/{namespace}/pods/{name}/eviction",
    )


def _wait_for_end(step: Step) -> str:
    """Return the command that waits until a pod is gone.

    A new pod with the same name is distinguished by its node: the cordon keeps it off the old node.
    """
    namespace, name = step.pod
    selector = f"metadata.name={name},spec.nodeName={step.source}"
    command = f"kubectl wait --for=delete pods -n {{}} --field-selector {{}} {_WAIT}"
    return quote_command(command, namespace, selector)


def _wait_for_new_pod(step: Step) -> list[str]:
    """Return the commands that wait until the new pod has its node, or commands that list the pods
    if the owner's status counts no ready pods.

    `kubectl rollout status` is not used, since it would also wait for replicas that do not run even
    without the move.
    """
    namespace, pod = step.pod
    kind, _, name = (step.owner or "//").split("/", 2)
    if kind == "StatefulSet":  # the new pod has the name of the old one
        conditions = ("create", "condition=PodScheduled")
        return [
            quote_command(
                f"kubectl wait --for={condition} pod/{{}} -n {{}} {_WAIT}", pod, namespace
            )
            for condition in conditions
        ]
    if kind not in _READY_FIELDS:
        return [quote_command("kubectl get pods -n {} -o wide", namespace)]
    condition = f"{{.status.{_READY_FIELDS[kind]}}}={step.ready_pods}"
    command = f"kubectl wait --for=jsonpath={{}} {kind.lower()}/{{}} -n {{}} {_WAIT}"
    return [quote_command(command, condition, name, namespace)]
