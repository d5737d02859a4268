"""Reasons after scheduling: causes that keep a pod from running on its node."""

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.kubelet import MissingDependency, PrepareFailure, parse_missing_dependency
from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.diagnosis.refusals import Refusal
from dractl.explain.reasons.base import Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.drivers import (
    DeploymentRefused,
    DomainState,
    DriverRoot,
    DriverWaits,
    PluginFails,
    PluginState,
)
from dractl.explain.reasons.next_step import (
    AskedObject,
    delete_by_force,
    pods_on,
    see_kubelet,
    see_node,
)
from dractl.explain.reasons.node_access import check_node, read_kubelet_log
from dractl.explain.reasons.phrases import Names, Scope
from dractl.explain.reasons.recreation import HeldClaim, recreate_pod
from dractl.model.abbreviation import abbreviate
from dractl.views import ContainerStatus, DeviceHealth


def _log(asked: AskedObject, container: ContainerStatus) -> NextStep:
    previous = (
        " --previous" if container.state != "terminated" and container.last is not None else ""
    )
    read = quote_command(
        f"kubectl logs {{}} -n {{}} -c {{}}{previous}", asked.name, asked.namespace, container.name
    )
    return NextStep(f"read the log of container {container.name}", read)


def _describe(asked: AskedObject) -> NextStep:
    return NextStep(
        "see what the kubelet says of the pod",
        quote_command("kubectl describe pod {} -n {}", asked.name, asked.namespace),
    )


