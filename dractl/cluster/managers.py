"""Who writes an object: a change of it by hand is undone, or lost with the next release.

Argo CD marks by ``argocd.argoproj.io/tracking-id`` or its instance label, Flux by labels of its kustomize and helm
controllers, Helm by ``app.kubernetes.io/managed-by`` and the annotation of the release; a HorizontalPodAutoscaler (KEDA
makes one, too) writes the replicas of its target. Of what nobody manages, labels and annotations often say whose it is.
"""

from collections.abc import Iterable

from msgspec import Struct

from dractl.cluster.changes import Change, Patch, parse_target
from dractl.cluster.state import ClusterState, Key, at, map_at, maps_at, text_at
from dractl.cluster.workloads import controller_of
from dractl.objects import Raw

_FLUX_CONTROLLERS = (
    ("kustomize.toolkit.fluxcd.io/", "Flux Kustomization", "in git"),
    ("helm.toolkit.fluxcd.io/", "Flux HelmRelease", "in its values"),
)
# Last parts of the keys with which people and tools (JupyterHub, CI systems) say whose a pod is, and how long it stays.
_OWNER_KEYS = (
    "owner",
    "username",
    "user",
    "creator",
    "created-by",
    "requested-by",
    "contact",
    "email",
    "team",
    "managed-by",
)
_PURPOSE_KEYS = ("keep", "keep-until", "purpose", "note", "description", "reason", "ticket")
_TOLD, _LONG = 2, 60  # such keys, characters of a value
_SYSTEM_CLIENTS = ("kubelet", "kube-scheduler", "kube-controller-manager")


class Manager(Struct, frozen=True):
    """Who manages an object, and where a change of it belongs; ``reverts``: a change by hand is undone at once."""

    name: str
    change_location: str
    reverts: bool = True

    @property
    def advice(self) -> str:
        """``change it in git: Argo CD application llm undoes what is changed by hand``."""
        undoes = (
            "undoes what is changed by hand" if self.reverts else "undoes it with its next upgrade"
        )
        return f"change it {self.change_location}: {self.name} {undoes}"


def find_manager(state: ClusterState, changes: Iterable[Change]) -> Manager | None:
    """The manager of the first object that changes patch and somebody manages; None if nobody does."""
    for change in changes:
        if not isinstance(change, Patch):
            continue
        kind, key = parse_target(change.target)
        changes_replicas = any(str(o["path"]) == "/spec/replicas" for o in change.operations)
        manager = (find_autoscaler(state, kind, key) if changes_replicas else None) or manager_of(
            state.get(kind, key)
        )
        if manager is not None and not all(
            str(o["path"]).startswith("/metadata/") for o in change.operations
        ):
            return manager
    return None


def manager_of(value: Raw | None) -> Manager | None:
    """The tool that applies an object; None if nobody does."""
    labels, annotations = (
        map_at(value, "metadata", "labels"),
        map_at(value, "metadata", "annotations"),
    )
    tracked_application = str(annotations.get("argocd.argoproj.io/tracking-id") or "").partition(
        ":"
    )[0]
    application = tracked_application or labels.get("argocd.argoproj.io/instance")
    if application:
        return Manager(f"Argo CD application {application}", "in git")
    for prefix, kind, location in _FLUX_CONTROLLERS:
        if labels.get(f"{prefix}name"):
            namespace = labels.get(f"{prefix}namespace")
            return Manager(f"{kind} {namespace}/{labels[f'{prefix}name']}", location)
    if labels.get("app.kubernetes.io/managed-by") == "Helm":
        release = (
            annotations.get("meta.helm.sh/release-name")
            or labels.get("app.kubernetes.io/instance")
            or ""
        )
        return Manager(f"Helm release {release}".strip(), "in the values, too", reverts=False)
    return None


def find_autoscaler(state: ClusterState, kind: str, key: Key) -> Manager | None:
    """The HorizontalPodAutoscaler that writes the replicas of a workload; None if none does."""
    for autoscaler_key, value in state.objects("HorizontalPodAutoscaler").items():
        target = map_at(value, "spec", "scaleTargetRef")
        if autoscaler_key[0] == key[0] and (text_at(target, "kind"), text_at(target, "name")) == (
            kind,
            key[1],
        ):
            least, most = at(value, "spec", "minReplicas") or 1, at(value, "spec", "maxReplicas")
            name = f"HorizontalPodAutoscaler {'/'.join(autoscaler_key)} (minReplicas {least}, maxReplicas {most})"
            scaled_object = controller_of(
                value
            )  # kedacore/keda controllers/keda/hpa.go newHPAForScaledObject
            if scaled_object is not None and text_at(scaled_object, "kind") == "ScaledObject":
                name = f"KEDA ScaledObject {autoscaler_key[0]}/{text_at(scaled_object, 'name')} (of {name})"
                return Manager(name, "in minReplicaCount and maxReplicaCount")
            return Manager(name, "in minReplicas and maxReplicas")
    return None


def describe_ownership(value: Raw | None) -> str:
    """What an object says of whose it is, for one that no controller makes: its labels and annotations, an owner that
    does not control it, else the first client that wrote it. Empty where nothing does."""
    notes: dict[str, str] = {}
    for words in (_OWNER_KEYS, _PURPOSE_KEYS):
        for noun, field in (("annotation", "annotations"), ("label", "labels")):
            for key, text in map_at(value, "metadata", field).items():
                if (
                    key.rpartition("/")[2].lower() in words
                    and isinstance(text, str)
                    and text.strip()
                ):
                    notes.setdefault(key, f"{noun} {key}: {' '.join(text.split())[:_LONG]}")
    parts = list(notes.values())[:_TOLD]
    parts += [
        f"owner {text_at(o, 'kind')} {text_at(o, 'name')}"
        for o in maps_at(value, "metadata", "ownerReferences")
    ]
    clients = [
        (text_at(entry, "time"), text_at(entry, "manager"))
        for entry in maps_at(value, "metadata", "managedFields")
        if not text_at(entry, "subresource") and text_at(entry, "manager") not in _SYSTEM_CLIENTS
    ]
    return ", ".join(parts) or (f"written by {min(clients)[1]}" if clients else "")
