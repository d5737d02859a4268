"""The objects that install a driver: its DaemonSet, its service account and the account's roles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.cluster import ClusterState
from dractl.cluster.driver_workloads import DriverWorkloads, find_driver_workloads
from dractl.cluster.state import CLUSTER_SCOPED, DEFAULT_NAMESPACE, Key
from dractl.driver_checks.remark import Remarks, remark
from dractl.lint.model import Manifest
from dractl.manifests import Document
from dractl.model import Target
from dractl.validation.roles import (
    BINDINGS,
    Rule,
    binding_of,
    find_faults,
    publishes_slices,
    rules_of,
)
from dractl.views import Workload

_GROUP = "resource.k8s.io"
_SLICES, _CLAIMS = "resourceslices", "resourceclaims"
_PLUGINS, _REGISTRY = "plugins", "plugins_registry"
_CDI_FOLDERS = ("/var/run/cdi", "/run/cdi", "/etc/cdi")
_NRI_FOLDERS = ("/var/run/nri", "/run/nri")
"""A plug-in with this folder passes devices to containers itself, as kubernetes-sigs/dranet@v1.4.0
install.yaml does.
"""
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_UNNEEDED = (
    ("", "secrets", ("get", "list", "watch")),
    ("", "pods/exec", ("create", "get")),
    (_GROUP, _CLAIMS, _WRITES),
    (_GROUP, "deviceclasses", _WRITES),
)


class Objects(Struct, frozen=True):
    """Objects of a chart or a cluster, each with its document."""

    state: ClusterState
    manifests: tuple[Manifest, ...]
    index: Mapping[tuple[str, str, str], Manifest]
    """The objects by kind, namespace and name."""
    read_at: float | None = None
    """The time at which a live cluster was read, in seconds since 1970."""

    @classmethod
    def from_documents(
        cls, documents: Sequence[Document], read_at: float | None = None
    ) -> "Objects":
        """Return the objects of documents."""
        whole = [document for document in documents if isinstance(document.value, dict)]
        manifests = tuple(Manifest(document, document.kind or "") for document in whole)
        state = ClusterState.from_documents(whole)
        return cls(state, manifests, _index(manifests), read_at)

    def list_kind(self, *kinds: str) -> Iterator[Manifest]:
        """Yield the objects of some kinds."""
        return (one for one in self.manifests if one.kind in kinds)

    def find(self, kind: str, key: Key) -> Manifest | None:
        """Return the object of a kind with a namespace and a name."""
        return self.index.get((kind, *key))


def _index(manifests: Iterable[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    """Return objects by kind, namespace and name, as a cluster has them."""
    index: dict[tuple[str, str, str], Manifest] = {}
    for manifest in manifests:
        is_in_namespace = manifest.kind not in CLUSTER_SCOPED
        namespace = (manifest.namespace or DEFAULT_NAMESPACE) if is_in_namespace else ""
        index[manifest.kind, namespace, manifest.name] = manifest
    return index


def find_workloads(objects: Objects, driver: str) -> DriverWorkloads:
    """Find the workloads of a driver. If a chart has a single DaemonSet, this DaemonSet is the
    plug-in.
    """
    nodes = {one.slice.node for one in objects.list_kind("ResourceSlice")} - {""}
    workloads = find_driver_workloads(objects.state, driver, nodes)
    daemon_sets = list(objects.list_kind("DaemonSet"))
    if not workloads.are_known and len(daemon_sets) == 1 and not objects.state.has("Node"):
        (only,) = daemon_sets
        key = (only.namespace or DEFAULT_NAMESPACE, only.name)
        return DriverWorkloads(driver, (Workload(only.value, key),), is_inferred=True)
    return workloads


def check_installation(objects: Objects, driver: str, target: Target) -> Remarks:
    """Yield the faults of the DaemonSet of a driver, and of its rights."""
    for daemon_set in find_workloads(objects, driver).daemon_sets:
        subject = objects.find("DaemonSet", daemon_set.key)
        if subject is not None:
            yield from _check_folders(subject, daemon_set)
            yield from _check_update(subject, daemon_set)
            yield from _check_rights(objects, subject, daemon_set, target)


def _check_folders(subject: Manifest, daemon_set: Workload) -> Remarks:
    """Yield the folders of the kubelet and the container runtime that the plug-in should mount but
    does not.
    """
    path = ("spec", "template", "spec", "volumes")
    mounted = daemon_set.template_pod.host_paths
    for name, use in (
        (_REGISTRY, "the kubelet finds the socket of a driver there"),
        (_PLUGINS, "the kubelet calls a driver through a socket there"),
    ):
        if not any(name in folder.split("/") or _contains_kubelet(folder) for folder in mounted):
            yield remark(
                "DRA393",
                subject,
                path,
                f"DaemonSet {daemon_set.name} mounts no folder {name} of the node: {use}",
                help=f"add a hostPath volume /var/lib/kubelet/{name}, and mount it",
            )
    if not any(map(_holds_devices, mounted)):
        yield remark(
            "DRA393",
            subject,
            path,
            f"DaemonSet {daemon_set.name} mounts none of {', '.join(_CDI_FOLDERS)}: the container"
            " runtime finds no CDI file that the driver writes",
            help="add a hostPath volume /var/run/cdi, if the driver names CDI devices",
            severity="warning",
            confidence="likely",
        )


def _holds_devices(folder: str) -> bool:
    """Return True for a folder through which a container runtime gets devices, and for folders that
    contain it.
    """
    return any(
        other == folder or other.startswith(f"{folder.rstrip('/')}/")
        for other in (*_CDI_FOLDERS, *_NRI_FOLDERS)
    )


def _contains_kubelet(folder: str) -> bool:
    """Return True for the folder of the kubelet, and for folders that contain it."""
    return "/var/lib/kubelet/".startswith(f"{folder.rstrip('/')}/") or folder.endswith("/kubelet")


def _check_update(subject: Manifest, daemon_set: Workload) -> Remarks:
    """Yield advice on an update strategy with which two pods would use one socket."""
    surge = daemon_set.update_surge
    if surge in (None, 0, "0", "0%"):
        return
    if "metadata.uid" not in daemon_set.template_pod.downward_fields:
        yield remark(
            "DRA394",
            subject,
            ("spec", "updateStrategy", "rollingUpdate", "maxSurge"),
            f"the old and the new pod of DaemonSet {daemon_set.name} run side by side, and nothing"
            " tells their sockets apart",
            help="pass metadata.uid to the container and to kubeletplugin.RollingUpdate, or"
            " remove maxSurge",
            confidence="likely",
        )


def _check_rights(
    objects: Objects, subject: Manifest, daemon_set: Workload, target: Target
) -> Remarks:
    """Yield rights of the service account that the plug-in lacks, and rights that it never uses."""
    account = (daemon_set.key[0], daemon_set.template_pod.service_account)
    roles = list(_find_roles(objects, account))
    if not roles:
        return  # not part of the input
    yield from _find_missing_rights(roles, target)
    if not any(publishes_slices(role.value) for role in roles):
        yield remark(
            "DRA391",
            subject,
            ("spec", "template", "spec", "serviceAccountName"),
            f"service account {account[1]} is not allowed to create {_SLICES}",
            help=f"add a rule for {_SLICES} to {roles[0].kind} {roles[0].name}",
        )
    for role in roles:
        yield from _find_unneeded(role)


def _find_missing_rights(roles: Sequence[Manifest], target: Target) -> Remarks:
    """Yield the requests that the API server denies to a plug-in with these roles, each once."""
    reported: set[str] = set()
    for role in roles:
        others = [other.value for other in roles if other is not role]
        for fault in find_faults(role.value, target, others, on_nodes=True):
            if fault.message not in reported:
                reported.add(fault.message)
                is_status = fault.kind == "status"
                yield remark(
                    "DRA391",
                    role,
                    fault.path,
                    fault.message,
                    help=fault.help,
                    severity="warning" if is_status else None,
                    confidence="likely" if is_status else "certain",
                )


def _is_allowed(rule: Rule, group: str, resource: str, verb: str) -> bool:
    """Return whether a rule allows a verb on all objects of a resource."""
    return not rule.names and rule.allows(verb, group, resource)


def _find_roles(objects: Objects, account: tuple[str, str]) -> Iterator[Manifest]:
    """Yield the roles of a service account that the input has."""
    for manifest in objects.list_kind(*BINDINGS):
        binding = binding_of(manifest.value)
        if binding is None:
            continue
        accounts = {
            (one.namespace or DEFAULT_NAMESPACE, one.name)
            for one in binding.accounts
            if one.kind == "ServiceAccount"
        }
        named = {name for _, name in accounts}
        # In a chart, the template on one side may leave out the namespace.
        if account in accounts or (account[0] == DEFAULT_NAMESPACE and account[1] in named):
            role = binding.role
            yield from (one for one in objects.list_kind(role.kind) if one.name == role.name)


def _find_unneeded(role: Manifest) -> Remarks:
    """Yield the rules of a role that allow requests which no part of the kubelet plug-in helper
    makes.
    """
    for index, rule in enumerate(rules_of(role.value)):
        path = ("rules", index)
        wildcards = [
            field
            for field, words in (
                ("apiGroups", rule.groups),
                ("resources", rule.resources),
                ("verbs", rule.verbs),
            )
            if "*" in words
        ]
        if wildcards:
            yield remark(
                "DRA392",
                role,
                (*path, wildcards[0]),
                f"{role.kind} {role.name} allows everything: {', '.join(wildcards)} has '*'",
                help="name what the driver uses: anyone in its pod has these rights everywhere",
            )
            continue
        for group, resource, verbs in _UNNEEDED:
            excess = [verb for verb in verbs if _is_allowed(rule, group, resource, verb)]
            if excess:
                yield remark(
                    "DRA392",
                    role,
                    (*path, "resources"),
                    f"{role.kind} {role.name} allows {', '.join(excess)} on {resource} of the"
                    " whole cluster, which a kubelet plug-in does not need",
                    help="move it to the controller's own role, or remove it",
                    confidence="likely",
                )
