"""Checks of the services on a node that DRA needs: the container runtime, its network, kubelet, and
the drivers registered with it.
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from dractl.objects import items, mapping, text
from dractl.probes.cdi import CDI_FOLDERS, cdi_files, device_names, specification
from dractl.probes.root import SysRoot

State = Literal["ok", "missing", "warning", "unknown"]

_KUBELET = "var/lib/kubelet"
_REGISTRY, _PLUGINS = f"{_KUBELET}/plugins_registry", f"{_KUBELET}/plugins"
_CHECKPOINT = (  # kubernetes pkg/kubelet/cm/container_manager_linux.go
    f"{_KUBELET}/dra_manager_state"
)
_KUBELET_SOCKET = f"{_KUBELET}/device-plugins/kubelet.sock"
_CONTAINERD = ("etc/containerd/config.toml", "var/lib/rancher/k3s/agent/etc/containerd/config.toml")
_CONTAINERD_SOCKETS = ("run/containerd/containerd.sock", "run/k3s/containerd/containerd.sock")
_CRIO_SOCKET = "run/crio/crio.sock"
# containerd: the CRI plugin's section in version 2 and in version 3 of its configuration
# (docs/cri/config.md)
_SECTIONS = ("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime")
_NRI_SECTION = "io.containerd.nri.v1.nri"
_NRI_DRIVERS = ("dra.net", "dra.cpu")  # drivers that are NRI plugins: they end when containerd ends
_CNI_FOLDER, _CNI_PLUGINS = "/etc/cni/net.d", ("/opt/cni/bin",)
_MAX_NAMED_PATHS = 3  # The maximum number of absent paths that a line names


class Check(Struct, frozen=True):
    """One check."""

    name: str
    state: State
    evidence: str
    """The facts on which the state is based."""
    advice: str = ""
    """The remedy if the state is not ``ok``."""


class Runtime(Struct, frozen=True):
    """The container runtime, by its configuration."""

    checks: tuple[Check, ...]
    cdi_folders: tuple[str, ...] = tuple(f"/{folder}" for folder in CDI_FOLDERS[:2])
    """The folders of CDI specifications."""
    cni_folder: str = _CNI_FOLDER
    cni_plugins: tuple[str, ...] = _CNI_PLUGINS
    nri: bool | None = None
    """True if NRI is on; None if that is not known."""
    handlers: tuple[str, ...] = ()
    """The runtime handlers that are configured."""


def _strip_slashes(path: object) -> str:
    return text(path).strip("/")


# -- the container runtime --


def runtime(root: SysRoot) -> Runtime:
    """Return the container runtime of a node, as far as files show it."""
    name = "container runtime"
    for path in _CONTAINERD:
        content = root.text(path)
        if content is not None:
            containerd = _containerd(root, path, content)
            return Runtime(
                (*containerd.checks, *_check_socket(root, _CONTAINERD_SOCKETS, "containerd")),
                containerd.cdi_folders,
                containerd.cni_folder,
                containerd.cni_plugins,
                containerd.nri,
                containerd.handlers,
            )
    if root.exists(_CRIO_SOCKET) or root.is_directory("etc/crio"):
        on = Check(name, "ok", "CRI-O: CDI is on by default since 1.23")
        return Runtime((on, *_check_socket(root, (_CRIO_SOCKET,), "CRI-O")))
    if any(root.exists(path) for path in _CONTAINERD_SOCKETS):
        advice = (
            "containerd 2.0 and later have CDI on; on 1.7 set enable_cdi = true in"
            " /etc/containerd/config.toml"
        )
        default = Check(name, "warning", "containerd with its default configuration", advice)
        return Runtime((default, *_check_socket(root, _CONTAINERD_SOCKETS, "containerd")))
    advice = "give the host's own root with --root DIR"
    return Runtime((Check(name, "unknown", "neither containerd nor CRI-O was found", advice),))


def _check_socket(root: SysRoot, sockets: Sequence[str], name: str) -> Iterator[Check]:
    """Yield a line if the runtime's socket exists but no process listens on it."""
    sockets_present = [path for path in sockets if root.exists(path)]
    if not sockets_present and any(root.is_directory(path.rpartition("/")[0]) for path in sockets):
        seen = f"{name} does not run: there is no /{sockets[0]}"
        yield Check(
            "container runtime", "missing", seen, f"start {name}: until then no container starts"
        )
    if sockets_present and all(root.listens(path) is False for path in sockets_present):
        advice = (
            f"start {name}: until then no container starts, and kubelet does not see those that run"
        )
        yield Check(
            "container runtime",
            "missing",
            f"{name} does not run: nobody listens on /{sockets_present[0]}",
            advice,
        )


