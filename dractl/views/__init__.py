"""Typed views of the objects of a cluster: lazy, and lenient towards whatever an input may hold.

A view has the fields that several parts of dractl read. :class:`dractl.cluster.state.ClusterState`
hands them out (``state.pod(key).node_name``, ``state.pods``); ``Pod(raw)`` is one of an object that
is in no cluster. Verdicts about devices use :mod:`dractl.model`, whose objects are complete;
:mod:`dractl.objects` has views that know their paths.
"""

from dractl.views.base import Condition, Key, OwnerReference, View, parse_timestamp
from dractl.views.claim import AllocatedDevice, Claim, Consumer, ReportedDevice
from dractl.views.container import ContainerStatus, DeviceHealth
from dractl.views.event import Event, ObjectReference
from dractl.views.namespace import Namespace
from dractl.views.node import Node
from dractl.views.pod import DEFAULT_SCHEDULER, ClaimReference, ContainerAmount, HostPort, Pod
from dractl.views.pod_group import PodGroup
from dractl.views.workload import Workload

__all__ = [
    "DEFAULT_SCHEDULER",
    "AllocatedDevice",
    "Claim",
    "ClaimReference",
    "Condition",
    "Consumer",
    "ContainerAmount",
    "ContainerStatus",
    "DeviceHealth",
    "Event",
    "HostPort",
    "Key",
    "Namespace",
    "Node",
    "ObjectReference",
    "OwnerReference",
    "Pod",
    "PodGroup",
    "ReportedDevice",
    "View",
    "Workload",
    "parse_timestamp",
]
