"""The state of a driver on a node, with a clause for the sentences of causes, and with next
steps.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.kubelet import parse_unreadable_file
from dractl.cluster.pods import IMAGE_REASONS
from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import SEE_SLICES, Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.cross_object import DriverAbsent, PodsNotCreated
from dractl.explain.reasons.next_step import AskedObject, pods_on
from dractl.explain.reasons.phrases import Names, Scope
from dractl.views import ContainerStatus

MAX_MESSAGE_CHARS = 400
_NOT_REGISTERED_IN_TIME = "driver failed to start: context deadline exceeded"
"""The last words of dra.cpu and dra.net if the kubelet does not register them in time
(kubernetes-sigs/dra-driver-cpu pkg/driver/driver.go, cmd/dracpu/app.go).
"""
_CORRUPTED = "checkpoint is corrupted"
"""kubernetes pkg/kubelet/checkpointmanager/errors, which drivers use, too."""


class PluginState(Struct, frozen=True, kw_only=True):
    """The state of a driver's kubelet plug-in on a node."""

    driver: str
    node: str
    is_fault: bool = True
    """True if the state explains why the driver does not serve the node."""
    is_passing: bool = False
    """True if the state passes without any action."""

    def clause(self) -> str:
        """Return the state as a main clause."""
        raise NotImplementedError

    def steps(self) -> Iterator[NextStep]:
        """Yield next steps for the state."""
        return iter(())


class PluginFails(PluginState, frozen=True, kw_only=True):
    """A container of the plug-in's pod does not run."""

    pod: str
    """``namespace/name``."""
    container: ContainerStatus

    @property
    def message(self) -> str:
        """The plug-in's last log message, or else the kubelet's message."""
        ended = self.container if self.container.state == "terminated" else self.container.last
        text = (ended.message if ended is not None else "") or self.container.message
        return " ".join(text.split())[-MAX_MESSAGE_CHARS:]

    def clause(self) -> str:
        restarts = self.container.restarts
        counted = f" ({restarts} restart{'' if restarts == 1 else 's'})" if restarts else ""
        reason = self.container.reason or "not running"
        verb = "keeps crashing" if reason == "CrashLoopBackOff" else "does not run"
        message = f": {self.message}" if self.message else ""
        state = f"pod {self.pod} of driver {self.driver} {verb} on {self.node}, {reason}{counted}"
        return state + message

    def steps(self) -> Iterator[NextStep]:
        namespace, _, name = self.pod.partition("/")
        # A container that has not started has no log.
        if not (self.container.has_started or self.container.restarts):
            yield self._start_step(namespace, name)
            return
        previous = " --previous" if self.container.last is not None else ""
        file = parse_unreadable_file(self.message)
        if file:
            yield NextStep(
                f"end the pods on {self.node} that use devices of driver {self.driver}, then move"
                f" the file {file} away on {self.node}: another version of"
                " the driver has probably written it; the plug-in starts without it",
                pods_on(self.node),
            )
        elif _CORRUPTED in self.message:
            yield NextStep(
                f"end the pods on {self.node} that use devices of driver {self.driver}, then move"
                f" the driver's checkpoint away on {self.node}, from its folder in"
                " /var/lib/kubelet/plugins: its content does not match its checksum",
                pods_on(self.node),
            )
        if _NOT_REGISTERED_IN_TIME in self.message:
            yield NextStep(
                f"see why the kubelet of {self.node} did not register the driver in time: the"
                " pod's host paths must be plugins and plugins_registry in the kubelet's"
                " --root-dir, /var/lib/kubelet unless it is set",
                quote_command("kubectl get pod {} -n {} -o yaml", name, namespace),
            )
        yield NextStep(
            f"read the log of pod {name}: driver {self.driver} serves {self.node} when it runs",
            quote_command(
                f"kubectl logs {{}} -n {{}} -c {{}}{previous}", name, namespace, self.container.name
            ),
        )

    def _start_step(self, namespace: str, name: str) -> NextStep:
        """Return the step after which a container that has never run can start."""
        serves = f"driver {self.driver} serves {self.node} when pod {name} runs"
        if self.container.reason in IMAGE_REASONS:
            return NextStep(
                f"correct the image of container {self.container.name} where the driver is"
                f" installed, or let {self.node} pull it (imagePullSecrets, imagePullPolicy):"
                f" {serves}",
                quote_command("kubectl get pod {} -n {} -o yaml", name, namespace),
            )
        return NextStep(
            f"see what container {self.container.name} lacks, and create or correct it: {serves}",
            quote_command("kubectl describe pod {} -n {}", name, namespace),
        )


