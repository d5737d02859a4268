"""Every id that validation gives to a violation, apart from the words of decoding."""

from __future__ import annotations

from dractl.lint.registry import rules

RULE_IDS = frozenset(
    name for rule in rules().values() for name in rule.violations if name[:2].isupper()
)
