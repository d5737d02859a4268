"""Configurations of kube-scheduler (kubernetes pkg/scheduler/apis/config/types.go)."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.model.paths import map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.views.base import View
from dractl.views.pod import DEFAULT_SCHEDULER


class SchedulerProfile(Struct, frozen=True):
    """An entry of ``profiles``."""

    raw: Raw

    @property
    def scheduler_name(self) -> str:
        """The name by which pods choose the profile."""
        return text_at(self.raw, "schedulerName") or DEFAULT_SCHEDULER

    @property
    def plugins(self) -> Mapping[str, Any]:
        """``plugins``: the plugins that the profile enables and disables, by extension point."""
        return map_at(self.raw, "plugins")

    @property
    def enabled(self) -> tuple[str, ...]:
        """The names of the plugins that the profile enables, each once."""
        return tuple(dict.fromkeys(n for point in self.plugins for n in self.list_enabled(point)))

    @property
    def disabled(self) -> tuple[str, ...]:
        """The plugins that the profile disables, each once; ``*`` means all plugins of an extension
        point.
        """
        return tuple(dict.fromkeys(n for point in self.plugins for n in self.list_disabled(point)))

    def list_enabled(self, point: str) -> tuple[str, ...]:
        """Return the plugins that the profile enables at an extension point."""
        return self._names(point, "enabled")

    def list_disabled(self, point: str) -> tuple[str, ...]:
        """Return the plugins that the profile disables at an extension point."""
        return self._names(point, "disabled")

    def _names(self, point: str, field: str) -> tuple[str, ...]:
        return tuple(text_at(plugin, "name") for plugin in maps_at(self.plugins, point, field))


class SchedulerConfiguration(View):
    """A KubeSchedulerConfiguration."""

    @property
    def profiles(self) -> tuple[SchedulerProfile, ...]:
        """``profiles``."""
        return tuple(map(SchedulerProfile, maps_at(self.raw, "profiles")))
