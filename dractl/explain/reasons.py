"""Every reason that explain gives: a stable code, what it means, how to see it with kubectl, how to mend it.

A code is never given another meaning. The causes stand in the design of kube-scheduler's DynamicResources plugin
(kubernetes pkg/scheduler/framework/plugins/dynamicresources) and of the structured allocator
(k8s.io/dynamic-resource-allocation/structured).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReasonPage:
    """What ``dractl rule CODE`` says of a reason. ``reach`` tells how far a pod got that is stopped by it, on one node:
    the further, the nearer the node is to fitting; explain names the furthest first."""

    code: str
    title: str
    means: str
    see: str
    mend: str
    reach: int


# How far the pod got: nothing was evaluated, nothing of the driver is there, devices are there but not those wanted,
# those wanted are there but not to be had, to be had but not together, everything fits but something outside DRA.
STOPPED, NOTHING, OTHER, HIDDEN, TAKEN, APART, OUTSIDE = 9, 0, 2, 4, 5, 6, 7

_CLAIM = "kubectl get resourceclaim -n NS NAME -o yaml"
_SLICES = "kubectl get resourceslices -o yaml"
_PODCLAIMS = "kubectl get pod -n NS NAME -o jsonpath='{.spec.resourceClaims} {.status.resourceClaimStatuses}'"

_PAGES = (
    ReasonPage(
        "claim-missing",
        "the claim that the pod names does not exist",
        "The pod names a ResourceClaim that is not there, or the claim of its template has not been "
        "created. The scheduler does not even try the pod: it has no condition and no event.",
        _PODCLAIMS + ", then kubectl get resourceclaims -n NS",
        "Create the claim in the pod's own namespace (claims are namespaced), or correct the name. For a "
        "template look at the pod's events FailedResourceClaimCreation.",
        STOPPED,
    ),
    ReasonPage(
        "template-missing",
        "the ResourceClaimTemplate that the pod names does not exist",
        "The claim controller cannot make the pod's claim because the template is not in the pod's namespace.",
        "kubectl get resourceclaimtemplates -n NS; kubectl describe pod -n NS NAME (event FailedResourceClaimCreation)",
        "Create the template in the pod's namespace or correct the name, then create the pod again.",
        STOPPED,
    ),
    ReasonPage(
        "claim-not-owned",
        "the claim belongs to another pod of the same name",
        "A claim made from a template belongs to one pod. It is a leftover of a pod that had this name before.",
        _CLAIM + " and compare metadata.ownerReferences[].uid with the pod's uid",
        "Wait until the garbage collector has removed the old claim, or delete it.",
        STOPPED,
    ),
    ReasonPage(
        "claim-deleting",
        "the claim is being deleted",
        "The claim has a deletionTimestamp and waits for its finalizer: pods still use it, or its driver "
        "cannot unprepare it.",
        _CLAIM + " (metadata.deletionTimestamp, finalizers, status.reservedFor)",
        "End the pods in status.reservedFor; if they are gone, restart the driver on their node so that "
        "it unprepares the claim.",
        STOPPED,
    ),
    ReasonPage(
        "claim-unset-source",
        "an entry of spec.resourceClaims names no claim",
        "Neither resourceClaimName nor resourceClaimTemplateName is set. The form source: {...} of 1.30 "
        "and before is ignored.",
        _PODCLAIMS,
        "Set one of the two names.",
        STOPPED,
    ),
    ReasonPage(
        "scheduling-gated",
        "the pod has scheduling gates",
        "Whoever put the gates there (a queue such as Kueue, an operator) has not removed them yet.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulingGates}'",
        "Ask the owner of the gate, for Kueue: kubectl get workloads -n NS.",
        STOPPED,
    ),
    ReasonPage(
        "quota-exceeded",
        "a ResourceQuota forbids the claim",
        "The namespace may have only so many devices of a class "
        "(NAME.deviceclass.resource.k8s.io/devices); All counts as 32.",
        "kubectl describe resourcequota -n NS; kubectl describe pod -n NS NAME (event FailedResourceClaimCreation)",
        "Delete claims that are no longer needed, ask for fewer devices, or raise the quota.",
        STOPPED,
    ),
    ReasonPage(
        "admin-access-namespace",
        "adminAccess needs a label on the namespace",
        "Claims with adminAccess may only be made in a namespace that is labelled for it.",
        "kubectl get namespace NS --show-labels",
        "kubectl label namespace NS resource.kubernetes.io/admin-access=true, if the namespace is to have that power.",
        STOPPED,
    ),
    ReasonPage(
        "class-missing",
        "the DeviceClass does not exist",
        "A request names a class that is not in the cluster: a typo, the driver's name in its place, or a"
        " driver whose classes were not installed.",
        "kubectl get deviceclasses",
        "Correct deviceClassName, or install the class (for gpu.nvidia.com: the chart with "
        "resources.gpus.enabled=true).",
        STOPPED,
    ),
    ReasonPage(
        "gate-off",
        "a feature gate is off",
        "The claim or the devices use a feature that this release, with its gates, does not have on.",
        "kubectl version; the feature gates of kube-apiserver and kube-scheduler",
        "Enable the gate in kube-apiserver, kube-scheduler and kube-controller-manager, or do without the feature.",
        STOPPED,
    ),
    ReasonPage(
        "limit-32",
        "a claim can have at most 32 devices",
        "The requests of one claim add up to more than 32 devices. With All, devices in use and tainted "
        "ones count too.",
        _CLAIM,
        "Split the claim into several claims of the pod, or ask for fewer.",
        STOPPED,
    ),
    ReasonPage(
        "no-slices-for-driver",
        "the driver publishes nothing in the whole cluster",
        "There is no ResourceSlice of the class's driver: it is not installed, does not run, or is too "
        "old for this API.",
        "kubectl get resourceslices; kubectl get daemonsets -A | grep -i dra",
        "Look at the driver's pods and their logs; check that its version supports the API versions of the cluster.",
        1,
    ),
    ReasonPage(
        "no-slices-on-node",
        "the driver publishes nothing on this node",
        "Other nodes may have devices of the driver, this one has none, or its slice is empty.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "If the node should have devices, look at the driver's pod on it; after a kubelet restart the "
        "slices may take a while.",
        NOTHING,
    ),
    ReasonPage(
        "slice-node-mismatch",
        "the slice is for other nodes",
        "A slice that is not bound to one node has a node selector, and this node's labels do not match it.",
        _SLICES + " (spec.nodeSelector); kubectl get nodes --show-labels",
        "Label the node as the selector wants it, if the device can really be reached from there.",
        3,
    ),
    ReasonPage(
        "pool-incomplete",
        "slices of the pool are missing",
        "The pool says how many slices it has, and fewer are there: devices of an incomplete pool are not"
        " used, and a request with allocationMode All fails while any pool of the node is incomplete, of "
        "whichever driver.",
        _SLICES + " (spec.pool: name, generation, resourceSliceCount)",
        "Wait a moment; if it stays, the driver has a fault: restart it. A dead node's slices go away "
        "with its Node object.",
        HIDDEN,
    ),
    ReasonPage(
        "pool-obsolete",
        "a newer generation of the pool has replaced the slice",
        "Only slices of the newest generation of a pool count; older ones are dropped without a word.",
        _SLICES + " (spec.pool.generation)",
        "The driver must publish all slices of the pool in the same generation: restart it on the node that lags.",
        HIDDEN,
    ),
    ReasonPage(
        "pool-invalid",
        "the pool contradicts itself",
        "Two devices or counter sets have one name, or a device consumes a counter that no counter set of"
        " the pool has. No device of the pool is used. Up to 1.37 the scheduler does not say which fault "
        "it is.",
        _SLICES,
        "This is a fault of the driver: report it, or use a version without it.",
        HIDDEN,
    ),
    ReasonPage(
        "selector-false",
        "the selectors exclude the devices",
        "The devices are there, but the CEL expressions of the class and the request are false on them.",
        _SLICES + " beside the selectors of the class and the request",
        "Compare the expression with the values that the devices publish: dractl explain prints the nearest ones.",
        OTHER,
    ),
    ReasonPage(
        "selector-error",
        "a selector fails on a device",
        "An error while evaluating a CEL expression on any device that the search reaches aborts "
        "scheduling for the whole pod, even if other devices or nodes would fit.",
        "kubectl describe pod -n NS NAME (FailedScheduling: CEL runtime error)",
        "Guard optional attributes (device.attributes['d'].?x.orValue(0) or has()), test device.driver "
        "first, compare with the attribute's own type.",
        STOPPED,
    ),
    ReasonPage(
        "attr-missing",
        "devices lack the attribute of a constraint",
        "matchAttribute and distinctAttribute refuse a device that does not publish the attribute under "
        "exactly that name.",
        _SLICES + " (attributes of the devices)",
        "Use an attribute that all drivers of the constraint publish, update the driver, or leave the "
        "request out of the constraint.",
        APART,
    ),
    ReasonPage(
        "attr-type",
        "the attribute has another type",
        'matchAttribute needs values of the same type: the string "1" is not the int 1; a list matches '
        "only with the gate DRAListTypeAttributes.",
        _SLICES + " (attributes of the devices)",
        "Constrain by an attribute that has one type in all drivers.",
        APART,
    ),
    ReasonPage(
        "constraint-conflict",
        "no set of devices satisfies the constraint",
        "Each request finds devices, but no combination shares (matchAttribute) or differs in "
        "(distinctAttribute) the value.",
        "dractl explain prints what each PCIe root or NUMA node holds",
        "Ask for fewer devices, relax to a coarser attribute (pcieRoot to numaNode), or free the device "
        "that stands in the way.",
        APART,
    ),
    ReasonPage(
        "device-in-use",
        "the devices are allocated to other claims",
        "Matching devices exist, and claims hold them. A claim holds its devices until nobody uses it, "
        "also when its pods have ended without the claim being released. The scheduler does not preempt "
        "pods for devices.",
        "kubectl get resourceclaims -A -o wide",
        "Wait, end a pod that holds one, delete a claim that nobody uses any more, or add devices.",
        TAKEN,
    ),
    ReasonPage(
        "device-in-use-same-pod",
        "another request of the same pod takes the device",
        "Requests and claims of one pod never share a device, except where it allows several allocations.",
        _PODCLAIMS,
        "Ask for fewer devices, or let one request serve both purposes.",
        APART,
    ),
    ReasonPage(
        "tainted",
        "a device taint is not tolerated",
        "The device, or a DeviceTaintRule, carries a taint with effect NoSchedule or NoExecute. "
        "Tolerations of the pod are about nodes and do not count here; adminAccess does not tolerate "
        "taints either.",
        _SLICES + " (taints); kubectl get devicetaintrules",
        "Mend the device and let the driver remove the taint, delete the rule, or add a toleration to the request.",
        TAKEN,
    ),
    ReasonPage(
        "counters-short",
        "partitions of the same hardware use up the shared counters",
        "A partition (such as a MIG device) takes from counters that it shares with others; what is left "
        "is not enough, or not at the place where this partition sits.",
        _SLICES + " (sharedCounters, consumesCounters)",
        "Free the partitions that take from the same counter set, or ask for a partition of another size.",
        TAKEN,
    ),
    ReasonPage(
        "capacity-missing",
        "the device does not publish that capacity",
        "The request names a capacity that no candidate has under exactly that name.",
        _SLICES + " (capacity of the devices)",
        "Use the name that the driver publishes.",
        OTHER,
    ),
    ReasonPage(
        "capacity-policy",
        "the amount is against the device's request policy",
        "The device serves only amounts from a range or a list (requestPolicy), and this one is none of them.",
        _SLICES + " (capacity.*.requestPolicy)",
        "Ask for an amount within the policy.",
        OTHER,
    ),
    ReasonPage(
        "capacity-short",
        "not enough capacity is left on any one device",
        "The amount must be free on a single device. A request that names no amount takes the default of "
        "the policy, or all.",
        _SLICES + " and the consumedCapacity in kubectl get resourceclaims -A -o yaml",
        "Ask for less, or end a pod that has a share of the device.",
        TAKEN,
    ),
    ReasonPage(
        "binding-conditions-off",
        "devices with binding conditions are not used while the gate is off",
        "The device must be prepared before a pod is bound, which needs DRADeviceBindingConditions and "
        "DRAResourceClaimDeviceStatus.",
        _SLICES + " (bindingConditions)",
        "Enable the gates in kube-scheduler.",
        HIDDEN,
    ),
    ReasonPage(
        "binding-pending",
        "the scheduler waits for the device to be ready",
        "The claim is allocated; the driver has not set the device's binding conditions yet (10 minutes at most).",
        _CLAIM + " (status.devices[].conditions); event BindingConditionsPending",
        "Look at the driver's controller that prepares the device.",
        STOPPED,
    ),
    ReasonPage(
        "all-needs-free",
        "allocationMode All needs every matching device",
        "All means all devices that match on the node; one that is in use or tainted makes the request fail there.",
        "kubectl get resourceclaims -A -o wide",
        "Free the device, exclude it with a selector, tolerate its taint, or ask for a number.",
        TAKEN,
    ),
    ReasonPage(
        "not-enough",
        "the node has fewer devices than wanted",
        "A pod's devices all come from one node (or are reachable from it), and it has fewer than the "
        "requests add up to.",
        "kubectl get resourceslices --field-selector spec.nodeName=NODE",
        "Ask for fewer devices, or spread the work over several pods.",
        3,
    ),
    ReasonPage(
        "search-conflict",
        "each request alone fits, all together do not",
        "The requests compete for devices, or one claim's choice leaves nothing for another.",
        _PODCLAIMS,
        "Relax one of the requests that explain names.",
        APART,
    ),
    ReasonPage(
        "pinned-node",
        "a claim is already allocated on another node",
        "A claim that several pods share is allocated once; every pod must go where it is.",
        _CLAIM + " (status.allocation.nodeSelector)",
        "Make room on that node, use an own claim, or end the claim's pods so that it is allocated anew.",
        OUTSIDE,
    ),
    ReasonPage(
        "reserved-limit",
        "the claim is reserved for 256 pods",
        "At most 256 pods can use one claim at a time.",
        _CLAIM + " (status.reservedFor)",
        "End a pod that uses it, or use a second claim.",
        STOPPED,
    ),
    ReasonPage(
        "node-filter",
        "the node is refused before DRA is asked",
        "The node is cordoned, tainted, not selected, or out of CPU, memory, pods or ports; affinity forbids it. Or "
        "the scheduler refuses the pod for something that explain does not check, such as a volume: it is quoted then.",
        "kubectl describe node NODE; kubectl describe pod -n NS NAME; kubectl get pvc -n NS",
        "Mend what the filter names: uncordon, tolerate, relax affinity, ask for less, "
        "create or bind the volume claim.",
        OUTSIDE,
    ),
    ReasonPage(
        "scheduler-bypass",
        "kube-scheduler does not schedule this pod",
        "spec.schedulerName names another scheduler, or spec.nodeName was set by hand: nobody allocates "
        "the claims, or somebody of whom explain knows nothing.",
        "kubectl get pod -n NS NAME -o jsonpath='{.spec.schedulerName} {.spec.nodeName}'",
        "Use the default scheduler, and let it choose the node (nodeSelector instead of nodeName).",
        STOPPED,
    ),
    ReasonPage(
        "timeout-risk",
        "the scheduler's search takes too long",
        "kube-scheduler tries combinations one after the other and gives up after 10 seconds a node.",
        "kubectl describe pod -n NS NAME (timed out trying to allocate devices)",
        "Mend the request that cannot be satisfied; narrow the selectors of the large one.",
        STOPPED,
    ),
    ReasonPage(
        "scheduler-error",
        "the scheduler fails with an error",
        "kube-scheduler's allocator ends the attempt with an error that has no code of its own: an amount that the "
        "device's range arithmetic cannot represent, a derived attribute that cannot be evaluated, a constraint or an "
        "allocation mode that this release does not know. It stops the pod on every node.",
        "kubectl describe pod -n NS NAME (event FailedScheduling)",
        "Change what the error names; the message is quoted as the scheduler prints it.",
        STOPPED,
    ),
    ReasonPage(
        "upstream-bug",
        "a known fault of this Kubernetes release",
        "With the fault mended the pod would be allocated; explain names the issue.",
        "the issue that explain names",
        "Upgrade kube-scheduler, or avoid the combination that the issue names.",
        STOPPED,
    ),
    ReasonPage(
        "no-consumer",
        "no pod uses the claim",
        "A claim is allocated when a pod that uses it is scheduled; until then pending is its normal state.",
        _CLAIM + " (status.reservedFor); kubectl get pods -n NS",
        "Create a pod that refers to it.",
        STOPPED,
    ),
    ReasonPage(
        "extended-resource-unmapped",
        "no DeviceClass provides the extended resource",
        "The pod asks for a resource by name. Nodes with a device plugin offer it themselves; nodes with "
        "a DRA driver only through a class with that extendedResourceName.",
        "kubectl get deviceclasses -o yaml; kubectl describe node NODE (Allocatable)",
        "Set spec.extendedResourceName in the driver's class (feature gate DRAExtendedResource), or use a claim.",
        OUTSIDE,
    ),
    ReasonPage(
        "would-fit-now",
        "the pod would fit now, and has not been tried again",
        "Its condition is older than a change that helps. The scheduler tries again at an event that "
        "concerns the pod, or after five minutes.",
        "kubectl get pod -n NS NAME -o yaml (status.conditions[].lastTransitionTime)",
        "Wait a few minutes; if nothing happens, see whether kube-scheduler runs, or delete and create the pod.",
        STOPPED,
    ),
    ReasonPage(
        "mixed",
        "every node has another reason",
        "No single reason stops the pod on most nodes; explain lists them node by node.",
        "dractl explain -o json (nodes[].reasons)",
        "Take the fix that is smallest for you: one node is enough.",
        OUTSIDE,
    ),
)

REASONS = {page.code: page for page in _PAGES}
