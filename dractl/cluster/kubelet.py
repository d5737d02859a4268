"""Messages of the kubelet and the container runtime about a node and the start of a pod."""

import re
from typing import Literal

from msgspec import Struct

from dractl.cluster.state import ClusterState

# -- the node --


class NodeSilence(Struct, frozen=True):
    """A node whose kubelet does not report."""

    node: str
    message: str
    """The message of the node's condition Ready."""
    since: str
    """The time at which the condition changed (RFC 3339); "" if unknown."""


def node_silence(state: ClusterState, name: str) -> NodeSilence | None:
    """Return a node's silence; None if its kubelet reports, or if the input does not show it.

    kube-controller-manager sets Ready to Unknown and adds the taint node.kubernetes.io/unreachable
    (kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go).
    """
    node = state.node(name)
    if not node.exists:
        if state.lists_all_nodes and name:
            return NodeSilence(name, "there is no such node any more", "")
        return None
    ready = node.condition("Ready")
    if ready.status != "Unknown":
        return None
    return NodeSilence(name, ready.message.rstrip("."), ready.last_transition)


def unready_reason(state: ClusterState, node: str) -> str:
    """Return the kubelet's reason why its node is not ready, "" if there is none."""
    ready = state.node(node).condition("Ready")
    return (ready.message or ready.reason) if ready.status == "False" else ""


# -- devices that are not prepared --

Answer = Literal["unregistered", "silent", "refused", "unasked"]


class PrepareFailure(Struct, frozen=True):
    """The reason why a claim is not prepared, as the kubelet's event has it."""

    answer: Answer
    """The driver's answer: it is not registered, did not answer, refused in ``words``, or was never
    asked.
    """
    words: str
    driver: str = ""

    @property
    def claim(self) -> str:
        """The name of the claim that the driver refuses; "" if the kubelet does not name it.

        Kubelets up to 1.33 write the claim's namespace before its name
        (kubernetes/kubernetes#124090).
        """
        match = _FAILED_CLAIM.search(self.words)
        return match["claim"].rpartition("/")[2] if match is not None else ""

    @property
    def gate(self) -> str | None:
        """The driver's feature gate that is off, if the driver refuses for that reason."""
        match = _GATE.search(self.words) if self.answer == "refused" else None
        return (match["gate"] or match["other"]) if match is not None else None

    @property
    def reports_damage(self) -> bool:
        """True if the message itself says that the hardware is damaged."""
        return _DAMAGE.search(self.words) is not None

    @property
    def mentioned_names(self) -> frozenset[str]:
        """The single words of the message, which may include names of devices."""
        return frozenset(re.findall(r"[\w.-]*\w", self.words))


_FAILED_CLAIM = re.compile(r"failed for (?:ResourceClaim|claim) (?P<claim>[^\s:]+):")

# kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1/validate.go
_GATE = re.compile(
    r"the \"?(?P<gate>\w+)\"? feature gate is not enabled|feature gate \"?(?P<other>\w+)\"?",
    re.IGNORECASE,
)

# Words of drivers and vendors' libraries about a device that has to be reset or replaced.
_DAMAGE = re.compile(
    r"\bXid\b|\bis lost\b|fallen off the bus|uncorrectable|\bECC error|hardware (?:error|failure)",
    re.IGNORECASE,
)

_PREPARE_PREFIXES = ("Failed to prepare dynamic resources: ", "prepare dynamic resources: ")
"""The beginning of messages of events FailedPrepareDynamicResources: kubernetes
pkg/kubelet/kuberuntime/kuberuntime_manager.go, and PrepareResources of
pkg/kubelet/cm/dra/manager.go.
"""


class _PreparePattern(Struct, frozen=True):
    """A message of the kubelet, after its prefixes."""

    answer: Answer
    regex: str
    releases: str
    """The releases whose kubelet writes the message."""
    seen_in: str
    """The releases in which a real kubelet was seen to write the message. For other releases, it
    was read in the source at v1.34.4, v1.35.4, v1.36.3 and v1.37.1.
    """
    source: str
    """The path below pkg/kubelet/cm."""


