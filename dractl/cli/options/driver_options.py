"""``--driver``, ``--driver-version`` and ``--driver-option``: the drivers whose devices count, and
their setup.
"""

from collections.abc import Sequence
from typing import Annotated

from typer import Option

from dractl.cli import completing
from dractl.errors import UsageError
from dractl.model.driver_choice import DriverChoice
from dractl.model.nearest import nearest_names

Driver = Annotated[
    list[str] | None,
    Option(
        "--driver",
        metavar="NAME,...",
        help="Only devices of these drivers.",
        autocompletion=completing.offer_comma_list(completing.drivers),
    ),
]
DriverVersion = Annotated[
    list[str] | None,
    Option(
        "--driver-version",
        metavar="DRIVER=VERSION",
        help="Render, or judge, as this version of a driver; with one --driver, VERSION alone.",
        autocompletion=completing.offer_comma_list(completing.driver_equals),
    ),
]
DriverOption = Annotated[
    list[str] | None,
    Option(
        "--driver-option",
        metavar="DRIVER:NAME=VALUE",
        help="Option of a driver; `rule DRIVER` lists them.",
    ),
]


def parse_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """Parse the drivers of ``--driver``, each once."""
    return tuple(
        dict.fromkeys(
            name.strip() for part in given or () for name in part.split(",") if name.strip()
        )
    )


def parse(
    given_drivers: Sequence[str] | None,
    given_versions: Sequence[str] | None,
    given_options: Sequence[str] | None,
    hardware: Sequence[object] | None,
    *,
    judges: bool = False,
) -> DriverChoice:
    """Parse the options; versions and options of drivers need described machines.

    ``judges`` is True if the command also judges manifests by versions. Raises UsageError.
    """
    for option, given in (
        ("--driver-version", None if judges else given_versions),
        ("--driver-option", given_options),
    ):
        if given and not hardware:
            raise UsageError(
                f"{option} needs --hardware: published devices are as their drivers published them"
            )
    drivers = parse_names(given_drivers)
    if not (given_versions or given_options):
        return DriverChoice(drivers)  # without importing the drivers
    return DriverChoice(
        drivers, parse_versions(given_versions or (), drivers), parse_settings(given_options or ())
    )


def parse_versions(given: Sequence[str], drivers: Sequence[str] | None = None) -> dict[str, str]:
    """Parse versions by driver. Raises UsageError.

    A version without a driver is for the only one of ``drivers``, which is None if the command has
    no --driver.
    """
    versions: dict[str, str] = {}
    for text in given:
        name, equals, version = text.rpartition("=")
        if equals:
            from dractl.drivers import find

            versions[find(name).name] = version
        elif drivers is not None and len(drivers) == 1:
            versions[drivers[0]] = version
        else:
            hint = f"write DRIVER={text}, such as gpu.nvidia.com={text}"
            hint += "" if drivers is None else ", or give one --driver"
            raise UsageError(f"--driver-version {text}: missing driver name", hint=hint)
    return versions


def parse_settings(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """Parse options by driver. Raises UsageError for an option that the driver does not have."""
    from dractl.drivers import find

    settings: dict[str, dict[str, str]] = {}
    for text in given:
        name, colon, assignment = text.partition(":")
        key, equals, value = assignment.partition("=")
        if not colon or not equals:
            raise UsageError(f"--driver-option accepts DRIVER:NAME=VALUE, not {text!r}")
        setting_names = [setting.name for setting in find(name).catalogue.settings]
        if key not in setting_names:
            hint = (
                f"its options are {', '.join(setting_names)}"
                if setting_names
                else "none of its options change its slices"
            )
            near = nearest_names(key, setting_names, most=1)
            suggestion = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{name} has no option {key!r}{suggestion}", hint=hint)
        settings.setdefault(name, {})[key] = value
    return settings
