"""The claim or template that an entry of a pod names."""

from collections.abc import Mapping, Sequence
from typing import Any

from dractl.lint.model import Manifest, PodSpec, Run
from dractl.lint.placeholders import holds_placeholder
from dractl.objects import Request, text


def namespace_of(subject: Manifest) -> str:
    """Return an object's namespace; empty if kubectl, Helm or kustomize sets it."""
    return subject.namespace or ""


def may_share_namespace(one: Manifest, other: Manifest) -> bool:
    """Return False only if both objects name a namespace, and the names differ."""
    first, second = namespace_of(one), namespace_of(other)
    return (
        first == second
        or not first
        or not second
        or holds_placeholder(first)
        or holds_placeholder(second)
    )


def find_reference(run: Run, pod: PodSpec, entry: Mapping[str, Any]) -> Manifest | None:
    """Return the ResourceClaim or ResourceClaimTemplate that ``entry`` of ``spec.resourceClaims``
    names, if the run has it.
    """
    kind, name = "ResourceClaim", text(entry.get("resourceClaimName"))
    if not name:
        kind, name = "ResourceClaimTemplate", text(entry.get("resourceClaimTemplateName"))
    return find_named(run, kind, name, pod.subject)


def requests_of(run: Run, pod: PodSpec, entry: Mapping[str, Any]) -> Sequence[Request]:
    """Return the requests of the claim or template that an entry of ``spec.resourceClaims`` names;
    none if the run does not have it.
    """
    target = find_reference(run, pod, entry)
    return target.claim.alternatives if target is not None and target.claim is not None else ()


def find_named(run: Run, kind: str, name: str, user: Manifest) -> Manifest | None:
    """Return the object of a kind that ``user`` means by this name, if the run has it.

    It is the object in the user's own namespace, or else one that names no namespace. An object in
    the user's own file comes before others.
    """
    near = (
        subject for subject in run.find_object(kind, name) if may_share_namespace(subject, user)
    )
    return min(near, key=lambda subject: closeness(subject, user), default=None)


def closeness(subject: Manifest, user: Manifest) -> tuple[Any, ...]:
    """Return a key that sorts objects of one name by their distance to the object that names
    them.
    """
    elsewhere = subject.document.file != user.document.file
    distance = 0 if elsewhere else abs(subject.document.index - user.document.index)
    return namespace_of(subject) != namespace_of(user), elsewhere, distance
