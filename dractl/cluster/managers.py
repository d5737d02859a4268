"""Tools that own an object and would overwrite a manual change, and people who own an object.

Argo CD marks objects by ``argocd.argoproj.io/tracking-id`` or its instance label, Flux by labels of
its kustomize and helm controllers, Helm by ``app.kubernetes.io/managed-by`` and the annotation of
the release. A HorizontalPodAutoscaler (KEDA makes one, too) writes the replicas of its target. If
no tool owns an object, its labels and annotations often name a person.
"""

from collections.abc import Iterable

from msgspec import Struct

from dractl.cluster.changes import Change, Patch, parse_target
from dractl.cluster.state import ClusterState, Key
from dractl.objects import Raw
from dractl.views import Autoscaler, View

_FLUX_CONTROLLERS = (
    ("kustomize.toolkit.fluxcd.io/", "Flux Kustomization", "in git"),
    ("helm.toolkit.fluxcd.io/", "Flux HelmRelease", "in its values"),
)
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
"""The last parts of keys with which people and tools (JupyterHub, CI systems) name an owner."""
_PURPOSE_KEYS = ("keep", "keep-until", "purpose", "note", "description", "reason", "ticket")
"""The last parts of keys whose values say how long an object is needed, and for what."""
MAX_OWNERSHIP_NOTES = 2
MAX_NOTE_CHARS = 60
_SYSTEM_CLIENTS = ("kubelet", "kube-scheduler", "kube-controller-manager")


class Manager(Struct, frozen=True):
    """A tool that owns an object."""

    name: str
    change_location: str
    """The place where changes have to be made, such as ``in git``."""
    reverts: bool = True
    """True if the tool undoes a manual change at once."""

    @property
    def advice(self) -> str:
        """``change it in git: Argo CD application llm undoes what is changed by hand``."""
        undoes = (
            "undoes what is changed by hand" if self.reverts else "undoes it with its next upgrade"
        )
        return f"change it {self.change_location}: {self.name} {undoes}"


def find_manager(state: ClusterState, changes: Iterable[Change]) -> Manager | None:
    """Return the manager of the first patched object that has one; None if none has."""
    for change in changes:
        if not isinstance(change, Patch):
            continue
        kind, key = parse_target(change.target)
        paths = [str(operation["path"]) for operation in change.operations]
        autoscaler = find_autoscaler(state, kind, key) if "/spec/replicas" in paths else None
        manager = autoscaler or manager_of(state.get(kind, key))
        if manager is not None and not all(path.startswith("/metadata/") for path in paths):
            return manager
    return None


def manager_of(value: Raw | None) -> Manager | None:
    """Return the tool that applies an object; None if none does."""
    labels, annotations = View(value).labels, View(value).annotations
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
    """Return the HorizontalPodAutoscaler that scales a workload; None if none does."""
    for autoscaler_key, value in state.objects("HorizontalPodAutoscaler").items():
        autoscaler = Autoscaler(value, autoscaler_key)
        if autoscaler_key[0] == key[0] and autoscaler.target == (kind, key[1]):
            name = (
                f"HorizontalPodAutoscaler {'/'.join(autoscaler_key)} (minReplicas "
                f"{autoscaler.min_replicas}, maxReplicas {autoscaler.max_replicas})"
            )
            # kedacore/keda controllers/keda/hpa.go newHPAForScaledObject
            owner = autoscaler.controller
            if owner is not None and owner.kind == "ScaledObject":
                name = f"KEDA ScaledObject {autoscaler_key[0]}/{owner.name} (of {name})"
                return Manager(name, "in minReplicaCount and maxReplicaCount")
            return Manager(name, "in minReplicas and maxReplicas")
    return None


def describe_ownership(value: Raw | None) -> str:
    """Return the text with which an object names its owner, "" if there is none.

    This is for objects that no controller makes. The text comes from labels and annotations, or
    names an owner that does not control the object, or else the first client that wrote it.
    """
    view = View(value)
    notes: dict[str, str] = {}
    for names in (_OWNER_KEYS, _PURPOSE_KEYS):
        for noun, texts in (("annotation", view.annotations), ("label", view.labels)):
            for key, text in texts.items():
                is_note = key.rpartition("/")[2].lower() in names
                if is_note and isinstance(text, str) and text.strip():
                    line = " ".join(text.split())[:MAX_NOTE_CHARS]
                    notes.setdefault(key, f"{noun} {key}: {line}")
    parts = list(notes.values())[:MAX_OWNERSHIP_NOTES]
    parts += [f"owner {owner.kind} {owner.name}" for owner in view.owners]
    clients = [
        (manager.time, manager.name)
        for manager in view.field_managers
        if not manager.subresource and manager.name not in _SYSTEM_CLIENTS
    ]
    return ", ".join(parts) or (f"written by {min(clients)[1]}" if clients else "")
