"""What a cluster holds, read live through kubectl or from dumps and manifests; and the same after a change."""

from dractl.cluster.state import ClusterState

__all__ = ["ClusterState"]
