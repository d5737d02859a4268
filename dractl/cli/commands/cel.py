"""``dractl cel``: a device selector, compiled as the API server does and tried on devices as the
scheduler does.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar

from typer import Argument, Exit, Option

from dractl.cel import Program, environment, require
from dractl.cel.trials import ReleaseVerdict, TriedDevice, try_on_devices
from dractl.cli import common, completing, terminal
from dractl.cli.headings import AGAINST, OptionGroup
from dractl.cli.options import driver_options
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import (
    ReleaseOptions,
    choose_target,
    find_known_release,
    list_releases,
)
from dractl.cluster import ClusterState
from dractl.errors import UsageError
from dractl.lint import lint
from dractl.lint.cel_hints import hint_for_program
from dractl.lint.registry import for_violation
from dractl.manifests import load
from dractl.model import Target
from dractl.model.abbreviation import abbreviate
from dractl.model.driver_choice import DriverChoice
from dractl.objects import identity, newest
from dractl.report.canvas import Canvas
from dractl.report.cel import json as cel_json, text as cel_text
from dractl.validation import previews

FORMATS = ("text", "json", "yaml")
_MAX_UNTRIED = 6  # names of machines on which an expression was not tried
_MAX_INPUT_BYTES = 1 << 20  # bytes of standard input; an expression may have 10,240 bytes

Expression = Annotated[
    str,
    Argument(metavar="EXPRESSION|-", help="Expression; - for standard input.", show_default=False),
]
Files = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...",
        help="Files to read devices from, short for --devices.",
        show_default=False,
    ),
]
Devices = Annotated[
    list[str] | None,
    Option(
        "--devices",
        metavar="FILE|DIR|SNAPSHOT|local|cluster",
        help="Try it on these devices; repeatable.",
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC,...",
        help="Try it on the devices of described machines, as in `dractl render`.",
        autocompletion=completing.offer_comma_list(completing.machines),
    ),
]
Driver = Annotated[
    list[str] | None,
    Option(
        "--driver",
        metavar="NAME,...|all",
        help=(
            "Try it on devices of these drivers only; without --devices and --hardware, on every"
            " machine that dractl knows by name. Default: the drivers that the expression names,"
            " else all."
        ),
        autocompletion=completing.offer_comma_list(completing.drivers),
    ),
]
Output = Annotated[str, output_option(FORMATS)]


class DeviceOptions(OptionGroup, frozen=True):
    """The devices on which the expression is tried."""

    heading: ClassVar[str] = AGAINST

    files: Files = None
    devices: Devices = None
    hardware: Hardware = None
    driver_version: driver_options.DriverVersion = None
    driver_option: driver_options.DriverOption = None
    driver: Driver = None

    @property
    def driver_names(self) -> tuple[str, ...]:
        """Return the drivers of ``--driver``."""
        return driver_options.parse_names(self.driver)

    @property
    def wanted_drivers(self) -> list[str]:
        """Return the drivers whose devices are used; empty for all."""
        return [] if self.driver_names == ("all",) else list(self.driver_names)

    def parse_drivers(self) -> DriverChoice:
        """Parse the options of drivers. Raises UsageError."""
        drivers = self.driver if self.driver_names != ("all",) else None
        return driver_options.parse(drivers, self.driver_version, self.driver_option, self.hardware)

    def load_published(self) -> dict[str, ClusterState | None]:
        """Load the objects of ``--devices`` and of the files by source; None for a machine."""
        sources = sorted([*(self.devices or ()), *(self.files or ())])
        if not sources:
            return {}
        from dractl.cli.options.device_sources import load_published

        return load_published(sources)

    def load(
        self,
        published: Mapping[str, ClusterState | None],
        target: Target,
        driver_choice: DriverChoice,
    ) -> list[ClusterState]:
        """Load the devices, those of ``published`` first; with ``--driver`` alone, the devices of
        every machine with a name.
        """
        if not (published or self.hardware or self.driver_names):
            return []
        from dractl.cli.options.device_sources import render_machine, render_snapshot
        from dractl.cluster.described_nodes import render_every_machine
        from dractl.machines.nodes import parse_machines

        states = [state or render_snapshot(name, target) for name, state in published.items()]
        states += [
            render_machine(spec, target, driver_choice)
            for spec in parse_machines(self.hardware or ())
        ]
        if not states and self.driver_names:
            return render_every_machine(target, self.wanted_drivers)
        return states


def command(
    expression: Expression,
    devices: DeviceOptions = DeviceOptions(),
    against: ReleaseOptions = ReleaseOptions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Compile a device selector, estimate its cost, and try it on devices.

    Prints the API server's verdict with the place of each error, the type, and the cost compared
    with the limit. For each device prints true, false or an error, with the part of the expression
    that decided and the values it saw.

    Exits with 1 if the API server rejects the expression, if it fails on a device, or if it is true
    on none.

    Example: `dractl cel 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"' --hardware
    dgx-h100`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    settings, variables = against.settings()
    driver_choice = devices.parse_drivers()
    release, gates = against.release_and_gates(settings, variables)
    text = _read_expression(expression)
    published = devices.load_published()
    seen = None if release else find_known_release((), list_releases(published))
    target = choose_target(seen.name if seen else release, gates)
    verdict = _judge(text, target, devices, published, driver_choice)
    if common.base_format(output) == "json":
        common.write_output(cel_json.render(verdict), output, printing.output_file)
    else:
        canvas = Canvas(
            terminal.width(sys.stdout),
            terminal.use_unicode(sys.stdout),
            color=not printing.to_file and terminal.use_color(sys.stdout),
        )
        origin = seen.origin if seen else against.release_from(settings, variables)
        release = verdict.release + (f" ({origin})" if origin else "")
        text = cel_text.render(verdict, canvas, release, verbose=bool(printing.verbose))
        common.write_report(text, printing.output_file)
    raise Exit(1 if verdict.fails else 0)


def _read_expression(expression: str) -> str:
    if expression != "-":
        return expression

    content = sys.stdin.buffer.read(_MAX_INPUT_BYTES + 1)
    if len(content) > _MAX_INPUT_BYTES:
        raise UsageError(
            f"standard input has more than {_MAX_INPUT_BYTES} bytes", hint="pass one expression"
        )
    return content.decode("utf-8", "replace").rstrip("\n")


def _judge(
    text: str,
    target: Target,
    devices: DeviceOptions,
    published: Mapping[str, ClusterState | None],
    driver_choice: DriverChoice,
) -> ReleaseVerdict:
    """Compile the expression, and try it on the devices."""
    require("cel")
    program = environment(target, "new").compile(text)
    stored = environment(target, "stored").compile(text)
    states = devices.load(published, target, driver_choice)
    if states and not published and _reads_site_values(stored):
        states = []
    if any(state.machines for state in states):
        states = _drop_unknown_machines(stored, states)
    advice, remarks = hint_for_program(program, target), _lint_remarks(text, target)
    # An expression that is too complex is not tried on devices, since that can take long
    if program.admission == "tooComplex":
        return ReleaseVerdict(target.release, program, stored, advice, remarks=remarks)
    candidates = list(_list_devices(states))
    drivers = devices.wanted_drivers
    if not devices.driver_names:
        named_drivers = {*program.drivers, *(lookup.domain for lookup in program.lookups)}
        drivers = sorted({device.driver for device in candidates} & named_drivers)
    tested = [device for device in candidates if not drivers or device.driver in drivers]
    _refuse_unknown_values(stored, states, drivers)
    untried = {device.driver for device in candidates} - {device.driver for device in tested}
    return ReleaseVerdict(
        target.release,
        program,
        stored,
        advice,
        try_on_devices(stored, tested) if stored.ok else (),
        asked=bool(states),
        untried=tuple(sorted(untried)),
        remarks=remarks,
        in_doubt=any(code == _preview_code() for code, _, _ in remarks),
    )


def _reads_site_values(program: Program) -> bool:
    """Return True, and print a notice, if the expression reads a value that the site decides."""
    from dractl.machines.site import list_site_reads

    reads = list_site_reads(program)
    if reads:
        terminal.notice(
            f"a described machine cannot know {', '.join(reads)}, which its site decides: the"
            " expression was not tried"
        )
    return bool(reads)


def _drop_unknown_machines(program: Program, states: list[ClusterState]) -> list[ClusterState]:
    """Leave out described machines if no source shows a value that the expression reads; a notice
    names these machines.
    """
    from dractl.simulation.conditions import list_reads
    from dractl.simulation.unknown_values import list_unknown_values

    kept: list[ClusterState] = []
    machines: list[str] = []
    names = set[str]()
    for state in states:
        described = {name for name, (_, source) in state.machines.items() if source == "hardware"}
        unknown = {
            node: list_reads(program, values)
            for node, values in list_unknown_values(state).items()
            if node in described
        }
        if not any(unknown.values()):
            kept.append(state)
            continue
        machines += unknown
        names = names.union(*unknown.values())
    if machines:
        terminal.notice(
            f"no source shows {', '.join(sorted(names))} of the devices of"
            f" {abbreviate(machines, _MAX_UNTRIED)}: the expression was not tried there"
        )
    return kept


def _refuse_unknown_values(
    program: Program, states: Sequence[ClusterState], drivers: Sequence[str]
) -> None:
    """Raise InputError if the expression reads a value that a snapshot lacks."""
    from dractl.cluster.snapshot_gaps import snapshot_gap_error, unknown_names

    slices = (value for state in states for value in state.objects("ResourceSlice").values())
    names_by_driver = unknown_names(slices)
    names = {
        name for driver in drivers or names_by_driver for name in names_by_driver.get(driver, ())
    }
    error = snapshot_gap_error(program, names)
    if error is not None:
        raise error


def _lint_remarks(text: str, target: Target) -> tuple[tuple[str, str, str | None], ...]:
    """Return lint's findings on the expression that the API server's verdict does not cover, such
    as names that no driver publishes.
    """
    spec = {"selectors": [{"cel": {"expression": text}}]}
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "c"},
        "spec": spec,
    }
    findings = lint(load(["-"], stdin=json.dumps(device_class).encode()), target).findings
    return tuple(
        (finding.code, finding.message, finding.help)
        for finding in findings
        if finding.api is None
        and finding.severity != "info"
        and finding.code.startswith(("DRA6", "DRA7", _preview_code()))
    )


def _preview_code() -> str:
    """Return the rule for names that are unknown in a preview."""
    return for_violation(previews.RULE).code


def _list_devices(states: Iterable[ClusterState]) -> Iterable[TriedDevice]:
    for state in states:
        for (driver, pool), slices in newest(state.slices, identity).items():
            for slice_ in slices:
                for device in slice_.spec.devices:
                    yield TriedDevice(driver, pool, device.name, device)
