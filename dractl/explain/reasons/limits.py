"""Reasons about the cluster's limits on claims: quotas, labels of the namespace, classes, feature
gates, and the size of a claim.
"""

from collections.abc import Iterator
from typing import Self

from dractl.cel import reading
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    Cause,
    ClaimCause,
    ClaimStopCause,
    Facts,
    Progress,
    ReasonPage,
    RequestCause,
    RequestsCause,
)
from dractl.explain.reasons.next_step import DAEMONSETS, AskedObject, complete_input
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.model import DeviceClass, Quantity, Target
from dractl.model.abbreviation import abbreviate
from dractl.model.nearest import nearest
from dractl.program import program_name
from dractl.scheduler import admission, charges, cycle, pre_bind, pre_enqueue, quota
from dractl.scheduler.attempt import Scheduler

_EXCEEDED_QUOTA = "exceeded quota: "
"""Kubernetes k8s.io/apiserver pkg/admission/plugin/resourcequota."""


class QuotaExceeded(ClaimStopCause[quota.QuotaExceeded], frozen=True, kw_only=True):
    """A ResourceQuota forbids the claim, or the pod."""

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
        (
            (
                'create ResourceClaim : resourceclaims.resource.k8s.io "train-0-gpu-x" is'
                " forbidden: exceeded quota"
            ),
        ),
    )
    steps_beside_fixes = True

    @classmethod
    def from_stop(
        cls, stop: quota.QuotaExceeded | pre_bind.ExtendedClaimRefused, scheduler: Scheduler
    ) -> Cause:
        if isinstance(stop, pre_bind.ExtendedClaimRefused):
            return cls(stop=stop.refusals[0])
        return cls(stop=stop)

    @property
    def pod_claim(self) -> str | None:
        return self.stop.pod_claim or None

    @property
    def quota_name(self) -> str:
        """``namespace/name`` of the quota."""
        return "/".join(self.stop.quota)

    @property
    def resource(self) -> str:
        """The resource that the quota limits."""
        return self.stop.resource

    @property
    def device_class(self) -> str | None:
        """The class whose devices the quota limits; None if it limits another resource."""
        if not self.resource.endswith(charges.DEVICES_SUFFIX):
            return None
        return self.resource.removesuffix(charges.DEVICES_SUFFIX)

    @property
    def have(self) -> int | str:
        """The limit."""
        return _count_or_text(self.stop.limit)

    @property
    def want(self) -> int | str:
        """The limit that the quota would need."""
        return _count_or_text(self.stop.used + self.stop.need)

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "request": self.stop.request.name if self.stop.request is not None else None,
            "class": self.device_class,
            "resource": self.resource,
            "want": self.want,
            "have": self.have,
            "found": (self.quota_name,),
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        limit = f"{self.have} {self.resource}"
        if self.resource == charges.CLAIM_COUNT and isinstance(self.have, int):
            limit = f"{plural(self.have, 'claim')} ({charges.CLAIM_COUNT})"
        if self.device_class is not None and isinstance(self.have, int):
            limit = f"{plural(self.have, 'device')} of {self.device_class}"
        used, need = _count_or_text(self.stop.used), _count_or_text(self.stop.need)
        return f"quota {self.quota_name} allows {limit}; {used} used, {need} more wanted"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _quota_step(self.quota_name, asked)


class QuotaRefusal(ClaimCause, frozen=True, kw_only=True):
    """The claim controller reports that a ResourceQuota forbids the claim."""

    page = QuotaExceeded.page
    steps_beside_fixes = True

    quota_name: str
    """``namespace/name`` of the quota."""
    message: str
    """The API server's refusal."""

    @classmethod
    def parse(cls, stop: pre_enqueue.ClaimNotCreated) -> Self | None:
        """Return the refusal by a quota that an event quotes; None if the event quotes none."""
        _, mark, details = stop.event.partition(_EXCEEDED_QUOTA)
        if not mark:
            return None
        quota_name = f"{stop.template[0]}/{details.partition(',')[0]}"
        return cls(pod_claim=stop.pod_claim, quota_name=quota_name, message=mark + details)

    def facts(self) -> Facts:
        return {**super().facts(), "found": (self.quota_name,)}

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"the claim of pod claim {self.pod_claim} was refused: {self.message}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _quota_step(self.quota_name, asked)


