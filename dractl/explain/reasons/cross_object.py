"""Reasons that span objects: the causes that underlie the state of a node or a pod.

They never change the verdict.
"""

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import (
    LIST_HOLDERS,
    SEE_CLAIM,
    SEE_SLICES,
    Cause,
    ClaimCause,
    Facts,
    Progress,
    ReasonPage,
)
from dractl.explain.reasons.next_step import DAEMONSETS, AskedObject, pods_on, retry_prefix
from dractl.explain.reasons.phrases import Names, Scope
from dractl.model.abbreviation import abbreviate
from dractl.scheduler import quota
from dractl.scheduler.attempt import Scheduler

# kubernetes plugin/pkg/admission/serviceaccount
_ACCOUNT = "error looking up service account "
# k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
_POD_SECURITY = re.compile(r'violates PodSecurity "([a-z]+):[^"]*": (.*)', re.DOTALL)
_UNSET_AMOUNT = re.compile(r"failed quota: ([^:\s]+): must specify (.*)")
# openshift/apiserver-library-go pkg/securitycontextconstraints/sccadmission
_CONTEXT_CONSTRAINT = "unable to validate against any security context constraint"
_LIMIT = re.compile(r"(maximum|minimum) (\S+) usage per (\w+) is ([^,\s]+)")
_SILENT_WEBHOOK = re.compile(r'failed calling webhook "([^"]+)"')
_WEBHOOK_DENIAL = re.compile(r'admission webhook "([^"]+)" denied the request: (.*)', re.DOTALL)
# kubernetes pkg/apis/core/validation/validation.go validatePodResourceClaimSource
_UNSET_SOURCE = re.compile(r"spec\.resourceClaims\[\d+\]: .*must specify one of", re.DOTALL)
_QUOTA = re.compile(r"exceeded quota: ([^,\s]+), requested: (.*?), used: .*?, limited: (\S+)")