class NotPrepared(Cause, frozen=True, kw_only=True):
    """The pod is on its node, and the kubelet cannot prepare its devices."""

    page = ReasonPage(
        "not-prepared",
        "the kubelet cannot prepare the pod's devices",
        "The scheduler has done its part. The kubelet asks the driver on the node to prepare the"
        " devices, and the driver does not answer, is not registered, or refuses the device or the"
        " claim's configuration; or the container runtime does not find the driver's CDI file. The"
        " containers start only after this succeeds; the kubelet retries it by itself.",
        "kubectl describe pod -n NS NAME (FailedPrepareDynamicResources, Failed); dractl discover"
        " --check on the node",
        "Start the driver where it does not run. Where it refuses, its message has the cause:"
        " dractl explains the messages that it knows, and the driver's log has the details. Where"
        " CDI files that existed are gone, recreate the pod.",
        Progress.STOPPED,
    )
    steps_beside_fixes = True

    prepare: PrepareFailure
    """The kubelet's message, and what it says about the driver."""
    faults: tuple[tuple[str, str, str], ...] = ()
    """The faults that the driver would find in the configuration of a claim: pod claim, path, and
    reason.
    """
    drivers: tuple[str, ...] = ()
    """The drivers of the pod's devices."""
    lost: tuple[str, ...] = ()
    """The members of ``drivers`` that publish nothing on the node any more."""
    devices: tuple[str, ...] = ()
    """The devices of the claims."""
    unpublished: tuple[str, ...] = ()
    """The devices of the claims that their driver no longer publishes, if it has refused."""
    gates: tuple[str, ...] = ()
    """The driver's feature gates that a corrected configuration needs."""
    refusal: Refusal | None = None
    """The explanation of the driver's message, if the facts have one."""
    plugins: tuple[PluginState, ...] = ()
    """The states of the drivers' plug-ins on the node, as far as the input shows them."""
    os_image: str = ""
    """The system of the node."""
    held: HeldClaim | None = None
    """A claim of the pod that stays as it is if only the pod is deleted."""
    has_begun: bool = False
    """True if the pod has run before: the node was restarted, or the pod's sandbox was lost."""
    made: tuple[DeploymentRefused | DomainState | DriverWaits | PluginFails, ...] = ()
    """Objects that the drivers have made for the claims and that are not ready, and objects for
    which the drivers wait.
    """

    def facts(self) -> Facts:
        return {**super().facts(), "devices": self.devices}

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = f"scheduled on {self.nodes[0]}, where the kubelet cannot prepare its devices"
        if self.has_begun:
            lead = (
                f"ran on {self.nodes[0]} before, where the kubelet cannot prepare its devices again"
            )
        states = [state.clause() for state in (*self.made, *self._faulty)]
        if states:  # the kubelet's message only follows from these states
            return f"{lead}: {'; '.join(states)}; the kubelet says: {self.prepare.words}"
        words = f"{lead}: {self.prepare.words}"
        faults = "; ".join(f"{path} of claim {claim}: {why}" for claim, path, why in self.faults)
        if faults and self.prepare.answer == "refused":
            return f"{words}; the driver refuses {faults}"
        if self.unpublished:
            return (
                f"{words}; its driver no longer publishes device {abbreviate(self.unpublished)},"
                " which it has"
            )
        if self.refusal is not None and self.refusal.meaning:
            return f"{words}; {self.refusal.meaning}"
        if self.lost:
            lost = ", ".join(self.lost)
            return f"{words}; driver {lost} publishes nothing on {self.nodes[0]} any more"
        return words

    @property
    def _faulty(self) -> tuple[PluginState, ...]:
        """The plug-ins that do not serve the node."""
        return tuple(plugin for plugin in self.plugins if plugin.is_fault)

    @property
    def driver(self) -> str:
        """The driver that the kubelet names, or else the only driver of the pod."""
        name = self.prepare.driver or (self.refusal.driver if self.refusal is not None else "")
        name = name or (self.drivers[0] if len(self.drivers) == 1 else "")
        return f"driver {name}" if name else "the DRA driver"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0]
        for state in (*self.made, *self._faulty):
            yield from state.steps()
        if self.made or self._faulty:
            yield self._read_log(node)
        elif self.prepare.answer == "unregistered":
            yield NextStep(
                f"see whether {self.driver} runs on {node} and is registered with the kubelet;"
                " restart it",
                pods_on(node),
            )
            yield check_node(node, "it says which drivers listen and are registered", self.os_image)
        elif self.prepare.answer == "silent" and self.refusal is None:
            yield from self._silence_steps(node)
        elif self.prepare.answer != "unasked":
            yield from self._refusal_steps(asked, node)
            return
        elif self.refusal is not None:
            yield from self.refusal.steps
        yield _describe(asked)

    def _silence_steps(self, node: str) -> Iterator[NextStep]:
        """Yield next steps if a call of the driver did not end in time."""
        if not self.plugins:
            yield NextStep(
                f"see whether {self.driver} runs on {node}, and why it does not answer; restart it",
                pods_on(node),
            )
            return
        yield self._read_log(node, "it runs, and its call did not end in time")

    def _read_log(self, node: str, why: str = "") -> NextStep:
        """Return the step that reads the log of the driver's pod on the node."""
        plugin = next((plugin for plugin in self.plugins if not plugin.is_fault), None)
        step = next(plugin.steps(), None) if plugin is not None else None
        reason = f": {why}" if why else ""
        if step is not None:
            return replace(step, text=step.text + reason)
        return NextStep(f"read the log of {self.driver} on {node}{reason}", pods_on(node))

    def _refusal_steps(self, asked: AskedObject, node: str) -> Iterator[NextStep]:
        """Yield next steps if the driver itself has refused, so that preparing again would change
        nothing.
        """
        if self.unpublished:
            why = (
                "the claim is then allocated again, from the devices that its driver publishes now"
            )
            yield from recreate_pod(asked, why, self.held)
        if self.has_begun and (self.refusal is None or self.refusal.blames == "pod"):
            why = "its driver then forgets what it remembers of the claim"
            yield from recreate_pod(asked, why, self.held)
            yield self._read_log(node, "it refuses to prepare the claim again")
            return
        if self.faults:
            yield NextStep(
                "correct the parameters in the config of the claim or its template, and recreate"
                " the pod",
                quote_command(
                    "kubectl get resourceclaims,resourceclaimtemplates -n {} -o yaml",
                    asked.namespace,
                ),
            )
            for gate in self.gates:
                yield self._switch_on(
                    gate, "off by default, it would refuse the corrected configuration as well"
                )
        elif self.refusal is not None:
            yield from self.refusal.steps
        elif self.prepare.gate is not None:
            yield self._switch_on(self.prepare.gate, "the kubelet then tries again")
        elif self.prepare.reports_damage:
            device = f"device {abbreviate(self.devices)}" if self.devices else "the device"
            yield NextStep(
                f"reset or replace {device}, which its driver calls unhealthy: drain {node} for it",
                see_node(node).command,
            )
        yield self._read_log(node, "it has more details than the event")

    def _switch_on(self, gate: str, why: str) -> NextStep:
        return NextStep(
            f"switch on feature gate {gate} of {self.driver} (Helm: featureGates.{gate}=true), or"
            f" remove what needs it from the claim's configuration: {why}",
            "helm list -A",
        )


