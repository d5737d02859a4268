"""Taints that a controller puts on nodes for a time: nobody tolerates or removes them by hand."""

from msgspec import Struct

_HANDLER = "AWS Node Termination Handler"


class TaintController(Struct, frozen=True):
    """The controller that sets and removes a taint; ``removes_node``: it is about to remove the
    node itself.
    """

    who: str
    removes_node: bool


_KNOWN = {
    # kubernetes/autoscaler cluster-autoscaler/utils/taints/taints.go
    "ToBeDeletedByClusterAutoscaler": TaintController("Cluster Autoscaler", removes_node=True),
    # kubernetes-sigs/karpenter pkg/apis/v1/taints.go, pkg/apis/v1beta1/taints.go
    "karpenter.sh/disrupted": TaintController("Karpenter", removes_node=True),
    "karpenter.sh/disruption": TaintController("Karpenter", removes_node=True),
    "karpenter.sh/unregistered": TaintController("Karpenter", removes_node=False),
    # aws/aws-node-termination-handler pkg/node/node.go
    "aws-node-termination-handler/spot-itn": TaintController(_HANDLER, removes_node=True),
    "aws-node-termination-handler/scheduled-maintenance": TaintController(
        _HANDLER, removes_node=True
    ),
    "aws-node-termination-handler/asg-lifecycle-termination": TaintController(
        _HANDLER, removes_node=True
    ),
    "cloud.google.com/impending-node-termination": TaintController("GKE", removes_node=True),
    # k8s.io/cloud-provider/api/well_known_taints.go
    "node.cloudprovider.kubernetes.io/shutdown": TaintController(
        "cloud-controller-manager", removes_node=True
    ),
    "node.cloudprovider.kubernetes.io/uninitialized": TaintController(
        "cloud-controller-manager", removes_node=False
    ),
}
_OF_NODES = "node.kubernetes.io/"
# Agents of CSI and CNI drivers remove it when they have started: kubernetes-sigs/aws-ebs-csi-driver
# pkg/driver, Cilium
_AGENT = "/agent-not-ready"


def find_taint_controller(key: str) -> TaintController | None:
    """The controller of a taint that goes away by itself; None for taints that people set.

    Those of ``node.kubernetes.io`` are the node controller's (kubernetes
    pkg/controller/nodelifecycle).
    """
    if key.startswith(_OF_NODES):
        return TaintController("the node controller", removes_node=False)
    if key.endswith(_AGENT):
        return TaintController(f"the agent of {key.removesuffix(_AGENT)}", removes_node=False)
    return _KNOWN.get(key)


def taint_meaning(key: str) -> str:
    """What a taint means, for sentences; empty for those that say it themselves, and for people's
    own.
    """
    found = find_taint_controller(key)
    if found is None or key.startswith(_OF_NODES):
        return ""
    return (
        f": {found.who}"
        f" {'is about to remove the node' if found.removes_node else 'removes it when the node is ready'}"
    )
