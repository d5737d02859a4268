"""Answer the input of the CEL oracle: one JSON object a line on standard input, one a line on standard output.

    python replay_cel.py --release 1.36 [--devices FILE] < cases.jsonl

Every line is answered, in order. Where dractl itself fails, ``compile`` is ``panic: …``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dractl.cel import EvalError, Program, environment
from dractl.model import Device, Target

GATES = ("DRAConsumableCapacity", "DRAListTypeAttributes")


def target_of(release: str, features: list[str] | None) -> Target:
    """``features`` are the gates that are on; a gate that the release does not know is ignored, as by the oracle."""
    if features is None:
        return Target.of(release)
    default = Target.of(release)
    return Target(release, (default.gates - set(GATES)) | (set(features) & set(GATES)))


def summarize_program(program: Program) -> dict[str, Any]:
    if not program.ok:
        return {"compile": program.error, "errorType": program.error_type}
    return {"compile": "ok", "outputType": program.output_type, "maxCost": program.max_cost}


def answer(case: dict[str, Any], release: str, named: dict[str, Any]) -> dict[str, Any]:
    target = target_of(release, case.get("features"))
    text = case["expression"]
    new, stored = (
        environment(target, "new").compile(text),
        environment(target, "stored").compile(text),
    )
    out = {"id": case.get("id", ""), **summarize_program(new), "admission": new.admission}
    if summarize_program(stored) != summarize_program(new):
        out["stored"] = summarize_program(stored)
    if stored.ok:
        results = []
        for entry in case.get("devices") or ():
            device = named[entry] if isinstance(entry, str) else entry
            result = stored.evaluate(device.get("driver", ""), Device({"name": "device", **device}))
            results.append(
                {"error": result.text} if isinstance(result, EvalError) else {"value": result}
            )
        if results:
            out["results"] = results
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", required=True)
    parser.add_argument("--devices", type=Path)
    options = parser.parse_args()
    named = json.loads(options.devices.read_text("utf-8")) if options.devices else {}
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        case: dict[str, Any] = {}
        try:
            case = json.loads(line)
            out = answer(case, options.release, named)
        except Exception as error:
            out = {
                "id": case.get("id", ""),
                "compile": f"panic: {type(error).__name__}: {error}",
                "admission": "invalid",
            }
        print(json.dumps(out))


if __name__ == "__main__":
    main()