class NotInjected(Cause, frozen=True, kw_only=True):
    """The container runtime cannot give a container its CDI devices."""

    page = NotPrepared.page
    steps_beside_fixes = True

    container: str
    why: str
    """The message of the runtime."""
    begun: bool = False
    """True if a container of the pod has run before, so that the devices existed then."""
    rebooted: str = ""
    """The time at which the node was rebooted after the claims were allocated (RFC 3339)."""
    host: str = ""
    """The path that is absent on the node."""
    drivers: tuple[str, ...] = ()
    os_image: str = ""
    """The system of the node."""
    refusal: Refusal | None = None
    """The explanation of the runtime's message, if the facts have one."""
    held: HeldClaim | None = None
    """A claim of the pod that stays as it is if only the pod is deleted."""

    def sentence(self, names: Names, scope: Scope) -> str:
        node = self.nodes[0]
        words = f"container {self.container}: {self.why}" if self.container else self.why
        if self.refusal is not None and self.refusal.meaning:
            return f"scheduled on {node}, where {self.refusal.meaning}: {words}"
        if self.host:
            return (
                f"scheduled on {node}, where {self.host}, which its CDI devices need, does not"
                f" exist: {words}"
            )
        if self.rebooted:
            return (
                f"scheduled on {node}, where the container runtime no longer knows its devices"
                f" since the reboot at {self.rebooted}: {words}; a reboot empties /var/run/cdi,"
                " where drivers write the CDI files of claims"
            )
        if self.begun:
            return (
                f"started on {node}, where the container runtime no longer knows its devices:"
                f" {words}"
            )
        return (
            f"scheduled on {node}, where the container runtime does not find its CDI devices, and"
            f" never has: {words}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0]
        driver = f"driver {self.drivers[0]}" if len(self.drivers) == 1 else "the driver"
        if self.refusal is not None:
            yield from self.refusal.steps
            if self.refusal.meaning:
                return
        if self.host:
            yield NextStep(
                f"see why device node {self.host} is absent on {node}: the kernel driver creates"
                f" it, and the CDI file of {driver} names it",
                see_node(node).command,
            )
            yield check_node(
                node, "it compares the device nodes of CDI files with /dev", self.os_image
            )
            return
        if self.begun or self.rebooted:
            why = "its driver then prepares the devices again"
            yield from recreate_pod(asked, why, self.held)
        yield check_node(
            node,
            f"the CDI file (specification) of {driver} may be broken, name another kind, or lie"
            " where the runtime does not look (cdi_spec_dirs)",
            self.os_image,
        )


class SharedClaim(Struct, frozen=True):
    """A claim of the pod that was prepared for another pod before. The kubelet therefore skips the
    other claims of the pod.
    """

    claim: str
    pod: str
    """The other pod, as ``namespace/name``."""
    kubelet: str
    """The version of the kubelet, such as ``v1.34.2``."""

    def steps(self, node: str) -> Iterator[NextStep]:
        """Yield the steps to start the pod."""
        namespace, _, name = self.pod.partition("/")
        yield NextStep(
            f"start the pod with more claims first: end pod {self.pod}, and recreate it once this"
            " pod runs",
            quote_command("kubectl get pod {} -n {} -o wide", name, namespace),
        )
        yield NextStep(
            f"update the kubelet of {node} to a patch release with kubernetes/kubernetes#135919,"
            " or to 1.36",
            see_node(node).command,
        )


class NotStarted(Cause, frozen=True, kw_only=True):
    """The kubelet cannot start the pod for a reason outside DRA."""

    page = ReasonPage(
        "not-started",
        "the kubelet cannot start the pod's containers",
        "The pod is on its node, and its sandbox, network, volumes, image or a container cannot be"
        " made. Nothing of it runs; the kubelet tries again by itself.",
        "kubectl describe pod -n NS NAME (FailedCreatePodSandBox, FailedMount, Failed)",
        "Fix what the kubelet's message names: the network plugin, the runtime handler, the Secret"
        " or ConfigMap, the volume, the image. The pod then starts without being recreated.",
        Progress.STOPPED,
    )
    steps_beside_fixes = True

    what: str
    """The step of the kubelet that fails."""
    why: str
    """The kubelet's words."""
    roots: tuple[DriverRoot, ...] = ()
    """The folders in which the drivers of the pod's devices look for the files of their vendor."""
    refusal: Refusal | None = None
    """The explanation of the runtime's or a driver's message, if the facts have one."""
    shared: SharedClaim | None = None
    """The claim of the pod that was prepared for another pod before, if the kubelet therefore
    skips the pod's other claims.
    """

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = f"scheduled on {self.nodes[0]}, where the kubelet cannot {self.what}: {self.why}"
        if self.refusal is not None and self.refusal.meaning:
            return f"{lead}; {self.refusal.meaning}"
        lacks = parse_missing_dependency(self.why)
        if lacks.dependency == "claim" and self.shared is not None:
            return (
                f"{lead}; claim {self.shared.claim} was already prepared for pod {self.shared.pod},"
                f" and kubelet {self.shared.kubelet} then skips the pod's other claims"
                " (kubernetes/kubernetes#135901)"
            )
        if lacks.dependency == "claim":
            return f"{lead}; the kubelet has lost what it knew of claim {lacks.name}"
        if lacks.dependency == "mount" and self.roots:
            drivers = ", ".join(root.driver for root in self.roots)
            roots = "; ".join(filter(None, (root.clause() for root in self.roots)))
            mount = (
                f"{self.nodes[0]} lacks {lacks.name}, which the CDI file of driver {drivers} mounts"
            )
            return "; ".join(filter(None, (lead, mount, roots)))
        return lead

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0]
        lacks = parse_missing_dependency(self.why)
        cure = _cure(lacks, node, asked)
        if lacks.dependency == "mount" and self.roots:
            for root in self.roots:
                yield root.step(node, lacks.name)
        elif self.refusal is not None and self.refusal.meaning:
            yield from self.refusal.steps
        elif lacks.dependency == "claim" and self.shared is not None:
            yield from self.shared.steps(node)
        elif cure is not None:
            yield cure
        elif "image" in self.what:
            yield NextStep(
                "correct the name of the image where the pod is written, or let the node pull it"
                " (imagePullSecrets, imagePullPolicy)",
                quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
            )
        yield _describe(asked)


