"""The limits on reading a cluster: resources that its authorizer withholds, and the commands that
grant them."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from dractl.cluster.shell import quote_command

_ROLE, _DEVICES = "dractl", "dractl-devices"  # deploy/clusterrole.yaml
_SERVICE_ACCOUNT = "system:serviceaccount:"
# Nobody lets a user of one namespace read the pods and quotas of all others.
_CLUSTER_KINDS = ("ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Namespace")


class Unread(Struct, frozen=True):
    """A resource that may not be listed in the whole cluster. ``namespace`` is the only one in
    which it may be; empty if it may be listed nowhere."""

    kind: str
    resource: str
    namespace: str = ""


class Rights(Struct, frozen=True):
    """The resources that may not be read."""

    unread: tuple[Unread, ...] = ()
    user: str = ""
    """The user who may not, as the API server names them."""
    resources: Mapping[str, str] = {}
    """What dractl reads of every cluster, and this one serves: the resource of each kind."""

    def unreadable(self, *kinds: str) -> tuple[Unread, ...]:
        """The kinds in ``kinds`` that may not be read at all."""
        return tuple(one for one in self.unread if one.kind in kinds and not one.namespace)

    def namespaced_only(self, *kinds: str) -> tuple[Unread, ...]:
        """The kinds in ``kinds`` that may be read in one namespace only."""
        return tuple(one for one in self.unread if one.kind in kinds and one.namespace)

    def as_json(self) -> list[dict[str, str]]:
        """The resources as they are printed."""
        return [
            {"resource": one.resource, **({"namespace": one.namespace} if one.namespace else {})}
            for one in self.unread
        ]

    def can_read(self, kind: str, namespace: str) -> bool:
        """True if the objects of a kind in a namespace may be read."""
        return all(one.kind != kind or one.namespace == namespace for one in self.unread)

    @property
    def full_grant(self) -> str:
        """The commands with which an administrator allows what is missing, to a user of one
        namespace only what is of none; empty if that is nothing."""
        kinds = [one.kind for one in self.unread]
        if not any(one.namespace for one in self.unread):
            return self.grant_commands(*kinds)
        missing = [kind for kind in kinds if kind in _CLUSTER_KINDS]
        every = {kind: name for kind, name in self.resources.items() if kind in _CLUSTER_KINDS}
        return (
            self._role_commands(_DEVICES, self._unread_resources(missing) | every)
            if missing
            else ""
        )

    def grant_commands(self, *kinds: str) -> str:
        """Return the commands with which an administrator allows reading those of ``kinds`` that
        may not be read, and all else that dractl reads: whoever pastes them is not refused the next
        resource. A custom kind, which only some pods have as their owner, gets a role of its own.
        """
        missing = self._unread_resources(kinds)
        custom = {kind: name for kind, name in missing.items() if kind not in self.resources}
        if not self.resources:
            return self._role_commands(_ROLE, missing) if missing else ""
        roles = (
            [self._role_commands(_ROLE, self.resources)] if missing.keys() - custom.keys() else []
        )
        for kind, name in custom.items():
            roles.append(self._role_commands(f"{_ROLE}-{plural_of(name)}", {kind: name}))
        return " && ".join(roles)

    def _unread_resources(self, kinds: Iterable[str]) -> dict[str, str]:
        """Return the resources of those of ``kinds`` that may not be read."""
        return {one.kind: one.resource for one in self.unread if one.kind in kinds}

    def _role_commands(self, role: str, resources: Mapping[str, str]) -> str:
        """Return the commands that make a role, and bind the user to it."""
        names = ",".join(dict.fromkeys(map(plural_of, resources.values())))
        account = self.user.removeprefix(_SERVICE_ACCOUNT)
        option, subject = "user", self.user or "NAME"
        if account != self.user and ":" in account:
            option, subject = "serviceaccount", account
        # Two users have two bindings. k8s.io/apimachinery pkg/api/validation/path refuses / and %,
        # a shell more.
        binding = re.sub(r"[^A-Za-z0-9.]+", "-", f"{role}-{subject}").strip("-")
        return quote_command(
            f"kubectl create clusterrole {role} --verb=get,list --resource={{}} && "
            f"kubectl create clusterrolebinding {{}} --clusterrole={role} --{option}={{}}",
            *(names, binding, subject),
        )


def plural_of(resource: str) -> str:
    """Return the name of a resource without its group."""
    return resource.partition(".")[0]


FULL_RIGHTS = Rights()
