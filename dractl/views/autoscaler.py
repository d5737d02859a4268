"""HorizontalPodAutoscalers."""

from typing import Any

from dractl.model.paths import at, text_at
from dractl.views.base import View


class Autoscaler(View):
    """A HorizontalPodAutoscaler."""

    @property
    def target(self) -> tuple[str, str]:
        """Kind and name of the workload that the autoscaler scales."""
        reference = at(self.spec, "scaleTargetRef")
        return text_at(reference, "kind"), text_at(reference, "name")

    @property
    def min_replicas(self) -> Any:
        """``spec.minReplicas``, 1 by default."""
        return at(self.spec, "minReplicas") or 1

    @property
    def max_replicas(self) -> Any:
        """``spec.maxReplicas``."""
        return at(self.spec, "maxReplicas")
