"""Next steps if no change of objects helps, or before one is made: what to look at, where, with which command."""
# ruff: noqa: ARG001 (all makers have one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from dractl.cluster.idle import idle
from dractl.cluster.state import key_of, text_at
from dractl.explain import causes
from dractl.explain.passing_taints import passing
from dractl.scheduler.rejection import Untolerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dractl.cluster.state import ClusterState
    from dractl.explain.answer import Fix
    from dractl.explain.ask import Question
    from dractl.explain.causes import Cause
    from dractl.explain.diagnose.gangs import Group

    Raw = Mapping[str, Any]

C = TypeVar("C", bound="Cause")
_MOST = 3  # steps that an answer has
# k8s.io/apiserver/pkg/admission/plugin: policies deny "request", webhooks "the request", and a message follows
_DENIALS = ("denied the request: ", "denied request: ")
# kubernetes plugin/pkg/admission/serviceaccount
_ACCOUNT = "error looking up service account "
# k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
_QUOTA = re.compile(r"exceeded quota: ([^,\s]+), requested: (.*?), used: .*?, limited: (\S+)")
_DAEMONSETS = "kubectl get daemonsets -A"
# kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-kubelet-plugin/device_state.go
_DOMAIN_NOT_READY = "asserting ComputeDomain Ready"
_DRA = "kubectl get resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses -A -o yaml > dra.yaml"


class NextStep(Struct, frozen=True):
    """Something to do or to look at; ``command`` is what shows it, if a command does."""

    text: str
    command: str = ""


_CONTROLLERS = NextStep(
    "see whether kube-controller-manager runs",
    "kubectl get pods -n kube-system -l component=kube-controller-manager; "
    "kubectl get lease kube-controller-manager -n kube-system",
)


class Asked(Struct, frozen=True):
    """The subject; ``volumes`` are its PersistentVolumeClaims, each with its phase."""

    kind: str
    namespace: str
    name: str
    volumes: Sequence[tuple[str, str]] = ()


def next_steps(
    asked: Asked, found: Sequence[Cause], fixes: Sequence[Fix], then: Sequence[NextStep] = ()
) -> tuple[NextStep, ...]:
    """The next steps for the causes of an answer, those of the first cause first, and ``then`` those given. Where there
    are fixes, only what belongs to a cause that no change of objects can reach."""
    # Without a pod nothing else of it can be looked at.
    found = [cause for cause in found if isinstance(cause, causes.PodsNotCreated)] or found
    steps: list[NextStep] = []
    for step in (*_of_causes(asked, found, beside_fixes=bool(fixes)), *then):
        if all(step.command != other.command and step.text != other.text for other in steps):
            steps.append(step)
    if not steps and not fixes and found:
        steps.append(
            NextStep(
                f"see what the scheduler says about the {asked.kind.lower()} now",
                f"kubectl describe {asked.kind.lower()} {asked.name} -n {asked.namespace}",
            )
        )
    return tuple(steps[:_MOST])


def _of_causes(asked: Asked, found: Sequence[Cause], *, beside_fixes: bool) -> Iterator[NextStep]:
    """The steps for each cause, first those for causes that others only follow from."""
    for cause in sorted(found, key=lambda cause: not isinstance(cause, _SPANNING)):
        make = next((_STEPS[kind] for kind in type(cause).__mro__ if kind in _STEPS), None)
        if make is not None and (isinstance(cause, _BESIDE_FIXES) or not beside_fixes):
            yield from make(cause, asked)


def of_group(question: Question, group: Group, found: Sequence[Cause], fixes: Sequence[Fix]) -> tuple[NextStep, ...]:
    """The next steps for a pod that waits for its group, about the group alone; none for others."""
    if not group.causes or not found or found[0] is not group.causes[0]:
        return ()
    return next_steps(Asked(question.kind, *question.key), found[:1], fixes)


def of_idle(state: ClusterState, question: Question) -> tuple[NextStep, ...]:
    """The next step for a workload that wants no pods now; none for others."""
    resting = idle(question.kind, question.key, state.get(question.kind, question.key))
    if resting is None or not resting.resume:
        return ()
    text = "see what its queue waits for" if "kueue" in resting.resume else "have it create its pods"
    return (NextStep(text, resting.resume),)


