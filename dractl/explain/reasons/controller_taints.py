"""Taints that a controller puts on nodes for some time. Nobody tolerates or removes them by
hand.
"""

from msgspec import Struct

_HANDLER = "AWS Node Termination Handler"


class TaintController(Struct, frozen=True):
    """The controller that sets and removes a taint."""

    name: str
    removes_node: bool
    """True if the controller is about to remove the node itself."""


_CONTROLLERS = {
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
_NODE_CONTROLLER_PREFIX = "node.kubernetes.io/"
_AGENT = "/agent-not-ready"
"""The end of the keys of taints that agents of CSI and CNI drivers remove once they have started
(kubernetes-sigs/aws-ebs-csi-driver pkg/driver, Cilium).
"""


def find_taint_controller(key: str) -> TaintController | None:
    """Return the controller of a taint that disappears without any action; None for taints that
    people set.

    Taints of ``node.kubernetes.io`` are the node controller's (kubernetes
    pkg/controller/nodelifecycle).
    """
    if key.startswith(_NODE_CONTROLLER_PREFIX):
        return TaintController("the node controller", removes_node=False)
    if key.endswith(_AGENT):
        return TaintController(f"the agent of {key.removesuffix(_AGENT)}", removes_node=False)
    return _CONTROLLERS.get(key)


def taint_meaning(key: str) -> str:
    """Return the clause about the controller of a taint; "" for taints with clear names, and for
    taints that people set.
    """
    controller = find_taint_controller(key)
    if controller is None or key.startswith(_NODE_CONTROLLER_PREFIX):
        return ""
    if controller.removes_node:
        return f": {controller.name} is about to remove the node"
    return f": {controller.name} removes it when the node is ready"