def _cure(lacks: MissingDependency, node: str, asked: AskedObject) -> NextStep | None:
    """Return the step that supplies the missing dependency of the kubelet or the container runtime;
    None if no step is known.
    """
    name = lacks.name
    match lacks.dependency:
        case "runtime":
            text = (
                f"see whether the container runtime (containerd or CRI-O) runs on {node}, and"
                " start it"
            )
            return NextStep(text, quote_command("kubectl describe node {}", node))
        case "handler":
            text = (
                f"configure handler {name} of the pod's RuntimeClass in the runtime of {node}, or"
                " leave "
            )
            return NextStep(text + "runtimeClassName out of the pod", "kubectl get runtimeclasses")
        case "runtimeclass":
            text = f"create RuntimeClass {name}, or leave runtimeClassName out of the pod"
            return NextStep(text, "kubectl get runtimeclasses")
        case "plugin":
            text = (
                f"install CNI plugin {name} on {node} in one of {', '.join(lacks.where.split())},"
                " or correct the CNI "
            )
            return NextStep(text + "configuration in /etc/cni/net.d", pods_on(node))
        case "nri":
            text = (
                f"read the logs of the plug-ins on {node} that the container runtime calls through"
                " NRI: one of them refuses the "
            )
            return NextStep(text + "pod, which a DRA driver for networks can be", pods_on(node))
        case "network":
            text = (
                f"see whether the network add-on runs on {node} and has written its CNI"
                " configuration to "
            )
            return NextStep(text + "/etc/cni/net.d", pods_on(node))
        case _:
            return _cure_in_pod(lacks, node, asked)


def _cure_in_pod(lacks: MissingDependency, node: str, asked: AskedObject) -> NextStep | None:
    """Return the step for a missing object, volume or claim of the pod, or for a wrong command."""
    name, namespace = lacks.name, asked.namespace
    match lacks.dependency:
        case "object":
            kind = "ConfigMap" if lacks.kind.lower() == "configmap" else "Secret"
            text = (
                f"create {kind} {name} in namespace {namespace}, or correct its name where the pod"
                " is written"
            )
            return NextStep(text, quote_command("kubectl get {}s -n {}", kind.lower(), namespace))
        case "key":
            text = (
                "add the key to the Secret or ConfigMap, or correct its name where the pod is"
                " written"
            )
            return NextStep(text, quote_command("kubectl get secrets,configmaps -n {}", namespace))
        case "space":
            return NextStep(
                f"free disk space on {node}", quote_command("kubectl describe node {}", node)
            )
        case "volume":
            text = (
                "see why the volume cannot be mounted: whether it exists, and whether its driver"
                f" runs on {node}"
            )
            return NextStep(
                text, quote_command("kubectl get pvc,volumeattachments -n {}", namespace)
            )
        case "hostpath" | "folder":
            return _cure_host_path(lacks, node, asked)
        case "claim":
            text = (
                "recreate the pod, and end pods with their grace period: the kubelet forgets a"
                " claim when a pod that uses it is deleted with grace period 0 or by force while"
                " another one starts"
            )
            return NextStep(
                text, quote_command("kubectl delete pod {} -n {}", asked.name, namespace)
            )
        case "mount":
            text = (
                f"see why {name} is absent on {node}: a volume or a CDI file mounts it into the"
                " container"
            )
            return NextStep(text, quote_command("kubectl describe node {}", node))
        case "command":
            text = "correct the container's command, or its image"
            return NextStep(
                text, quote_command("kubectl get pod {} -n {} -o yaml", asked.name, namespace)
            )
    return None


def _cure_host_path(lacks: MissingDependency, node: str, asked: AskedObject) -> NextStep:
    """Return the step for a hostPath volume whose path the node lacks or cannot create."""
    if lacks.dependency == "hostpath":
        text = (
            f"make {lacks.name} {lacks.where} on {node}, keep the pod to nodes that have it, or"
            " correct path and type of the pod's hostPath volume"
        )
    else:
        text = (
            f"see why {lacks.name} cannot be created on {node}: the runtime creates the path of a"
            " hostPath volume that is absent, and cannot on a read-only file system; choose"
            " another path, or create it there"
        )
    return NextStep(
        text, quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace)
    )


