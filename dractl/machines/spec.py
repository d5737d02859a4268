"""Machines on one line: ``8xH100,8xnic,numa=2``, or a machine's name with settings: ``p5.48xlarge,cpus=192``.

Items are joined by commas, each ``[COUNTx]PRODUCT`` or ``KEY=VALUE``. Products of one kind are spread evenly over the
PCIe roots, roots evenly over the NUMA nodes; so the first GPU and the first NIC share a root. Keys: ``roots`` (default:
the largest count), ``numa`` (default 2, or 1 with one root), ``cpus`` (default none), ``threads`` a core (default 2),
``memory`` of all nodes together (such as ``512Gi``; default unknown), ``vfs`` of each NIC (default none), ``driver``
and ``cuda`` (NVIDIA's versions), ``mig`` (``on``: GPUs whose MIG profiles are known are in MIG mode; ``7x1g.5gb``: each
of them has these MIG devices), ``addressingMode`` of the GPUs (default HMM, as with open kernel modules; ATS on Grace).
"""

import os
from typing import Any

from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.machines import described, names
from dractl.machines.layout import Layout, PlannedDevice, PlannedRoot, counted, numbers, unknown_key
from dractl.machines.products import Product, find
from dractl.program import program_name


def parse(line: str) -> Layout:
    """The layout that a line describes. Raises UsageError."""
    settings: dict[str, Any] = {}
    counts: dict[str, tuple[Product, int]] = {}
    named: list[str] = []
    for item in filter(None, (part.strip() for part in line.split(","))):
        key, equals, value = item.partition("=")
        if equals:
            settings[key.strip()] = value.strip()
        elif names.canonical(item) is not None and find(item) is None:
            named.append(item)
        else:
            found, count = counted(item, names.every())
            counts[found.name] = (found, counts.get(found.name, (found, 0))[1] + count)
    if named:
        return _named(named, list(counts), settings)
    given = numbers(settings)
    roots = given.get("roots") or max((count for _, count in counts.values()), default=1)
    numa = given.get("numa") or (2 if roots > 1 else 1)
    slots: list[list[PlannedDevice]] = [[] for _ in range(roots)]
    for found, count in counts.values():
        for number in range(count):
            slots[number * roots // count if count <= roots else number % roots].append(
                PlannedDevice(found)
            )
    layout = tuple(
        PlannedRoot(tuple(held), number * numa // roots) for number, held in enumerate(slots)
    )
    return Layout(layout, numa, settings)


def is_file(text: str) -> bool:
    """True if a name is that of a machine file."""
    return os.path.sep in text or text.endswith((".yaml", ".yml"))


def machines(line: str) -> tuple[str, ...]:
    """The machines of a line that may describe several: a name or a file begins one, settings and products go on.

    ``p5.48xlarge,dgx-a100,driver=570,2xH100,nic`` is ``p5.48xlarge``, ``dgx-a100,driver=570`` and ``2xH100,nic``.
    """
    found: list[list[str]] = []
    whole = False  # the machine before has a name
    for item in filter(None, (part.strip() for part in line.split(","))):
        named = is_file(item) or (names.canonical(item) is not None and find(item) is None)
        if not found or named or (whole and "=" not in item):
            found.append([item])
            whole = named
        else:
            found[-1].append(item)
    return tuple(map(",".join, found))


def _named(named: list[str], products: list[str], settings: dict[str, Any]) -> Layout:
    """A machine by its name, with settings of the line on top of its own."""
    if len(named) > 1:
        raise UsageError(
            f"--hardware: {named[0]} and {named[1]} are two machines; render one at a time"
        )
    if products:
        raise UsageError(
            f"--hardware: {named[0]} is a whole machine: {products[0]} cannot be added to it",
            hint=f"copy its file (`{program_name()} render --list-hardware` says where it is) and add devices there",
        )
    fixed = [key for key in settings if key in ("roots", "numa")]
    if fixed:
        raise UsageError(f"--hardware: {named[0]} has its own {fixed[0]}; leave {fixed[0]}= out")
    known = described.load(named[0])
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
    return replace(known, settings={**known.settings, **settings})