def _containerd(root: SysRoot, path: str, content: str) -> Runtime:
    name, place = "container runtime", f"containerd, /{path}"
    try:
        value = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        broken = Check(
            name, "missing", f"{place}: {error}", "fix the file: containerd does not start with it"
        )
        return Runtime((broken,))
    plugins = mapping(value.get("plugins"))
    section: dict[str, Any] = {}
    for key in _SECTIONS:
        section |= mapping(plugins.get(key))
    cni = mapping(section.get("cni"))
    folders = tuple(map(text, items(section.get("cdi_spec_dirs")))) or ("/etc/cdi", "/var/run/cdi")
    return Runtime(
        (_cdi_on(section, value, place), *_handlers(root, section, place)),
        folders,
        text(cni.get("conf_dir")) or _CNI_FOLDER,
        tuple(map(text, items(cni.get("bin_dirs"))))
        or (text(cni.get("bin_dir")) or _CNI_PLUGINS[0],),
        (
            None
            if _NRI_SECTION not in plugins
            else not mapping(plugins.get(_NRI_SECTION)).get("disable", False)
        ),
        tuple(sorted(mapping(mapping(section.get("containerd")).get("runtimes")))),
    )


def _cdi_on(section: Mapping[str, Any], value: Mapping[str, Any], place: str) -> Check:
    name = "container runtime"
    if "enable_cdi" in section and not section["enable_cdi"]:
        advice = (
            "set enable_cdi = true and restart containerd: containers start without their devices,"
            " and no error says so"
        )
        return Check(name, "missing", f"{place}: enable_cdi = false", advice)
    version = value.get("version", 1)
    if "enable_cdi" in section or (isinstance(version, int) and version >= 3):
        default = "" if "enable_cdi" in section else " (the default of containerd 2)"
        return Check(name, "ok", f"{place}: CDI is on{default}")
    advice = (
        "set enable_cdi = true on containerd 1.7, where CDI is off by default; 2.0 and later have"
        " it on"
    )
    return Check(name, "warning", f"{place}: enable_cdi is not set", advice)


def _handlers(root: SysRoot, section: Mapping[str, Any], place: str) -> Iterator[Check]:
    """Yield the runtime handlers, to which RuntimeClasses refer, and whether their programs
    exist.
    """
    containerd = mapping(section.get("containerd"))
    configured = mapping(containerd.get("runtimes"))
    default = text(containerd.get("default_runtime_name"))
    if default and configured and default not in configured:
        advice = f"configure it, or choose one of {', '.join(sorted(configured))}"
        yield Check(
            "runtime handlers",
            "missing",
            f"{place}: the default {default} is not configured",
            advice,
        )
    for name, handler in sorted(configured.items()):
        program = text(mapping(mapping(handler).get("options")).get("BinaryName"))
        if program.startswith("/") and not root.exists(_strip_slashes(program)):
            advice = "install it, or correct BinaryName: pods with this handler do not start"
            yield Check(
                "runtime handlers", "missing", f"handler {name}: there is no {program}", advice
            )
    if configured:
        yield Check(
            "runtime handlers",
            "ok",
            f"{', '.join(sorted(configured))} (what a RuntimeClass may name)",
        )


# -- network --


def network(root: SysRoot, container_runtime: Runtime) -> Iterator[Check]:
    """Yield the CNI configuration that the runtime uses (the first by name), and whether its
    plugins exist.
    """
    name, folder = "CNI", _strip_slashes(container_runtime.cni_folder)
    if not root.is_directory("etc"):
        return
    advice = (
        "see whether the network add-on runs here: until it has written one, pods start only with"
        " hostNetwork"
    )
    names = [
        entry for entry in root.names(folder) if entry.endswith((".conflist", ".conf", ".json"))
    ]
    if not names:
        if root.is_directory(_KUBELET):
            yield Check(name, "missing", f"no CNI configuration in /{folder}", advice)
        return
    path = f"{folder}/{names[0]}"
    try:
        value = json.loads(root.text(path) or "")
    except (ValueError, RecursionError) as error:
        yield Check(name, "missing", f"/{path}: cannot be parsed: {str(error)[:160]}", advice)
        return
    plugins = items(mapping(value).get("plugins")) or [value]
    types = [text(mapping(plugin).get("type")) for plugin in plugins]
    types += [text(mapping(mapping(plugin).get("ipam")).get("type")) for plugin in plugins]
    programs = {
        entry
        for folders in container_runtime.cni_plugins
        for entry in root.names(_strip_slashes(folders))
    }
    absent = [kind for kind in dict.fromkeys(filter(None, types)) if kind not in programs]
    if absent:
        folder_of_plugins = ", ".join(container_runtime.cni_plugins)
        seen = (
            f"/{path} names plugin {', '.join(absent[:_MAX_NAMED_PATHS])}, which is not in"
            f" {folder_of_plugins}"
        )
        yield Check(
            name,
            "missing",
            seen,
            "install the plugin, or correct the configuration: pods get no network",
        )
    else:
        yield Check(name, "ok", f"/{path}: {', '.join(dict.fromkeys(filter(None, types)))}")


