"""dranet's option ``--filter``: a CEL expression over ``attributes`` that selects the devices to
publish.

Source: kubernetes-sigs/dranet, cmd/dranet/app.go, pkg/filter/filter.go.
"""

import re
from collections.abc import Iterable
from typing import Any

from dractl.errors import UsageError
from dractl.model import Device
from dractl.model.releases import Target

NAME = "dra.net"
_NAME = r"""(["'])([^"'/]+)/([^"'/]+)\1"""
_READ = re.compile(rf"\battributes\s*\[\s*{_NAME}\s*\]\s*\.\s*(?:String|Bool|Int)Value\b")
_IN = re.compile(rf"{_NAME}\s+in\s+attributes\b")
_OTHER = re.compile(r"(?<!device\.)\battributes\b[^&|)]*")


def apply_filter(
    devices: Iterable[dict[str, Any]], text: str, target: Target
) -> list[dict[str, Any]]:
    """Return the devices for which the filter is true, or fails.

    Raises UsageError for a filter that the driver does not start with, and for reads other than
    ``attributes["dra.net/NAME"].StringValue`` (``BoolValue``, ``IntValue``). A device selector can
    read the same attributes under other names, so the filter is translated to a selector and
    compiled.
    """
    from dractl.cel import environment, require

    require(f"{NAME}'s filter")
    selector = _READ.sub(r'device.attributes["\2"]["\3"]', text)
    selector = _IN.sub(r'("\3" in device.attributes["\2"])', selector)
    other = _OTHER.search(selector)
    if other is not None:
        raise UsageError(
            f"{NAME}: filter reads {other[0].strip()!r}, which dractl does not evaluate",
            hint=(
                'it evaluates attributes["dra.net/rdma"].BoolValue, StringValue and IntValue, and'
                ' "dra.net/rdma" in attributes'
            ),
        )
    program = environment(target, "stored").compile(selector)
    if not program.ok:
        raise UsageError(f"{NAME}: filter does not compile: {program.error}")
    return [device for device in devices if program.evaluate(NAME, Device(device)) is not False]