_STEPS: dict[type[Any], Callable[[Any, Asked], Iterator[NextStep]]] = {}
_SPANNING = (causes.NoNodeHasAll, causes.PublishedTwice, causes.OwnReplicas)  # what others only follow from
_BESIDE_FIXES = (
    causes.DriverAbsent,
    causes.UnknownNodes,
    causes.HoldersEnded,
    causes.HoldersTerminating,
    causes.LostNodes,
    causes.NotTriedYet,
    causes.SchedulingGated,
    causes.GangHeldBack,
    causes.GangIncomplete,
    causes.GangTooSmall,
    causes.ClaimNotCreated,
    causes.BindingFailed,
    causes.PublishedTwice,
    causes.QuotaExceeded,
)


def _for(*kinds: type[C]) -> Callable[[Callable[[C, Asked], Iterator[NextStep]]], Any]:
    def register(make: Callable[[C, Asked], Iterator[NextStep]]) -> Any:
        for kind in kinds:
            _STEPS[kind] = make
        return make

    return register


def _on(node: str) -> str:
    return f"kubectl get pods -A -o wide --field-selector spec.nodeName={node}"


@_for(causes.DriverAbsent)
def _driver_absent(cause: causes.DriverAbsent, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"see whether the driver of {cause.driver} runs on {', '.join(cause.nodes[:3])}", _on(cause.nodes[0])
    )
    yield NextStep(f"see whether the DaemonSet of {cause.driver} selects and tolerates these nodes", _DAEMONSETS)


@_for(causes.UnknownNodes)
def _unknown_nodes(cause: causes.UnknownNodes, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"find the DaemonSet of driver {cause.driver}; after the change, see that its pods restart",
        _DAEMONSETS,
    )


@_for(causes.NoSlicesForDriver)
def _no_slices(cause: causes.NoSlicesForDriver, asked: Asked) -> Iterator[NextStep]:
    if cause.none_known:
        yield NextStep("add a node that has the hardware, or scale up its node pool", "kubectl get nodes --show-labels")
    driver = f"driver {cause.driver}" if cause.driver else "a DRA driver"
    yield NextStep(f"see whether {driver} is installed and running", _DAEMONSETS)


@_for(causes.SelectorFalse, causes.SelectorError)
def _selector(cause: causes.OfRequest, asked: Asked) -> Iterator[NextStep]:
    if isinstance(cause, causes.SelectorFalse) and cause.of_class:
        yield NextStep(
            f"correct the selector of class {cause.device_class}, or add devices that it matches",
            f"kubectl edit deviceclass {cause.device_class}",
        )
    yield NextStep("compare the selector with what the devices publish", "kubectl get resourceslices -o yaml")


@_for(causes.SliceNodeMismatch)
def _elsewhere(cause: causes.SliceNodeMismatch, asked: Asked) -> Iterator[NextStep]:
    if cause.slice is None:
        return
    keys = f" -L {','.join(cause.keys)}" if cause.keys else ""
    yield NextStep(
        f"see which nodes slice {cause.slice} is for: add such a node, or let its driver name these",
        f"kubectl get nodes{keys}",
    )


@_for(causes.NoSlicesOnNode)
def _no_slices_on_node(cause: causes.NoSlicesOnNode, asked: Asked) -> Iterator[NextStep]:
    node = cause.nodes[0] if cause.nodes else "NODE"
    yield NextStep(f"see whether driver {cause.driver or ''} runs on {node}, if that has the hardware", _on(node))
    yield NextStep("add a node that has the hardware, or scale up its node pool", "kubectl get nodes --show-labels")


@_for(causes.OfPool)
def _pool(cause: causes.OfPool, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"look at the slices of pool {cause.pool}, then restart driver {cause.driver} where it lags",
        f"kubectl get resourceslices --field-selector spec.driver={cause.driver}",
    )


