"""Steps on a node itself, and the steps that replace them on systems without a shell."""

from msgspec import Struct

from dractl.cluster.shell import NextStep, quote_command
from dractl.program import program_name

_DEBUG_COMMAND = "kubectl debug node/{} -it --image=busybox"
"""The command that starts a pod with the node's files under /host
(kubernetes.io/docs/reference/kubectl/generated/kubectl_debug).
"""


class NodeSystem(Struct, frozen=True):
    """An operating system of nodes on which nobody installs or runs programs by hand."""

    name: str
    mark: str
    """The part of ``status.nodeInfo.osImage`` that identifies the system."""
    runtime_file: str
    """The path of the container runtime's configuration."""
    read_file: str = _DEBUG_COMMAND
    """The command that reads the configuration on the node."""
    read_kubelet_log: str = _DEBUG_COMMAND
    """The command that reads the kubelet's log."""


_SYSTEMS = (
    # siderolabs/talos pkg/machinery/constants (CRIConfig); talos.dev/v1.10/advanced/oci-base-spec
    NodeSystem(
        "Talos",
        "Talos",
        "/etc/cri/conf.d/cri.toml, which machine.files and extensions complete",
        "talosctl -n {} read /etc/cri/conf.d/cri.toml",
        "talosctl -n {} logs kubelet",
    ),
    NodeSystem("Bottlerocket", "Bottlerocket", "/host/etc/containerd/config.toml"),
    NodeSystem(
        "Container-Optimized OS", "Container-Optimized OS", "/host/etc/containerd/config.toml"
    ),
)


def find_system(os_image: str) -> NodeSystem | None:
    """Return the system of a node if it is one without a shell; None for any other system."""
    return next((system for system in _SYSTEMS if system.mark in os_image), None)


def check_node(node: str, why: str, os_image: str = "") -> NextStep:
    """Return the step that compares drivers, CDI files and the container runtime on a node."""
    system = find_system(os_image)
    if system is None:
        return NextStep(
            f"run {program_name()} discover --check on {node}: {why}",
            f"{program_name()} discover --check",
        )
    return NextStep(
        f"see what the container runtime of {node} ({system.name}, where nothing can be run by"
        f" hand) has for CDI: enable_cdi and cdi_spec_dirs in {system.runtime_file}",
        quote_command(system.read_file, node),
    )


def read_kubelet_log(node: str, words: str, os_image: str = "") -> NextStep:
    """Return the step that looks for words in the log of a node's kubelet."""
    system = find_system(os_image)
    text = f"read the kubelet's log on {node}, since no event shows it: {words}"
    if system is not None:
        return NextStep(text, quote_command(system.read_kubelet_log, node))
    return NextStep(text, f"journalctl -u kubelet | grep {words.partition(' ')[0]}   # on {node}")