class LostNodes(Cause, frozen=True, kw_only=True):
    """Nodes that do not exist or do not answer hold something that the pod needs: its claim or
    wanted devices.
    """

    page = ReasonPage(
        "node-lost",
        "what the pod needs is on a node that is gone or does not answer",
        "A claim stays allocated on a node that was removed or that does not answer, until its pods"
        " are deleted.",
        "kubectl get nodes; " + LIST_HOLDERS,
        "Bring the node back, or delete the claim's pods, so that the claim is allocated again.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True

    places: tuple[str, ...] = ()
    """The names of the nodes."""
    claim: str | None = None
    """The claim that is allocated on these nodes; None if the wanted devices are held on them."""
    unready: bool = False
    """True if the nodes exist but do not answer."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.places, "claim": self.claim}

    def sentence(self, names: Names, scope: Scope) -> str:
        single = len(self.places) == 1
        if self.unready:
            state = "does not answer" if single else "do not answer"
        else:
            state = "no longer exists" if single else "no longer exist"
        lead = "devices are held" if self.claim is None else f"claim {self.claim} is allocated"
        return f"{lead} on node {abbreviate(self.places)}, which {state}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.places[0]
        if self.unready:
            yield NextStep(
                f"see why node {node} does not answer",
                quote_command("kubectl describe node {}", node),
            )
        else:
            yield NextStep(
                f"see which nodes there are: {node} is gone", "kubectl get nodes -o wide"
            )


class DriverAbsent(Cause, frozen=True, kw_only=True):
    """A driver publishes nothing on nodes that look like nodes where it publishes devices."""

    page = ReasonPage(
        "driver-absent",
        "nodes with the hardware on which the driver publishes nothing",
        "Nodes of the same instance type or with the same hardware label publish devices, these do"
        " not: the driver's pod is not running on them, or has not found the hardware.",
        "kubectl get pods -A -o wide --field-selector spec.nodeName=NODE; kubectl get"
        " daemonsets -A",
        "See whether the driver's DaemonSet runs on these nodes, and what its log says.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True
    is_question = True

    driver: str
    label: str = ""
    """The label (``key=value``) that both groups of nodes have."""
    like: tuple[str, ...] = ()
    """Nodes with the label where the driver publishes devices."""
    daemon_set: str = ""
    """The DaemonSet of the driver, if it selects nodes by a label that the nodes without devices
    lack.
    """
    selector: str = ""
    """The label (``key=value``) that the DaemonSet selects."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "found": self.like,
            "selector": self.selector,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        number = len(self.nodes)
        if self.daemon_set:
            return (
                f"{abbreviate(self.nodes)} {'lacks' if number == 1 else 'lack'} {self.daemon_set},"
                f" but {'has' if number == 1 else 'have'} {self.label} like"
                f" {abbreviate(self.like)}: its nodeSelector wants {self.selector}; did the nodes"
                " lose it?"
            )
        return (
            f"{self.driver} publishes nothing on {abbreviate(self.nodes)}, which"
            f" {'has' if number == 1 else 'have'} {self.label} like {abbreviate(self.like)}: is its"
            " driver running there?"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"see whether the driver of {self.driver} runs on {', '.join(self.nodes[:3])}",
            pods_on(self.nodes[0]),
        )
        yield NextStep(
            f"see whether the DaemonSet of {self.driver} selects and tolerates these nodes",
            DAEMONSETS,
        )


def is_same_host(name: str, other: str) -> bool:
    """Return True if one of two names of nodes is the other one with a domain."""
    return name.startswith(f"{other}.") or other.startswith(f"{name}.")


class UnknownNodes(Cause, frozen=True, kw_only=True):
    """Slices of a driver name nodes that do not exist."""

    page = ReasonPage(
        "slices-of-unknown-node",
        "ResourceSlices name a node that does not exist",
        "The driver publishes under a name other than the Node object's, so no node has the"
        " devices: the environment variable NODE_NAME of its DaemonSet must come from"
        " spec.nodeName.",
        SEE_SLICES + " (spec.nodeName); kubectl get nodes",
        "Set NODE_NAME of the driver's DaemonSet from the field spec.nodeName.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True

    driver: str
    places: tuple[str, ...] = ()
    """The names in the slices."""
    nearest: str | None = None
    """A node with a similar name."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "found": self.places,
            "nearest": self.nearest,
        }

    @property
    def is_misnamed(self) -> bool:
        """True if ``nearest`` is the short or the long form of the first name in the slices."""
        return self.nearest is not None and is_same_host(self.places[0], self.nearest)

    def sentence(self, names: Names, scope: Scope) -> str:
        single = len(self.places) == 1
        nodes = f"{'node' if single else 'nodes'} {abbreviate(self.places)}"
        absent = "does not exist" if single else "do not exist"
        why = f"slices of {self.driver} are for {nodes}, which {absent}"
        return f"{why}; there is node {self.nearest}" if self.nearest else why

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"find the DaemonSet of driver {self.driver}; after the change, see that its pods"
            " restart",
            DAEMONSETS,
        )


class OldTemplate(ClaimCause, frozen=True, kw_only=True):
    """The claim was made from an earlier version of its template."""

    page = ReasonPage(
        "claim-of-old-template",
        "the claim was made from an earlier version of its template",
        "A claim is made once, when its pod is created; a later change of the template does not"
        " reach it.",
        SEE_CLAIM + " beside kubectl get resourceclaimtemplate",
        "Recreate the pod: its new claim is made from the template as it is now.",
        Progress.OUTSIDE_DRA,
    )

    template: str
    """``namespace/name`` of the template."""

    def facts(self) -> Facts:
        return {**super().facts(), "template": self.template}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"claim {self.claim} was made from an earlier version of template {self.template}; the"
            " template's changes do not reach it until the pod is recreated"
        )


class EvictionLoop(Cause, frozen=True, kw_only=True):
    """Pods of a workload are evicted for a device taint as soon as they run."""

    page = ReasonPage(
        "eviction-loop",
        "pods are evicted by a device taint as soon as they run",
        "A toleration without an effect lets the scheduler place a pod on a device with a NoExecute"
        " taint, and the eviction controller ends the pod all the same. Its owner creates the next"
        " one.",
        "kubectl get events -n NS --field-selector reason=DeviceTaintManagerEviction",
        "Give the toleration the effect NoExecute, or choose devices without the taint.",
        Progress.OUTSIDE_DRA,
    )
    is_root_cause = True

    owner: str
    """The workload, ``Kind namespace/name``."""
    evicted: int = 0
    """The number of its pods that were evicted."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"pods of {self.owner} are evicted by a device taint as soon as they run"
            f" ({self.evicted} so far): a toleration without effect NoExecute, or with"
            " tolerationSeconds, does not keep them there"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "choose devices without the taint, or have the device repaired; only if it may be used,"
            " tolerate the taint with effect NoExecute and without tolerationSeconds",
            quote_command(
                "kubectl get events -n {} --field-selector reason=DeviceTaintManagerEviction",
                asked.namespace,
            ),
        )


class NotTriedYet(Cause, frozen=True, kw_only=True):
    """The scheduler has not looked at the pod: it has no condition PodScheduled."""

    page = ReasonPage(
        "not-tried-yet",
        "the scheduler has not tried the pod",
        "kube-scheduler writes the condition PodScheduled at its first attempt. A pod without it is"
        " seconds old, or kube-scheduler does not run.",
        "kubectl get pods -n kube-system -l component=kube-scheduler; kubectl get lease -n"
        " kube-system kube-scheduler",
        "Wait a few seconds; then see whether kube-scheduler runs.",
        Progress.STOPPED,
    )
    steps_beside_fixes = True

    since: str = ""
    """The time at which the pod was created (RFC 3339)."""
    new: bool = False
    """True if the pod was created moments ago."""

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.new:
            return "the scheduler has not tried the pod yet, which was created a few seconds ago"
        since = f" since it was created at {self.since}" if self.since else ""
        return (
            f"the scheduler has not tried the pod{since} (no PodScheduled condition): is"
            " kube-scheduler running?"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"{retry_prefix(self.new)}see whether kube-scheduler runs",
            "kubectl get pods -n kube-system -l component=kube-scheduler; "
            "kubectl get lease kube-scheduler -n kube-system",
        )


class NotReadable(Cause, frozen=True, kw_only=True):
    """Whether the subject fits depends on objects that the user is not allowed to read."""

    page = ReasonPage(
        "not-readable",
        "no permission to read what decides whether it fits",
        "The user of the kubeconfig cannot list everything that the scheduler looks at:"
        " ResourceSlices, DeviceClasses and nodes, or the claims of other namespaces, whose devices"
        " then look free.",
        "kubectl auth can-i list resourceslices; kubectl auth can-i list resourceclaims -A",
        "Ask an administrator for the ClusterRole that explain prints, or ask somebody who can read"
        " the whole cluster.",
        Progress.STOPPED,
    )

    missing: tuple[str, ...] = ()
    """Sentences about the unreadable objects."""
    quote: str = ""
    """The scheduler's message."""
    fitting: bool = False
    """True if ``nodes`` have room as far as the readable objects show."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.missing}

    def sentence(self, names: Names, scope: Scope) -> str:
        fit = f"may fit on {abbreviate(self.nodes)}" if self.fitting else ""
        quote = f'the scheduler says "{self.quote}"' if self.quote else ""
        context = ", but ".join(filter(None, (fit, quote)))
        missing = "; ".join(self.missing)
        if not (context and missing):
            return context or missing
        return f"{context}; {missing}" if quote else f"{context}, but {missing}"

    def brief(self, names: Names, scope: Scope = Scope.ONE) -> str:
        return (replace(self, missing=()) if self.quote else self).sentence(names, scope)

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        """Yield the changes to the pod's manifest that the scheduler's message asks for."""
        for words, step in _STEPS_BY_MESSAGE:
            if words in self.quote:
                yield step


# The message of 1.37 does not name the taint.
_STEPS_BY_MESSAGE = (
    (
        "untolerated taint",
        NextStep(
            "ask an administrator which taint to tolerate, and add the toleration to the pod's"
            " manifest (GPU nodes often have nvidia.com/gpu:NoSchedule)",
            "kubectl get nodes -o custom-columns=NODE:.metadata.name,TAINTS:.spec.taints",
        ),
    ),
    (
        "didn't match Pod's node affinity/selector",
        NextStep(
            "correct nodeSelector or node affinity where the pod is written: an administrator can"
            " tell the labels",
            "kubectl get nodes --show-labels",
        ),
    ),
    (
        "Insufficient ",
        NextStep(
            "lower the pod's requests: an administrator can see what is free",
            "kubectl describe nodes",
        ),
    ),
)
"""Steps for users who are not allowed to read nodes, by a phrase in the filter's message."""


class AddedByAdmission(Cause, frozen=True, kw_only=True):
    """Admission has added a field to the pod that its owner's template does not have."""

    page = ReasonPage(
        "added-by-admission",
        "admission added what keeps the pod off its nodes",
        "A RuntimeClass adds its node selector and tolerations to pods, a LimitRange its default"
        " requests. Removing them from the pod's template changes nothing.",
        "kubectl get runtimeclass -o yaml; kubectl get limitrange -n NS -o yaml",
        "Change the RuntimeClass or LimitRange, set the field in the template yourself, or label"
        " the nodes.",
        Progress.OUTSIDE_DRA,
    )

    addition: str
    """The node selector or request that was added."""
    by: str = ""
    """The RuntimeClass or LimitRange with the addition, if it is known."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"the pod's owner did not ask for {self.addition}: {self.by or 'admission'} added it"


class NoNodeHasAll(Cause, frozen=True, kw_only=True):
    """Each request finds devices, but on different nodes."""

    page = ReasonPage(
        "no-node-has-all",
        "no node has devices for all requests",
        "A pod runs on one node, and its devices must all be reachable from there.",
        SEE_SLICES,
        "Split the work into pods that each need the devices of one node.",
        Progress.OUTSIDE_DRA,
    )
    is_root_cause = True

    nodes_by_request: tuple[tuple[str, str], ...] = ()
    """Each request with a node that has devices for it."""

    def sentence(self, names: Names, scope: Scope) -> str:
        places = ", ".join(f"{request} on {node}" for request, node in self.nodes_by_request)
        return f"no node has devices for all requests: there are devices for {places}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "split the work into pods that each need the devices of one node, or add a node with"
            " both",
            "kubectl get resourceslices",
        )


class Bound(Struct, frozen=True):
    """A bound of a LimitRange for a resource."""

    is_minimum: bool
    """True for a lower bound."""
    resource: str
    of: str
    """The kind that the bound is for: Container or Pod."""
    amount: str


class PodsNotCreated(Cause, frozen=True, kw_only=True):
    """A workload cannot create its pods."""

    stops = (quota.PodsNotCreated,)
    page = ReasonPage(
        "pods-not-created",
        "the workload cannot create its pods",
        "The API server refuses the workload's pods: a quota, an admission policy, a webhook. There"
        " is no pod for the scheduler to place.",
        "kubectl describe replicaset -n NS (event FailedCreate)",
        "Fix what the event names.",
        Progress.STOPPED,
    )

    owner: str
    """The workload."""
    event: str = ""
    """The newest refusal."""
    driver: str = ""
    """The driver that creates the workload and is the only writer of its pods; "" for other
    workloads.
    """

    @classmethod
    def from_stop(cls, stop: quota.PodsNotCreated, scheduler: Scheduler) -> Cause:
        return cls(owner=f"the owner of pod {stop.pod}", event=stop.message)

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"{self.owner} cannot create its pods: {self.event}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        account = self.event.partition(_ACCOUNT)[2].partition(":")[0]
        if account:
            yield NextStep(
                f"create ServiceAccount {account}, or correct serviceAccountName where the pods are"
                " written",
                quote_command("kubectl get serviceaccounts -n {}", asked.namespace),
            )
        exceeded = _QUOTA.search(self.event)
        if exceeded is not None:
            yield NextStep(
                f"raise quota {exceeded[1]}, or lower what the pods ask for (requested:"
                f" {exceeded[2]}; limited: {exceeded[3]})",
                quote_command("kubectl edit resourcequota {} -n {}", exceeded[1], asked.namespace),
            )
        if _UNSET_SOURCE.search(self.event):
            yield NextStep(
                "give each entry of spec.resourceClaims a resourceClaimName or a"
                f" resourceClaimTemplateName where {self.owner} is written, in the entry itself and"
                " not below source, which is read no more since 1.31",
                quote_command(
                    "kubectl get resourceclaims,resourceclaimtemplates -n {}", asked.namespace
                ),
            )
            return
        steps = tuple(self._admission_steps(asked.namespace))
        yield from steps
        if not account and exceeded is None and not steps:
            yield NextStep(
                "see why the pods are refused",
                quote_command(
                    "kubectl get events -n {} --field-selector reason=FailedCreate", asked.namespace
                ),
            )

    @property
    def bound(self) -> Bound | None:
        """The bound of a LimitRange that the pods violate; None if something else refuses them."""
        match = _LIMIT.search(self.event)
        if match is None:
            return None
        return Bound(match[1] == "minimum", match[2], match[3], match[4].rstrip("."))

    def _pod_security_steps(self, level: str, denied: str, namespace: str) -> Iterator[NextStep]:
        """Yield the changes after which Pod Security admits the pods."""
        allows = f"have an administrator let namespace {namespace} run such pods"
        if self.driver:
            allows += f": those of driver {self.driver} need what Pod Security {level} denies"
        else:
            yield NextStep(
                f"change the pods, where they are written, so that Pod Security {level} takes"
                f" them: {denied}"
            )
            allows = f"or {allows}"
        yield NextStep(
            allows,
            quote_command(
                "kubectl label namespace {} pod-security.kubernetes.io/enforce=privileged"
                " --overwrite",
                namespace,
            ),
        )

    def _admission_steps(self, namespace: str) -> Iterator[NextStep]:
        """Yield the changes after which admission accepts the pods. They are for Pod Security, for
        a quota that requires amounts, for a LimitRange or for a webhook.

        Kubernetes staging/src/k8s.io/pod-security-admission, plugin/pkg/admission.
        """
        security, unset = _POD_SECURITY.search(self.event), _UNSET_AMOUNT.search(self.event)
        silent, denial = _SILENT_WEBHOOK.search(self.event), _WEBHOOK_DENIAL.search(self.event)
        if _CONTEXT_CONSTRAINT in self.event:
            yield NextStep(
                f"let the pods' service account in {namespace} use a SecurityContextConstraint that"
                " allows what they ask for, such as privileged",
                quote_command(
                    "oc adm policy add-scc-to-user privileged -n {} -z SERVICEACCOUNT", namespace
                ),
            )
        if security is not None:
            yield from self._pod_security_steps(security[1], security[2], namespace)
        if unset is not None:
            amounts = unset[2].replace(" for: ", " of container ")
            yield NextStep(
                f"set {amounts} where the pods are written: quota {unset[1]} counts it",
                quote_command("kubectl get resourcequota {} -n {} -o yaml", unset[1], namespace),
            )
        limit = self.bound
        if limit is not None:
            bound = "at least" if limit.is_minimum else "at most"
            yield NextStep(
                f"ask for {bound} {limit.amount} {limit.resource} for each {limit.of.lower()} where"
                " the pods are written, or change the LimitRange",
                quote_command("kubectl get limitranges -n {} -o yaml", namespace),
            )
        if silent is not None:
            yield NextStep(
                f"see why admission webhook {silent[1]} does not answer; if its service is gone,"
                " its webhook configuration has to go, too",
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            )
        if denial is not None:
            yield NextStep(f"change what admission webhook {denial[1]} denies: {denial[2]}")