def _quota_step(quota_name: str, asked: AskedObject) -> NextStep:
    name = quota_name.rpartition("/")[2]
    return NextStep(
        "see what uses the quota: raise it, or lower the replicas of a workload in the"
        " namespace to what it allows",
        quote_command("kubectl describe resourcequota {} -n {}", name, asked.namespace)
        if name
        else quote_command("kubectl describe resourcequota -n {}", asked.namespace),
    )


class AdminAccessNamespace(
    ClaimStopCause[admission.AdminAccessNamespace], frozen=True, kw_only=True
):
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

    @property
    def pod_claim(self) -> str:
        return self.stop.pod_claim

    @property
    def namespace(self) -> str:
        """The namespace without the label."""
        return self.stop.namespace

    def facts(self) -> Facts:
        return {**super().facts(), "request": self.stop.request.name}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"request {self.stop.request.name} wants adminAccess, and namespace {self.namespace}"
            " lacks the label resource.kubernetes.io/admin-access=true"
        )


class ClassMissing(RequestCause, frozen=True, kw_only=True):
    """A request names a DeviceClass that does not exist."""

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
        ("0/1 nodes are available: request gpu: device class gpu.example.com does not exist.",),
    )

    nearest: str | None = None
    """A similar name, or the class of a driver that the request names instead of a class; None if a
    known driver installs a class of the given name.
    """
    classes: tuple[str, ...] = ()
    """The classes that exist."""
    none_known: bool = False
    """True if the input has no class at all; it may then lack the classes of the cluster."""
    may_exist: bool = False
    """True if the input may lack the class although the cluster has it."""
    upstream: str = ""
    """The scheduler's own sentence, if the request names no class at all."""
    driver: str = ""
    """The driver that installs a class of that name, if it is known."""
    substitutes: tuple[str, ...] = ()
    """Classes that select devices of that driver but were made by somebody else; the user may mean
    one.
    """
    silent: bool = False
    """True if that driver publishes no devices."""

    @classmethod
    def from_stop(cls, stop: cycle.ClassMissing, scheduler: Scheduler) -> Cause:
        from dractl.drivers.classes import find_installed_class

        state, name = scheduler.state, stop.device_class
        classes = sorted(key[1] for key in state.objects("DeviceClass"))
        target = Target.of(scheduler.features.release)
        installed = find_installed_class(name, target)
        driver = installed[0] if installed is not None else ""
        # The name of a class that a known driver installs is no typing error: mig.nvidia.com does
        # not mean gpu.nvidia.com.
        similar = None if driver else nearest(name, classes) or _class_of_driver(state, name)
        substitutes = tuple(
            class_name
            for device_class in state.classes
            if driver in drivers_of_class(device_class)
            and (class_name := device_class.metadata.name or "")
            and find_installed_class(class_name, target) is None
        )
        return cls(
            request=stop.request,
            device_class=name,
            nearest=similar,
            classes=tuple(classes),
            none_known=not state.covers("DeviceClass"),
            may_exist=not state.shows("DeviceClass"),
            driver=driver,
            substitutes=substitutes,
            silent=bool(driver) and all(item.spec.driver != driver for item in scheduler.slices),
        )

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "nearest": self.nearest,
            "found": self.classes,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.upstream:
            return self.upstream
        lead = f"{self.lead(names)}device class {self.device_class}"
        absence = "is not in the input" if self.may_exist else "does not exist"
        if self.silent and self.classes:
            return f"{lead} {absence}, and its driver {self.driver} publishes no devices"
        if self.none_known:
            return f"{lead} is not in the input, which has no DeviceClass at all"
        if not self.classes:
            return f"{lead} does not exist; the cluster has no DeviceClass at all"
        if self.nearest:
            return f"{lead} {absence}; there is {self.nearest}"
        verb = "is only" if len(self.classes) == 1 else "are"
        return f"{lead} {absence}; there {verb} {abbreviate(self.classes, 5)}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if not self.device_class:
            yield NextStep(
                "write deviceClassName in the request, below exactly; a field in another place"
                f" does not count ({program_name()} lint says where it stands)"
            )
            return
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
        origin = f"driver {self.driver}, which" if self.driver else "the driver that"
        yield NextStep(
            f"install {origin} brings device class {self.device_class}, create the class, or name"
            " one that exists",
            "kubectl get deviceclasses",
        )


