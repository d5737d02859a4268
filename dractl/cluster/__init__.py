"""The contents of a cluster, read live through kubectl or from dumps and manifests, before and after a change."""

from dractl.cluster.state import ClusterState

__all__ = ["ClusterState"]
