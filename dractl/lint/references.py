"""From a pod's entry to the claim or template of the run that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.objects import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.lint.model import PodSpec, Run, Subject


def namespace_of(subject: Subject) -> str:
    """An object's namespace; kubectl puts those that name none into one and the same."""
    return subject.namespace or ""


def referenced(run: Run, pod: PodSpec, entry: Mapping[str, Any]) -> Subject | None:
    """The ResourceClaim or ResourceClaimTemplate that ``entry`` of ``spec.resourceClaims`` names, if the run has it."""
    kind, name = "ResourceClaim", text(entry.get("resourceClaimName"))
    if not name:
        kind, name = "ResourceClaimTemplate", text(entry.get("resourceClaimTemplateName"))
    return named(run, kind, name, namespace_of(pod.subject))


def named(run: Run, kind: str, name: str, namespace: str) -> Subject | None:
    """The object of a kind with this name in a namespace, if the run has it."""
    return next((subject for subject in run.named(kind, name) if namespace_of(subject) == namespace), None)
