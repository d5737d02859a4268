"""Pods."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from dractl.allocation import is_extended
from dractl.model import NodeSelector, Quantity, Toleration
from dractl.model.paths import at, list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.redaction import redact
from dractl.views.amounts import container_requests, pod_requests, scheduler_units
from dractl.views.base import Key, OwnerReference, View
from dractl.views.container import (
    Container,
    ContainerClaim,
    ContainerStatus,
    DeviceHealth,
    container_status,
    read_container_claims,
)
from dractl.views.selectors import (
    REQUIRED,
    AffinityTerm,
    SpreadConstraint,
    affinity_term,
    node_selector,
    spread_constraint,
)

DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of a pod that names none (k8s.io/api core/v1 DefaultSchedulerName)."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104
_END_PHASES = ("Succeeded", "Failed")
_TEMPLATE_HASH_LABEL = "pod-template-hash"
_KUBERNETES_FINALIZERS = ("batch.kubernetes.io/job-tracking", "foregroundDeletion", "orphan")
# Fields and labels in which replicas of one workload differ, and which do not affect where they can
# run.
_REPLICA_FIELDS = ("hostname", "nodeName")
_REPLICA_LABELS = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "statefulset.kubernetes.io/pod-name",
)
_STATUS_FIELDS = ("initContainerStatuses", "containerStatuses")


class HostPort(Struct, frozen=True, order=True):
    """A port of the node that a container takes."""

    protocol: str
    port: int
    address: str


class ClaimReference(Struct, frozen=True):
    """An entry of ``spec.resourceClaims``: it names a claim or a template."""

    name: str
    claim_name: str
    template_name: str
    has_source: bool = False
    """True if the entry has the field ``source`` of Kubernetes up to 1.30."""


def read_claim_references(spec: Raw) -> tuple[ClaimReference, ...]:
    """Return ``resourceClaims`` of the spec of a pod or a PodGroup."""
    return tuple(
        ClaimReference(
            text_at(entry, "name"),
            text_at(entry, "resourceClaimName"),
            text_at(entry, "resourceClaimTemplateName"),
            "source" in entry,
        )
        for entry in maps_at(spec, "resourceClaims")
    )


def read_claim_statuses(status: Raw) -> dict[str, str]:
    """Return the claims that were created from templates, by the name of the reference.

    The name of the claim is empty if none was needed.
    """
    return {
        text_at(entry, "name"): text_at(entry, "resourceClaimName")
        for entry in maps_at(status, "resourceClaimStatuses")
    }


class VolumeClaimReference(Struct, frozen=True):
    """A PersistentVolumeClaim that a volume of the pod uses."""

    name: str
    template: Mapping[str, Any] | None = None
    """The template of the claim, for an ephemeral volume or a replica of a StatefulSet."""


class ContainerAmount(Struct, frozen=True):
    """The amount of a resource that one container asks for."""

    container: int
    """The index of the container among all containers; init containers come first."""
    amount: int


class Pod(View):
    """A pod."""

    def __init__(
        self,
        raw: Raw | None,
        key: Key | None = None,
        priority_classes: Mapping[Key, Raw] = MappingProxyType({}),
    ) -> None:
        super().__init__(raw, key)
        self.priority_classes = priority_classes

    @cached_property
    def node_name(self) -> str:
        """``spec.nodeName``: the node that the pod is bound to, "" if none."""
        return text_at(self.spec, "nodeName")

    @cached_property
    def target_node(self) -> str:
        """The node for which the DaemonSet controller made the pod; "" for pods of other
        controllers.

        The controller writes a required node affinity for ``metadata.name`` (kubernetes
        pkg/controller/daemon/util/daemonset_util.go).
        """
        terms = self.node_affinity.node_selector_terms if self.node_affinity is not None else ()
        fields = (field for term in terms for field in term.match_fields)
        names = (field.values for field in fields if field.key == "metadata.name")
        return next((values[0] for values in names if values), "")

    @cached_property
    def image_names(self) -> frozenset[str]:
        """The names of the pod's images: the last part of each path, without registry, tag and
        digest.
        """
        return frozenset(name for name, _ in self.image_tags)

    @cached_property
    def image_tags(self) -> tuple[tuple[str, str], ...]:
        """The names of the pod's images, as in :attr:`image_names`, each with its tag; "" if there
        is no tag.
        """
        images = (text_at(container, "image") for container in self.containers)
        parts = (image.partition("@")[0].rpartition("/")[2].partition(":") for image in images)
        return tuple((name, tag) for name, _, tag in parts)

    @cached_property
    def environment(self) -> tuple[tuple[str, str], ...]:
        """The environment variables of the pod's containers that have a value, as pairs of name and
        value.
        """
        variables = (entry for container in self.containers for entry in maps_at(container, "env"))
        pairs = ((text_at(entry, "name"), text_at(entry, "value")) for entry in variables)
        return tuple((name, value) for name, value in pairs if value)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The words of the commands and arguments of the pod's containers."""
        words = (
            word
            for container in self.containers
            for field in ("command", "args")
            for word in list_at(container, field)
        )
        return tuple(word for word in words if isinstance(word, str))

    @cached_property
    def service_account(self) -> str:
        """``spec.serviceAccountName``, by default ``default``."""
        return text_at(self.spec, "serviceAccountName") or "default"

    @cached_property
    def downward_fields(self) -> frozenset[str]:
        """The fields of the pod that the pod's own containers get as environment variables."""
        variables = (entry for container in self.containers for entry in maps_at(container, "env"))
        fields = (text_at(entry, "valueFrom", "fieldRef", "fieldPath") for entry in variables)
        return frozenset(filter(None, fields))

    @cached_property
    def host_paths(self) -> tuple[str, ...]:
        """The paths on the node that the pod's volumes mount."""
        paths = (text_at(volume, "hostPath", "path") for volume in maps_at(self.spec, "volumes"))
        return tuple(filter(None, paths))

    @cached_property
    def nominated_node_name(self) -> str:
        """The node on which kube-scheduler evicts other pods for this pod, "" if there is none."""
        return text_at(self.status, "nominatedNodeName")

    @cached_property
    def phase(self) -> str:
        """``status.phase``; "" for a manifest."""
        return text_at(self.status, "phase")

    @property
    def reason(self) -> str:
        """``status.reason``, such as Evicted; "" if the kubelet has not set it."""
        return text_at(self.status, "reason")

    @property
    def message(self) -> str:
        """``status.message``; "" if the kubelet has not set it."""
        return redact(text_at(self.status, "message"))

    @property
    def restart_policy(self) -> str:
        """``spec.restartPolicy``; "" for a manifest that leaves it out."""
        return text_at(self.spec, "restartPolicy")

    @property
    def runtime_class_name(self) -> str:
        """``spec.runtimeClassName``, "" if none."""
        return text_at(self.spec, "runtimeClassName")

    @property
    def has_ended(self) -> bool:
        """True if the pod has succeeded or failed, and so uses nothing on its node."""
        return self.phase in _END_PHASES

    @property
    def is_pending(self) -> bool:
        """True if the pod still waits for a node."""
        return not self.node_name and not self.has_ended

    @property
    def start_time(self) -> str:
        """The time at which the kubelet accepted the pod (RFC 3339); "" if it has not done so."""
        return text_at(self.status, "startTime")

    @cached_property
    def scheduler_name(self) -> str:
        """The scheduler that the pod names, or the default of the API server."""
        return text_at(self.spec, "schedulerName") or DEFAULT_SCHEDULER

    @cached_property
    def scheduling_gates(self) -> tuple[str, ...]:
        """The names of the pod's scheduling gates."""
        return tuple(text_at(gate, "name") for gate in maps_at(self.spec, "schedulingGates"))

    @cached_property
    def queue_key(self) -> tuple[int, str, str] | None:
        """The key by which kube-scheduler sorts pending pods: by priority, then by age; pods
        without a creation time come last.

        None for pods that kube-scheduler would not try (kubernetes
        pkg/scheduler/framework/plugins/queuesort/priority_sort.go).
        """
        if self.node_name or self.has_ended or self.deletion_timestamp or self.scheduling_gates:
            return None
        if self.scheduler_name != DEFAULT_SCHEDULER:
            return None
        return -self.priority, self.creation_timestamp or "~", self.name

    @cached_property
    def priority(self) -> int:
        """``spec.priority``, which the admission plugin writes; a manifest only names its priority
        class.
        """
        priority = at(self.spec, "priority")
        if isinstance(priority, int):
            return priority
        priority_class = self.priority_classes.get(("", self.priority_class_name))
        value = at(priority_class, "value")
        return value if isinstance(value, int) else 0

    @property
    def priority_class_name(self) -> str:
        """``spec.priorityClassName``, "" if none."""
        return text_at(self.spec, "priorityClassName")

    @property
    def may_preempt(self) -> bool:
        """False for ``preemptionPolicy: Never``."""
        return self.preemption_policy != "Never"

    @property
    def preemption_policy(self) -> str:
        """``spec.preemptionPolicy``, or the default of the API server."""
        return self.known_preemption_policy or "PreemptLowerPriority"

    @property
    def known_preemption_policy(self) -> str:
        """``spec.preemptionPolicy``, which the admission plugin writes; a manifest only names its
        priority class. The result is "" if the input has neither.
        """
        policy = text_at(self.spec, "preemptionPolicy")
        priority_class = self.priority_classes.get(("", self.priority_class_name))
        if policy or priority_class is None:
            return policy
        return text_at(priority_class, "preemptionPolicy") or "PreemptLowerPriority"

    # -- owners ----------------------------------------------------------------------------------

    @cached_property
    def controller(self) -> OwnerReference | None:
        """The owner that creates the pod again after a deletion; None if the pod has ended."""
        return None if self.has_ended else super().controller

    @cached_property
    def workload(self) -> tuple[str, str] | None:
        """Kind and name of the workload whose template makes the pod: the Deployment, not its
        ReplicaSet.
        """
        owner = self.controller
        if owner is None:
            return None
        template_hash = text_at(self.labels, _TEMPLATE_HASH_LABEL)
        if (
            owner.kind == "ReplicaSet"
            and template_hash
            and owner.name.endswith(f"-{template_hash}")
        ):
            return "Deployment", owner.name.removesuffix(f"-{template_hash}")
        return owner.kind, owner.name

    @cached_property
    def scheduling_key(self) -> tuple[str, str]:
        """Equal for pods that the scheduler cannot tell apart."""
        spec = {key: value for key, value in self.spec.items() if key not in _REPLICA_FIELDS}
        labels = {key: value for key, value in self.labels.items() if key not in _REPLICA_LABELS}
        return repr(sorted(spec.items())), repr(sorted(labels.items()))

    @property
    def leader_worker_group(self) -> tuple[str, str] | None:
        """The LeaderWorkerSet of the pod, and the index of the pod's group in it; None if the pod
        has none.

        sigs.k8s.io/lws api/leaderworkerset/v1.
        """
        name, index = (
            self.labels.get(f"leaderworkerset.sigs.k8s.io/{key}") for key in ("name", "group-index")
        )
        return (name, index) if isinstance(name, str) and isinstance(index, str) else None

    @property
    def index_failures(self) -> int:
        """The number of earlier pods of the same Job index that have failed
        (``batch.kubernetes.io/job-index-failure-count``).
        """
        count = text_at(self.annotations, "batch.kubernetes.io/job-index-failure-count")
        return int(count) if count.isdigit() else 0

    @property
    def pod_group_name(self) -> str:
        """The PodGroup of Kubernetes that the pod names, "" if none."""
        return text_at(self.spec, "schedulingGroup", "podGroupName")

    @property
    def workload_reference(self) -> tuple[str, ...]:
        """The Workload of 1.35 that the pod names, its group and its replica; empty if none."""
        reference = map_at(self.spec, "workloadRef")
        if not reference:
            return ()
        return tuple(text_at(reference, key) for key in ("name", "podGroup", "podGroupReplicaKey"))

    @property
    def is_grouped_by_scheduler(self) -> bool:
        """True if kube-scheduler places the pod together with others, by the fields of 1.36 or of
        1.35.
        """
        return bool(map_at(self.spec, "schedulingGroup") or map_at(self.spec, "workloadRef"))

    # -- claims ----------------------------------------------------------------------------------

    @cached_property
    def claim_references(self) -> tuple[ClaimReference, ...]:
        """``spec.resourceClaims``."""
        return read_claim_references(self.spec)

    @property
    def claim_entries(self) -> Sequence[Raw]:
        """``spec.resourceClaims`` as written, in the order of :attr:`claim_references`."""
        return maps_at(self.spec, "resourceClaims")

    @cached_property
    def claim_statuses(self) -> Mapping[str, str]:
        """The claims that were created from templates, by the name of the reference; "" if none was
        needed.
        """
        return read_claim_statuses(self.status)

    @property
    def extended_claim_name(self) -> str:
        """The claim that the scheduler has made for the pod's extended resources, "" if none."""
        return text_at(self.status, "extendedResourceClaimStatus", "resourceClaimName")

    @property
    def extended_claim_resources(self) -> frozenset[str]:
        """The extended resources whose devices that claim has."""
        mappings = maps_at(self.status, "extendedResourceClaimStatus", "requestMappings")
        return frozenset(text_at(mapping, "resourceName") for mapping in mappings)

    @cached_property
    def claim_names(self) -> frozenset[str]:
        """The names of all claims that the pod refers to, in its spec or its status."""
        names = (
            *(reference.claim_name for reference in self.claim_references),
            *self.claim_statuses.values(),
            self.extended_claim_name,
        )
        return frozenset(filter(None, names))

    @cached_property
    def has_uncreated_claims(self) -> bool:
        """True if claims of the pod's templates have not been created yet; the claim controller
        keeps trying.
        """
        return any(reference.template_name for reference in self.uncreated_claim_references)

    @property
    def uncreated_claim_references(self) -> tuple[ClaimReference, ...]:
        """The references for which the status of the pod has no claim."""
        return tuple(r for r in self.claim_references if r.name not in self.claim_statuses)

    @property
    def volumes(self) -> Sequence[Raw]:
        """``spec.volumes`` as written."""
        return maps_at(self.spec, "volumes")

    @property
    def has_empty_dir(self) -> bool:
        """True if a volume is an emptyDir, whose data are lost with the pod."""
        return any(volume.get("emptyDir") is not None for volume in self.volumes)

    @property
    def is_mirror(self) -> bool:
        """True for the API's copy of a static pod; the kubelet keeps that pod running.

        kubernetes pkg/apis/core/annotation_key_constants.go MirrorPodAnnotationKey.
        """
        return "kubernetes.io/config.mirror" in self.annotations

    @property
    def foreign_finalizers(self) -> tuple[str, ...]:
        """The finalizers that no controller of Kubernetes removes by itself."""
        return tuple(name for name in self.finalizers if name not in _KUBERNETES_FINALIZERS)

    @property
    def is_disruption_target(self) -> bool:
        """True if the pod is about to be evicted: the client that evicts it first sets this
        condition in its status.
        """
        return self.condition("DisruptionTarget").status == "True"

    @property
    def is_ready(self) -> bool:
        """True if the condition Ready holds."""
        return self.condition("Ready").status == "True"

    @property
    def config_map_names(self) -> tuple[str, ...]:
        """The ConfigMaps of the pod's volumes."""
        names = (text_at(volume, "configMap", "name") for volume in self.volumes)
        return tuple(filter(None, names))

    @cached_property
    def volume_claims(self) -> tuple[VolumeClaimReference, ...]:
        """The PersistentVolumeClaims of the pod's volumes."""
        references: list[VolumeClaimReference] = []
        for volume in self.volumes:
            template = at(volume, "ephemeral", "volumeClaimTemplate")
            if isinstance(volume.get("persistentVolumeClaim"), dict):
                # A replica that a StatefulSet has yet to create has the claim's template beside its
                # name.
                name = text_at(volume, "persistentVolumeClaim", "claimName")
                references.append(VolumeClaimReference(name, template))
            elif isinstance(volume.get("ephemeral"), dict):
                name = f"{self.name}-{text_at(volume, 'name')}"
                references.append(VolumeClaimReference(name, template or {}))
        return tuple(references)

    @cached_property
    def named_volume_claims(self) -> frozenset[str]:
        """The PersistentVolumeClaims that the volumes name; the claims of ephemeral volumes are
        left out.
        """
        return frozenset(filter(None, self.volume_claim_names))

    @property
    def volume_claim_names(self) -> tuple[str, ...]:
        """The PersistentVolumeClaim that each of :attr:`volumes` names, "" for other volumes."""
        return tuple(
            text_at(volume, "persistentVolumeClaim", "claimName") for volume in self.volumes
        )

    # -- resources -------------------------------------------------------------------------------

    @cached_property
    def containers(self) -> Sequence[Raw]:
        """The containers as written, init containers first."""
        return [*maps_at(self.spec, "initContainers"), *self.main_containers]

    @property
    def main_containers(self) -> Sequence[Raw]:
        """``spec.containers`` as written."""
        return maps_at(self.spec, "containers")

    def containers_in(self, field: str) -> tuple[Container, ...]:
        """Return the containers of ``initContainers`` or ``containers``, in their order."""
        return tuple(map(Container, maps_at(self.spec, field)))

    @property
    def pod_level_claims(self) -> tuple[ContainerClaim, ...]:
        """``spec.resources.claims``: claims whose devices all containers get."""
        return read_container_claims(self.spec)

    @property
    def pod_level_requests(self) -> Mapping[str, Any]:
        """``spec.resources.requests`` as written."""
        return map_at(self.pod_level_resources, "requests")

    @property
    def uses_host_network(self) -> bool:
        """``spec.hostNetwork``."""
        return at(self.spec, "hostNetwork") is True

    @property
    def pod_level_resources(self) -> Mapping[str, Any]:
        """``spec.resources``: requests and limits of the pod as a whole."""
        return map_at(self.spec, "resources")

    @property
    def overhead(self) -> Mapping[str, Any]:
        """``spec.overhead``: the amounts that the RuntimeClass adds to the requests of the pod."""
        return map_at(self.spec, "overhead")

    @cached_property
    def requests(self) -> Mapping[str, Quantity]:
        """Requests of the pod, without zeros."""
        requests = pod_requests(self.spec)
        if all(amount.sign() > 0 for amount in requests.values()):
            return requests
        return {name: amount for name, amount in requests.items() if amount.sign() > 0}

    @cached_property
    def request_units(self) -> Mapping[str, int]:
        """:attr:`requests` in the scheduler's units."""
        return {name: scheduler_units(name, amount) for name, amount in self.requests.items()}

    @cached_property
    def extended_requests(self) -> Mapping[str, Sequence[ContainerAmount]]:
        """The containers that ask for each extended resource, by the name of the resource."""
        requests: dict[str, list[ContainerAmount]] = {}
        for index, container in enumerate(self.containers):
            for name, quantity in container_requests(container).items():
                amount = quantity.value()
                if is_extended(name) and amount > 0:
                    requests.setdefault(name, []).append(ContainerAmount(index, amount))
        return requests

    @cached_property
    def extended_request_sources(self) -> Mapping[str, str]:
        """The part of the pod to which each request of the claim for extended resources
        corresponds.

        For example, ``container-0-request-1`` belongs to ``vendor.com/gpu: 2 of container main``.
        The first number counts containers, init containers first; the second one counts the sorted
        names of resources.
        """
        sources = {}
        for number, container in enumerate(self.containers):
            amounts = {
                **map_at(container, "resources", "limits"),
                **map_at(container, "resources", "requests"),
            }
            for position, resource in enumerate(sorted(amounts)):
                sources[f"container-{number}-request-{position}"] = (
                    f"{resource}: {amounts[resource]} of container {text_at(container, 'name')}"
                )
        return sources

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Every host port of the pod, sidecars included."""
        sidecars = [
            container
            for container in maps_at(self.spec, "initContainers")
            if container.get("restartPolicy") == "Always"
        ]
        return tuple(
            HostPort(
                text_at(port, "protocol") or "TCP",
                port["hostPort"],
                text_at(port, "hostIP") or ANY_ADDRESS,
            )
            for container in [*self.main_containers, *sidecars]
            for port in maps_at(container, "ports")
            if isinstance(port.get("hostPort"), int) and port["hostPort"] > 0
        )

    # -- containers on the node ------------------------------------------------------------------

    @cached_property
    def container_statuses(self) -> tuple[ContainerStatus, ...]:
        """The containers as the kubelet reports them, init containers first.

        Ephemeral containers are left out, since the pod runs without them. Sidecars are init
        containers that are always restarted: the pod does not wait for their end.
        """
        sidecars = {
            text_at(container, "name")
            for container in maps_at(self.spec, "initContainers")
            if container.get("restartPolicy") == "Always"
        }
        return tuple(
            container_status(
                status,
                is_init=field == "initContainerStatuses"
                and text_at(status, "name") not in sidecars,
            )
            for field in _STATUS_FIELDS
            for status in maps_at(self.status, field)
        )

    @cached_property
    def unhealthy_devices(self) -> tuple[DeviceHealth, ...]:
        """The devices that the kubelet reports as unhealthy, each once."""
        return tuple(
            dict.fromkeys(
                DeviceHealth(
                    text_at(entry, "name").removeprefix("claim:").partition("/")[0],
                    text_at(resource, "resourceID"),
                    redact(text_at(resource, "message")),
                )
                for field in _STATUS_FIELDS
                for status in maps_at(self.status, field)
                for entry in maps_at(status, "allocatedResourcesStatus")
                if text_at(entry, "name").startswith("claim:")
                for resource in maps_at(entry, "resources")
                if text_at(resource, "health") == "Unhealthy"
            )
        )

    # -- constraints on nodes --------------------------------------------------------------------

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Tolerations of node taints."""
        return tuple(
            Toleration(
                text_at(toleration, "key"),
                text_at(toleration, "operator"),
                text_at(toleration, "value"),
                text_at(toleration, "effect"),
            )
            for toleration in maps_at(self.spec, "tolerations")
        )

    @property
    def toleration_entries(self) -> Sequence[Raw]:
        """``spec.tolerations`` as written, in the order of :attr:`tolerations`."""
        return maps_at(self.spec, "tolerations")

    @cached_property
    def node_selector(self) -> Mapping[str, str]:
        """``spec.nodeSelector``."""
        return map_at(self.spec, "nodeSelector")

    @property
    def affinity(self) -> Mapping[str, Any]:
        """``spec.affinity``, including terms that are only preferred."""
        return map_at(self.spec, "affinity")

    @cached_property
    def node_affinity(self) -> NodeSelector | None:
        """Required node affinity."""
        required = at(self.spec, "affinity", "nodeAffinity", REQUIRED)
        return node_selector(required) if isinstance(required, dict) else None

    @cached_property
    def pod_affinity(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity."""
        return tuple(map(affinity_term, maps_at(self.spec, "affinity", "podAffinity", REQUIRED)))

    @cached_property
    def pod_anti_affinity(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity."""
        terms = maps_at(self.spec, "affinity", "podAntiAffinity", REQUIRED)
        return tuple(map(affinity_term, terms))

    @property
    def topology_spread(self) -> Sequence[Raw]:
        """``spec.topologySpreadConstraints`` as written."""
        return maps_at(self.spec, "topologySpreadConstraints")

    @cached_property
    def spread_constraints(self) -> tuple[SpreadConstraint, ...]:
        """Topology spread constraints that can exclude nodes."""
        return tuple(
            spread_constraint(constraint)
            for constraint in self.topology_spread
            if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        )
