"""Dictionaries that keep only their values, and have their keys in common.

Python stores the keys of a class's instances once, and a copy of the dictionary of an instance
shares them too (PEP 412). Such a dictionary takes half the memory of another small one.
"""

from typing import Any

_RESERVED = 30
"""The values for which the first instance of a class reserves room. Each later instance reserves
room for one less, down to the values that it has. Python shares fewer keys than this.
"""
_MAX_TEMPLATES = 256
"""The maximum number of templates. Attributes with more sets of keys than this probably have names
of their own in every device.
"""


class SharedKeys:
    """Copies dictionaries so that those with the same keys, in the same order, share them."""

    def __init__(self) -> None:
        self._templates: dict[tuple[str, ...], dict[str, Any]] = {}

    def copy(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a dictionary that is equal to ``value``, or ``value`` itself."""
        names = tuple(value)
        template = self._templates.get(names)
        if template is None:
            if len(names) >= _RESERVED or len(self._templates) >= _MAX_TEMPLATES:
                return value
            template = self._templates[names] = _make_template(names)
        return template | value


def _make_template(names: tuple[str, ...]) -> dict[str, Any]:
    """Return a dictionary with these keys whose copies share them."""
    record: type[object] = type("Record", (), {})
    for _ in range(_RESERVED):
        instance = record()
        for name in names:
            setattr(instance, name, None)
    template: dict[str, Any] = vars(instance)
    return template
