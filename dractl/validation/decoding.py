"""Strict decoding as the API server does it: kind and version, types, fields, duplicate keys."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.manifests import DoubledKey
from dractl.model.nearest import nearest
from dractl.model.releases import PREVIEWS, RELEASES, SERVED, Target, served_versions
from dractl.validation.previews import doubt, preview_of
from dractl.validation.schemas import schemas_of
from dractl.validation.shapes import Mismatch, Record
from dractl.validation.violation import Path, Violation, dot_path
from dractl.validation.walk import has_field, is_former, unknown_field, walk, wrong_type

DRA_GROUP = "resource.k8s.io"
MAX_FAULTS = 100
"""The maximum number of unknown fields that the server lists (sigs.k8s.io/json decode.go); more of
them count as one fault.
"""

KUBERNETES_GROUPS = ("", "apps", "batch", DRA_GROUP, "scheduling.k8s.io")


def identify(value: Mapping[str, Any], target: Target) -> Record | list[Violation]:
    """Return the type of a document, or the violations if it has none.

    Return an empty list for a custom resource, and for a kind for which dractl has no schema.
    """
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not api_version or not kind:
        return [
            _identity_violation(
                value, [name for name in ("apiVersion", "kind") if not value.get(name)]
            )
        ]
    if not isinstance(api_version, str):
        return [_not_served("apiVersion", "error validating data: apiVersion isn't string type")]
    if not isinstance(kind, str):
        return [_not_served("kind", "error validating data: kind isn't string type")]
    return schemas_of(target.release).kind(api_version, kind) or _kind_not_served(
        api_version, kind, target
    )


def decode(
    value: Mapping[str, Any], shape: Record, target: Target, faults: Collection[DoubledKey]
) -> list[Violation]:
    """Return the decoding errors. A value of the wrong type hides duplicate keys and unknown
    fields, which hide no other error.

    ``faults`` are the duplicate keys, whose messages are used unchanged. For a preview, unknown
    fields are doubts.
    """
    misfits = walk(value, shape)
    if not misfits and not faults:
        return []
    wrong = [misfit for misfit in misfits if not misfit.unknown][:MAX_FAULTS]
    if wrong:
        return [wrong_type(shape, misfit) for misfit in wrong]
    double = [
        Violation(
            "merged-key" if fault.merged else "duplicate-key",
            "BadRequest",
            None,
            fault.path,
            fault.message,
            True,
        )
        for fault in faults
    ]
    return double + [_unknown(value, shape, misfit, target) for misfit in misfits[:MAX_FAULTS]]


def _unknown(
    value: Mapping[str, Any], shape: Record, misfit: Mismatch, target: Target
) -> Violation:
    """Return the server's violation for an unknown field; a doubt if a preview may have it."""
    api_version, kind = value["apiVersion"], value["kind"]
    history = _releases_with_field(api_version, kind, misfit.path, target)
    violation = unknown_field(shape, misfit, history)
    preview = preview_of(target)
    if preview is None or history or is_former(misfit) or _in_other_version(kind, misfit.path):
        return violation
    return doubt(violation, f'field "{dot_path(misfit.path)}"', preview)


def _releases_with_field(api_version: str, kind: str, path: Path, target: Target) -> str | None:
    """Return, as a phrase, the other releases that have a field which is unknown in this release;
    None if there are none.
    """
    shapes = {release: schemas_of(release).kind(api_version, kind) for release in RELEASES}
    return _release_phrase(
        [release for release, shape in shapes.items() if shape and has_field(shape, path)], target
    )


def _in_other_version(kind: str, path: Path) -> bool:
    """Return True if another version of the kind has a field at this place, as v1beta1 has the
    fields of ``exactly`` in the request itself.
    """
    schemas = [schemas_of(release) for release in RELEASES]
    versions = {(each, version) for each in schemas for version in each.versions(kind)}
    shapes = (schema.kind(version, kind) for schema, version in versions)
    return any(shape is not None and has_field(shape, path) for shape in shapes)


def _release_phrase(knowing: list[str], target: Target) -> str | None:
    later = [
        release for release in knowing if RELEASES.index(release) > RELEASES.index(target.release)
    ]
    if later and later[0] in PREVIEWS:
        return f"it is planned for Kubernetes {later[0]}"
    if later:
        return f"Kubernetes {later[0]} introduced it"
    return f"Kubernetes {knowing[-1]} was the last release to have it" if knowing else None