_PREPARE_PATTERNS = (
    _PreparePattern(
        "unregistered",
        r".*DRA driver (?P<driver>\S+) is not registered",
        "1.34-1.37",
        "1.34-1.37",
        "dra/plugin/",
    ),
    _PreparePattern(
        "unregistered",
        r".*plugin name (?P<driver>\S+) not found in the list of registered DRA plugins",
        "1.31-1.33",
        "",
        "dra/plugin/plugins_store.go",
    ),
    _PreparePattern(
        "silent",
        r"NodePrepareResources: .*code = (?:Unavailable|DeadlineExceeded|Canceled).*",
        "1.34-1.37",
        "1.34-1.37, but Canceled",
        "dra/manager.go",
    ),
    _PreparePattern(
        "refused",
        r"NodePrepareResources failed for ResourceClaim \S+: (?P<words>.*)",
        "1.34-1.37",
        "1.34-1.37",
        "dra/manager.go",
    ),
    _PreparePattern(
        "refused",
        r"NodePrepareResources failed for claim \S+: (?P<words>.*)",
        "1.31-1.33",
        "",
        "dra/manager.go",
    ),
    _PreparePattern(
        "refused", r"NodePrepareResources: (?P<words>.*)", "1.34-1.37", "", "dra/manager.go"
    ),
    _PreparePattern(
        "refused",
        r"(?P<words>NodePrepareResources (?:skipped|returned) .*)",
        "1.31-1.37",
        "",
        "dra/manager.go",
    ),
)


def parse_prepare_failure(message: str) -> PrepareFailure:
    """Parse the message of an event FailedPrepareDynamicResources."""
    for prefix in _PREPARE_PREFIXES:
        message = message.removeprefix(prefix)
    for pattern in _PREPARE_PATTERNS:
        match = re.match(pattern.regex, message, re.DOTALL)
        if match is not None:
            return PrepareFailure(pattern.answer, message, match.groupdict().get("driver") or "")
    # Either a check failed that the kubelet makes before it calls a driver, or the message is only
    # the driver's.
    return PrepareFailure("refused" if "rpc error" in message else "unasked", message)


# -- pods that do not start --

Dependency = Literal[
    "runtime",
    "handler",
    "runtimeclass",
    "plugin",
    "nri",
    "network",
    "object",
    "key",
    "space",
    "hostpath",
    "folder",
    "volume",
    "command",
    "claim",
    "mount",
    "unknown",
]


class MissingDependency(Struct, frozen=True):
    """Something that the kubelet or the container runtime lacks to start a pod."""

    dependency: Dependency
    name: str = ""
    """The name of the missing thing, if the message has one; for a mount, the path of its source on
    the node.
    """
    kind: str = ""
    """``secret`` or ``configmap``, for an object."""
    where: str = ""
    """The folders that were searched; for a path of the node, the type that the path should
    have.
    """