class PluginStarts(PluginState, frozen=True, kw_only=True):
    """The plug-in's pod on the node is starting."""

    is_passing: bool = True

    pod: str
    waits_for: str
    """The container that has not started, or has not ended yet."""
    node_age: str = ""
    """The age of a node that is minutes old, such as ``4m``."""
    slow_container: str = ""
    """An init container that has run for minutes, and probably waits for something."""
    failure: str = ""
    """The kubelet's newest message about the pod, if it says why no container can start."""

    def clause(self) -> str:
        if self.failure:
            return (
                f"pod {self.pod} of driver {self.driver} cannot start on {self.node}:"
                f" {self.failure}"
            )
        new = f"{self.node} is new ({self.node_age} old); " if self.node_age else ""
        return f"{new}pod {self.pod} of driver {self.driver} is still starting, {self.waits_for}"

    def steps(self) -> Iterator[NextStep]:
        namespace, _, name = self.pod.partition("/")
        if self.failure:
            yield NextStep(
                f"see what pod {name} lacks on {self.node}, and correct it there or where the"
                f" driver is installed: driver {self.driver} serves {self.node} when it runs",
                quote_command("kubectl describe pod {} -n {}", name, namespace),
            )
            return
        if self.slow_container:
            yield NextStep(
                f"read the log of init container {self.slow_container}, which may wait for"
                f" something that {self.node} lacks, such as the vendor's driver in the folder that"
                " the chart names",
                quote_command("kubectl logs {} -n {} -c {}", name, namespace, self.slow_container),
            )
        yield NextStep(
            f"wait until pod {name} is ready: driver {self.driver} serves {self.node} then",
            quote_command("kubectl get pod {} -n {}", name, namespace),
        )


class PluginNotWanted(PluginState, frozen=True, kw_only=True):
    """The plug-in's DaemonSet does not select the node."""

    daemon_set: str
    requirement: str
    """The labels that the DaemonSet requires."""
    label: str = ""
    """A label, ``key=value``, that would make the DaemonSet select the node."""
    desired: int | None = None
    """The number of nodes that the DaemonSet selects, as its status says."""
    is_cordoned: bool = False
    is_inferred: bool = False

    def clause(self) -> str:
        whose = f" of driver {self.driver}"
        if self.is_inferred:
            whose = f", which runs where driver {self.driver} publishes,"
        number = " and runs nowhere (desired 0)" if self.desired == 0 else ""
        cordoned = f"; {self.node} is cordoned" if self.is_cordoned else ""
        return (
            f"{self.daemon_set}{whose} does not select {self.node}{number}: it wants"
            f" {self.requirement}, which {self.node} lacks{cordoned}"
        )

    def steps(self) -> Iterator[NextStep]:
        key, _, value = self.label.partition("=")
        if self.is_cordoned:
            yield NextStep(
                f"uncordon {self.node}, if the label goes with the cordon (an operator may take it"
                f" away): {self.daemon_set} runs on {self.node} again when it has the label",
                quote_command("kubectl uncordon {}", self.node),
            )
        if key:
            yield NextStep(
                f"label {self.node} with {self.label}, or have feature discovery do it:"
                f" {self.daemon_set} then runs there",
                quote_command("kubectl label node {} {}", self.node, f"{key}={value}"),
            )


class PluginRepelled(PluginState, frozen=True, kw_only=True):
    """The plug-in's DaemonSet does not tolerate a taint of the node."""

    daemon_set: str
    taint: str
    is_inferred: bool = False

    def clause(self) -> str:
        whose = f" of driver {self.driver}"
        if self.is_inferred:
            whose = f", which runs where driver {self.driver} publishes,"
        return f"{self.daemon_set}{whose} does not tolerate taint {self.taint} of {self.node}"

    def steps(self) -> Iterator[NextStep]:
        _, _, full_name = self.daemon_set.partition(" ")
        namespace, _, name = full_name.partition("/")
        yield NextStep(
            f"let {self.daemon_set} tolerate {self.taint} (in the values of its chart), or remove"
            f" the taint from {self.node}",
            quote_command("kubectl get daemonset {} -n {} -o yaml", name, namespace),
        )


