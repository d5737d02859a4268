"""Writes ``dractl/probes/pciids/``: pci.ids without comments and subsystems.

A second file has the names that differ in dranet's older copy.

    python tools/make_pci_ids.py PCI.IDS DRANETS-PCI.IDS

Use as the first the file that go-nvlib embeds (pkg/pciids/default_pci.ids), whose names the NVIDIA
driver publishes; the second is third_party/pciids/pci.ids.gz of kubernetes-sigs/dranet, unpacked.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "dractl" / "probes" / "pciids"


def compact(text: str) -> list[str]:
    """Return the lines of vendors, devices and classes, below a line with the file's date."""
    date = re.search(r"^#\s+Date:\s+(\S+)", text, re.MULTILINE)
    assert date, "no Date: in the head of the file"
    lines = [
        line.rstrip() for line in text.splitlines() if line and not line.startswith(("#", "\t\t"))
    ]
    return [f"# {date[1]}", *lines]


def names_by_id(lines: list[str]) -> dict[str, str]:
    """Return the names of vendors by id, and of devices by vendor and id."""
    names: dict[str, str] = {}
    vendor = ""
    for line in lines[1:]:
        if line[0] != "\t":
            vendor = line[:4] if re.match("[0-9a-f]{4}  ", line) else ""
            if vendor:
                names[vendor] = line[6:]
        elif vendor:
            names[f"{vendor}:{line[1:5]}"] = line[7:]
    return names


def write(name: str, lines: list[str]) -> None:
    data = ("\n".join(lines) + "\n").encode()
    (FOLDER / name).write_bytes(gzip.compress(data, 9, mtime=0))


def main() -> None:
    ours, theirs = (compact(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:3])
    our_names, their_names = names_by_id(ours), names_by_id(theirs)
    FOLDER.mkdir(exist_ok=True)
    write("pci.ids.gz", ours)
    differing = sorted(
        key
        for key in our_names.keys() | their_names.keys()
        if our_names.get(key) != their_names.get(key)
    )
    write(
        "dranet.gz",
        [theirs[0], *(f"{key}\t{their_names.get(key, '')}".rstrip() for key in differing)],
    )


if __name__ == "__main__":
    main()
