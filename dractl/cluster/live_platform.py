"""Objects of a live cluster, besides pods and devices, on which verdicts about drivers depend:
roles, webhooks, admission policies, and the definitions of programs that read claims.
"""

from collections.abc import Callable
from typing import Any

from dractl.cluster.platform_objects import DEFINITION, PlatformObjects, defines_kind_of
from dractl.facts.helpers import helpers
from dractl.inputs import kubectl
from dractl.inputs.kubectl import KubectlResult, Login
from dractl.objects import Raw

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_CALLS = (
    {
        f"clusterroles.{_RBAC}": "ClusterRole",
        f"clusterrolebindings.{_RBAC}": "ClusterRoleBinding",
        f"roles.{_RBAC}": "Role",
        f"rolebindings.{_RBAC}": "RoleBinding",
    },
    {
        f"validatingwebhookconfigurations.{_ADMISSION}": "ValidatingWebhookConfiguration",
        f"mutatingwebhookconfigurations.{_ADMISSION}": "MutatingWebhookConfiguration",
    },
    # Each of these kinds has its own call: a release may not serve a kind, and a call with such a
    # kind fails as a whole.
    {f"validatingadmissionpolicies.{_ADMISSION}": "ValidatingAdmissionPolicy"},
    {f"mutatingadmissionpolicies.{_ADMISSION}": "MutatingAdmissionPolicy"},
    {"customresourcedefinitions.apiextensions.k8s.io": DEFINITION},
    # Only this object has the gates of KubeVirt's support of claims.
    {"kubevirts.kubevirt.io": "KubeVirt"},
)
"""The calls of kubectl: for each, the resources to read, with their kinds."""


def read_platform(login: Login, progress: Callable[[str], None]) -> PlatformObjects:
    """Read the roles, webhooks and admission policies of a cluster, and the definitions of programs
    that read claims.

    Raises InputError if kubectl fails for another reason than missing rights.
    """
    commands = [kubectl.build_get(",".join(call)) for call in _CALLS]
    results = kubectl.run(login, *commands, progress=progress)
    objects: list[dict[str, Any]] = []
    read, forbidden = set[str](), set[str]()
    for call, result in zip(_CALLS, results, strict=True):
        refused = {kind for name, kind in call.items() if _plural(name) in result.refused_resources}
        objects += filter(_concerns_claims, _objects_of(call, result))
        read |= set(call.values()) - refused
        forbidden |= refused
    return PlatformObjects(tuple(objects), frozenset(read), frozenset(forbidden))


def _concerns_claims(value: Raw) -> bool:
    """Return False for the definition of a custom resource whose program reads no claims. Clusters
    have hundreds of such definitions, with long schemas.
    """
    return value.get("kind") != DEFINITION or any(
        defines_kind_of(value, program) for program in helpers().programs
    )


def _objects_of(call: dict[str, str], result: KubectlResult) -> list[dict[str, Any]]:
    plurals = [_plural(name) for name in call]
    if result.is_unknown_type and len(call) == 1:
        return []
    if not result.is_answer(plurals):
        raise kubectl.command_error(f"read {', '.join(plurals)}", result)
    return kubectl.parse_list(",".join(plurals), result, tuple(call.values()))


def _plural(resource: str) -> str:
    return resource.partition(".")[0]
