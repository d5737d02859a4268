"""Limits on reading a cluster, and the commands that lift them."""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.cluster.coverage import Unread as Unread
from dractl.cluster.role import has_resource
from dractl.cluster.shell import quote_command

_ROLE = "dractl"
"""The role of deploy/clusterrole.yaml."""
_DEVICES_ROLE = "dractl-devices"
"""The role for a user of one namespace."""
_SERVICE_ACCOUNT = "system:serviceaccount:"
_CLUSTER_KINDS = ("ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Namespace")
"""Kinds without a namespace: a user of one namespace is granted only these cluster-wide."""


class Rights(Struct, frozen=True):
    """The rights of a user to read a cluster."""

    unread: tuple[Unread, ...] = ()
    """The resources that the user is not allowed to read whole."""
    user: str = ""
    """The name that the API server has for the user."""
    resources: Mapping[str, str] = {}
    """The resources that dractl reads of every cluster, as far as this one serves them, by kind."""
    role: tuple[str, ...] = ()
    """The resources that this cluster serves and the role of deploy/clusterrole.yaml allows; () if
    it is unknown what the cluster serves.
    """

    @property
    def printable_user(self) -> str:
        """The user; "" if a command cannot contain the name."""
        return self.user if self.user and quote_command("{}", self.user) else ""

    def unreadable(self, *kinds: str) -> tuple[Unread, ...]:
        """Return the resources of ``kinds`` that the user is not allowed to read at all."""
        return tuple(
            resource
            for resource in self.unread
            if resource.kind in kinds and not resource.namespace
        )

    def readable_in_namespace(self, *kinds: str) -> tuple[Unread, ...]:
        """Return the resources of ``kinds`` that the user can read in one namespace only."""
        return tuple(
            resource for resource in self.unread if resource.kind in kinds and resource.namespace
        )

    def as_json(self) -> list[dict[str, str]]:
        """Return the resources as they are printed."""
        return [resource.as_json() for resource in self.unread]

    def can_read(self, kind: str, namespace: str) -> bool:
        """Return True if the user can read the objects of a kind in a namespace."""
        return all(
            resource.kind != kind or resource.namespace == namespace for resource in self.unread
        )

    @property
    def full_grant(self) -> str:
        """The commands with which an administrator grants access to everything that is unread. To a
        user who can read one namespace, only resources without a namespace are granted. The result
        is empty if there is nothing to grant.
        """
        kinds = [resource.kind for resource in self.unread]
        if not any(resource.namespace for resource in self.unread):
            return self.grant_commands(*kinds)
        missing = [kind for kind in kinds if kind in _CLUSTER_KINDS]
        every = {kind: name for kind, name in self.resources.items() if kind in _CLUSTER_KINDS}
        return (
            self._role_commands(_DEVICES_ROLE, _plurals(self._unread_resources(missing) | every))
            if missing
            else ""
        )

    def grant_commands(self, *kinds: str) -> str:
        """Return the commands with which an administrator grants access to the unread ``kinds``.

        They also allow everything else that dractl reads, so that no other resource is refused next
        time. A custom kind that the role of deploy/clusterrole.yaml lacks gets a role of its own.
        """
        missing = self._unread_resources(kinds)
        custom = {
            kind: name
            for kind, name in missing.items()
            if kind not in self.resources and not (self.role and has_resource(name))
        }
        if not self.resources:
            return self._role_commands(_ROLE, _plurals(missing)) if missing else ""
        names = self.role or _plurals(self.resources)
        roles = [self._role_commands(_ROLE, names)] if missing.keys() - custom.keys() else []
        for kind, name in custom.items():
            roles.append(self._role_commands(f"{_ROLE}-{plural_of(name)}", _plurals({kind: name})))
        return " && ".join(roles)

    def _unread_resources(self, kinds: Iterable[str]) -> dict[str, str]:
        """Return the unread resources of ``kinds``, by kind."""
        return {
            resource.kind: resource.resource for resource in self.unread if resource.kind in kinds
        }

    def _role_commands(self, role: str, resources: Sequence[str]) -> str:
        """Return the commands that make a role, and bind the user to it.

        A role of that name may exist, such as for another user or from deploy/. It keeps its rules
        and gets the missing ones (k8s.io/kubectl pkg/cmd/auth/reconcile.go).
        """
        account = self.user.removeprefix(_SERVICE_ACCOUNT)
        option, subject = "user", self.printable_user or "NAME"
        if account != self.user and ":" in account:
            option, subject = "serviceaccount", account
        # Two users need two bindings. k8s.io/apimachinery pkg/api/validation/path refuses / and %
        # in their names, and a shell refuses more.
        binding = re.sub(r"[^A-Za-z0-9.]+", "-", f"{role}-{subject}").strip("-")
        return quote_command(
            f"kubectl create clusterrole {role} --verb=get,list --resource={{}}"
            " --dry-run=client -o yaml | kubectl auth reconcile -f - && "
            f"kubectl create clusterrolebinding {{}} --clusterrole={role} --{option}={{}}",
            *(",".join(resources), binding, subject),
        )


def _plurals(resources: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of resources without their groups, each once."""
    return tuple(dict.fromkeys(map(plural_of, resources.values())))


def plural_of(resource: str) -> str:
    """Return the name of a resource without its group."""
    return resource.partition(".")[0]


FULL_RIGHTS = Rights()