class PluginAbsent(PluginState, frozen=True, kw_only=True):
    """The plug-in's DaemonSet selects the node but has no pod on it."""

    daemon_set: str
    refusal: str = ""
    """The reason why the DaemonSet's pods are not created."""

    def clause(self) -> str:
        why = f": {self.refusal}" if self.refusal else ""
        return f"{self.daemon_set} of driver {self.driver} has no pod on {self.node}{why}"

    def steps(self) -> Iterator[NextStep]:
        _, _, full_name = self.daemon_set.partition(" ")
        namespace, _, name = full_name.partition("/")
        if self.refusal:
            cause = PodsNotCreated(owner=self.daemon_set, event=self.refusal)
            yield from cause.steps(AskedObject("DaemonSet", namespace, name))
        yield NextStep(
            f"see why {self.daemon_set} has no pod on {self.node}",
            quote_command("kubectl describe daemonset {} -n {}", name, namespace),
        )


class PluginLeaves(PluginState, frozen=True, kw_only=True):
    """The plug-in's only pod on the node is being deleted."""

    pod: str
    since: str

    def clause(self) -> str:
        return f"pod {self.pod} of driver {self.driver} has been Terminating since {self.since}"

    def steps(self) -> Iterator[NextStep]:
        namespace, _, name = self.pod.partition("/")
        yield NextStep(
            f"see what pod {name} waits for before it ends",
            quote_command("kubectl describe pod {} -n {}", name, namespace),
        )


class PluginRuns(PluginState, frozen=True, kw_only=True):
    """The plug-in's pod runs and is ready."""

    is_fault: bool = False

    pod: str
    container: str = ""
    """The container that serves the driver, "" if the pod has only one."""
    lacks: str = ""
    """The container that would serve the driver, if the pod does not have it."""

    def clause(self) -> str:
        return f"pod {self.pod} of driver {self.driver} runs there"

    @property
    def log(self) -> NextStep:
        """The step that reads the driver's log."""
        namespace, _, name = self.pod.partition("/")
        container = quote_command(" -c {}", self.container) if self.container else ""
        return NextStep(
            f"read the log of driver {self.driver} on {self.node}, of pod {self.pod}",
            quote_command("kubectl logs {} -n {} --tail=100", name, namespace) + container,
        )

    def steps(self) -> Iterator[NextStep]:
        yield self.log


class PluginPublishesNothing(PluginState, frozen=True, kw_only=True):
    """The plug-in runs on a node that has the hardware, and publishes no device there."""

    runs: PluginRuns
    has_slice: bool
    """True if the plug-in has a ResourceSlice, which is empty."""

    def clause(self) -> str:
        published = "a ResourceSlice without devices" if self.has_slice else "no ResourceSlice"
        if self.runs.lacks:
            return (
                f"pod {self.runs.pod} on {self.node} has no container {self.runs.lacks}, which"
                f" serves driver {self.driver}"
            )
        return (
            f"pod {self.runs.pod} of driver {self.driver} runs on {self.node}, and publishes"
            f" {published}"
        )

    def steps(self) -> Iterator[NextStep]:
        namespace, _, name = self.runs.pod.partition("/")
        if self.runs.lacks:
            yield NextStep(
                f"switch on driver {self.driver} in the values of the chart that installs pod"
                f" {name}",
                "helm list -A",
            )
            return
        why = "it says which devices the driver found" if self.has_slice else "it says why"
        yield replace(self.runs.log, text=f"{self.runs.log.text}: {why}")
        yield NextStep(
            f"restart pod {name} if the hardware is there: it then looks for devices again, and"
            " publishes them",
            quote_command("kubectl delete pod {} -n {}", name, namespace),
        )