# The source of a bind mount: runc libcontainer/rootfs_linux.go, crun src/libcrun/linux.c
_MOUNT_SOURCE = (
    r"failed to fulfil mount request: open (?P<name>[^\s:]+): no such file"
    r"|error mounting \"(?P<source>[^\"]+)\" to rootfs.*no such file"
    r"|cannot stat `?(?P<path>/[^\s`':]+)'?: No such file"
)
# Messages of the kubelet and containerd 2.2.9, seen on a real node, and of CRI-O; the first match
# counts. The messages about handlers, plugins, ConfigMaps and Secrets were seen with kubelet 1.34.4
# to 1.37.1, the others with 1.37.1.
_DEPENDENCY_PATTERNS: tuple[tuple[Dependency, str], ...] = (
    ("runtime", r"(?:containerd|crio|cri-dockerd)\.sock|container runtime is down"),
    ("handler", r"(?:no runtime for|failed to find runtime handler) \"?(?P<name>[^\"\s]+)"),
    ("runtimeclass", r"runtimeclass\S* \"?(?P<name>[^\"\s]+)\"? not found"),
    ("plugin", r"failed to find plugin \"(?P<name>[^\"]+)\" in path \[(?P<where>[^\]]*)\]"),
    # containerd internal/cri/server/sandbox_run.go. Such a message often names the network
    # namespace of the sandbox, /var/run/netns/cni-..., which is no word about CNI.
    ("nri", r"NRI \w+ failed"),
    ("network", r"(?:^|[^/\w])cni\b|network plugin|networkPlugin|setup network"),
    ("object", r"(?P<kind>secret|configmap) \"(?P<name>[^\"]+)\" not found"),
    ("key", r"couldn't find key|references non-existent (?:secret|config) key"),
    ("space", r"no space left on device"),
    # kubernetes pkg/kubelet/cm/dra/manager.go, GetResources
    ("claim", r"unable to get claim info for (?:claim|ResourceClaim) (?P<name>[^\s)]+)"),
    # kubernetes pkg/volume/hostpath/host_path.go, checkTypeInternal
    ("hostpath", r"hostPath type check failed: (?P<name>\S+) is not (?P<where>an? [a-z ]+)"),
    # containerd pkg/cri/opts/spec_linux_opts.go WithMounts creates the folder of a hostPath without
    # a type
    ("folder", r"failed to (?:mkdir|stat) \"(?P<name>/[^\"]+)\""),
    ("volume", r"volume"),
    ("mount", _MOUNT_SOURCE),
    ("command", r"executable file not found|no such file or directory|permission denied"),
)


def parse_missing_dependency(message: str) -> MissingDependency:
    """Parse a message of the kubelet or the container runtime about a pod that does not start."""
    for dependency, pattern in _DEPENDENCY_PATTERNS:
        match = re.search(pattern, message, re.IGNORECASE)
        if match is not None:
            groups = {key: text for key, text in match.groupdict().items() if text}
            path = groups.pop("source", "") or groups.pop("path", "")
            return MissingDependency(dependency, **({"name": path} if path else {}), **groups)
    return MissingDependency("unknown")


# tags.cncf.io/container-device-interface pkg/cdi/cache.go, InjectDevices; containerd and CRI-O pass
# it on.
_CDI_FAILURE = re.compile(r"unresolvable CDI devices|CDI device injection failed|CDI host device")
# tags.cncf.io/container-device-interface pkg/cdi/container-edits_unix.go, fillInfo
_ABSENT_PATH = re.compile(
    r"CDI host device \"?(?P<path>[^\s\":]+)|stat \"?(?P<other>/dev/[^\s\":]+)\"?: no such file"
)


def parse_missing_cdi_device(message: str) -> str | None:
    """Return the path that the node lacks, if the runtime cannot give a container its CDI devices
    for that reason.

    Return "" if the runtime does not know a device by its CDI name, and None for a message that is
    not about CDI devices.
    """
    if not _CDI_FAILURE.search(message):
        return None
    match = _ABSENT_PATH.search(message)
    return (match["path"] or match["other"]) if match is not None else ""


# -- plug-ins that do not start --

_UNREADABLE = r"unmarshal|decod|corrupt|checksum|unsupported version|invalid character"
# Messages of encoding/json and of kubernetes pkg/kubelet/checkpointmanager/errors that name a path
_UNREADABLE_FILE = re.compile(
    rf"(?P<before>/[\w./-]*\w).*(?:{_UNREADABLE})|(?:{_UNREADABLE}).*?(?P<after>/[\w./-]*\w)",
    re.IGNORECASE | re.DOTALL,
)


def parse_unreadable_file(message: str) -> str:
    """Return the state file that a plug-in cannot read, according to its last message; "" if there
    is none.
    """
    match = _UNREADABLE_FILE.search(message)
    return (match["before"] or match["after"]) if match is not None else ""
