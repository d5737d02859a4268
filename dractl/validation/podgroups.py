"""Claims of pod groups and workloads (pkg/apis/scheduling/validation; generated validation from
1.36).
"""

from collections.abc import Iterator
from typing import Final

from dractl.validation.causes import count_violation, duplicate, invalid, value_required
from dractl.validation.formats import label, subdomain
from dractl.validation.place import Place
from dractl.validation.violation import Violation

MAX_CLAIMS: Final = 4  # scheduling/v1alpha2 types.go MaxPodGroupResourceClaims
MAX_TEMPLATES: Final = 8  # WorkloadMaxPodGroupTemplates


def pod_group(spec: Place) -> Iterator[Violation]:
    """Yield the violations in ``spec`` of a PodGroup."""
    yield from _claims(spec.child("resourceClaims"))


def workload(spec: Place) -> Iterator[Violation]:
    """Yield the violations in ``spec`` of a Workload."""
    templates = spec.child("podGroupTemplates")
    if templates.size > MAX_TEMPLATES:
        yield count_violation("PC-14", templates, MAX_TEMPLATES)
        return
    for template in templates.items():
        yield from _claims(template.child("resourceClaims"))


def _claims(places: Place) -> Iterator[Violation]:
    if places.size > MAX_CLAIMS:
        yield count_violation("PC-14", places, MAX_CLAIMS)
        return
    names = set()
    for claim in places.items():
        name = claim.child("name")
        if name.text in names:
            yield duplicate("PC-02", claim, claim.value)
        names.add(name.text)
        if name.text:
            yield from label("PC-03", name)
        else:
            yield value_required("PC-01", name)
        references = [claim.child(n) for n in ("resourceClaimName", "resourceClaimTemplateName")]
        chosen = [reference for reference in references if reference.set]
        if len(chosen) == 2:
            detail = "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield invalid("PC-04", claim, detail)
        elif not chosen:
            yield invalid(
                "PC-05",
                claim,
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            )
        for reference in chosen:
            yield from subdomain("PC-06", reference)
