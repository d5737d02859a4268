"""``-o jsonpath=TEMPLATE`` and ``-o custom-columns=HEADER:.path,...``: parts of a report's JSON."""

import json
from collections.abc import Callable, Collection

from dractl.errors import UsageError
from dractl.report import custom_columns, jsonpath

KINDS = ("jsonpath=", "custom-columns=")
"""Prefixes of values of ``--output``."""

Projection = Callable[[str], str]
"""A function from a report as JSON to the text that is printed."""


def parse_projection(
    output: str, member: str, fields: Collection[str], *, headers: bool
) -> Projection | None:
    """Return the projection that ``--output`` asks for; None if it names a format.

    Columns show ``fields`` of the objects in ``member`` of the report. Raises UsageError for a
    template that does not parse, and for unknown columns.
    """
    kind, equals, text = output.partition("=")
    if f"{kind}=" not in KINDS:
        return None
    if not (equals and text):
        raise UsageError(f"-o {kind}= is empty", hint="write the template after the equals sign")
    if kind == "jsonpath":
        template = jsonpath.parse_template(text)
        return lambda report: jsonpath.render(template, json.loads(report))
    columns = custom_columns.parse_columns(text, fields)
    return lambda report: custom_columns.render(
        columns, json.loads(report)[member], headers=headers
    )