def _identity_violation(value: Mapping[str, Any], missing: list[str]) -> Violation:
    subject = " and ".join(f"{name} is not set" for name in missing)
    if "kind" in missing and "kind" in value:
        subject = "kind is empty"
    message = f"{subject}: the API server cannot identify the object"
    for name in missing:
        written = next(
            (key for key in value if key != name and str(key).lower() == name.lower()), None
        )
        if written is not None:
            return Violation(
                "not-served",
                "NotServed",
                missing[0],
                (written,),
                f"{message}; did you mean {name}?",
                True,
                nearest=name,
                moved_to=(name,),
            )
    return _not_served(missing[0], message)


def _not_served(name: str, message: str, **more: Any) -> Violation:
    return Violation("not-served", "NotServed", name, (name,), message, **more)


def _as_doubt(violation: Violation, subject: str, target: Target) -> list[Violation]:
    """Return the violation, or a doubt about ``subject`` if the release is a preview."""
    preview = preview_of(target)
    return [violation if preview is None else doubt(violation, subject, preview)]


def _kind_not_served(api_version: str, kind: str, target: Target) -> list[Violation]:
    """Return the violations for a kind that Kubernetes lacks in that version; empty if it can be a
    custom resource.
    """
    group, _, version = api_version.rpartition("/")
    schemas = schemas_of(target.release)
    kinds = tuple(
        sorted({name for file in schemas.files(DRA_GROUP) for name in schemas.kinds(file)})
    )
    ours = group == DRA_GROUP or (
        _is_misspelt_group(group) and kind.lower() in {name.lower() for name in kinds}
    )
    if not ours and group not in KUBERNETES_GROUPS:
        return []
    sentence = f'no matches for kind "{kind}" in version "{api_version}"'
    if served := schemas.versions(kind):
        listed = _list_versions(kind, served, target)
        message = f"Kubernetes {target.release} serves {kind} as {listed}, not as {api_version}"
        near = next((name for name in served if name.rpartition("/")[2] == version), served[0])
        wrong = _not_served(
            "apiVersion", message, allowed=served, nearest=near, detail=f"{message}: {sentence}"
        )
        if any(row.api_version == api_version for row in SERVED):
            return [wrong]  # an earlier release served the kind
        return _as_doubt(wrong, f"{kind} in {api_version}", target)
    here = schemas.kinds_of(api_version)
    if meant := next((name for name in here if name.lower() == kind), None):
        # kubectl finds the resource by its lower-case name, so the refusal comes from the server.
        message = f"the kind is {meant}, not {kind}"
        detail = f'no kind "{kind}" is registered for version "{api_version}"'
        wrong = _not_served("kind", message, allowed=here, nearest=meant, detail=detail)
        return [replace(wrong, type="BadRequest")]
    if not ours:  # for other groups, dractl knows only the kinds that contain pods
        kinds = tuple(
            name for name in kinds if name.lower() in (kind.lower(), kind.lower().removesuffix("s"))
        )
        if not kinds and not _is_of_another_release(group, kind):
            return []
    when = _kind_when(kind, target)
    close = None if when else nearest(kind, kinds)
    advice = when or (
        f"did you mean {close}?" if close else f"the kinds of {DRA_GROUP} are {', '.join(kinds)}"
    )
    message = f"Kubernetes {target.release} has no {kind} in {api_version}; {advice}"
    wrong = _not_served(
        "kind", message, allowed=kinds, nearest=close, detail=f"{message}: {sentence}"
    )
    return [wrong] if when else _as_doubt(wrong, f"{kind} in {api_version}", target)


def _is_of_another_release(group: str, kind: str) -> bool:
    """Return True for a kind such as PodGroup, which some release serves in the group."""
    return any(row.kind == kind and row.api_version.rpartition("/")[0] == group for row in SERVED)


def _list_versions(kind: str, served: tuple[str, ...], target: Target) -> str:
    """List served versions as a phrase; versions that are off by default are listed apart."""
    always = (
        served_versions(kind, target.release, by_default=True)
        if target.has("served-by-default")
        else served
    )
    optional = [version for version in served if version not in always]
    if not always or not optional:
        return ", ".join(served)
    named = ", ".join(version.rpartition("/")[2] for version in optional)
    return f"{', '.join(always)} ({named} only with --runtime-config)"


def _kind_when(kind: str, target: Target) -> str | None:
    """Return, as a phrase, the other releases that have a kind which this release lacks; None if
    there are none.
    """
    if kind in (
        "ResourceClass",
        "ResourceClaimParameters",
        "ResourceClassParameters",
        "PodScheduling",
    ):
        return "it was part of classic DRA, which was removed in 1.32"
    return _release_phrase(
        [release for release in RELEASES if schemas_of(release).versions(kind)], target
    )


def _is_misspelt_group(group: str) -> bool:
    """Return True if a group is probably a misspelt resource.k8s.io."""
    return nearest(group, (DRA_GROUP, "resource.kubernetes.io")) is not None
