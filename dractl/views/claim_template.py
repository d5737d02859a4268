"""ResourceClaimTemplates."""

from collections.abc import Mapping
from typing import Any

from dractl.model.paths import at, map_at, maps_at
from dractl.properties import cached_property
from dractl.views.base import View
from dractl.views.claim import Claim


class ClaimTemplate(View):
    """A ResourceClaimTemplate."""

    @property
    def claim_metadata(self) -> Mapping[str, Any]:
        """``spec.metadata``: labels and annotations of the claims."""
        return map_at(self.spec, "metadata")

    @property
    def claim_spec(self) -> Any:
        """``spec.spec``: the spec of the claims."""
        return at(self.spec, "spec")

    @cached_property
    def claim(self) -> Claim:
        """A claim as the template describes it."""
        return Claim({"metadata": self.claim_metadata, "spec": self.claim_spec})

    @property
    def driver_parameters(self) -> tuple[Mapping[str, Any], ...]:
        """The parameters of drivers in the configuration of the claims."""
        configs = maps_at(self.claim_spec, "devices", "config")
        return tuple(map_at(config, "opaque", "parameters") for config in configs)
