"""Reasons about described machines."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep
from dractl.explain.reasons.base import Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope
from dractl.model.abbreviation import abbreviate
from dractl.program import program_name

_SEE = "dractl discover --save machine.json"


class NotKnownOfMachine(Cause, frozen=True, kw_only=True):
    """The answer depends on values of a described machine that no source shows, such as the PCIe
    roots of its devices.
    """

    page = ReasonPage(
        "not-known-of-machine",
        "no source shows the values on which it depends, such as the machine's PCIe roots",
        "The devices have these attributes on a real node, but no document that dractl has read"
        " shows their values: who builds the machine names its devices, and not where they are. For"
        " some values the claim fits, for others it does not. What no value changes is still"
        " decided, such as too few devices.",
        _SEE,
        "Record the machine on such a node, and name the file with --devices in place of the"
        " machine.",
        Progress.APART,
    )
    identity = ("names",)

    names: tuple[str, ...] = ()
    """The attributes whose values are unknown."""

    def facts(self) -> Facts:
        return {**super().facts(), "attribute": ", ".join(self.names)}

    def sentence(self, names: Names, scope: Scope) -> str:
        machines = abbreviate(list(self.nodes))
        return f"no source shows {' and '.join(self.names)} of the devices of {machines}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "record the machine on such a node, and name the file with --devices in place of the"
            " machine",
            f"{program_name()} discover --save machine.json",
        )
