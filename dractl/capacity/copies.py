"""The subject of ``fit``: a template, claim, pod or workload, with the pods that are its copies."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from dractl.capacity.candidates import Candidate
from dractl.cluster.kinds import object_not_found, resolve_kind
from dractl.cluster.podgroups import claims_of_group
from dractl.cluster.state import ClusterState, Key, at
from dractl.errors import InputError, UsageError
from dractl.facts.resources import hardware
from dractl.model import pod_templates
from dractl.model.nearest import nearest
from dractl.model.shapes import Shape
from dractl.objects import Raw
from dractl.program import program_name
from dractl.views import Claim, Pod, View

BARE_NAME_KINDS = ("ResourceClaimTemplate", "ResourceClaim", "Pod")
"""Kinds of objects that a name without a kind may mean, in the order of the search."""
_ACCEPTED_KINDS = (
    "fit takes template/NAME, claim/NAME, pod/NAME, deploy/NAME, job/NAME ..., or a shape such as"
    " gpu=2,nic=1"
)
# Fields that belong to one particular pod, and not to its copies.
_IDENTITY_FIELDS = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
    "generateName",
)
_TEMPLATE_NAME = "copy"  # the template for a claim that is copied


class Copies(Struct, frozen=True):
    """Pods to place in a cluster."""

    name: str
    """``Kind/namespace/name``, or the shape as it was written."""
    state: ClusterState
    pod: Raw
    """The parts that the pods of all copies have in common."""
    is_stand_in: bool = False
    """True if the pod represents any user of the claim or template in question."""
    shape: Shape | None = None
    """The shape that the user asks about."""
    alignment: str = ""
    """The alignment of the devices of each copy of a shape; empty if the user requests none."""
    names: tuple[str, ...] = ()
    """The names of the pods, if they are pods of the cluster."""

    @property
    def is_cluster_idle(self) -> bool:
        """True if no pod runs and no claim is allocated, as on machines that are only described."""
        return not any(pod.node_name for pod in self.state.pods.values()) and not any(
            claim.is_allocated for claim in self.state.claims.values()
        )

    def copy(self, number: int) -> dict[str, Any]:
        """Return the pod with the given number, as if it were just created."""
        metadata = Pod(self.pod).metadata
        is_named = number <= len(self.names)
        name = self.names[number - 1] if is_named else f"{metadata['name']}-{number}"
        return {**self.pod, "metadata": {**metadata, "name": name, "uid": f"dractl-{name}"}}


def find_subject(
    state: ClusterState, text: str, namespace: str | None, kinds: Mapping[str, str] | None = None
) -> Copies:
    """Find the object that ``KIND/NAME`` or a bare ``NAME`` means, and return its copies.

    A bare name means a template, or else a claim, or else a pod. ``kinds`` are further words for
    kinds, as a cluster knows them. Raises UsageError for an unknown kind or an ambiguous name,
    InputError if no such object exists.
    """
    word, slash, name = text.partition("/")
    if slash:
        kinds_to_try: tuple[str, ...] = (resolve_kind(state, word, kinds, _ACCEPTED_KINDS),)
    else:
        name, kinds_to_try = text, BARE_NAME_KINDS
    for kind in kinds_to_try:
        keys = [
            key
            for key in state.objects(kind)
            if key[1] == name and (namespace is None or key[0] in ("", namespace))
        ]
        if len(keys) > 1:
            namespaces = ", ".join(key[0] for key in keys)
            raise UsageError(
                f"{kind.lower()} {name} exists in several namespaces: {namespaces}",
                hint="choose one with -n",
            )
        if keys:
            return copies_of_object(state, kind, keys[0])
    raise object_not_found(
        state, kinds_to_try, name, namespace, None if slash else _suggest_shape(state, name)
    )


def _suggest_shape(state: ClusterState, word: str) -> str:
    """Return a hint with the nearest shapes to a word that names nothing."""
    classes = [name for _, name in state.objects("DeviceClass")]
    near = nearest(word, [*hardware(), *classes])
    words = f"{', '.join(hardware())}, or the name of a DeviceClass"
    return f"did you mean {near}=1?" if near else f"a shape is KIND=COUNT,...: {words}"


def copies_of_object(state: ClusterState, kind: str, key: Key) -> Copies:
    """Return copies of one object of the cluster. Raises InputError for a kind without pods."""
    value = state.get(kind, key) or {}
    name = "/".join((kind, *filter(None, key)))
    namespace = key[0] or "default"
    if kind == "ResourceClaimTemplate":
        return Copies(name, state, _pod_of_template(namespace, key[1]), is_stand_in=True)
    if kind == "ResourceClaim":
        return copies_of_claim(state, name, namespace, value)
    if kind == "Pod":
        return Copies(name, state, _strip_identity(value, namespace, key[1]))
    for path, spec in pod_templates(dict(value)):
        template = View(at(value, *path[:-1]))
        pod = {"metadata": template.metadata, "spec": spec}
        return Copies(name, state, _strip_identity(pod, namespace, key[1]))
    hint = "fit takes a template, a claim, a pod or a workload"
    if kind == "PodGroup":
        hint += f"; {program_name()} explain podgroup/{key[1]} counts how many of its pods fit"
    raise InputError(f"{kind.lower()} {key[1]} makes no pods", hint=hint)


def copies_of_claim(state: ClusterState, name: str, namespace: str, claim: Raw) -> Copies:
    """Return copies of a claim: a template with its spec, and a pod that uses only this
    template.
    """
    changed = state.replace(
        "ResourceClaimTemplate",
        (namespace, _TEMPLATE_NAME),
        _template_of_claim(namespace, _TEMPLATE_NAME, claim),
    )
    return Copies(name, changed, _pod_of_template(namespace, _TEMPLATE_NAME), is_stand_in=True)


def copies_of_candidates(
    state: ClusterState, namespace: str, shape: Shape, claims: Iterable[Candidate]
) -> tuple[Copies, ...]:
    """Return the copies for each claim that serves a shape, in one cluster with a template for each
    claim.
    """
    named = {f"{_TEMPLATE_NAME}-{number}": claim for number, claim in enumerate(claims)}
    changed = state.with_objects(
        {
            "ResourceClaimTemplate": {
                (namespace, name): _template_of_claim(namespace, name, candidate.claim)
                for name, candidate in named.items()
            }
        }
    )
    return tuple(
        Copies(
            shape.text,
            changed,
            _pod_of_template(namespace, name),
            is_stand_in=True,
            shape=shape,
            alignment=candidate.alignment,
        )
        for name, candidate in named.items()
    )


def _template_of_claim(namespace: str, name: str, claim: Raw) -> dict[str, Any]:
    return {
        "apiVersion": claim.get("apiVersion"),
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": Claim(claim).spec},
    }


def _pod_of_template(namespace: str, template: str) -> dict[str, Any]:
    """Return a pod with one container that uses the claim of a template and requests nothing
    else.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": template, "namespace": namespace},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "example.com/image",
                    "resources": {"claims": [{"name": "claim"}]},
                }
            ],
            "resourceClaims": [{"name": "claim", "resourceClaimTemplateName": template}],
        },
    }


def _strip_identity(pod: Raw, namespace: str, name: str) -> dict[str, Any]:
    """Return a pod as its owner would create it: without node, status and identity."""
    view = Pod(pod)
    metadata = {key: v for key, v in view.metadata.items() if key not in _IDENTITY_FIELDS}
    spec = {key: value for key, value in view.spec.items() if key != "nodeName"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "name": name, "namespace": namespace},
        "spec": spec,
    }


def shares_claims(state: ClusterState, pod: Raw) -> bool:
    """Return whether all copies share a claim: a claim that the pod names, or a claim of its
    PodGroup.
    """
    view = Pod(pod)
    names_claim = any(reference.claim_name for reference in view.claim_references)
    return names_claim or bool(claims_of_group(state, view))
