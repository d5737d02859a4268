"""The nodes that ``--hardware`` values describe: their machines, numbers and names."""

import os
import re
from collections.abc import Iterable

from dractl.errors import UsageError
from dractl.machines.patterns import expand
from dractl.machines.spec import NodeGroup, node_groups

_MAX_NAME_CHARACTERS = 63


def parse_groups(values: Iterable[str]) -> list[NodeGroup]:
    """Return the machines of several values, each with the number of its nodes.

    Raises UsageError.
    """
    return [group for text in values for group in node_groups(text)]


def parse_machines(values: Iterable[str]) -> list[str]:
    """Return the machines that values name, each once; patterns name all that match.

    For questions about a single node, the number of equal nodes does not matter. Raises UsageError.
    """
    expanded = [value for text in values for value in expand(text)]
    return list(dict.fromkeys(group.machine for group in parse_groups(expanded)))


def single_machine(values: Iterable[str], why: str) -> str:
    """Return the only machine that values name.

    Raises UsageError if there are several; ``why`` says why only one is possible.
    """
    groups = parse_groups(values)
    if len(groups) > 1:
        names = ", ".join(map(str, groups))
        raise UsageError(
            f"--hardware names {len(groups)} machines ({names}), and {why}",
            hint="run it once for each of them",
        )
    if groups[0].count > 1:
        raise UsageError(
            f"--hardware {groups[0]} means {groups[0].count:,} equal machines, and {why}",
            hint=f"write {groups[0].machine}",
        )
    return groups[0].machine


def node_name(spec: str) -> str:
    """Return a node name made from the name, the line or the file of a machine."""
    stem = os.path.basename(spec).lower().removesuffix(".yaml").removesuffix(".yml")
    name = re.sub(r"[^a-z0-9.-]+", "-", stem)
    return name.strip("-.")[:_MAX_NAME_CHARACTERS] or "node-1"
