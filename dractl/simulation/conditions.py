"""Rewrites the selectors of objects that read certain attributes or capacities."""

from collections.abc import Callable, Mapping
from typing import Any

from dractl.cel import Program, environment
from dractl.model import Target

KINDS_WITH_SELECTORS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")

RewriteText = Callable[[str], str]
"""A function from a CEL expression to the expression that takes its place."""


def list_reads(program: Program, names: frozenset[str]) -> frozenset[str]:
    """Return the ``names`` that an expression reads."""
    return names.intersection(lookup.full_name for lookup in program.lookups)


class SelectorRewriter:
    """Rewrites the selectors of objects, and collects the names that they read."""

    def __init__(self, names: frozenset[str], target: Target, rewrite_text: RewriteText) -> None:
        self.reads: set[str] = set()
        self._names = names
        self._target = target
        self._rewrite_text = rewrite_text
        self._texts: dict[str, str] = {}

    def rewrite(self, value: Any) -> Any:
        """Return a value with rewritten selectors, or the same value if no selector changes."""
        if isinstance(value, Mapping):
            entries = {name: self._rewrite_entry(name, entry) for name, entry in value.items()}
            return entries if any(entries[name] is not value[name] for name in value) else value
        if isinstance(value, list):
            rows = [self.rewrite(row) for row in value]
            return rows if any(a is not b for a, b in zip(rows, value, strict=True)) else value
        return value

    def _rewrite_entry(self, name: str, entry: Any) -> Any:
        expression = entry.get("expression") if name == "cel" and isinstance(entry, Mapping) else 0
        if not isinstance(expression, str):
            return self.rewrite(entry)
        text = self._texts.get(expression)
        if text is None:
            text = self._texts[expression] = self._rewrite_expression(expression)
        return entry if text == expression else {**entry, "expression": text}

    def _rewrite_expression(self, expression: str) -> str:
        program = environment(self._target, "stored").compile(expression)
        reads = list_reads(program, self._names)
        self.reads |= reads
        return self._rewrite_text(expression) if reads else expression
