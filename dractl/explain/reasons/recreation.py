"""Next steps that end a pod so that its claims are prepared or allocated anew."""

from collections.abc import Iterator

from msgspec import Struct

from dractl.cluster.shell import NextStep, quote_command, scale_command
from dractl.explain.reasons.next_step import AskedObject


class HeldClaim(Struct, frozen=True):
    """A claim that stays prepared and allocated if only the asked pod is deleted.

    The kubelet unprepares a claim once no pod on its node uses it (kubernetes
    pkg/kubelet/cm/dra/manager.go unprepareResources). Other pods may use it, and a ReplicaSet
    creates a new pod before the old one has ended (pkg/controller/replicaset/replica_set.go).
    """

    claim: str
    """The name of the claim."""
    others: tuple[str, ...] = ()
    """The names of other pods that use the claim, without the pods of ``workload``."""
    workload: tuple[str, str] | None = None
    """Kind and name of the workload that replaces the asked pod before it has ended."""
    replicas: int = 1
    """The number of pods that the workload wants."""


def recreate_pod(
    asked: AskedObject, why: str, held: HeldClaim | None, lead: str = ""
) -> Iterator[NextStep]:
    """Yield the steps after which a new pod gets its devices anew. ``why`` says what that changes;
    ``lead`` is what to do before.
    """
    namespace = asked.namespace
    if held is None:
        command = quote_command("kubectl delete pod {} -n {}", asked.name, namespace)
        yield NextStep(f"{lead}recreate the pod: {why}", command)
        return
    if held.workload is None:
        yield NextStep(
            f"{lead}delete all pods that use claim {held.claim} at the same time, and recreate"
            f" them once they are gone: {why}",
            _delete_pods((asked.name, *held.others), namespace),
        )
        return
    kind, name = held.workload
    title = f"{kind} {name}"
    yield NextStep(
        f"{lead}end all pods that use claim {held.claim}, since {title} replaces a pod before it"
        f" has ended: {why}",
        scale_command(kind, name, namespace, 0),
    )
    if held.others:
        yield NextStep(
            "delete the other pods that use it, too", _delete_pods(held.others, namespace)
        )
    yield NextStep(
        f"once they are gone, start the pods of {title} again",
        scale_command(kind, name, namespace, held.replicas),
    )


def _delete_pods(names: tuple[str, ...], namespace: str) -> str:
    return quote_command("kubectl delete pod " + "{} " * len(names) + "-n {}", *names, namespace)