class DaemonSetRuns(PluginState, frozen=True, kw_only=True):
    """The plug-in's DaemonSet selects the node, and the input does not show its pods."""

    is_fault: bool = False

    daemon_set: str
    ready: int | None = None
    desired: int | None = None

    def clause(self) -> str:
        counted = (
            f" ({self.ready} of {self.desired} pods are ready)"
            if self.ready is not None and self.desired is not None
            else ""
        )
        return f"{self.daemon_set} of driver {self.driver} selects {self.node}{counted}"

    def steps(self) -> Iterator[NextStep]:
        _, _, full_name = self.daemon_set.partition(" ")
        namespace = full_name.partition("/")[0]
        yield NextStep(
            f"read the log of driver {self.driver} on {self.node}: the pod of {self.daemon_set}"
            " there",
            quote_command(
                "kubectl get pods -n {} -o wide --field-selector spec.nodeName={}",
                namespace,
                self.node,
            ),
        )


class DeploymentRefused(Struct, frozen=True):
    """A Deployment of a driver whose pods are not created."""

    driver: str
    deployment: str
    """``namespace/name``."""
    refusal: str
    since: str = ""

    def clause(self) -> str:
        """Return the state as a main clause."""
        since = f" since {self.since}" if self.since else ""
        return f"Deployment {self.deployment} of the driver has no pod{since}: {self.refusal}"

    def steps(self) -> Iterator[NextStep]:
        """Yield the changes after which the Deployment's pods are created."""
        namespace, _, name = self.deployment.partition("/")
        cause = PodsNotCreated(
            owner=f"Deployment {self.deployment}", event=self.refusal, driver=self.driver
        )
        yield from cause.steps(AskedObject("Deployment", namespace, name))


class DriverWaits(Struct, frozen=True):
    """A driver that waits inside a call until nobody uses a device any more."""

    driver: str
    device: str
    node: str
    about: str
    """A clause about the driver: the event that it waits for."""
    step: str
    holders: tuple[str, ...] = ()
    """Pods on the node that probably have the device open without a claim."""

    def clause(self) -> str:
        """Return the state as a main clause."""
        holders = f"; {', '.join(self.holders)} on {self.node} may hold it" if self.holders else ""
        return (
            f"driver {self.driver} did not get device {self.device} in time: {self.about}{holders}"
        )

    def steps(self) -> Iterator[NextStep]:
        """Yield the steps that find the users of the device."""
        yield NextStep(f"on {self.node}, {self.step}", pods_on(self.node))


class DriverRoot(Struct, frozen=True):
    """The folder of a node in which a driver looks for the libraries and programs of its vendor."""

    driver: str
    settings: tuple[tuple[str, str], ...] = ()
    """The settings of the folder with their values: ``NVIDIA_DRIVER_ROOT of DaemonSet x/y`` and
    ``/``.
    """
    option: str = ""
    """The value of the driver's chart that sets the folder."""

    def clause(self) -> str:
        """Return the folder's settings as a main clause; "" if there are none."""
        named = " and ".join(f"{name} is {value}" for name, value in self.settings)
        values = {value.rstrip("/") for _, value in self.settings}
        return f"{named}, which disagree" if len(values) > 1 else named

    def step(self, node: str, path: str) -> NextStep:
        """Return the step that sets the folder to the one that has the files."""
        option = f" (Helm: {self.option})" if self.option else ""
        return NextStep(
            f"set the driver root of driver {self.driver} to the folder of {node} that has"
            f" {path.rpartition('/')[2]}{option}, and restart its plug-in: its CDI file names"
            f" {path}, and the image and command of the container are not at fault",
            pods_on(node),
        )