@_for(causes.PublishedTwice)
def _published_twice(cause: causes.PublishedTwice, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(f"see which DaemonSets of driver {cause.driver} run, and uninstall the other one", _DAEMONSETS)
    yield NextStep(
        "look at the slices; a stale one is older than the start of the driver that runs",
        f"kubectl get resourceslices --field-selector spec.driver={cause.driver} --sort-by=.metadata.creationTimestamp",
    )


@_for(causes.NoNodeHasAll)
def _no_node_has_all(cause: causes.NoNodeHasAll, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        "split the work into pods that each need the devices of one node, or add a node with both",
        "kubectl get resourceslices",
    )


def _kubelet(node: str) -> NextStep:
    return NextStep(f"see whether the kubelet of {node} answers", f"kubectl get node {node} -o wide")


def _by_force(pod: str) -> NextStep:
    """The end of a pod (``namespace/name``) that no kubelet can confirm."""
    namespace, name = key_of(pod)
    return NextStep(
        f"only if that node is gone for good, delete pod {pod} by force",
        f"kubectl delete pod {name} -n {namespace} --force --grace-period=0",
    )


@_for(causes.HoldersTerminating)
def _terminating(cause: causes.HoldersTerminating, asked: Asked) -> Iterator[NextStep]:
    for pod in cause.pods[:1]:
        yield _kubelet(cause.on[0])
        yield _by_force(pod)


@_for(causes.HoldersEnded)
def _ended(cause: causes.HoldersEnded, asked: Asked) -> Iterator[NextStep]:
    yield _CONTROLLERS


@_for(causes.LostNodes)
def _lost_nodes(cause: causes.LostNodes, asked: Asked) -> Iterator[NextStep]:
    node = cause.places[0]
    if cause.unready:
        yield NextStep(f"see why node {node} does not answer", f"kubectl describe node {node}")
    else:
        yield NextStep(f"see which nodes there are: {node} is gone", "kubectl get nodes -o wide")


def _soon(new: bool) -> str:
    return "ask again in a few seconds; if nothing has changed by then, " if new else ""


@_for(causes.NotTriedYet)
def _not_tried(cause: causes.NotTriedYet, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"{_soon(cause.new)}see whether kube-scheduler runs",
        "kubectl get pods -n kube-system -l component=kube-scheduler; kubectl get lease kube-scheduler -n kube-system",
    )


@_for(causes.ClaimNotCreated)
def _claim_not_created(cause: causes.ClaimNotCreated, asked: Asked) -> Iterator[NextStep]:
    namespace, _, template = cause.template.partition("/")
    if cause.webhook:
        yield NextStep(
            f"see why admission webhook {cause.webhook} does not answer",
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
        )
    elif cause.event:
        asks = next((rest for mark in _DENIALS if (rest := cause.event.partition(mark)[2])), "")
        yield NextStep(
            f"change template {cause.template} so that its claims are accepted (their labels are its "
            f"spec.metadata.labels)" + (f": {asks}" if asks else ""),
            f"kubectl edit resourceclaimtemplate {template} -n {namespace}",
        )
    else:
        yield NextStep(f"{_soon(cause.new)}{_CONTROLLERS.text}", _CONTROLLERS.command)


@_for(causes.ClassMissing)
def _class_missing(cause: causes.ClassMissing, asked: Asked) -> Iterator[NextStep]:
    if cause.none_known:
        yield _of_a_part("DeviceClass")
    if cause.silent:
        from dractl.drivers.registry import find

        chart = find(cause.driver).catalogue.chart
        values = f" with {chart} in its chart" if chart else ""
        yield NextStep(f"install driver {cause.driver}{values}: it brings the class", _DAEMONSETS)
        return
    if cause.nearest:
        yield NextStep(
            f"change deviceClassName {cause.device_class} to {cause.nearest} where the claim is written",
            "kubectl get deviceclasses",
        )
        return
    yield NextStep(
        f"install the driver that brings device class {cause.device_class}, create the class, or name one that exists",
        "kubectl get deviceclasses",
    )


def _of_a_part(kind: str) -> NextStep:
    """The step where the input has no object of a kind: it may be a part of what the cluster has."""
    return NextStep(f"add what the cluster has to the input, if this is a part of it: there is no {kind} in it", _DRA)


@_for(causes.ClaimMissing)
def _claim_missing(cause: causes.ClaimMissing, asked: Asked) -> Iterator[NextStep]:
    if cause.none_known:
        yield _of_a_part("ResourceClaim")
    elif cause.template is None:
        yield NextStep("see which claims the namespace has", f"kubectl get resourceclaims -n {asked.namespace}")
    else:
        yield NextStep(
            "recreate the pod, and its claim with it; devices that are in use stay so until their pods end",
            f"kubectl delete pod {asked.name} -n {asked.namespace}",
        )


@_for(causes.TemplateMissing)
def _template_missing(cause: causes.TemplateMissing, asked: Asked) -> Iterator[NextStep]:
    if cause.none_known:
        yield _of_a_part("ResourceClaimTemplate")
    name = cause.template.rpartition("/")[2]
    text = f"create template {name}, or correct its name where the pod is written"
    if cause.nearest:
        text = f"replace the name {name} by {cause.nearest} where the pod is written, and recreate the pod"
    yield NextStep(text, f"kubectl get resourceclaimtemplates -n {asked.namespace}")


@_for(causes.PlacedByHand)
def _placed_by_hand(cause: causes.PlacedByHand, asked: Asked) -> Iterator[NextStep]:
    node = cause.nodes[0] if cause.nodes else "NODE"
    yield NextStep(
        f"remove spec.nodeName from the pod's manifest, select the node with nodeSelector "
        f"kubernetes.io/hostname: {node} instead, and recreate the pod",
        f"kubectl delete pod {asked.name} -n {asked.namespace}",
    )


@_for(causes.NodeFilter)
def _filtered(cause: causes.NodeFilter, asked: Asked) -> Iterator[NextStep]:
    if (cause.plugin or "").startswith("Volume"):
        yield from _volumes(asked.volumes, asked.namespace)
    elif cause.plugin == "TaintToleration" and cause.nodes:
        yield from _tainted_node(cause)
    elif cause.plugin == "NodeAffinity":
        yield NextStep(
            "add a node that the pod's nodeSelector and affinity want, or scale up its node pool",
            "kubectl get nodes --show-labels",
        )
    elif cause.plugin == "NodePorts" and cause.nodes:
        yield NextStep(
            "let the pods use different ports, or run each on a node of its own: a node has every host port once, and "
            "with hostNetwork all ports of a container are host ports",
            _on(cause.nodes[0]),
        )
    elif cause.plugin == "NodeResourcesFit" and "/" in (cause.resource or ""):
        if not cause.users:
            yield NextStep(f"see whether the device plugin that offers {cause.resource} runs", _DAEMONSETS)
        yield NextStep(
            f"if a claim of the pod provides the device already, remove {cause.resource} from the container's "
            "resources.limits and requests",
            f"kubectl get pod {asked.name} -n {asked.namespace} -o yaml",
        )
    elif cause.nodes:
        yield NextStep(f"look at node {cause.nodes[0]}", f"kubectl describe node {cause.nodes[0]}")


def _tainted_node(cause: causes.NodeFilter) -> Iterator[NextStep]:
    keys = (each.taint.key or "" for each in cause.unmet if isinstance(each, Untolerated))
    leaving = next((found for key in keys if (found := passing(key)) is not None and found.leaving), None)
    node = cause.nodes[0]
    if leaving is None:
        yield NextStep(f"look at node {node}", f"kubectl describe node {node}")
    else:
        yield NextStep(f"see whether a new node comes: {leaving.who} is about to remove {node}", "kubectl get nodes -w")


@_for(causes.ExtendedResourceUnmapped)
def _unmapped(cause: causes.ExtendedResourceUnmapped, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"if a claim of the pod provides the device already, remove {cause.resource} from the container's "
        "resources.limits and requests",
        f"kubectl get pod {asked.name} -n {asked.namespace} -o yaml",
    )


@_for(causes.Unchecked)
def _unchecked(cause: causes.Unchecked, asked: Asked) -> Iterator[NextStep]:
    yield from _volumes(cause.volumes, asked.namespace)
    if not cause.volumes:
        yield NextStep("see what the scheduler says", f"kubectl describe pod {asked.name} -n {asked.namespace}")


def _volumes(volumes: Sequence[tuple[str, str]], namespace: str) -> Iterator[NextStep]:
    """Claims that are not bound, and where the volumes of the others are."""
    for name, state in volumes:
        if state in ("missing", "not in the input"):
            yield NextStep(
                f"create PersistentVolumeClaim {name}, or name one that exists where the pod is written",
                f"kubectl get pvc -n {namespace}",
            )
            continue
        text = f"see why PersistentVolumeClaim {name} is {state}"
        if state == "Bound":
            text = f"see in which zone or on which node the volume of PersistentVolumeClaim {name} is"
        yield NextStep(text, f"kubectl describe pvc {name} -n {namespace}")


@_for(causes.DeviceInUse, causes.AllNeedsFree, causes.CapacityShort, causes.CountersShort)
def _in_use(cause: causes.Held, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        "wait until a holder ends, scale down the workload that holds the devices, or add a node with more of them",
        "kubectl get resourceclaims -A -o wide",
    )


@_for(causes.OwnReplicas)
def _own_replicas(cause: causes.OwnReplicas, asked: Asked) -> Iterator[NextStep]:
    if cause.ends:
        yield NextStep(f"wait until a pod of {cause.owner} is done", f"kubectl get pods -n {asked.namespace}")
    else:
        yield NextStep(f"lower the replicas of {cause.owner} to what fits, or add a node", "kubectl get nodes")


@_for(causes.SchedulingGated)
def _gated(cause: causes.SchedulingGated, asked: Asked) -> Iterator[NextStep]:
    if any("kueue" in gate for gate in cause.gates):
        yield NextStep(
            "see why Kueue has not admitted the pod's Workload",
            f"kubectl get workloads.kueue.x-k8s.io -n {asked.namespace}",
        )
    else:
        yield NextStep(
            f"ask the owner of the gate {cause.gates[0]}: it removes the gate when it releases the pod",
            f"kubectl get pod {asked.name} -n {asked.namespace} -o yaml",
        )


@_for(causes.GangTooSmall)
def _gang(cause: causes.GangTooSmall, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"see how many pods of {cause.group} fit, and whether another order or shape would place all",
        f"dractl explain {_word(cause.group)} -n {asked.namespace}",
    )


@_for(causes.GangIncomplete)
def _gang_incomplete(cause: causes.GangIncomplete, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(
        f"find what creates the pods of {cause.group}, and why {cause.want - cause.have} are missing",
        f"kubectl get events -n {asked.namespace} --field-selector reason=FailedCreate",
    )


@_for(causes.GangHeldBack)
def _gang_held_back(cause: causes.GangHeldBack, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(f"see what holds back pod {cause.pod}", f"dractl explain pod/{cause.pod} -n {asked.namespace}")


@_for(causes.PodGroupMissing)
def _podgroup_missing(cause: causes.PodGroupMissing, asked: Asked) -> Iterator[NextStep]:
    resource = _word(cause.group).partition("/")[0]
    yield NextStep(
        f"create {cause.group}, or see why its controller has not",
        f"kubectl get {resource}s.scheduling.k8s.io -n {asked.namespace}",
    )


@_for(causes.PodGroupRefused)
def _podgroup_refused(cause: causes.PodGroupRefused, asked: Asked) -> Iterator[NextStep]:
    name = cause.group.rpartition("/")[2]
    yield NextStep(
        "compare the group with its pods",
        f"kubectl get podgroups.scheduling.k8s.io {name} -n {asked.namespace} -o yaml",
    )


def _word(group: str) -> str:
    """``podgroup/NAME`` of ``PodGroup namespace/NAME``."""
    return f"{group.partition(' ')[0].lower()}/{group.rpartition('/')[2]}"


@_for(causes.OtherScheduler)
def _other_scheduler(cause: causes.OtherScheduler, asked: Asked) -> Iterator[NextStep]:
    yield NextStep(f"see whether scheduler {cause.plugin} runs", "kubectl get pods -A")


@_for(causes.QuotaExceeded)
def _quota(cause: causes.QuotaExceeded, asked: Asked) -> Iterator[NextStep]:
    name = cause.quotas[0].rpartition("/")[2] if cause.quotas else ""
    yield NextStep(
        "see what uses the quota: raise it, or lower the replicas of a workload in the namespace to what it allows",
        f"kubectl describe resourcequota {name}".rstrip() + f" -n {asked.namespace}",
    )


@_for(causes.PodsNotCreated)
def _pods_not_created(cause: causes.PodsNotCreated, asked: Asked) -> Iterator[NextStep]:
    account = cause.event.partition(_ACCOUNT)[2].partition(":")[0]
    if account:
        yield NextStep(
            f"create ServiceAccount {account}, or correct serviceAccountName where the pods are written",
            f"kubectl get serviceaccounts -n {asked.namespace}",
        )
    quota = _QUOTA.search(cause.event)
    if quota is not None:
        yield NextStep(
            f"raise quota {quota[1]}, or lower what the pods ask for (requested: {quota[2]}; limited: {quota[3]})",
            f"kubectl edit resourcequota {quota[1]} -n {asked.namespace}",
        )
    yield NextStep(
        "see why the pods are refused", f"kubectl get events -n {asked.namespace} --field-selector reason=FailedCreate"
    )


@_for(causes.ClaimDeleting)
def _deleting(cause: causes.ClaimDeleting, asked: Asked) -> Iterator[NextStep]:
    yield NextStep("see who still uses the claim", f"kubectl get resourceclaims -n {asked.namespace} -o wide")


@_for(causes.BindingPending, causes.BindingFailed)
def _binding(cause: causes.OfClaim, asked: Asked) -> Iterator[NextStep]:
    name = (cause.claim or "").rpartition("/")[2]
    yield NextStep(
        "see which conditions the driver has set", f"kubectl get resourceclaim {name} -n {asked.namespace} -o yaml"
    )


@_for(causes.Tainted, causes.AllNeedsUntainted)
def _tainted(cause: causes.Tainted, asked: Asked) -> Iterator[NextStep]:
    if cause.rules:
        yield NextStep(f"ask why DeviceTaintRule {cause.rules[0]} is there", "kubectl get devicetaintrules -o yaml")
    else:
        yield NextStep("check the device: its driver set the taint", "kubectl get resourceslices -o yaml")


def of_placed(pod: Raw, cause: causes.NotPrepared) -> tuple[NextStep, ...]:
    """The next steps for a pod on its node whose devices the kubelet cannot prepare."""
    node = text_at(pod, "spec", "nodeName")
    name, namespace = text_at(pod, "metadata", "name"), text_at(pod, "metadata", "namespace")
    driver = f"driver {cause.drivers[0]}" if len(cause.drivers) == 1 else "the DRA driver"
    restart = NextStep(f"see whether {driver} runs on {node} and is registered with the kubelet; restart it", _on(node))
    see = NextStep("see what the kubelet says about the pod's claims", f"kubectl describe pod {name} -n {namespace}")
    if cause.faults:
        correct = NextStep(
            "correct the parameters in the config of the claim or its template, and recreate the pod",
            f"kubectl get resourceclaims,resourceclaimtemplates -n {namespace} -o yaml",
        )
        return (correct, see)
    if cause.vanished:
        again = NextStep(
            "recreate the pod: its driver then prepares the devices again", f"kubectl delete pod {name} -n {namespace}"
        )
        return (again, restart)
    if _DOMAIN_NOT_READY in cause.event:
        domain = NextStep(
            "see which nodes the ComputeDomain waits for: a pod starts when the domain's daemon on its node is ready",
            f"kubectl get computedomains -n {namespace} -o yaml",
        )
        daemon = NextStep(
            f"see whether the ComputeDomain's daemon runs on {node}",
            f"kubectl get pods -A -o wide -l resource.nvidia.com/computeDomain --field-selector spec.nodeName={node}",
        )
        return (domain, daemon, see)
    if cause.answered:
        return (NextStep(f"read the log of {driver} on {node}: it refuses to prepare the claim", _on(node)), see)
    return (restart, see)


def of_leaving(pod: Raw) -> tuple[NextStep, ...]:
    """The next steps for a pod that is Terminating on its node."""
    node = text_at(pod, "spec", "nodeName")
    name, namespace = text_at(pod, "metadata", "name"), text_at(pod, "metadata", "namespace")
    return (
        _kubelet(node),
        NextStep(f"see whether a DRA driver on {node} fails to unprepare its claims", _on(node)),
        _by_force(f"{namespace}/{name}"),
    )