class MissingDevices(Struct, frozen=True):
    """Devices of a driver that a program does not find although its pod has them."""

    driver: str
    device_files: str
    """The pattern of the paths at which the kernel driver creates the device files."""
    check: str
    """The vendor's program that shows the devices on a node."""
    plugin: PluginState | None = None

    def clause(self) -> str:
        """Return the fault as a main clause."""
        return (
            f"its devices of driver {self.driver} are allocated and prepared, but the program does"
            " not reach them"
        )

    def steps(self, node: str) -> Iterator[NextStep]:
        """Yield the steps that follow the devices from the kernel driver to the container."""
        yield NextStep(
            f"see whether the kernel driver is loaded on {node} and {self.device_files} exist there"
            f" ({self.check} on the host shows and makes them)",
            see_node(node).command,
        )
        restart = getattr(self.plugin, "pod", "")
        namespace, _, name = restart.partition("/")
        yield NextStep(
            f"if they came later than the plug-in of driver {self.driver}, its CDI file names none"
            " of them: restart the plug-in, then recreate the pod",
            (
                quote_command("kubectl delete pod {} -n {}", name, namespace)
                if name
                else pods_on(node)
            ),
        )


class ContainerFailed(Cause, frozen=True, kw_only=True):
    """A container has failed, or fails again and again."""

    page = ReasonPage(
        "container-failed",
        "a container has ended with an error",
        "The devices are prepared and the container was started: its program ended with an error,"
        " was killed for memory, or is restarted again and again.",
        "kubectl logs -n NS NAME -c CONTAINER --previous; kubectl describe pod -n NS NAME",
        "Correct the program, its arguments or its limits. A program that does not find its device:"
        " see whether the container lists the claim in resources.claims, and dractl discover"
        " --check on the node (CDI).",
        Progress.STOPPED,
    )

    container: ContainerStatus
    over: bool = False
    """True if the pod has ended with the container."""
    why: str = ""
    claims: bool = False
    """True if the pod has claims."""
    without: tuple[str, ...] = ()
    """Sentences about devices that no container gets."""
    missing: MissingDevices | None = None
    """The devices that the program says it has not found."""
    os_image: str = ""
    """The system of the node."""

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = f"failed on {self.nodes[0]}" if self.over else f"started on {self.nodes[0]}"
        parts = [f"{lead}, where {describe_end(self.container)}"]
        if self.why:
            parts.append(self.why)
        if self.missing is not None and not self.without:
            parts.append(self.missing.clause())
        return "; ".join(parts)

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        container, node = self.container, self.nodes[0]
        kind = "init container" if container.is_init else "container"
        if self.without:
            yield NextStep(
                "list the pod's claim in resources.claims of the container that uses it, and"
                " recreate the pod",
                quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
            )
        if ran_out_of_memory(container):
            yield NextStep(
                f"raise the memory limit of {kind} {container.name}, or have it use less",
                quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
            )
        if self.missing is not None and not self.without:
            yield from self.missing.steps(node)
            yield check_node(
                node, "it compares the CDI files with /dev and the runtime", self.os_image
            )
            return
        yield _log(asked, container)
        if self.claims and not ran_out_of_memory(container):
            yield check_node(
                node,
                "if the program does not find its devices, CDI may be off in the runtime"
                " (enable_cdi)",
                self.os_image,
            )


def ran_out_of_memory(container: ContainerStatus) -> bool:
    return any(
        part is not None and part.reason == "OOMKilled" for part in (container, container.last)
    )


def describe_end(container: ContainerStatus) -> str:
    """Return ``container main ended with exit code 1 (Error), restarts: 3: CrashLoopBackOff
    (back-off 40s …)``.
    """
    kind = "init container" if container.is_init else "container"
    end = container if container.state == "terminated" else container.last
    text = f"{kind} {container.name}"
    if end is not None:
        reason = f" ({end.reason})" if end.reason not in ("", "Error") else ""
        text += f" ended with exit code {end.exit_code}{reason}"
        if end.message:
            text += f": {_line(end.message)}"
    if container.restarts:
        text += f", {container.restarts} restart{'' if container.restarts == 1 else 's'}"
    if container.state == "waiting":
        message = f" ({_line(container.message)})" if container.message else ""
        text += (
            f"; waits: {container.reason}{message}"
            if end is not None
            else f" waits: {container.reason}{message}"
        )
    elif container.state == "running" and end is not None:
        text += "; started again" + ("" if container.is_ready else ", not ready")
    return text


def _line(text: str) -> str:
    """Return the last line of a termination message, which is the most useful one, cut to a bounded
    length.
    """
    return " ".join(text.strip().splitlines()[-1:])[-300:].rstrip(".")


