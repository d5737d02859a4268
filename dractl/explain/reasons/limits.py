"""Reasons in what the cluster lets a claim ask for: quotas, labels of the namespace, classes,
gates, a claim's size.
"""

from collections.abc import Iterator

from dractl.cel import reading
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, maps_at, text_at
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    Cause,
    ClaimCause,
    Progress,
    ReasonPage,
    RequestCause,
    RequestsCause,
)
from dractl.explain.reasons.next_step import DAEMONSETS, AskedObject, complete_input
from dractl.explain.reasons.phrases import Names, Scope, abbreviate, plural
from dractl.model import DeviceClass, Quantity, Target
from dractl.model.nearest import nearest
from dractl.scheduler import admission, charges, cycle, pre_bind, quota
from dractl.scheduler.attempt import Scheduler


class QuotaExceeded(ClaimCause, frozen=True, kw_only=True):
    """A ResourceQuota forbids the claim, or the pod. ``have`` is its limit for ``resource``,
    ``used`` what is in use, ``more`` what is wanted beside, and ``want`` both. ``event`` is the API
    server's refusal where that is all that is known.
    """

    stops = (quota.QuotaExceeded, pre_bind.ExtendedClaimRefused)
    page = ReasonPage(
        "quota-exceeded",
        "a ResourceQuota forbids the claim",
        "The namespace may have only so many claims (count/resourceclaims.resource.k8s.io) and"
        " devices of a class (NAME.deviceclass.resource.k8s.io/devices); All counts as 32.",
        "kubectl describe resourcequota -n NS; kubectl describe pod -n NS NAME (event"
        " FailedResourceClaimCreation)",
        "Delete claims that are no longer needed, ask for fewer devices, or raise the quota.",
        Progress.STOPPED,
    )
    found = "quotas"
    steps_beside_fixes = True

    quotas: tuple[str, ...]  # namespace/name, one
    request_name: str | None = None
    device_class: str | None = None
    resource: str | None = None
    want: int | str | None = None
    have: int | str | None = None
    used: int | str = 0
    more: int | str = 0
    event: str = ""

    @classmethod
    def of_stop(
        cls, stop: quota.QuotaExceeded | pre_bind.ExtendedClaimRefused, scheduler: Scheduler
    ) -> Cause:
        stop = stop.refusals[0] if isinstance(stop, pre_bind.ExtendedClaimRefused) else stop
        per_class = stop.resource.endswith(charges.DEVICES_SUFFIX)
        return cls(
            pod_claim=stop.pod_claim or None,
            request_name=stop.request.name if stop.request is not None else None,
            device_class=stop.resource.removesuffix(charges.DEVICES_SUFFIX) if per_class else None,
            resource=stop.resource,
            want=_number(stop.used + stop.need),
            have=_number(stop.limit),
            used=_number(stop.used),
            more=_number(stop.need),
            quotas=("/".join(stop.quota),),
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.event:
            return f"the claim of pod claim {self.pod_claim} was refused: {self.event}"
        limit: object = f"{self.have} {self.resource}"
        if self.resource == charges.CLAIM_COUNT and isinstance(self.have, int):
            limit = f"{plural(self.have, 'claim')} ({charges.CLAIM_COUNT})"
        if self.device_class is not None and isinstance(self.have, int):
            limit = f"{plural(self.have, 'device')} of {self.device_class}"
        return f"quota {self.quotas[0]} allows {limit}; {self.used} used, {self.more} more wanted"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        name = self.quotas[0].rpartition("/")[2] if self.quotas else ""
        yield NextStep(
            "see what uses the quota: raise it, or lower the replicas of a workload in the"
            " namespace to what it allows",
            (
                quote_command("kubectl describe resourcequota {} -n {}", name, asked.namespace)
                if name
                else quote_command("kubectl describe resourcequota -n {}", asked.namespace)
            ),
        )


class AdminAccessNamespace(ClaimCause, frozen=True, kw_only=True):
    """A request wants adminAccess, and the namespace is not labelled for it."""

    stops = (admission.AdminAccessNamespace,)
    page = ReasonPage(
        "admin-access-namespace",
        "adminAccess needs a label on the namespace",
        "Claims with adminAccess may only be created in a namespace that is labelled for it.",
        "kubectl get namespace NS --show-labels",
        "kubectl label namespace NS resource.kubernetes.io/admin-access=true, if this namespace may"
        " use adminAccess.",
        Progress.STOPPED,
    )

    request_name: str
    namespace: str

    @classmethod
    def of_stop(cls, stop: admission.AdminAccessNamespace, scheduler: Scheduler) -> Cause:
        return cls(
            pod_claim=stop.pod_claim, request_name=stop.request.name, namespace=stop.namespace
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"request {self.request_name} wants adminAccess, and namespace {self.namespace} lacks"
            " the label resource.kubernetes.io/admin-access=true"
        )


class ClassMissing(RequestCause, frozen=True, kw_only=True):
    """A request names a DeviceClass that does not exist. ``known`` are those that do;
    ``none_known``: the input has no class at all, and may lack those of the cluster. ``upstream``
    is the scheduler's own sentence, where the request names no class at all. ``driver`` is the one
    that installs a class of that name, where it is known; ``silent``: it publishes no devices.
    """

    stops = (cycle.ClassMissing,)
    page = ReasonPage(
        "class-missing",
        "the DeviceClass does not exist",
        "A request names a class that is not in the cluster: a typo, the driver's name in its"
        " place, or a driver whose classes were not installed.",
        "kubectl get deviceclasses",
        "Correct deviceClassName, or install the class with its driver (for gpu.nvidia.com: the"
        " chart with resources.gpus.enabled=true and gpuResourcesEnabledOverride=true).",
        Progress.STOPPED,
    )
    found = "known"

    nearest: str | None = None
    known: tuple[str, ...] = ()
    none_known: bool = False
    upstream: str = ""
    driver: str = ""
    silent: bool = False

    @classmethod
    def of_stop(cls, stop: cycle.ClassMissing, scheduler: Scheduler) -> Cause:
        # Where a known driver installs a class of that name, only another one of that driver's can
        # have been meant.
        from dractl.drivers.classes import installed_by

        state, wanted = scheduler.state, stop.device_class
        known = sorted(name for _, name in state.objects("DeviceClass"))
        installed = installed_by(wanted, Target.of(scheduler.features.release))
        driver = installed[0] if installed is not None else ""
        own = (
            {item.metadata.name for item in state.classes if driver in drivers_named(item)}
            if driver
            else set(known)
        )
        return cls(
            request=stop.request,
            device_class=wanted,
            nearest=nearest(wanted, [name for name in known if name in own])
            or _class_of_driver(state, wanted),
            known=tuple(known),
            none_known=not state.covers("DeviceClass"),
            driver=driver,
            silent=bool(driver) and all(item.spec.driver != driver for item in scheduler.slices),
        )

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.upstream:
            return self.upstream
        lead = f"{self.lead(names)}device class {self.device_class}"
        if self.silent and self.known:
            return f"{lead} does not exist, and its driver {self.driver} publishes no devices"
        if self.none_known:
            return f"{lead} is not in the input, which has no DeviceClass at all"
        if not self.known:
            return f"{lead} does not exist; the cluster has no DeviceClass at all"
        if self.nearest:
            return f"{lead} does not exist; there is {self.nearest}"
        return f"{lead} does not exist; there are {abbreviate(self.known, 5)}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.none_known:
            yield complete_input("DeviceClass")
            return
        if self.silent:
            from dractl.drivers.registry import find

            chart = find(self.driver).catalogue.chart
            values = f" with {chart} in its chart" if chart else ""
            yield NextStep(f"install driver {self.driver}{values}: it brings the class", DAEMONSETS)
            return
        if self.nearest:
            yield NextStep(
                f"change deviceClassName {self.device_class} to {self.nearest} where the claim is"
                " written",
                "kubectl get deviceclasses",
            )
            return
        yield NextStep(
            f"install the driver that brings device class {self.device_class}, create the class, or"
            " name one that exists",
            "kubectl get deviceclasses",
        )


class GateOff(RequestCause, frozen=True, kw_only=True):
    """The request or its devices need a feature whose gate is off; ``upstream`` is the scheduler's
    sentence, ``detail`` what is hidden from the request.
    """

    page = ReasonPage(
        "gate-off",
        "a feature gate is off",
        "The claim or the devices use a feature that is off in this release with its gates.",
        "kubectl version; the feature gates of kube-apiserver and kube-scheduler",
        "Enable the gate in kube-apiserver, kube-scheduler and kube-controller-manager, or do"
        " without the feature.",
        Progress.STOPPED,
    )

    gate: str | None = None
    upstream: str = ""
    detail: str = ""
    devices: tuple[str, ...] = ()

    def sentence(self, names: Names, scope: Scope) -> str:
        return self.upstream if not self.detail else f"{self.lead(names)}{self.detail}"


class ClaimLimit(RequestsCause, frozen=True, kw_only=True):
    """The requests of a claim want more than ``have`` devices; ``want`` is None where it cannot be
    counted.
    """

    page = ReasonPage(
        "limit-32",
        "a claim can have at most 32 devices",
        "The requests of one claim add up to more than 32 devices. With All, devices in use and"
        " tainted ones count too.",
        SEE_CLAIM,
        "Split the claim into several claims of the pod, or ask for fewer.",
        Progress.STOPPED,
    )

    claim: str
    want: int | None = None
    have: int = 32

    def sentence(self, names: Names, scope: Scope) -> str:
        wants = f"{names.requests(self.requests)} want{'s' * (len(self.requests) == 1)}"
        return (
            f"claim {self.claim}: {wants} {self.want or 'too many'} devices, and a claim can have"
            f" {self.have}"
        )


def drivers_named(device_class: DeviceClass) -> frozenset[str]:
    """The drivers that the selectors of a class compare ``device.driver`` with."""
    expressions = (
        selector.cel.expression
        for selector in device_class.spec.selectors
        if selector.cel is not None
    )
    return frozenset().union(*(reading(expression).drivers for expression in expressions))


def _class_of_driver(state: ClusterState, driver: str) -> str | None:
    """The class whose selector wants this driver, where a driver's name was written in place of the
    class.
    """
    for (_, name), value in sorted(state.objects("DeviceClass").items()):
        for selector in maps_at(value, "spec", "selectors"):
            if driver in text_at(selector, "cel", "expression"):
                return name
    return None


def _number(amount: Quantity) -> int | str:
    """A count as a number; of CPU, memory and the like the quantity."""
    text = str(amount)
    return int(text) if text.isdigit() else text
