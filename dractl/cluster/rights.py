"""The limits on reading a cluster: resources that its authorizer withholds, and the commands that grant them."""

from msgspec import Struct

from dractl.cluster.paste import command

_SERVICE_ACCOUNT = "system:serviceaccount:"
# Nobody lets a user of one namespace read the pods and quotas of all others.
_OF_CLUSTER = ("ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Namespace")


class Unread(Struct, frozen=True):
    """A resource that may not be listed in the whole cluster. ``namespace`` is the only one in which it may be; empty
    if it may be listed nowhere."""

    kind: str
    resource: str
    namespace: str = ""


class Rights(Struct, frozen=True):
    """The resources that may not be read, and the user who may not, as the API server names them."""

    unread: tuple[Unread, ...] = ()
    user: str = ""

    def hidden(self, *kinds: str) -> tuple[Unread, ...]:
        """The kinds in ``kinds`` that may not be read at all."""
        return tuple(one for one in self.unread if one.kind in kinds and not one.namespace)

    def narrow(self, *kinds: str) -> tuple[Unread, ...]:
        """The kinds in ``kinds`` that may be read in one namespace only."""
        return tuple(one for one in self.unread if one.kind in kinds and one.namespace)

    def as_json(self) -> list[dict[str, str]]:
        """The resources as they are printed."""
        return [
            {"resource": one.resource, **({"namespace": one.namespace} if one.namespace else {})}
            for one in self.unread
        ]

    def sees(self, kind: str, namespace: str) -> bool:
        """True if the objects of a kind in a namespace may be read."""
        return all(one.kind != kind or one.namespace == namespace for one in self.unread)

    @property
    def grant(self) -> str:
        """The commands with which an administrator allows what is missing, to a user of one namespace only what is of
        none; empty if that is nothing."""
        confined = any(one.namespace for one in self.unread)
        return self.allowing(
            *(one.kind for one in self.unread if not confined or one.kind in _OF_CLUSTER)
        )

    def allowing(self, *kinds: str) -> str:
        """The commands with which an administrator allows reading those of ``kinds`` that may not be read."""
        resources = ",".join(
            dict.fromkeys(
                one.resource.partition(".")[0] for one in self.unread if one.kind in kinds
            )
        )
        if not resources:
            return ""
        account = self.user.removeprefix(_SERVICE_ACCOUNT)
        name, option, subject = "dractl", "user", self.user or "NAME"
        if account != self.user and ":" in account:
            name, option, subject = f"dractl-{account.replace(':', '-')}", "serviceaccount", account
        return command(
            "kubectl create clusterrole dractl --verb=get,list --resource={} && "
            f"kubectl create clusterrolebinding {{}} --clusterrole=dractl --{option}={{}}",
            *(resources, name, subject),
        )


WHOLE = Rights()
