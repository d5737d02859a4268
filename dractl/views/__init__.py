"""Typed views of the objects of a cluster: lazy, and lenient towards whatever an input may hold.

A view has the fields that several parts of dractl read. :class:`dractl.cluster.state.ClusterState`
hands them out (``state.pod(key).node_name``, ``state.pods``); ``Pod(raw)`` is a view of an object
that is in no cluster. Verdicts about devices use :mod:`dractl.model`, whose objects are complete;
:mod:`dractl.objects` has views that know their paths.
"""

from dractl.views.autoscaler import Autoscaler
from dractl.views.base import Condition, Key, OwnerReference, View, age, parse_timestamp
from dractl.views.claim import AllocatedDevice, Claim, Consumer, DeviceRequest, ReportedDevice
from dractl.views.claim_template import ClaimTemplate
from dractl.views.compute_domain import ComputeDomain, DomainNode
from dractl.views.config_map import ConfigMap
from dractl.views.container import Container, ContainerStatus, DeviceHealth
from dractl.views.event import Event, ObjectReference
from dractl.views.job_set import JobSet
from dractl.views.namespace import Namespace
from dractl.views.node import Node
from dractl.views.pod import DEFAULT_SCHEDULER, ClaimReference, ContainerAmount, HostPort, Pod
from dractl.views.pod_group import GangWorkload, PodGroup, SchedulerGroup
from dractl.views.scheduler_configuration import SchedulerConfiguration, SchedulerProfile
from dractl.views.taint_rule import TaintRule
from dractl.views.workload import Workload

__all__ = [
    "DEFAULT_SCHEDULER",
    "AllocatedDevice",
    "Autoscaler",
    "Claim",
    "ClaimReference",
    "ClaimTemplate",
    "ComputeDomain",
    "Condition",
    "ConfigMap",
    "Consumer",
    "Container",
    "ContainerAmount",
    "ContainerStatus",
    "DeviceHealth",
    "DeviceRequest",
    "DomainNode",
    "Event",
    "GangWorkload",
    "HostPort",
    "JobSet",
    "Key",
    "Namespace",
    "Node",
    "ObjectReference",
    "OwnerReference",
    "Pod",
    "PodGroup",
    "ReportedDevice",
    "SchedulerConfiguration",
    "SchedulerGroup",
    "SchedulerProfile",
    "TaintRule",
    "View",
    "Workload",
    "age",
    "parse_timestamp",
]