class DeviceUnhealthy(Cause, frozen=True, kw_only=True):
    """The kubelet reports devices of the pod as unhealthy."""

    page = ReasonPage(
        "device-unhealthy",
        "a device of the pod is unhealthy",
        "The driver has reported to the kubelet that a device of the pod is unhealthy. The"
        " container keeps running until somebody ends it.",
        "kubectl get pod -n NS NAME -o"
        " jsonpath='{.status.containerStatuses[*].allocatedResourcesStatus}'",
        "Drain the device: delete the pod, keep others away with a DeviceTaintRule, and reset or"
        " replace the device.",
        Progress.STOPPED,
    )
    steps_beside_fixes = True

    health: tuple[DeviceHealth, ...]
    devices: tuple[str, ...] = ()
    stopped: ContainerStatus | None = None
    """A container that does not run."""
    held: HeldClaim | None = None
    """A claim of the pod that stays as it is if only the pod is deleted."""

    def facts(self) -> Facts:
        return {**super().facts(), "devices": self.devices}

    def sentence(self, names: Names, scope: Scope) -> str:
        first = self.health[0]
        name = f"device {self.devices[0]}" if self.devices else f"device {first.device}"
        more = f" and {len(self.health) - 1} more" if len(self.health) > 1 else ""
        verb = "are" if more else "is"
        why = f": {first.message}" if first.message else ""
        state = f"; {describe_end(self.stopped)}" if self.stopped is not None else ""
        return (
            f"on {self.nodes[0]}, where {name} of claim {first.claim}{more} {verb}"
            f" unhealthy{why}{state}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        device = self.devices[0] if self.devices else self.health[0].device
        lead = (
            f"keep other pods away from device {device} with a taint (DeviceTaintRule,"
            " NoSchedule), then "
        )
        yield from recreate_pod(asked, "it then gets another device", self.held, lead)
        yield NextStep(
            f"reset or replace device {device}: drain {self.nodes[0]} for it",
            see_node(self.nodes[0]).command,
        )


class DeviceNotReady(Cause, frozen=True, kw_only=True):
    """The driver has written to the claim's status that a device is not ready."""

    page = ReasonPage(
        "device-not-ready",
        "a driver says that a device of the pod is not ready",
        "Drivers write conditions of allocated devices to the claim's status.devices. One of them"
        " says Ready: False.",
        "kubectl get resourceclaim -n NS NAME -o jsonpath='{.status.devices}'",
        "Its message is the driver's: correct what it names; the driver's log on the node"
        " says more.",
        Progress.STOPPED,
    )

    claim: str
    device: str
    driver: str
    why: str
    """The driver's words."""

    def facts(self) -> Facts:
        return {**super().facts(), "claim": self.claim, "driver": self.driver}

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"on {self.nodes[0]}, where driver {self.driver} says that device {self.device} is not"
            f" ready: {self.why}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            f"read the log of driver {self.driver} on {self.nodes[0]}", pods_on(self.nodes[0])
        )


