"""Machines that nobody has at hand: turns a name (``p5.48xlarge``), a line (``8xH100,2xnic``) or a YAML file into a
Machine to render slices for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.drivers.hardware import build, described
from dractl.drivers.hardware.build import as_node
from dractl.drivers.hardware.labels import of, setter
from dractl.drivers.hardware.spec import is_file, parse
from dractl.errors import InputError, UsageError

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

__all__ = ["as_node", "labels_of", "machine", "setter"]


def machine(spec: str) -> Machine:
    """The machine that ``--hardware`` describes. Raises UsageError, and InputError for errors in a file."""
    if not is_file(spec):
        return build.machine(parse(spec))
    layout = described.read(spec)
    try:
        return build.machine(layout)
    except UsageError as error:  # of the machine as a whole, so of no line
        raise InputError(error.message.removeprefix("--hardware: "), place=spec, hint=error.hint) from error


def labels_of(spec: str) -> dict[str, str]:
    """The labels that the node of such a machine certainly has. Raises UsageError, and InputError for errors in a
    file."""
    return of(described.read(spec) if is_file(spec) else parse(spec))
