"""Keeps the pack of facts.

tools/facts.py format [FOLDER]
    Write one row a line, in every file of the folder; by default dractl/facts/data.
tools/facts.py old [DAY]
    List what was read more than 90 days before the day (default: today), and previews of Kubernetes
    whose release was due before it; exit code 1 if there is any.
tools/facts.py propose DRIVER CHECKOUT
    List rows that a git checkout of the driver's repository suggests.
tools/facts.py types DOCUMENT
    List instance types with accelerators that no machine is of, and why they are left out
    (tools/types_left_out.json), listed by a Karpenter provider:
    AWS's website/content/en/preview/reference/instance-types.md, Azure's
    pkg/utils/supported-gpus.yaml, Oracle's chart/config/oci-shape-meta.json; or by Google's
    Cluster Autoscaler: pkg/cloudprovider/gke/machinetypes/deprecated_machine_types_config.go.
tools/facts.py mig CONFIG
    List PCI ids, MIG layouts and profiles of mig-parted's configuration that the pack lacks, and
    why they are left out (tools/gpus_left_out.json).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from dractl import facts  # noqa: E402
from dractl.facts import check, hardware  # noqa: E402
from dractl.machines import names  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DATA = ROOT / "dractl" / "facts" / "data"
TYPES_LEFT_OUT = ROOT / "tools" / "types_left_out.json"
"""Instance types without a machine: patterns of names, each with the reason and its source."""
GPUS_LEFT_OUT = ROOT / "tools" / "gpus_left_out.json"
"""GPUs without a product, by PCI id, each with the reason and its source."""


_WIDE = 200


def format_value(value: Any, indent: int = 0) -> str:
    """Format a value of the pack: a row on one line if it fits, the outer levels on a line each."""
    line = json.dumps(value, ensure_ascii=False)
    if (
        not isinstance(value, dict | list)
        or not value
        or (indent > 1 and len(line) + indent <= _WIDE)
    ):
        return line
    if isinstance(value, list):
        if not any(isinstance(item, dict | list) for item in value):
            return (
                line
                if indent > 1
                else _block([json.dumps(item, ensure_ascii=False) for item in value], "[]", indent)
            )
        return _block([format_value(item, indent + 1) for item in value], "[]", indent)
    return _block(
        [f"{json.dumps(key)}: {format_value(item, indent + 1)}" for key, item in value.items()],
        "{}",
        indent,
    )


def _block(lines: list[str], brackets: str, indent: int) -> str:
    inner = " " * (indent + 1)
    return (
        brackets[0]
        + "\n"
        + ",\n".join(inner + line for line in lines)
        + "\n"
        + " " * indent
        + brackets[1]
    )


# Names of attributes and capacities as drivers write them in Go: keys of maps, indices of
# assignments, constants.
_NAMES = re.compile(
    r'"(?P<key>[A-Za-z][\w./-]{1,62})"\s*:\s*(?:resourceapi\.Device\w+)?'
    r"\{\s*(?:String|Int|Bool|Version|Value)"
    r'|(?:[Aa]ttributes|[Cc]apacit\w+)\["(?P<index>[A-Za-z][\w./-]{1,62})"\]\s*='
    r'|\b\w*Attr(?:ibute)?[A-Z]\w*\s*=[^"\n]*(?:"[^"\n]*"[^"\n]*)?'
    r'"/?(?P<constant>[A-Za-z][\w./-]{1,62})"\s*\)?\s*$',
    re.MULTILINE,
)
_OTHER = re.compile(r"(^|/)(vendor|third_party|tests?|e2e|mock\w*|hack|examples?)/")
_TAG = re.compile(r"(?:[a-z]+-)?v?\d+\.\d+\.\d+\Z")


def propose(name: str, checkout: str) -> list[str]:
    """Return a line for each difference between the pack and the newest commit, and for tags."""
    driver = facts.driver(name)
    lines = [f"{name}: {checkout} at {_git(checkout, 'log', '-1', '--format=%h of %cs').strip()}"]
    for line in _git(
        checkout, "tag", "--format=%(refname:short) %(creatordate:short)"
    ).splitlines():
        tag, day = line.split()
        if _TAG.match(tag) and tag not in driver.names and driver.is_newer(tag):
            lines.append(f"version  {json.dumps({'name': tag, 'tags': [tag], 'released': day})}")
    code = dict(_code(checkout))
    known_rows: tuple[facts.Attribute | facts.Capacity, ...] = (
        *driver.attributes,
        *driver.capacities,
    )
    rows = {row.name.rpartition("/")[2]: row for row in known_rows}
    names = {
        next(filter(None, match.groups())): path
        for path, text in code.items()
        for match in _NAMES.finditer(text)
    }
    for attribute, path in sorted(names.items()):
        if attribute.rpartition("/")[2] not in rows:
            lines.append(
                f"new      {json.dumps({'name': attribute, 'since': 'main', 'source': path})}"
            )
    texts = {
        word for text in code.values() for word in re.findall(r'"(?:[^"\n]*/)?([\w.-]+)"', text)
    }
    for bare, row in sorted(rows.items()):
        if bare not in texts and row.removed is None:
            lines.append(f"unseen   {row.name}: in no text of the code; removed, or put together")
    return lines


def _code(checkout: str) -> Iterator[tuple[str, str]]:
    """Yield the Go files of the driver itself, with their text."""
    for path in _git(checkout, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if path.endswith(".go") and not path.endswith("_test.go") and not _OTHER.search(path):
            yield path, _git(checkout, "show", f"HEAD:{path}")


def _git(checkout: str, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", checkout, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


# The entries of mig-parted's configuration that name devices (``0x233010DE``: device and vendor),
# with their profiles.
_FILTERED = re.compile(
    r"device-filter: (?P<ids>.*)(?:\n|\Z)(?P<profiles>(?:(?!\s+- device).*\S.*\n)*)"
)


def unknown_mig(config: str) -> list[str]:
    """Return the PCI ids, MIG layouts and profiles of mig-parted that the pack lacks."""
    products = {
        row["device"].lower(): (name, row.get("mig"))
        for name, row in hardware.products().products["nvidia"].items()
        if "device" in row
    }
    layouts = hardware.mig_tables().layouts
    profiles: dict[str, set[str]] = {}
    for entry in _FILTERED.finditer(Path(config).read_text(encoding="utf-8")):
        for device_id in re.findall(r"0x([0-9A-Fa-f]{4})10DE", entry["ids"]):
            listed = re.findall(r'"(\dg\.[^"]+)"', entry["profiles"])
            profiles.setdefault(f"0x{device_id.lower()}", set()).update(listed)
    left_out = _read_left_out(GPUS_LEFT_OUT)
    missing = []
    for device_id, listed in sorted(profiles.items()):
        name, layout = products.get(device_id, (None, None))
        if name is None:
            missing.append(f"{device_id}: {_reason_left_out(device_id, left_out) or 'no product'}")
        elif layout is None:
            missing.append(f"{device_id}: {name} has no MIG layout")
        else:
            absent = listed - {profile.name for profile in layouts[layout].profiles}
            missing += [f"{device_id}: {name} lacks {profile}" for profile in sorted(absent)]
    return missing


_TYPE = re.compile(r"^### `(?P<name>[^`]+)`\n(?P<labels>(?:(?!#{2,3} ).*\n?)*)", re.MULTILINE)
_ACCELERATOR = re.compile(r"instance-(?:gpu|accelerator)-name\|(?P<name>[^|\n]+)")


_SIZE = re.compile(r"^(?P<name>standard_\w+):\n\s+gpu: (?P<maker>\w+)", re.MULTILINE)
_SHAPE = re.compile(r'"shapeName": "(?P<name>[^" ]*GPU[^" ]*)')
_MACHINE_TYPE = re.compile(
    r'NewMachineTypeInfo\("(?P<name>[\w-]+)"'
    r"(?:(?!NewMachineTypeInfo|supportedGpuTypes)[\s\S])*?withGpuOverride\((?P<gpu>\w+)"
    r'|NewMachineTypeInfo\("(?P<tpu>(?:ct|tpu)\d\w*-[\w-]+)"'
)


def unknown_types(document: str) -> list[str]:
    """Return the instance types with accelerators in a provider's list that no machine is of."""
    text = Path(document).read_text(encoding="utf-8")
    match Path(document).suffix:
        case ".yaml":
            accelerators = {match["name"]: match["maker"] for match in _SIZE.finditer(text)}
        case ".json":
            accelerators = {match["name"]: "gpu" for match in _SHAPE.finditer(text)}
        case ".go":
            accelerators = {
                match["name"] or match["tpu"]: match["gpu"] or "tpu"
                for match in _MACHINE_TYPE.finditer(text)
            }
        case _:
            accelerators = {
                match["name"]: label["name"]
                for match in _TYPE.finditer(text)
                if (label := _ACCELERATOR.search(match["labels"])) is not None
            }
    rows = _read_left_out(TYPES_LEFT_OUT)
    return [
        f"{name}: {_reason_left_out(name, rows) or chip}"
        for name, chip in sorted(accelerators.items())
        if names.canonical(name) is None
    ]


