"""From a pod's entry to the claim or template of the run that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.lint.run import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.lint.run import PodSpec, Run, Subject


def namespace_of(subject: Subject) -> str:
    """An object's namespace; kubectl puts those that name none into one and the same."""
    return subject.namespace or ""


def referenced(run: Run, pod: PodSpec, entry: Mapping[str, Any]) -> Subject | None:
    """The ResourceClaim or ResourceClaimTemplate that ``entry`` of ``spec.resourceClaims`` names, if the run has it."""
    kind, name = "ResourceClaim", text(entry.get("resourceClaimName"))
    if not name:
        kind, name = "ResourceClaimTemplate", text(entry.get("resourceClaimTemplateName"))
    namespace = namespace_of(pod.subject)
    found = (s for s in run.of(kind) if s.name == name and name and namespace_of(s) == namespace)
    return next(found, None)
