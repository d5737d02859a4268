"""How long dractl takes to start, in multiples of the bare interpreter.

    python benchmarks/startup.py [RUNS]

Runs ``python -c pass``, ``dractl --version``, ``dractl lint one.yaml`` (a claim without a selector) and ``dractl lint
selector.yaml`` (one with a selector, which loads cel-expr-python) in turn and prints the median of the processor time
(user + system, milliseconds) of each, and the ratio to the bare interpreter, with its limit. Byte code is kept between
runs, as for an installed package, also where PYTHONDONTWRITEBYTECODE is set.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DRACTL = str(Path(sys.executable).with_name("dractl"))
LIMITS = {"dractl --version": 2.0, "dractl lint one.yaml": 5.0, "dractl lint selector.yaml": 7.0}
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "dractl --version": [DRACTL, "--version"],
    "dractl lint one.yaml": [DRACTL, "lint", "--isolated", str(FOLDER / "one.yaml")],
    "dractl lint selector.yaml": [DRACTL, "lint", "--isolated", str(FOLDER / "selector.yaml")],
}


def cpu_milliseconds(command: list[str]) -> float:
    """User and system time of one run, its children included."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1000


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        cpu_milliseconds(command)  # the files are in the page cache from here on
    for _ in range(runs):
        for name, command in COMMANDS.items():
            times[name].append(cpu_milliseconds(command))
    bare = statistics.median(times["python -c pass"])
    for name, values in times.items():
        median = statistics.median(values)
        limit = f"  (limit {LIMITS[name]:g})" if name in LIMITS else ""
        print(f"{name:26} {median:7.1f} ms  {median / bare:5.2f}x{limit}")
    return int(any(statistics.median(times[name]) > limit * bare for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
