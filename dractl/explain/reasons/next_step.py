"""Next steps when no change of objects helps: what to look at or to do, with the command for it."""

from collections.abc import Sequence

from msgspec import Struct

from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import parse_key

DAEMONSETS = "kubectl get daemonsets -A"
_DRA = "resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses -A -o yaml > dra.yaml"


class AskedObject(Struct, frozen=True):
    """The subject of a question."""

    kind: str
    namespace: str
    name: str
    volumes: Sequence[tuple[str, str]] = ()
    """The subject's PersistentVolumeClaims, each with its phase."""


CONTROLLERS = NextStep(
    "see whether kube-controller-manager runs",
    "kubectl get pods -n kube-system -l component=kube-controller-manager; "
    "kubectl get lease kube-controller-manager -n kube-system",
)
MORE_NODES = NextStep(
    "add a node that has the hardware, or scale up its node pool", "kubectl get nodes --show-labels"
)


def pods_on(node: str) -> str:
    return quote_command("kubectl get pods -A -o wide --field-selector spec.nodeName={}", node)


def see_node(node: str) -> NextStep:
    return NextStep(f"look at node {node}", quote_command("kubectl describe node {}", node))


def remove_duplicate_resource(resource: str, asked: AskedObject) -> NextStep:
    """Return the step for an extended resource that a claim may provide as well."""
    return NextStep(
        f"if a claim of the pod provides the device already, remove {resource} from the container's"
        " resources.limits and requests",
        quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
    )


def see_kubelet(node: str) -> NextStep:
    return NextStep(
        f"see whether the kubelet of {node} answers",
        quote_command("kubectl get node {} -o wide", node),
    )


def delete_by_force(pod: str) -> NextStep:
    """Return the step that deletes a pod (``namespace/name``) by force, since no kubelet can
    confirm that it has ended.
    """
    namespace, name = parse_key(pod)
    return NextStep(
        f"only if that node is gone for good, delete pod {pod} by force",
        quote_command("kubectl delete pod {} -n {} --force --grace-period=0", name, namespace),
    )


def retry_prefix(new: bool) -> str:
    """Return the beginning of a step, which asks to wait first if the subject is ``new``; "" if it
    is not.
    """
    return "ask again in a few seconds; if nothing has changed by then, " if new else ""


def complete_input(kind: str) -> NextStep:
    """Return the step for an input without any object of a kind: the input may be a part of the
    cluster only.
    """
    return NextStep(
        f"add what the cluster has to the input, which has no {kind}, or name the devices:"
        " --hardware dgx-h100, --devices FILE",
        "kubectl get " + "nodes,pods," * (kind == "Node") + _DRA,
    )
