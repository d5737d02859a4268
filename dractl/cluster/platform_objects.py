"""Objects of a cluster, besides pods and devices, on which verdicts about drivers depend."""

from typing import Any

from msgspec import Struct

from dractl.facts.helpers import Program
from dractl.objects import Raw, mapping, text

DEFINITION = "CustomResourceDefinition"


class PlatformObjects(Struct, frozen=True):
    """Roles, webhooks and admission policies of a cluster, and definitions and configurations of
    programs that read claims.
    """

    objects: tuple[dict[str, Any], ...] = ()
    read: frozenset[str] = frozenset()
    """The kinds that were read, even where the cluster has no object of them."""
    forbidden: frozenset[str] = frozenset()
    """The kinds that the user is not allowed to read."""


def defines_kind_of(value: Raw, program: Program) -> bool:
    """Return True if an object is the definition of a kind of a program."""
    return value.get("kind") == DEFINITION and program.owns(
        text(mapping(value.get("spec")).get("group"))
    )
