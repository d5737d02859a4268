"""Webhooks and admission policies of resource.k8s.io that name versions which a release does not
serve.

A rule also matches requests in versions that it does not name (matchPolicy Equivalent). But the API
server must serve the resource in a version that the rule names: k8s.io/apiserver
pkg/admission/plugin/webhook/generic/webhook.go ShouldCallHook, pkg/endpoints/installer.go
(EquivalentResourceRegistry).
"""

from collections.abc import Iterable, Iterator, Mapping

from dractl.cluster.state import describe
from dractl.model.releases import served_versions
from dractl.objects import Raw, items, mapping, text
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import RuntimeConfig, type_of, versions_after
from dractl.views import View

_GROUP = "resource.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_POLICIES = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")
KINDS = (*WEBHOOKS, *_POLICIES)
_KINDS = {
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "deviceclasses": "DeviceClass",
    "resourceslices": "ResourceSlice",
    "devicetaintrules": "DeviceTaintRule",
}
_SOURCE = "kubernetes/apiserver pkg/admission/plugin/webhook/generic/webhook.go ShouldCallHook"


def differences(
    objects: Iterable[Raw], before: str, after: str, config: RuntimeConfig
) -> Iterator[Finding]:
    """Yield a break for each webhook and policy that is no longer called, since the later release
    serves no version that it names.
    """
    for value in objects:
        for name, rule in _rules(value):
            versions = [text(each) for each in items(rule.get("apiVersions"))]
            kinds = _kinds(rule)
            if "*" in versions or not kinds:
                continue
            group_versions = {f"{_GROUP}/{version}" for version in versions}
            matched = [
                kind for kind in kinds if group_versions & set(served_versions(kind, before))
            ]
            lost = [
                kind
                for kind in matched
                if not group_versions & versions_after(kind, before, after, config)
            ]
            if lost and len(lost) == len(matched):
                yield _finding(value, name, sorted(group_versions), lost, after)


def _rules(value: Raw) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the rules of an object about DRA, each with the name of its webhook."""
    group, kind = type_of(value)
    if group != _ADMISSION:
        return
    if kind in WEBHOOKS:
        rules = (
            (text(mapping(hook).get("name")), mapping(rule))
            for hook in items(value.get("webhooks"))
            for rule in items(mapping(hook).get("rules"))
        )
    elif kind in _POLICIES:
        constraints = mapping(View(value).spec.get("matchConstraints"))
        rules = (("", mapping(rule)) for rule in items(constraints.get("resourceRules")))
    else:
        return
    for name, rule in rules:
        if _GROUP in items(rule.get("apiGroups")):
            yield name, rule


def _kinds(rule: Mapping[str, object]) -> list[str]:
    plurals = {text(each).partition("/")[0] for each in items(rule.get("resources"))}
    return [kind for plural, kind in _KINDS.items() if plurals & {plural, "*"}]


def _finding(value: Raw, name: str, versions: list[str], kinds: list[str], after: str) -> Finding:
    hook = f"webhook {name} names" if name else "names"
    served = served_versions(kinds[0], after, by_default=True)
    message = (
        f"{hook} {', '.join(versions)} alone, which {after} does not serve for {', '.join(kinds)}: "
        "it is no longer asked"
    )
    fix = f"add {', '.join(each.rpartition('/')[2] for each in served)} to apiVersions"
    return Finding(
        "admission-not-asked",
        "breaks",
        message,
        (describe(value),),
        fix=fix,
        source=_SOURCE,
        date="2026-11-27",
    )