class DomainState(Struct, frozen=True):
    """A ComputeDomain that is not ready, as seen from ``node``."""

    domain: str
    """``namespace/name``."""
    status: str
    members: tuple[str, ...]
    """The nodes in its status, with their states: ``gb-1 (Ready)``."""
    wanted: int
    """The number of nodes that the domain waits for; 0 if any number will do."""
    node: str
    has_joined: bool
    """True if the domain's status names the node."""
    is_labelled: bool
    """True if the node has the label by which the domain's DaemonSet selects nodes."""
    daemon: str = ""
    """The domain's daemon on the node, ``namespace/name``; "" if there is none."""
    daemon_state: str = ""
    """``is ready``, ``is not ready`` and so on."""
    others: tuple[str, ...] = ()
    """Other daemons of the domain that are not ready."""

    def clause(self) -> str:
        """Return the state as a main clause."""
        nodes = f" of {self.wanted}" if self.wanted else ""
        count = len(self.members)
        joined = f"{count}{nodes} node{'' if count == 1 and not nodes else 's'} joined"
        members = f": {', '.join(self.members)}" if self.members else ""
        missing = "" if self.has_joined else f"; {self.node} has not joined"
        label = "" if self.is_labelled else ", and has no label of the domain"
        daemon = f"; its daemon {self.daemon} {self.daemon_state}" if self.daemon else ""
        others = f"; nor {'is' if len(self.others) == 1 else 'are'} {', '.join(self.others)} ready"
        others = others if self.others and "not" in self.daemon_state else ""
        return (
            f"ComputeDomain {self.domain} is {self.status or 'without a status'}"
            f" ({joined}{members}){missing}{label if not self.has_joined else ''}{daemon}{others}"
        )

    def steps(self) -> Iterator[NextStep]:
        """Yield next steps."""
        namespace, _, name = self.daemon.partition("/")
        if self.daemon and self.daemon_state != "is ready":
            yield NextStep(
                f"read the log of daemon {name}; if it says nothing new for minutes, restart"
                " its pod",
                quote_command("kubectl logs {} -n {}", name, namespace),
            )
        domain_namespace, _, domain = self.domain.partition("/")
        yield NextStep(
            f"see which nodes ComputeDomain {self.domain} waits for: a pod starts when the domain's"
            " daemon on its node is ready",
            quote_command("kubectl get computedomain {} -n {} -o yaml", domain, domain_namespace),
        )


class PluginFault(Cause, frozen=True, kw_only=True):
    """The plug-in of a driver does not serve nodes on which it should publish devices."""

    page = DriverAbsent.page
    steps_beside_fixes = True
    is_root_cause = True

    driver: str
    plugins: tuple[PluginState, ...]
    """One plug-in for each kind of fault."""

    @property
    def is_transient(self) -> bool:
        return all(plugin.is_passing for plugin in self.plugins)

    def facts(self) -> Facts:
        return {**super().facts(), "driver": self.driver}

    def sentence(self, names: Names, scope: Scope) -> str:
        more = len(self.nodes) - 1
        others = f" ({more} more node{'' if more == 1 else 's'} like it)" if more > 0 else ""
        return "; ".join(plugin.clause() for plugin in self.plugins) + others

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        for plugin in self.plugins:
            yield from plugin.steps()


class PluginUnwanted(PluginFault, frozen=True, kw_only=True):
    """The DaemonSet of a driver does not select the nodes; a fix adds the label that it
    requires.
    """

    steps_beside_fixes = False


class DeviceContradiction(Cause, frozen=True, kw_only=True):
    """A driver publishes a value that the device can hardly have."""

    page = ReasonPage(
        "device-contradiction",
        "an attribute of the devices is probably wrong",
        "A value that keeps the devices from a selector contradicts another attribute of the same"
        " device, or the same hardware has another value on another node: the driver has probably"
        " misread it.",
        SEE_SLICES,
        "Look for a later version of the driver, and at its log on the node; do not give the demand"
        " up.",
        Progress.OUTSIDE_DRA,
    )
    steps_beside_fixes = True
    is_root_cause = True

    driver: str
    selector: str
    attribute: str
    value: str
    because: str = ""
    """The attributes that the value contradicts, such as ``dra.net/encapsulation infiniband``."""
    why: str = ""
    """The reason why the values cannot both be true."""
    peer: str = ""
    """A node where the same hardware has another value."""
    peer_value: str = ""
    devices: tuple[str, ...] = ()
    decides: bool = True
    """True if the contradiction keeps the subject from its nearest node, or the subject would fit
    with the other value. The headline then begins with the contradiction.
    """

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "attribute": self.attribute,
            "devices": self.devices,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        number = len(self.devices)
        devices = f"all {number} devices" if number > 1 else "the device"
        claim = f"driver {self.driver} says {self.attribute} {self.value} of {devices}"
        if self.peer:
            return (
                f"{claim}, and {self.peer_value} of the same hardware on {self.peer}: it has "
                "probably misread one of them"
            )
        return f"{claim}, which contradicts {self.because}: {self.why}; the driver misreports it"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        node = self.nodes[0] if self.nodes else ""
        yield NextStep(
            f"look for a later version of driver {self.driver} that reads {self.attribute} "
            f"right, and update the driver; its log{f' on {node}' if node else ''} may say what "
            "it has compared",
            pods_on(node) if node else "",
        )