# -- CDI --


def cdi_folders(root: SysRoot, container_runtime: Runtime) -> Iterator[Check]:
    """Yield the specifications in folders that the runtime does not read."""
    read = {root.real(_strip_slashes(folder)) for folder in container_runtime.cdi_folders}
    others = {
        real: folder
        for folder in CDI_FOLDERS
        if (real := root.real(folder)) is not None and real not in read
    }
    for folder in others.values():
        if count := len(cdi_files(root, folder)):
            seen = (
                f"{count} specification{'' if count == 1 else 's'} in /{folder}; the runtime reads"
                " only "
            )
            advice = (
                f'add "/{folder}" to cdi_spec_dirs and restart the runtime: no container with these'
                " devices starts"
            )
            yield Check("CDI", "missing", seen + ", ".join(container_runtime.cdi_folders), advice)


# -- kubelet and its drivers --


def kubelet(root: SysRoot) -> Iterator[Check]:
    """Yield the check whether kubelet listens."""
    if root.exists(_KUBELET_SOCKET) and root.listens(_KUBELET_SOCKET) is False:
        advice = "start kubelet: until then no pod of this node starts or ends"
        yield Check(
            "kubelet", "missing", f"does not run: nobody listens on /{_KUBELET_SOCKET}", advice
        )


def driver_sockets(root: SysRoot) -> dict[str, list[str]]:
    """Return the sockets in kubelet's registry by driver: ``<driver>-reg.sock``, or ``<driver>-<pod
    uid>-reg.sock`` with rolling updates (k8s.io/dynamic-resource-allocation kubeletplugin). Sockets
    of CSI drivers are left out; these drivers have a csi.sock in their plugin folder.
    """
    by_driver: dict[str, list[str]] = {}
    for entry in root.names(_REGISTRY):
        if entry.endswith("-reg.sock"):
            name = entry.removesuffix("-reg.sock")
            folders = (
                folder for folder in root.names(_PLUGINS) if f"{name}-".startswith(f"{folder}-")
            )
            driver = next(folders, name)
            if "csi.sock" not in root.names(f"{_PLUGINS}/{driver}"):
                by_driver.setdefault(driver, []).append(entry)
    return by_driver


def registry(root: SysRoot, drivers: Iterable[str], container_runtime: Runtime) -> Iterator[Check]:
    """Yield every driver that is registered on this node, or should be registered, given the
    hardware or its slices.
    """
    name = "kubelet registration"
    if not root.is_directory(_REGISTRY):
        advice = (
            "start kubelet, which creates it; if kubelet has another root directory, configure the"
            " drivers for it"
        )
        yield Check(name, "unknown", f"there is no /{_REGISTRY}", advice)
        return
    sockets = driver_sockets(root)
    prefixed = {
        driver: [s for s in root.names(_REGISTRY) if s.startswith(f"{driver}-")]
        for driver in drivers
    }
    sockets |= {driver: mine for driver, mine in prefixed.items() if mine and driver not in sockets}
    for driver in dict.fromkeys((*drivers, *sockets)):
        yield _registration(root, driver, sockets.get(driver, []))
        if driver in _NRI_DRIVERS and container_runtime.nri is False:
            advice = (
                "set disable = false for NRI in containerd's configuration: the driver gives"
                " devices to pods through it"
            )
            yield Check(
                "NRI", "missing", f"{driver} needs NRI, which is off in the runtime", advice
            )


def _registration(root: SysRoot, driver: str, sockets: Sequence[str]) -> Check:
    name = "kubelet registration"
    if not sockets:
        advice = (
            "install the driver, or check its pod on this node: it creates the socket when it is"
            " ready"
        )
        return Check(name, "missing", f"{driver}: no socket in /{_REGISTRY}", advice)
    served = [
        f"{_PLUGINS}/{driver}/{n}"
        for n in root.names(f"{_PLUGINS}/{driver}")
        if n.endswith(".sock")
    ]
    for paths in ([f"{_REGISTRY}/{entry}" for entry in sockets], served):
        if paths and all(root.listens(path) is False for path in paths):
            advice = "start the driver again; it left the socket when it ended"
            if driver in _NRI_DRIVERS:
                advice += ". A restart of containerd ends it, as it is a plugin of NRI"
            return Check(name, "missing", f"{driver}: nobody listens on /{paths[0]}", advice)
    return Check(name, "ok", f"{driver}: {sockets[0]}")


