"""The commands that carry out a plan: cordon, evict, wait, uncordon."""

import json
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from dractl.cluster.shell import quote_command
from dractl.planning.plan import Step

_WAIT = "--timeout=10m"
_ROLLED_OUT_KINDS = ("Deployment", "StatefulSet")


class Batch(Struct, frozen=True):
    """Steps that are carried out at once: one, or those of a gang."""

    steps: tuple[Step, ...]
    commands: tuple[str, ...]
    """What to run, one after the other."""


def list_batches(steps: Sequence[Step]) -> list[Batch]:
    """Return the steps with their commands, those of a gang together."""
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
        *(
            quote_command("kubectl wait --for=delete pod/{} -n {} " + _WAIT, *reversed(step.pod))
            for step in steps
        ),
        *dict.fromkeys(_wait_for_new_pod(step) for step in steps if step.target),
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


def _wait_for_new_pod(step: Step) -> str:
    """Return the command that shows, or waits until, the owner's new pod has its node."""
    namespace = step.pod[0]
    kind, _, name = (step.owner or "").replace(f"/{namespace}/", "//").partition("//")
    if kind in _ROLLED_OUT_KINDS:
        command = f"kubectl rollout status {kind.lower()}/{{}} -n {{}} {_WAIT}"
        return quote_command(command, name, namespace)
    if kind == "Job":
        selector = f"batch.kubernetes.io/job-name={name}"
        return quote_command("kubectl get pods -n {} -l {} -o wide", namespace, selector)
    return quote_command("kubectl get pods -n {} -o wide", namespace)
