"""Qualified names: the keys of attributes and capacities, ``domain/name`` or a bare name of the
driver's own domain.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct


class QualifiedName(Struct, frozen=True, order=True):
    """A name in a domain; ``str()`` is ``domain/name``."""

    domain: str
    name: str

    def __str__(self) -> str:
        return f"{self.domain}/{self.name}"


def qualified_name(text: str, default_domain: str) -> QualifiedName:
    """Split at the first ``/``; a bare name is in ``default_domain``, the driver's name.

    k8s.io/dynamic-resource-allocation/cel/compile.go parseQualifiedName.
    """
    domain, slash, name = text.partition("/")
    return QualifiedName(domain, name) if slash else QualifiedName(default_domain, text)


@lru_cache(maxsize=4096)
def full_name(text: str, default_domain: str) -> str:
    """Return ``domain/name``; the result is cached, since the devices of a driver have the same
    names.
    """
    return str(qualified_name(text, default_domain))


class RequestRef(Struct, frozen=True, order=True):
    """A request of a claim, or one alternative of a request with ``firstAvailable``.

    ``claim`` is ``namespace/name``. ``str()`` is ``request`` or ``request/alternative``, as in
    constraints, configurations and allocation results.
    """

    claim: str
    name: str
    alternative: str | None = None

    def __str__(self) -> str:
        return self.name if self.alternative is None else f"{self.name}/{self.alternative}"

    @property
    def request(self) -> RequestRef:
        """The request; for an alternative, the request that contains it."""
        return RequestRef(self.claim, self.name)

    @classmethod
    def parse(cls, claim: str, text: str) -> RequestRef:
        """Return the reference for the ``text`` in a constraint or an allocation result."""
        name, slash, alternative = text.partition("/")
        return cls(claim, name, alternative if slash else None)


def strip_domain(driver: str | None, name: str) -> str:
    """Return the name of an attribute or capacity without the domain of a driver."""
    return name if driver is None else name.removeprefix(f"{driver}/")
