"""The targets: each makes one input from a seed and gives it to dractl. A DractlError is a clear
error; any other exception is a failure.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz import changes, dumps, rendering
from fuzz.cli import EXAMPLES, ROOT, damaged_scene, documents, manifests, run_cli
from fuzz.mutate import of_bytes, of_leaves, of_tree

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

SELECTORS = (
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].architecture == "Hopper"',
    'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
    '"x" in device.attributes && device.attributes["x"].y.matches("^a+(b|c)*$")',
    "[1, 2, 3].all(i, [1, 2].exists(j, i > j)) || semver('1.2.3').isLessThan(semver('2.0.0'))",
)


def lint_bytes(dice: random.Random) -> None:
    run_cli(["lint", "--isolated", "DIR"], {"a.yaml": of_bytes(dice.choice(manifests()), dice)})


def lint_tree(dice: random.Random) -> None:
    text = json.dumps([of_tree(item, dice) for item in dice.sample(documents(), 3)])
    items = json.loads(text)
    run_cli(
        ["lint", "--isolated", "DIR"],
        {"a.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()},
    )


def explain(dice: random.Random) -> None:
    dump = {"kind": "List", "apiVersion": "v1", "items": damaged_scene(dice)}
    question = dice.choice((["explain", "-A"], ["explain", "-A", "-v"], ["explain", "-o", "json"]))
    run_cli([*question, "--isolated", "-f", "DIR"], {"a.json": json.dumps(dump).encode()})


def capacity(dice: random.Random) -> None:
    dump = json.dumps({"kind": "List", "apiVersion": "v1", "items": damaged_scene(dice)}).encode()
    question = dice.choice(
        (["devices"], ["devices", "-o", "html"], ["fit", "gpu=1,nic=1"], ["fit", "gpu-and-nic"])
    )
    run_cli([*question, "--isolated", "-f", "DIR"], {"a.json": dump})


KUBECTL = """#!/bin/sh
case " $* " in
*" version "*) cat DIR/version ;;
*" get "*)
    while [ "$1" != get ]; do shift; done
    printf '{"kind": "List", "apiVersion": "v1", "items": ['
    separator=
    IFS=,
    for resource in $2; do
        file="DIR/${resource%%.*}"
        [ -s "$file" ] && printf '%s' "$separator" && cat "$file" && separator=,
    done
    printf ']}'
    cat DIR/errors >&2
    exit $(cat DIR/code) ;;
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
    """Answer about a live cluster whose responses are damaged, or are half a response and an
    error.
    """
    lists: dict[str, list[str]] = {}
    for item in damaged_scene(dice):
        kind = str(item.get("kind") if isinstance(item, dict) else "").lower()
        plural = kind + ("es" if kind.endswith("s") else "s")
        if plural.isalpha():
            lists.setdefault(plural, []).append(json.dumps(item))
    objects = {plural: ",".join(texts).encode() for plural, texts in lists.items()}
    if objects and dice.random() < 0.15:
        plural = dice.choice(list(objects))
        objects[plural] = of_bytes(objects[plural], dice)
    version = b'{"serverVersion": {"major": "1", "minor": "36+", "gitVersion": "v1.36.2"}}'
    files = {
        **objects,
        "version": of_bytes(version, dice) if dice.random() < 0.3 else version,
        "errors": of_bytes(dice.choice(ERRORS), dice) if dice.random() < 0.2 else b"",
        "code": dice.choice((b"0",) * 18 + (b"1", b"137")),
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
            run_cli(
                dice.choice(
                    (
                        ["explain", "--isolated"],
                        ["explain", "-A", "--isolated"],
                        ["devices", "--isolated"],
                        ["fit", "gpu=1", "--isolated"],
                        ["cel", "true", "--devices", "cluster", "--isolated"],
                        ["check-driver", "--cluster", "--isolated"],
                    )
                ),
                {},
            )
        finally:
            os.environ["PATH"] = path


def fix(dice: random.Random) -> None:
    """Check the files that --fix writes: a second run changes nothing, and files that were readable
    before are readable after it.
    """
    from dractl.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.yaml")
        before = of_bytes(dice.choice(manifests()), dice)
        file.write_bytes(before)
        codes, texts = [], [before]
        for _ in range(2):
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()) as err,
            ):
                codes.append(main(["lint", "--isolated", "--fix", "--unsafe-fixes", str(file)]))
            texts.append(file.read_bytes())
        if not set(codes) <= {0, 1, 3} or "internal error" in err.getvalue():
            raise AssertionError(f"exit codes {codes}: {err.getvalue()[-2000:]}")
        if texts[1] != texts[2]:
            raise AssertionError("the second --fix changes what the first one wrote")


def migrate(dice: random.Random) -> None:
    run_cli(["migrate", "DIR"], {"a.yaml": of_bytes(dice.choice(manifests()), dice)})


