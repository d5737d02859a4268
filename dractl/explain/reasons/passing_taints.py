"""Taints that a controller puts on nodes for a time: nobody tolerates or removes them by hand."""

from msgspec import Struct

_HANDLER = "AWS Node Termination Handler"


class Passing(Struct, frozen=True):
    """The controller that sets and removes a taint; ``leaving``: it is about to remove the node itself."""

    who: str
    leaving: bool


_KNOWN = {
    # kubernetes/autoscaler cluster-autoscaler/utils/taints/taints.go
    "ToBeDeletedByClusterAutoscaler": Passing("Cluster Autoscaler", leaving=True),
    # kubernetes-sigs/karpenter pkg/apis/v1/taints.go, pkg/apis/v1beta1/taints.go
    "karpenter.sh/disrupted": Passing("Karpenter", leaving=True),
    "karpenter.sh/disruption": Passing("Karpenter", leaving=True),
    "karpenter.sh/unregistered": Passing("Karpenter", leaving=False),
    # aws/aws-node-termination-handler pkg/node/node.go
    "aws-node-termination-handler/spot-itn": Passing(_HANDLER, leaving=True),
    "aws-node-termination-handler/scheduled-maintenance": Passing(_HANDLER, leaving=True),
    "aws-node-termination-handler/asg-lifecycle-termination": Passing(_HANDLER, leaving=True),
    "cloud.google.com/impending-node-termination": Passing("GKE", leaving=True),
    # k8s.io/cloud-provider/api/well_known_taints.go
    "node.cloudprovider.kubernetes.io/shutdown": Passing("cloud-controller-manager", leaving=True),
    "node.cloudprovider.kubernetes.io/uninitialized": Passing(
        "cloud-controller-manager", leaving=False
    ),
}
_OF_NODES = "node.kubernetes.io/"
# Agents of CSI and CNI drivers remove it when they have started: kubernetes-sigs/aws-ebs-csi-driver pkg/driver, Cilium
_AGENT = "/agent-not-ready"


def passing(key: str) -> Passing | None:
    """The controller of a taint that goes away by itself; None for taints that people set.

    Those of ``node.kubernetes.io`` are the node controller's (kubernetes pkg/controller/nodelifecycle).
    """
    if key.startswith(_OF_NODES):
        return Passing("the node controller", leaving=False)
    if key.endswith(_AGENT):
        return Passing(f"the agent of {key.removesuffix(_AGENT)}", leaving=False)
    return _KNOWN.get(key)


def aside(key: str) -> str:
    """What a taint means, for sentences; empty for those that say it themselves, and for people's own."""
    found = passing(key)
    if found is None or key.startswith(_OF_NODES):
        return ""
    return f": {found.who} {'is about to remove the node' if found.leaving else 'removes it when the node is ready'}"
