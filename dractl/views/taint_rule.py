"""DeviceTaintRules."""

from collections.abc import Mapping
from typing import Any

from dractl.model.paths import map_at, text_at
from dractl.properties import cached_property
from dractl.views.base import View


class TaintRule(View):
    """A DeviceTaintRule."""

    @cached_property
    def taint(self) -> Mapping[str, Any]:
        """``spec.taint`` as written."""
        return map_at(self.spec, "taint")

    @property
    def effect(self) -> str:
        """``spec.taint.effect``: NoExecute, NoSchedule or None; "" if it is missing."""
        return text_at(self.taint, "effect")

    @property
    def time_added(self) -> str:
        """``spec.taint.timeAdded`` (RFC 3339); "" for a manifest, for which the server sets the
        time.
        """
        return text_at(self.taint, "timeAdded")

    @property
    def has_selector(self) -> bool:
        """True if the rule has ``spec.deviceSelector``, even an empty one, which selects
        everything.
        """
        return self.spec.get("deviceSelector") is not None

    def with_taint(self, **fields: str) -> dict[str, Any]:
        """Return the rule as a mapping, with some fields of its taint replaced."""
        return {**self.raw, "spec": {**self.spec, "taint": {**self.taint, **fields}}}
