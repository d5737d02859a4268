"""ComputeDomains of NVIDIA's driver."""

from msgspec import Struct

from dractl.model.paths import at, maps_at, text_at
from dractl.properties import cached_property
from dractl.views.base import View


class DomainNode(Struct, frozen=True):
    """A node that has joined a ComputeDomain."""

    name: str
    state: str
    """``Ready`` or ``NotReady``; "" in versions of the driver without this field."""

    def __str__(self) -> str:
        return f"{self.name} ({self.state})" if self.state else self.name


class ComputeDomain(View):
    """A ComputeDomain (kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1)."""

    @property
    def state(self) -> str:
        """``status.status``: ``Ready`` or ``NotReady``; "" if it is not set yet."""
        return text_at(self.status, "status")

    @property
    def wanted_nodes(self) -> int:
        """``spec.numNodes``; 0 if any number of nodes is enough."""
        number = at(self.spec, "numNodes")
        return number if isinstance(number, int) else 0

    @cached_property
    def nodes(self) -> tuple[DomainNode, ...]:
        """``status.nodes``."""
        return tuple(
            DomainNode(text_at(entry, "name"), text_at(entry, "status"))
            for entry in maps_at(self.status, "nodes")
        )
