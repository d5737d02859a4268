"""Qualified names: the keys of attributes and capacities, ``domain/name`` or a bare name of the driver's own domain."""

from __future__ import annotations

from typing import NamedTuple


class QualifiedName(NamedTuple):
    """A name in a domain; ``str()`` is ``domain/name``."""

    domain: str
    name: str

    def __str__(self) -> str:
        return f"{self.domain}/{self.name}"


def qualified_name(text: str, default_domain: str) -> QualifiedName:
    """Splits at the first ``/``; a bare name lies in ``default_domain``, the driver's name.

    k8s.io/dynamic-resource-allocation/cel/compile.go parseQualifiedName.
    """
    domain, slash, name = text.partition("/")
    return QualifiedName(domain, name) if slash else QualifiedName(default_domain, text)
