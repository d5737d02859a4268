"""Answers the allocator oracle's input with dractl's allocator, one JSON object a line.

    python tests/conformance/replay_allocator.py --release 1.36 < cases.jsonl

Input and output are those of the oracle (a JSON array or a stream of JSON objects); fields that are not known are
ignored. A failure of ours is an answer with the verdict ``panic``. Needs dractl and the standard library only.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from dractl.allocation import (
    Allocated,
    AllocatedState,
    Allocator,
    DeviceID,
    Exhausted,
    Fatal,
    Features,
    NoAllocator,
    NodeError,
    Unallocatable,
    Verdict,
    as_json,
)
from dractl.errors import DractlError
from dractl.model import DeviceClass, Node, Quantity, Reader, ResourceClaim, ResourceSlice

if TYPE_CHECKING:
    from collections.abc import Iterator

BUDGET = 20_000_000


def cases(text: str) -> Iterator[dict[str, Any]]:
    """The cases of a JSON array or of a stream of JSON objects."""
    decoder = json.JSONDecoder()
    position = 0
    while True:
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position == len(text):
            return
        value, position = decoder.raw_decode(text, position)
        yield from value if isinstance(value, list) else (value,)


def explicit(claim: dict[str, Any]) -> dict[str, Any]:
    """The oracle defaults nothing, dractl does: a mode or count that is not written is Go's zero value."""
    requests = []
    for request in claim["spec"].get("devices", {}).get("requests") or ():
        request = dict(request)
        if request.get("exactly"):
            request["exactly"] = {"allocationMode": "", "count": 0, **request["exactly"]}
        if request.get("firstAvailable"):
            request["firstAvailable"] = [
                {"allocationMode": "", "count": 0, **a} for a in request["firstAvailable"]
            ]
        requests.append(request)
    spec = claim["spec"]
    return {**claim, "spec": {**spec, "devices": {**spec.get("devices", {}), "requests": requests}}}


def state_of(case: dict[str, Any]) -> AllocatedState:
    """Return the allocated state of a case."""
    shared = [text.rpartition("/")[0] for text in case.get("allocatedSharedDeviceIDs") or ()]
    return AllocatedState(
        devices=frozenset(DeviceID.parse(text) for text in case.get("allocatedDevices") or ()),
        shared=frozenset(DeviceID.parse(text) for text in shared),
        capacity={
            DeviceID.parse(text): {name: Quantity.parse(value) for name, value in capacity.items()}
            for text, capacity in (case.get("allocatedCapacity") or {}).items()
        },
    )


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    match verdict:
        case Allocated():
            results = [as_json(result) for result in verdict.results]
            return {"verdict": "allocated", **({"results": results} if results else {})}
        case Unallocatable():
            return {"verdict": "unallocatable"}
        case NodeError():
            return {"verdict": "node-error", "error": verdict.message}
        case Fatal():
            return {"verdict": "panic" if verdict.panics else "error", "error": verdict.message}
        case NoAllocator():
            return {"verdict": "unsupported", "error": verdict.message}
        case Exhausted():
            return {"verdict": "timeout", "error": verdict.message}
    raise AssertionError(verdict)


def answer(case: dict[str, Any], release: str, channel: str) -> dict[str, Any]:
    """The answer to one case for one variant ("": the features choose)."""
    start = time.process_time()
    found: dict[str, Any] = {"name": case.get("name", ""), "release": release, "library": "dractl"}
    if channel:
        found["channel"] = channel
        if release == "1.34":
            text = f"release 1.34 cannot force the {channel} allocator; choose it by its features"
            return found | {"verdict": "unsupported", "error": text}
    try:
        cel = case.get("celFeatures")
        features = Features(
            release=release,
            on=frozenset(case.get("features") or ()),
            cel_on=None if cel is None else frozenset(cel),
            variant=channel or None,  # type: ignore[arg-type]
        )
        node = Node.read(Reader(case["node"]))
        claims = [ResourceClaim.read(Reader(explicit(claim))) for claim in case.get("claims") or ()]
        classes = [DeviceClass.read(Reader(found)) for found in case.get("classes") or ()]
        slices = [ResourceSlice.read(Reader(found)) for found in case.get("slices") or ()]
        allocator = Allocator(slices, classes, state=state_of(case), features=features)
        verdict = allocator.allocate(node, claims, BUDGET)
        found |= verdict_json(verdict)
        found["allocator"] = features.behaviour.variant if features.behaviour else ""
        found["allocateOne"] = int(verdict.cost.upstream_steps)
        found["work"] = verdict.cost.work
        found["upstreamSeconds"] = round(verdict.cost.upstream_seconds, 3)
        found["unordered"] = verdict.unordered
    except (DractlError, KeyError, ValueError) as error:
        found |= {"verdict": "bad-input", "error": f"{type(error).__name__}: {error}"}
    except Exception as error:
        found |= {"verdict": "panic", "error": f"{type(error).__name__}: {error}"}
    found["ms"] = round((time.process_time() - start) * 1000, 3)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", required=True, choices=["1.34", "1.35", "1.36", "1.37"])
    release = parser.parse_args().release
    try:
        for case in cases(sys.stdin.read()):
            for channel in case.get("channels") or [case.get("channel") or ""]:
                print(json.dumps(answer(case, release, channel)), flush=True)
    except ValueError as error:
        print(f"allocator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