def _read_left_out(path: Path) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")))


def _reason_left_out(name: str, rows: Iterable[dict[str, Any]]) -> str:
    """Return the reason why an instance type or a GPU is left out; empty if there is none."""
    reasons = (
        f"left out: {row['why']}"
        for row in rows
        if any(fnmatchcase(name.lower(), pattern) for pattern in row["names"])
    )
    return next(reasons, "")


def list_stale_facts(today: date) -> list[str]:
    """Return a line for each preview that should be a release by now, and for each stale part."""
    pack = facts.current()
    ages = (f"{name}: {age} days" for name, age in check.old(pack, today))
    return [*check.list_overdue_previews(pack, today), *ages]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["format", *folder]:
            for path in sorted((Path(folder[0]) if folder else DATA).rglob("*.json")):
                path.write_text(
                    format_value(json.loads(path.read_text(encoding="utf-8"))) + "\n",
                    encoding="utf-8",
                )
        case ["old", *day]:
            lines = list_stale_facts(date.fromisoformat(day[0]) if day else date.today())
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return int(bool(lines))
        case ["propose", name, checkout]:
            print("\n".join(propose(name, checkout)))
        case ["mig", config]:
            print("\n".join(unknown_mig(config)))
        case ["types", document]:
            print("\n".join(unknown_types(document)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