def snapshot(dice: random.Random) -> None:
    data = json.loads((EXAMPLES / "discover" / "node.json").read_bytes())
    changed = of_tree(data, dice) if dice.random() < 0.25 else of_leaves(data, dice)
    question = dice.choice(
        (["discover"], ["discover", "-o", "matrix"], ["discover", "-o", "html"], ["render"])
    )
    run_cli(
        [*question, "--isolated", "--from", "DIR/node.json"],
        {"node.json": json.dumps(changed).encode()},
    )


def archive(dice: random.Random) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=dice.choice(("w", "w:gz", "w:xz"))) as tar:
        for number, data in enumerate(manifests()):
            entry = tarfile.TarInfo(dice.choice(("", "../", "/", "a/b/")) + f"{number}.yaml")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    run_cli(["lint", "--isolated", "DIR/a.tar"], {"a.tar": of_bytes(stream.getvalue(), dice)})


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
            text = f"{value}\n".encode()
            files[device.format(number) + name] = (
                of_bytes(text, dice) if dice.random() < 0.2 else text
            )
    run_cli(["discover", "--isolated", "--sysfs-root", "DIR"], files)


SETTINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kubernetes-version", ('"1.36"', '"1.34"', '"1.37"')),
    ("feature-gates", ("{}", "{DRADeviceTaints = true}", "{DRAPartitionableDevices = false}")),
    ("lint.select", ('["ALL"]', '["DRA7", "DRA1"]', "[]")),
    ("lint.ignore", ('["DRA715"]', '["DRA0"]', "[]")),
    ("exclude", ('["tests/**"]', '["**/a*.yaml"]', "[]")),
    ("lint.fail-on", ('"warning"', '"error"', '"info"')),
    ("lint.per-file-ignores", ('{"tests/**" = ["DRA7"]}', '{"*.yaml" = ["ALL"]}')),
)


def configuration(dice: random.Random) -> None:
    """Read mostly correct settings, of which one, or the text, is damaged."""
    chosen = {
        name: dice.choice(values)
        for name, values in dice.sample(SETTINGS, dice.randint(1, len(SETTINGS)))
    }
    if dice.random() < 0.2:
        chosen[dice.choice(list(chosen))] = dice.choice(
            ("1", "true", '"x"', "[1]", "{x = 1}", '["x"]', "1979-05-27")
        )
    text = "".join(f"{name} = {value}\n" for name, value in chosen.items()).encode()
    text = of_bytes(text, dice) if dice.random() < 0.2 else text
    run_cli(
        ["lint", "--config", "DIR/dractl.toml", "DIR/a.yaml"],
        {"dractl.toml": text, "a.yaml": dice.choice(manifests())},
    )


def baseline(dice: random.Random) -> None:
    """Read a damaged baseline that lint has written; the manifest may have changed since then."""
    from dractl.cli.main import main

    manifest = dice.choice(manifests())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.yaml").write_bytes(manifest)
        own = Path(folder, "own.json")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(
                ["lint", "--isolated", "-o", "json", "--output-file", str(own), f"{folder}/a.yaml"]
            )
        value = json.loads(own.read_bytes())
    changed = of_tree(value, dice) if dice.random() < 0.3 else of_leaves(value, dice)
    files = {
        "b.json": json.dumps(changed).encode(),
        "a.yaml": of_bytes(manifest, dice) if dice.random() < 0.5 else manifest,
    }
    run_cli(["lint", "--isolated", "--baseline", "DIR/b.json", "DIR/a.yaml"], files)


def facts(dice: random.Random) -> None:
    """Load a driver that a user has described: a damaged copy of a built-in one."""
    file = dice.choice(sorted((ROOT / "dractl" / "facts" / "data" / "drivers").glob("*.json")))
    value = json.loads(file.read_bytes())
    changed = of_tree(value, dice) if dice.random() < 0.3 else of_leaves(value, dice)
    files = {"driver.json": json.dumps(changed).encode(), "a.yaml": dice.choice(manifests())}
    asked = (
        ["lint", "DIR/a.yaml", "--isolated"],
        ["facts"],
        ["rule", file.stem],
        ["render", "--hardware", "dgx-h100", "--isolated"],
    )
    run_cli([*dice.choice(asked), "--facts", "DIR/driver.json"], files)


def lsp(dice: random.Random) -> None:
    """Answer an editor while somebody types: findings, completions and help at a position in a
    damaged text.
    """
    from dractl import editing
    from dractl.model import Target

    text = of_bytes(dice.choice(manifests()), dice).decode("utf-8", "surrogateescape")
    target = Target.of(dice.choice(("1.34", "1.37")))
    lines = text.split("\n")
    line = dice.randrange(len(lines) + 1)
    column = dice.randrange(len(lines[line]) + 2) if line < len(lines) else 0
    editing.completions(text, line, column, target)
    editing.hover(text, line, column, target)
    editing.diagnostics(text, "a.yaml", target)


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

    text = of_bytes(dice.choice((b"1Ki", b"1.5e3", b"-0.001m", b"80Gi")), dice).decode(
        "utf-8", "replace"
    )
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
        baseline,
        facts,
        lsp,
        cel,
        quantity,
        *dumps.TARGETS,
        *rendering.TARGETS,
        *changes.TARGETS,
    )
}