def checkpoint(root: SysRoot, container_runtime: Runtime) -> Iterator[Check]:
    """Yield the claims that kubelet has prepared, with the state of their CDI devices
    and drivers.
    """
    name = "prepared claims"
    try:
        claims = _load_prepared_claims(root)
    except ValueError:
        advice = (
            "kubelet does not start with a broken checkpoint: drain the node and remove the file"
        )
        yield Check(name, "missing", f"/{_CHECKPOINT} cannot be read as kubelet wrote it", advice)
        return
    if claims is None:
        return
    defined = _cdi_devices(root, container_runtime)
    sockets = driver_sockets(root)
    for claim in claims:
        who = f"claim {text(claim.get('Namespace'))}/{text(claim.get('ClaimName'))}"
        for driver, state in sorted(mapping(claim.get("DriverState")).items()):
            devices = [mapping(device) for device in items(mapping(state).get("Devices"))]
            wanted = [
                text(identity)
                for device in devices
                for identity in items(device.get("CDIDeviceIDs"))
            ]
            gone = [identity for identity in wanted if identity not in defined]
            if gone:
                advice = (
                    f"have driver {driver} write it again, or recreate the claim's pods: their"
                    " containers do not start"
                )
                yield Check(
                    name, "missing", f"{who}: no specification has CDI device {gone[0]}", advice
                )
            if driver not in sockets:
                advice = (
                    "start the driver: running pods go on, but pods that end keep their devices"
                )
                yield Check(
                    name, "missing", f"{who}: its driver {driver} is not registered", advice
                )
    plural = "" if len(claims) == 1 else "s"
    yield Check(name, "ok", f"{len(claims)} claim{plural} in kubelet's checkpoint")


def _load_prepared_claims(root: SysRoot) -> list[Mapping[str, Any]] | None:
    """Return the claims in kubelet's checkpoint; None if there is no checkpoint. Raises ValueError
    if it is broken. kubernetes pkg/kubelet/cm/dra/state/state_checkpoint.go
    """
    data = root.text(_CHECKPOINT)
    if data is None:
        return None
    try:
        return [
            mapping(entry)
            for entry in items(json.loads(json.loads(data)["Data"])["ClaimInfoStateList"] or [])
        ]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def compare_with_cluster(
    root: SysRoot, claims: Iterable[Mapping[str, Any]], classes: Iterable[Mapping[str, Any]]
) -> Iterator[Check]:
    """Yield the differences between the cluster's claims and the claims that kubelet has prepared,
    and between RuntimeClasses and the runtime's handlers.
    """
    name = "prepared claims"
    allocated = {
        text(mapping(claim.get("metadata")).get("uid"))
        for claim in claims
        if mapping(claim.get("status")).get("allocation")
    }
    try:
        prepared = _load_prepared_claims(root) or []
    except ValueError:
        prepared = []  # the checks of the node report this
    for claim in prepared:
        if text(claim.get("ClaimUID")) not in allocated:
            seen = (
                f"claim {text(claim.get('Namespace'))}/{text(claim.get('ClaimName'))} is prepared"
                " here, and the "
            )
            advice = (
                "start its driver, which unprepares it, or read kubelet's log"
                " (NodeUnprepareResources failed): until then another pod may be given the same"
                " device"
            )
            yield Check(
                name, "missing", f"{seen}cluster has no such claim or has deallocated it", advice
            )
    handlers = runtime(root).handlers
    for item in classes if handlers else ():
        handler = text(item.get("handler"))
        if handler and handler not in handlers:
            named = text(mapping(item.get("metadata")).get("name"))
            advice = (
                "configure it in containerd, or keep pods with this class away from the node"
                " (scheduling)"
            )
            seen = (
                f"RuntimeClass {named} names handler {handler}; the runtime here has"
                f" {', '.join(handlers)}"
            )
            yield Check("runtime handlers", "warning", seen, advice)


def _cdi_devices(root: SysRoot, container_runtime: Runtime) -> set[str]:
    """Return the CDI devices of the specifications that the runtime reads."""
    paths = [
        path
        for folder in container_runtime.cdi_folders
        for path in cdi_files(root, _strip_slashes(folder))
    ]
    return {name for path in paths for name in device_names(specification(root, path))}
