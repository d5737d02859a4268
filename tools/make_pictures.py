"""Draws the README's pictures from examples/: ``python tools/make_pictures.py``.

A test compares them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dractl.alignment import Aligner
from dractl.allocation import Features
from dractl.cluster.sources import from_objects
from dractl.drivers import Options, render
from dractl.machines import machine
from dractl.model import Target
from dractl.report.alignment import svg as alignment_svg
from dractl.scheduler.attempt import Scheduler

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
NODE = ["discover", "--from", "examples/discover/node.json", "-o", "svg"]
TERMINALS = {
    "explain": ["explain", "examples/explain", "--color", "always"],
    "lint": ["lint", "examples/lint", "--color", "always"],
    "discover": ["discover", "--hardware", "2xH100,1xnic", "--color", "always"],
}

# Rich's own frame asks a content delivery network for a font.
FRAME = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"><style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; \
font-size: {char_height}px;
  line-height: {line_height}px; }}
{styles}
</style><defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}"
height="{terminal_height}"/></clipPath>{lines}</defs>
<rect fill="#0d1117" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">\
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


def run_dractl(words: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "dractl", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ends with {done.returncode}")
    return done.stdout


def terminal(words: list[str]) -> str:
    """Draw the output of a command on a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    shown = " ".join(word for word in words if word not in ("--color", "always"))
    with open(os.devnull, "w") as sink:
        console = Console(record=True, width=100, file=sink, force_terminal=True)
        console.print(Text.from_ansi(f"$ dractl {shown}\n{run_dractl(words)}"))
    return console.export_svg(title="", code_format=FRAME, unique_id="dractl")


GPUS = [f"gpu-{n}" for n in range(4)]
NICS = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]
CHOSEN = {
    "each pair on one root": NICS[:4],
    "half of them": [NICS[0], NICS[1], NICS[4], NICS[5]],
    "all across sockets": NICS[4:],
}


def alignment() -> str:
    """Draw three allocations of four GPUs and four NICs (docs/alignment.md)."""
    hardware = machine("dgx-h100")
    objects = render(hardware, Options("node-1", Target.of("1.37")), device_classes=True).objects
    panels = []
    for title, nics in CHOSEN.items():
        kinds = {
            "gpu": ("gpu.nvidia.com", "gpu.nvidia.com", GPUS),
            "nic": ("dranet", "dra.net", nics),
        }
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": kind, "exactly": {"deviceClassName": name, "count": len(devices)}}
                        for kind, (name, _, devices) in kinds.items()
                    ]
                }
            },
            "status": {
                "allocation": {
                    "devices": {
                        "results": [
                            {"request": kind, "driver": driver, "pool": "node-1", "device": device}
                            for kind, (_, driver, devices) in kinds.items()
                            for device in devices
                        ]
                    }
                }
            },
        }
        state = from_objects([*objects, claim])
        alignments = Aligner(Scheduler(state, Features.for_release("1.37"))).align_claims([claim])
        panels.append((title, next(a for a in alignments if a.kinds == ("gpu", "nic"))))
    return alignment_svg.render(panels)


PAGES = {
    "explain": (1130, ["explain", "examples/explain"]),
    "devices": (740, ["devices", "-f", "examples/capacity"]),
    "fit": (640, ["fit", "gpu-and-nic", "-f", "examples/capacity"]),
    "upgrade": (900, ["upgrade", "examples/explain", "--from", "1.34", "--to", "1.37"]),
    "discover": (1500, ["discover", "--from", "examples/discover/node.json"]),
}
FRAMES = """<body style="margin:0;display:flex;zoom:.45;background:#888">
<div><iframe {wide} style="color-scheme:light"></iframe><br>\
<iframe {wide} style="color-scheme:dark"></iframe></div>
<iframe {narrow} style="color-scheme:light"></iframe>\
<iframe {narrow} style="color-scheme:dark"></iframe>"""


def photograph(name: str, browser: str, folder: Path) -> None:
    """Save pictures of a page at 1,400 and 400 px, light and dark.

    An iframe has the colour scheme of its element. README shows one page alone.
    """
    height, words = PAGES[name]
    (folder / "page.html").write_text(run_dractl([*words, "-o", "html"]), encoding="utf-8")
    source = 'src="page.html" frameborder="0" scrolling="no"'
    wide, narrow = (
        f'{source} width="1400" height="{height}"',
        f'{source} width="400" height="{2 * height}"',
    )
    (folder / "all.html").write_text(FRAMES.format(wide=wide, narrow=narrow), encoding="utf-8")
    shots = [("all", f"990,{int(height * 0.9)}", f"pages/{name}")]
    shots += [("page", "1100,568", name)] if name == "fit" else []
    for page, size, picture in shots:
        options = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={folder / 'profile'}",
            "--blink-settings=preferredColorScheme=1",
        ]
        options += [f"--window-size={size}", f"--screenshot={PICTURES / picture}.png"]
        subprocess.run(
            [browser, *options, f"file://{folder / page}.html"], check=True, capture_output=True
        )


def main() -> None:
    (PICTURES / "alignment.svg").write_text(alignment(), encoding="utf-8")
    (PICTURES / "node.svg").write_text(run_dractl(NODE), encoding="utf-8")
    browser = shutil.which("chromium")
    with TemporaryDirectory() as folder:
        for name in PAGES if browser else ():
            photograph(name, str(browser), Path(folder))
    for name, words in TERMINALS.items():
        (PICTURES / f"{name}.svg").write_text(terminal(words), encoding="utf-8")


if __name__ == "__main__":
    main()
