"""The drivers whose devices count, and their settings."""

from collections.abc import Mapping

from msgspec import Struct, field


class DriverChoice(Struct, frozen=True):
    """The drivers whose devices count, and their settings."""

    drivers: tuple[str, ...] = ()
    """Drivers whose devices count; empty for all."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions by driver."""
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The values of each driver's options, by driver."""
