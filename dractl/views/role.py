"""Roles and their bindings (rbac.authorization.k8s.io)."""

from functools import cached_property

from msgspec import Struct

from dractl.model.paths import list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.views.base import View


class PolicyRule(Struct, frozen=True):
    """An entry of ``rules``."""

    groups: frozenset[str]
    resources: frozenset[str]
    verbs: frozenset[str]
    is_limited: bool
    """It holds for some names only."""

    def allows(self, group: str, resource: str, verb: str) -> bool:
        """Return True if it allows a verb on all objects of a resource."""
        return (
            not self.is_limited
            and not self.groups.isdisjoint(("*", group))
            and not self.resources.isdisjoint(("*", resource))
            and not self.verbs.isdisjoint(("*", verb))
        )


class Role(View):
    """A Role or a ClusterRole."""

    @cached_property
    def policy_rules(self) -> tuple[PolicyRule, ...]:
        """``rules``."""
        return tuple(
            PolicyRule(
                _words(rule, "apiGroups"),
                _words(rule, "resources"),
                _words(rule, "verbs"),
                bool(list_at(rule, "resourceNames")),
            )
            for rule in maps_at(self.raw, "rules")
        )


def _words(rule: Raw, field: str) -> frozenset[str]:
    return frozenset(word for word in list_at(rule, field) if isinstance(word, str))


class RoleBinding(View):
    """A RoleBinding or a ClusterRoleBinding."""

    @property
    def role(self) -> tuple[str, str]:
        """The kind and the name of the role."""
        reference = map_at(self.raw, "roleRef")
        return text_at(reference, "kind"), text_at(reference, "name")

    @cached_property
    def accounts(self) -> frozenset[tuple[str, str]]:
        """The namespaces and names of the service accounts that have the role."""
        return frozenset(
            (text_at(subject, "namespace") or self.namespace, text_at(subject, "name"))
            for subject in maps_at(self.raw, "subjects")
            if text_at(subject, "kind") == "ServiceAccount"
        )
