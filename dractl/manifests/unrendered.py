"""Templates about DRA whose output is empty, because the values of their chart disable them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dractl.manifests.documents import Document, Skipped
from dractl.manifests.source import Source

_MENTIONS = r"resourceClaim|ResourceClaim|ResourceSlice|DeviceClass|DeviceTaintRule"
_COMMENT = r"(?s)\{\{-?\s*/\*.*?\*/\s*-?\}\}|(?m:^\s*#.*$)"
_CONDITION = r"(?s)\{\{-?\s*(?:else\s+)?(?:if|with|range)\s+(.*?)\s*-?\}\}"
_VALUE = r"(?<![\w.])\$?\.Values((?:\.\w+)+)"
_CAPABILITY = r"\.Capabilities\.APIVersions\.Has\s+\"([^\"]+)\""
_MAX_NAMED = 3
_MAX_CHARACTERS = 256 * 1024


def report_unrendered(
    chart: str, templates: Mapping[str, Source], values: Sequence[Document | None]
) -> Iterator[Skipped]:
    """Report the templates of a chart that have no output in its renderings, with the reason.

    ``values`` are the documents of its values, beginning with the one that takes precedence.
    """
    reasons: dict[str, list[str]] = {}
    for name, source in templates.items():
        text = re.sub(_COMMENT, "", source.text[:_MAX_CHARACTERS])
        mention = re.search(_MENTIONS, text)
        if mention is not None:
            reason = _reason(text[: mention.start()], [item.value for item in values if item])
            reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        count = "a template" if len(names) == 1 else f"{len(names)} templates"
        verb = "was" if len(names) == 1 else "were"
        why = f"{count} with DRA {verb} not rendered: {reason}"
        hint = f"lint {chart} with --set or --values that switch it on"
        yield from (Skipped(name, why, hint) for name in names)


def _reason(text: str, values: Sequence[Any]) -> str:
    """Return the values in the conditions before a mention of DRA, which disable it."""
    conditions = " ".join(re.findall(_CONDITION, text))
    off: dict[str, None] = {}
    for path in dict.fromkeys(re.findall(_VALUE, conditions)):
        steps = path.split(".")[1:]
        settings = (_find(item, steps) for item in values)
        value = next((item for item in settings if item is not None), None)
        if not value:
            off[f"{'.'.join(steps)} is {_show(value)}"] = None
    missing = [f"the cluster has no {name}" for name in re.findall(_CAPABILITY, conditions)]
    return ", ".join([*off, *missing][:_MAX_NAMED]) or "its conditions do not hold"


def _find(values: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        values = values.get(step) if isinstance(values, dict) else None
    return values


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return "0" if value == 0 else "empty"
