"""What is fuzzed: each target makes one input from a seed and gives it to dractl. A DractlError is a clear error;
any other exception is a failure."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fuzz.mutate import of_bytes, of_tree

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SELECTORS = (
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].architecture == "Hopper"',
    'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
    '"x" in device.attributes && device.attributes["x"].y.matches("^a+(b|c)*$")',
    "[1, 2, 3].all(i, [1, 2].exists(j, i > j)) || semver('1.2.3').isLessThan(semver('2.0.0'))",
)


@cache
def manifests() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(EXAMPLES.glob("*/*.yaml")))


@cache
def documents() -> tuple[Any, ...]:
    return tuple(item for data in manifests() for item in yaml.safe_load_all(data) if isinstance(item, dict))


def _cli(arguments: list[str], files: dict[str, bytes]) -> None:
    """Run the command line on files, in this process; raises what is not a clear error."""
    import contextlib

    from dractl.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([argument.replace("DIR", folder) for argument in arguments])
        if code not in (0, 1, 2, 3) or "internal error" in err.getvalue() or "Traceback" in err.getvalue():
            raise AssertionError(f"exit code {code}: {err.getvalue()[-2000:]}")


def lint_bytes(dice: random.Random) -> None:
    _cli(["lint", "--isolated", "DIR"], {"a.yaml": of_bytes(dice.choice(manifests()), dice)})


def lint_tree(dice: random.Random) -> None:
    text = json.dumps([of_tree(item, dice) for item in dice.sample(documents(), 3)])
    items = json.loads(text)
    _cli(
        ["lint", "--isolated", "DIR"],
        {"a.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()},
    )


def explain(dice: random.Random) -> None:
    items = [of_tree(item, dice) if dice.random() < 0.3 else item for item in documents()]
    dump = {"kind": "List", "apiVersion": "v1", "items": items}
    _cli(["explain", "--isolated", "-f", "DIR"], {"a.json": json.dumps(dump).encode()})


def snapshot(dice: random.Random) -> None:
    data = json.loads((EXAMPLES / "discover" / "node.json").read_bytes())
    _cli(["discover", "--isolated", "--from", "DIR/node.json"], {"node.json": json.dumps(of_tree(data, dice)).encode()})


def archive(dice: random.Random) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=dice.choice(("w", "w:gz", "w:xz"))) as tar:
        for number, data in enumerate(manifests()):
            entry = tarfile.TarInfo(dice.choice(("", "../", "/", "a/b/")) + f"{number}.yaml")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    _cli(["lint", "--isolated", "DIR/a.tar"], {"a.tar": of_bytes(stream.getvalue(), dice)})


def sysfs(dice: random.Random) -> None:
    device = "sys/bus/pci/devices/0000:{:02x}:00.0/"
    files = {}
    for number in range(1, 4):
        values = {
            "vendor": "0x10de",
            "device": "0x2330",
            "class": "0x030200",
            "numa_node": "0",
            "current_link_speed": "32.0 GT/s PCIe",
        }
        for name, value in values.items():
            files[device.format(number) + name] = of_bytes(f"{value}\n".encode(), dice)
    _cli(["discover", "--isolated", "--sysfs-root", "DIR"], files)


def configuration(dice: random.Random) -> None:
    text = b'kubernetes-version = "1.36"\n[lint]\nselect = ["ALL"]\n[lint.per-file-ignores]\n"tests/**" = ["DRA7"]\n'
    files = {"dractl.toml": of_bytes(text, dice), "a.yaml": manifests()[0]}
    _cli(["lint", "--config", "DIR/dractl.toml", "DIR/a.yaml"], files)


def cel(dice: random.Random) -> None:
    from dractl.cel import environment
    from dractl.model import Device, Target

    text = of_bytes(dice.choice(SELECTORS).encode(), dice).decode("utf-8", "replace")
    for mode in ("new", "stored"):
        program = environment(Target.of(), mode).compile(text)
        if program.ok:
            device = Device({"name": "gpu-0", "attributes": {"architecture": {"string": "Hopper"}}})
            program.evaluate("gpu.nvidia.com", device)
            program.trace("gpu.nvidia.com", device)


def quantity(dice: random.Random) -> None:
    from dractl.model import Quantity

    text = of_bytes(dice.choice((b"1Ki", b"1.5e3", b"-0.001m", b"80Gi")), dice).decode("utf-8", "replace")
    try:
        str(Quantity.parse(text))
    except ValueError:
        return


TARGETS: dict[str, Callable[[random.Random], None]] = {
    target.__name__.replace("_", "-"): target
    for target in (lint_bytes, lint_tree, explain, snapshot, archive, sysfs, configuration, cel, quantity)
}
