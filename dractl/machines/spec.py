"""Machines on one line: ``8xH100,8xnic,numa=2``, or a name with settings: ``p5.48xlarge,cpus=192``.

Items are joined by commas, each ``[COUNTx]PRODUCT`` or ``KEY=VALUE``. Products of one kind are
spread evenly over the PCIe roots, roots evenly over the NUMA nodes; so the first GPU and the first
NIC share a root. Keys: ``roots`` (default: the largest count), ``numa`` (default 2, or 1 with one
root), ``cpus`` (default none), ``threads`` a core (default 2), ``memory`` of all nodes together
(such as ``512Gi``; default unknown), ``vfs`` of each NIC (default none), ``driver`` and ``cuda``
(NVIDIA's versions), ``mig`` (``on``: GPUs whose MIG profiles are known are in MIG mode;
``7x1g.5gb``: each of them has these MIG devices), ``addressingMode`` of the GPUs (default HMM, as
with open kernel modules; ATS on Grace).

:func:`node_groups` splits the list of machines that options take: ``p5.48xlarge*2,dgx-a100*4``.
"""

import os
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.machines import described, names
from dractl.machines.layout import (
    Layout,
    PlannedDevice,
    PlannedRoot,
    numbers,
    parse_count,
    unknown_key,
)
from dractl.machines.products import Product, find
from dractl.program import program_name


def parse(line: str) -> Layout:
    """Return the layout that a line describes. Raises UsageError."""
    settings: dict[str, Any] = {}
    counts: dict[str, tuple[Product, int]] = {}
    machines: list[str] = []
    for item in filter(None, (part.strip() for part in line.split(","))):
        key, equals, value = item.partition("=")
        if equals:
            settings[key.strip()] = value.strip()
        elif names.canonical(item) is not None and find(item) is None:
            machines.append(item)
        else:
            product, count = parse_count(item, names.every())
            counts[product.name] = (product, counts.get(product.name, (product, 0))[1] + count)
    if machines:
        return _machine_by_name(machines, list(counts), settings)
    given = numbers(settings)
    roots = given.get("roots") or max((count for _, count in counts.values()), default=1)
    numa = given.get("numa") or (2 if roots > 1 else 1)
    slots: list[list[PlannedDevice]] = [[] for _ in range(roots)]
    for product, count in counts.values():
        for number in range(count):
            slots[number * roots // count if count <= roots else number % roots].append(
                PlannedDevice(product)
            )
    layout = tuple(
        PlannedRoot(tuple(held), number * numa // roots) for number, held in enumerate(slots)
    )
    return Layout(layout, numa, settings)


def is_file(text: str) -> bool:
    """Return True if a name is the name of a machine file."""
    return os.path.sep in text or text.endswith((".yaml", ".yml"))


class NodeGroup(Struct, frozen=True):
    """Equal nodes of one machine."""

    machine: str
    """A name, a line or a file."""
    count: int = 1

    def __str__(self) -> str:
        return self.machine + (f"*{self.count}" if self.count > 1 else "")


MAX_NODES = 100_000
"""The maximum number of nodes in a group."""
_NUMBER = re.compile("[0-9]{1,9}")


def node_groups(text: str) -> tuple[NodeGroup, ...]:
    """Split a list of machines, each with the number of its nodes behind ``*``.

    A machine begins with a name or a file. A product begins a machine if it follows a name, a file,
    or a number of nodes. Settings and other products belong to the machine before them:
    ``p5.48xlarge*2,dgx-a100,driver=570,2xH100,nic*4`` are ``p5.48xlarge``, ``dgx-a100,driver=570``
    and ``2xH100,nic``. Raises UsageError for an empty list and for a wrong number.
    """
    if os.path.isfile(text):
        return (NodeGroup(text),)
    groups: list[NodeGroup] = []
    items: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        item, star, count = part.partition("*")
        if items and _begins(item, items):
            groups.append(NodeGroup(",".join(items)))
            items = []
        if not items and groups and "=" in item:
            raise _setting_after_count(groups[-1], part)
        items.append(item)
        if star:
            groups.append(NodeGroup(",".join(items), _nodes(text, count)))
            items = []
    if items:
        groups.append(NodeGroup(",".join(items)))
    if not groups:
        raise UsageError(
            "--hardware names no machine",
            hint=f"`{program_name()} render --list-hardware` lists the named ones",
        )
    return tuple(groups)


def _begins(item: str, before: list[str]) -> bool:
    """Return True if an item begins a machine; otherwise it belongs to the machine ``before``."""
    return _is_whole(item) or ("=" not in item and _is_whole(before[0]))


def _is_whole(item: str) -> bool:
    """Return True for a file and for the name of a machine, and False for a product."""
    if find(item) is not None:
        return False
    return is_file(item) or names.canonical(item) is not None or os.path.isfile(item)


def _nodes(text: str, count: str) -> int:
    if not (_NUMBER.fullmatch(count) and 0 < int(count) <= MAX_NODES):
        raise UsageError(
            f"--hardware {text}: the number of nodes is 1 to {MAX_NODES:,}, not "
            f"{count or 'nothing'}"
        )
    return int(count)


def _setting_after_count(group: NodeGroup, setting: str) -> UsageError:
    return UsageError(
        f"--hardware: {setting} follows the number of nodes of {group}",
        hint=f"write {group.machine},{setting}*{group.count}",
    )


def _machine_by_name(named: list[str], products: list[str], settings: dict[str, Any]) -> Layout:
    """Return a machine by its name, with the settings of the line in place of its own."""
    if len(named) > 1:
        raise UsageError(f"--hardware: {named[0]} and {named[1]} are two machines")
    if products:
        raise UsageError(
            f"--hardware: {named[0]} is a whole machine: {products[0]} cannot be added to it",
            hint=f"copy its file (`{program_name()} render --list-hardware` says where it is) "
            "and add devices there",
        )
    fixed = [key for key in settings if key in ("roots", "numa")]
    if fixed:
        raise UsageError(f"--hardware: {named[0]} has its own {fixed[0]}; leave {fixed[0]}= out")
    layout = described.load(named[0])
    for key in settings:
        if key not in (
            "cpus",
            "threads",
            "memory",
            "vfs",
            "driver",
            "cuda",
            "mig",
            "addressingMode",
        ):
            raise unknown_key(key)
    return replace(layout, settings={**layout.settings, **settings})
