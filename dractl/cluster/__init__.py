"""The contents of a cluster, before and after a change.

They are read live through kubectl, or from dumps and manifests.
"""

from dractl.cluster.state import ClusterState

__all__ = ["ClusterState"]
