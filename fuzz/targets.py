"""What is fuzzed: each target makes one input from a seed and gives it to dractl. A DractlError is a clear error;
any other exception is a failure."""

from __future__ import annotations

import contextlib
import io
import json
import os
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


def capacity(dice: random.Random) -> None:
    items = [of_tree(item, dice) if dice.random() < 0.3 else item for item in documents()]
    dump = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    question = dice.choice((["devices"], ["devices", "-o", "html"], ["fit", "gpu=1,nic=1"], ["fit", "gpu-and-nic"]))
    _cli([*question, "--isolated", "-f", "DIR"], {"a.json": dump})


KUBECTL = """#!/bin/sh
case " $* " in
*" version "*) cat DIR/version ;;
*" get "*) cat DIR/objects; cat DIR/errors >&2; exit $(cat DIR/code) ;;
*) cat DIR/errors >&2 ;;
esac
"""
ERRORS = (
    b"",
    b'error: the server doesn\'t have a resource type "x"\n',
    b'Error from server (Forbidden): pods is forbidden: User "me" cannot list resource "pods" in API group ""\n',
    b"Unable to connect to the server: i/o timeout\n",
)


def kubectl(dice: random.Random) -> None:
    """A live cluster whose answers are damaged on the way, or are half an answer and an error."""
    items = [of_tree(item, dice) if dice.random() < 0.2 else item for item in documents()]
    objects = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    version = b'{"serverVersion": {"major": "1", "minor": "36+", "gitVersion": "v1.36.2"}}'
    files = {
        "objects": of_bytes(objects, dice) if dice.random() < 0.3 else objects,
        "version": of_bytes(version, dice) if dice.random() < 0.3 else version,
        "errors": of_bytes(dice.choice(ERRORS), dice) if dice.random() < 0.5 else b"",
        "code": dice.choice((b"0", b"0", b"1", b"137")),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        program = Path(folder, "kubectl")
        program.write_text(KUBECTL.replace("DIR", folder))
        program.chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}:{path}"
        try:
            _cli(
                dice.choice((["explain", "--isolated"], ["explain", "-A", "--isolated"], ["devices", "--isolated"])), {}
            )
        finally:
            os.environ["PATH"] = path


def fix(dice: random.Random) -> None:
    """What --fix writes is fixed: the second run changes nothing, and what could be read before can be read after."""
    from dractl.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.yaml")
        before = of_bytes(dice.choice(manifests()), dice)
        file.write_bytes(before)
        codes, texts = [], [before]
        for _ in range(2):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
                codes.append(main(["lint", "--isolated", "--fix", "--unsafe-fixes", str(file)]))
            texts.append(file.read_bytes())
        if not set(codes) <= {0, 1, 3} or "internal error" in err.getvalue():
            raise AssertionError(f"exit codes {codes}: {err.getvalue()[-2000:]}")
        if texts[1] != texts[2]:
            raise AssertionError("the second --fix changes what the first one wrote")


def migrate(dice: random.Random) -> None:
    _cli(["migrate", "DIR"], {"a.yaml": of_bytes(dice.choice(manifests()), dice)})


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
    for target in (
        lint_bytes,
        lint_tree,
        fix,
        explain,
        capacity,
        kubectl,
        migrate,
        snapshot,
        archive,
        sysfs,
        configuration,
        cel,
        quantity,
    )
}