class ProbeFails(Cause, frozen=True, kw_only=True):
    """A container runs and fails its probe."""

    page = ContainerFailed.page

    container: str
    why: str
    """The kubelet's words."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"started on {self.nodes[0]}, where container {self.container} is not ready: {self.why}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        read = quote_command(
            "kubectl logs {} -n {} -c {}", asked.name, asked.namespace, self.container
        )
        yield NextStep(
            f"read the log of container {self.container}, and see whether its probe asks the right"
            " thing",
            read,
        )


_LOW_ON = "The node was low on resource: "
"""pkg/kubelet/eviction/helpers.go nodeLowMessageFmt: the resource and a full stop follow."""


class Evicted(Cause, frozen=True, kw_only=True):
    """The pod was ended from outside: by the kubelet for lack of a resource, or by a controller for
    a taint.
    """

    page = ReasonPage(
        "pod-evicted",
        "the pod was evicted",
        "The kubelet ended the pod because its node ran out of disk, memory or process numbers, or"
        " a controller ended it for a taint of its node or device.",
        "kubectl describe pod -n NS NAME (Evicted, condition DisruptionTarget); kubectl describe"
        " node NODE",
        "Free what the node ran out of, or tolerate or remove the taint; then recreate the pod.",
        Progress.STOPPED,
        ("DeviceTaintManagerEviction: Marking for deletion",),
    )

    why: str

    def sentence(self, names: Names, scope: Scope) -> str:
        if not self.nodes:
            return f"evicted: {self.why}"
        node = self.nodes[0]
        if not self.why.startswith(_LOW_ON):
            return f"evicted from {node}: {self.why}"
        resource, _, amounts = self.why.removeprefix(_LOW_ON).partition(". ")
        lead = f"evicted from {node}, which was low on {resource}"
        return f"{lead}: {amounts}" if amounts else lead

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node, why = self.nodes[0], self.why.lower()
        if "disk" in why or "ephemeral-storage" in why or "inodes" in why:
            yield NextStep(
                f"free disk space on {node}, then recreate the pod",
                quote_command("kubectl describe node {}", node),
            )
        elif "memory" in why:
            yield NextStep(
                f"free memory on {node}, or give the pod a memory request, then recreate it",
                quote_command("kubectl describe node {}", node),
            )
        elif "taint" in why:
            yield NextStep(
                "remove the taint when the device or the node is in order again, or tolerate it"
                " (effect NoExecute), and recreate the pod",
                "kubectl get devicetaintrules",
            )
        else:
            yield see_node(node)


class Failed(Cause, frozen=True, kw_only=True):
    """The pod has failed, and no container shows why: the kubelet did not admit it, or ended it."""

    page = NotStarted.page

    why: str
    resource: str = ""
    """The extended resource that the kubelet missed on its node, if a claim provides it."""
    claim: str = ""
    """The claim that kube-scheduler has made for the pod's extended resources."""

    def sentence(self, names: Names, scope: Scope) -> str:
        lead = f"failed on {self.nodes[0]}" if self.nodes else "failed"
        words = f"{lead}: {self.why}" if self.why else lead
        if not self.resource:
            return words
        return (
            f"{words}; claim {self.claim} provides {self.resource}, and yet the kubelet counts it"
            " against the capacity of the node, which only a device plugin sets"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.resource:
            node = self.nodes[0]
            yield NextStep(
                f"switch on feature gate DRAExtendedResource in the kubelet of {node}, and update"
                " it to 1.36 or a patch release with kubernetes/kubernetes#135725; then recreate"
                " the pod",
                see_node(node).command,
            )
        yield _describe(asked)


def _finalizers_clause(finalizers: tuple[str, ...]) -> str:
    noun = "finalizer" if len(finalizers) == 1 else "finalizers"
    return f"; besides, {noun} {', '.join(finalizers)} keeps it" if finalizers else ""


def _finalizer_steps(finalizers: tuple[str, ...], asked: AskedObject) -> Iterator[NextStep]:
    """Yield the step for the owner of a finalizer, since the pod stays until the finalizer is
    removed, even after a deletion by force.
    """
    for finalizer in finalizers[:1]:
        yield NextStep(
            f"have the controller of finalizer {finalizer} take it away: until then no deletion"
            " ends the pod, not even by force",
            quote_command("kubectl get pod {} -n {} -o yaml", asked.name, asked.namespace),
        )


class NodeSilent(Cause, frozen=True, kw_only=True):
    """The pod's node does not answer."""

    page = ReasonPage(
        "node-not-ready",
        "the node of the pod does not answer",
        "The kubelet of the node has stopped reporting, so nobody knows whether the pod still runs,"
        " and nobody starts or ends it.",
        "kubectl describe node NODE (condition Ready)",
        "Start the kubelet or the node. Only where the node is gone for good, delete the pod by"
        " force.",
        Progress.STOPPED,
    )
    is_root_cause = True

    why: str
    """The message of the node's condition Ready."""
    since: str = ""
    """The time at which the condition changed (RFC 3339)."""
    leaving: str = ""
    """The time by which a pod that is being deleted should have been gone; "" for any other pod."""
    finalizers: tuple[str, ...] = ()
    """Finalizers of other controllers, which also keep a pod that is being deleted."""

    def sentence(self, names: Names, scope: Scope) -> str:
        since = f" since {self.since}" if self.since else ""
        lead = f"is Terminating on {self.nodes[0]}" if self.leaving else f"on {self.nodes[0]}"
        kept = _finalizers_clause(self.finalizers) if self.leaving else ""
        return f"{lead}, which does not answer{since}: {self.why}{kept}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0]
        yield NextStep(f"start the kubelet of {node}, or the node", see_node(node).command)
        if self.leaving:
            yield from _finalizer_steps(self.finalizers, asked)
            yield delete_by_force(f"{asked.namespace}/{asked.name}")


class NodeUnready(Cause, frozen=True, kw_only=True):
    """The kubelet of the pod's node answers, but says that the node is not ready."""

    page = NodeSilent.page

    why: str
    state: str = ""

    def sentence(self, names: Names, scope: Scope) -> str:
        state = f"; {self.state}" if self.state else ""
        return f"on {self.nodes[0]}, which is not ready: {self.why}{state}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield from NotStarted(what="start it", why=self.why, nodes=self.nodes).steps(asked)


class KubeletSilent(Cause, frozen=True, kw_only=True):
    """The node counts as ready, but its kubelet has reported nothing about the pod."""

    page = NodeSilent.page

    silence: str
    """The time for which the kubelet has been silent, such as ``5m``."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return (
            f"scheduled on {self.nodes[0]} {self.silence} ago, but its kubelet has not reported on"
            " the pod since and may not be running"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield see_kubelet(self.nodes[0])


class ForgottenClaim(Struct, frozen=True):
    """A claim that was made for a pod whose status does not name it."""

    entry: str
    """The name of the entry of ``spec.resourceClaims``."""
    claim: str


def _name_claims(claims: Iterable[ForgottenClaim], asked: AskedObject) -> NextStep:
    """Return the step that writes claims into the status of their pod."""
    statuses = [{"name": each.entry, "resourceClaimName": each.claim} for each in claims]
    patch = json.dumps({"status": {"resourceClaimStatuses": statuses}})
    return NextStep(
        "write the claim into the pod's status again; a client that does not know the field has"
        " overwritten it",
        quote_command(
            "kubectl patch pod {} -n {} --subresource=status -p {}",
            asked.name,
            asked.namespace,
            patch,
        ),
    )


class Stuck(Cause, frozen=True, kw_only=True):
    """The pod is Terminating on its node."""

    page = ReasonPage(
        "pod-terminating",
        "the pod is being deleted and is not gone",
        "A pod keeps its devices until the kubelet has ended its containers and the driver has"
        " unprepared its claims.",
        "kubectl get pod -n NS NAME -o yaml (metadata.deletionTimestamp, finalizers,"
        " status.containerStatuses); the log of the kubelet on the node (NodeUnprepareResources"
        " failed for ResourceClaim)",
        "Start the driver of the claims; if it refuses, its words stand in the kubelet's log."
        " Deleting by force gives the devices to the next pod while they may be in use.",
        Progress.STOPPED,
    )

    until: str
    """The time by which its containers had to end (RFC 3339)."""
    late: bool = False
    """True if that time has passed."""
    running: tuple[str, ...] = ()
    """The containers that have not ended."""
    known: bool = True
    """True if the kubelet has reported the containers."""
    has_ended: bool = False
    """True if its phase is Succeeded or Failed; then its claims are unprepared, and their devices
    free (kubernetes pkg/controller/resourceclaim/controller.go).
    """
    drivers: tuple[str, ...] = ()
    """The drivers that have to unprepare its claims."""
    lost: tuple[str, ...] = ()
    """The members of ``drivers`` that publish nothing on the node."""
    finalizers: tuple[str, ...] = ()
    """The finalizers that keep the pod."""
    reported: str = ""
    """The kubelet's message about the pod."""
    forgotten: tuple[ForgottenClaim, ...] = ()
    """The pod's claims that its status no longer names, although its kubelet needs the names."""
    plugins: tuple[PluginState, ...] = ()
    """The states of the drivers' plug-ins on the node, as far as the input shows them."""
    os_image: str = ""
    """The system of the node."""

    @property
    def is_transient(self) -> bool:
        return not self.late

    def sentence(self, names: Names, scope: Scope) -> str:
        node = self.nodes[0]
        lead = f"is Terminating on {node}, "
        lead += f"was to be gone by {self.until}" if self.late else f"to be gone by {self.until}"
        report = f" ({self.reported})" if self.reported else ""
        kept = _finalizers_clause(self.finalizers)
        devices = "" if self.has_ended else "; until it is gone it keeps its devices"
        return f"{lead}: {self._waits_for}{report}{kept}{devices}"

    @property
    def _waits_for(self) -> str:
        """The clause about the events, other than finalizers, for which the pod waits."""
        node = self.nodes[0]
        if self.forgotten:
            claims = ", ".join(claim.claim for claim in self.forgotten)
            return (
                f"its status no longer names claim {claims}, which is its own, so that a kubelet"
                " before 1.37 cannot unprepare it (kubernetes/kubernetes#139772)"
            )
        if not self.known:
            return "its kubelet has not said that it has stopped"
        if self.running:
            return f"container {', '.join(self.running)} still runs"
        ended = "its containers have ended"
        drivers = ", ".join(self.lost or self.drivers)
        if self.lost:
            must = (
                f"{ended}; driver {drivers}, which must unprepare its claim, publishes nothing on"
                f" {node}"
            )
            return "; ".join((must, *(plugin.clause() for plugin in self._faulty)))
        if self.drivers and self._faulty:
            must = f"{ended}; driver {drivers} has to unprepare its claim"
            return "; ".join((must, *(plugin.clause() for plugin in self._faulty)))
        if self.drivers and not self.finalizers:
            return (
                f"{ended}; driver {drivers} has to unprepare its claim, or a volume is still in use"
            )
        return ended

    @property
    def _faulty(self) -> tuple[PluginState, ...]:
        """The plug-ins that do not serve the node."""
        return tuple(plugin for plugin in self.plugins if plugin.is_fault)

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0]
        if self.forgotten:
            yield _name_claims(self.forgotten, asked)
        if self.known and not self.running and self.drivers:
            yield from self._driver_steps(node)
        elif not self.finalizers:
            yield see_kubelet(node)
            if not self.has_ended:
                yield NextStep(
                    f"see whether a DRA driver on {node} fails to unprepare its claims",
                    pods_on(node),
                )
        yield from _finalizer_steps(self.finalizers, asked)
        if not self.has_ended:
            yield delete_by_force(f"{asked.namespace}/{asked.name}")

    def _driver_steps(self, node: str) -> Iterator[NextStep]:
        """Yield the steps for the drivers that have to unprepare the pod's claims."""
        for plugin in self._faulty:
            yield from plugin.steps()
        if self._faulty:
            return
        if self.lost:
            yield NextStep(
                f"start driver {abbreviate(self.lost)} on {node}: the pod is then gone",
                pods_on(node),
            )
        else:
            steps = (step for plugin in self.plugins[:1] for step in plugin.steps())
            log = f"read the log of driver {abbreviate(self.drivers)} on {node}"
            step = next(steps, NextStep(log, pods_on(node)))
            why = "it has to unprepare the claim, and its slice says that it runs"
            yield NextStep(f"{step.text}: {why}", step.command)
        yield read_kubelet_log(
            node, "NodeUnprepareResources failed for ResourceClaim", self.os_image
        )