class GateOff(RequestCause, frozen=True, kw_only=True):
    """The request or its devices need a feature whose gate is off."""

    page = ReasonPage(
        "gate-off",
        "a feature gate is off",
        "The claim or the devices use a feature that is off in this release with its gates.",
        "kubectl version; the feature gates of kube-apiserver and kube-scheduler",
        "Enable the gate in kube-apiserver, kube-scheduler and kube-controller-manager, or do"
        " without the feature.",
        Progress.STOPPED,
        (
            (
                "resource claim ml/gpu, request gpu: has subrequests, but the"
                " DRAPrioritizedList feature is disabled"
            ),
            "claim ml/gpu, request gpu: admin access is requested, but the feature is disabled",
        ),
    )

    gate: str | None = None
    upstream: str = ""
    """The scheduler's sentence."""
    detail: str = ""
    """The clause about devices that the request cannot see."""
    devices: tuple[str, ...] = ()

    def facts(self) -> Facts:
        return {**super().facts(), "gate": self.gate, "devices": self.devices}

    def sentence(self, names: Names, scope: Scope) -> str:
        if not self.detail:
            return self.upstream
        several = f"each of {len(self.devices)} devices"
        which = several if len(self.devices) > 1 else f"device {', '.join(self.devices)}"
        return f"{self.lead(names)}{which} {self.detail}"


class ClaimLimit(RequestsCause, frozen=True, kw_only=True):
    """The requests of a claim want more devices than a claim may have."""

    page = ReasonPage(
        "limit-32",
        "a claim can have at most 32 devices",
        "The requests of one claim add up to more than 32 devices. With All, devices in use and"
        " tainted ones count too.",
        SEE_CLAIM,
        "Split the claim into several claims of the pod, or ask for fewer.",
        Progress.STOPPED,
        ("claim ml/gpu, request gpu: adding 33 devices exceeds the claim limit of 32",),
    )

    claim: str
    """``namespace/name`` of the claim."""
    want: int | None = None
    """The number of devices that the requests want; None if it cannot be counted."""
    have: int = 32
    """The number of devices that a claim may have."""

    def facts(self) -> Facts:
        return {**super().facts(), "claim": self.claim, "want": self.want, "have": self.have}

    def sentence(self, names: Names, scope: Scope) -> str:
        wants = f"{names.requests(self.requests)} want{'s' * (len(self.requests) == 1)}"
        return (
            f"claim {self.claim}: {wants} {self.want or 'too many'} devices, and a claim can have"
            f" {self.have}"
        )


def drivers_of_class(device_class: DeviceClass) -> frozenset[str]:
    """Return the drivers with which the selectors of a class compare ``device.driver``."""
    return frozenset().union(*(reading(text).drivers for text in _expressions(device_class)))


def _expressions(device_class: DeviceClass) -> Iterator[str]:
    """Yield the CEL expressions of a class."""
    for selector in device_class.spec.selectors:
        if selector.cel is not None:
            yield selector.cel.expression


def _class_of_driver(state: ClusterState, driver: str) -> str | None:
    """Return the class whose selector names this driver, if the request names a driver in place of
    a class.
    """
    for device_class in sorted(state.classes, key=lambda item: item.metadata.name or ""):
        if any(driver in expression for expression in _expressions(device_class)):
            return device_class.metadata.name
    return None


def _count_or_text(amount: Quantity) -> int | str:
    """Return a count as a number, and any other quantity (CPU, memory) as text."""
    text = str(amount)
    return int(text) if text.isdigit() else text
