"""Requests, constraints and selectors, as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct

from dractl.objects.values import Path, items, mapping, number, text
from dractl.properties import cached_property

Owner = TypeVar("Owner")
CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")


class Expression(Struct, frozen=True):
    """A CEL expression and the path of its string."""

    text: str
    path: Path


class Request(Struct, frozen=True, dict=True):
    """A request, or one of the alternatives in ``firstAvailable``."""

    name: str
    path: Path
    """The path of ``fields``."""
    fields: Mapping[str, Any]
    """The content: deviceClassName, selectors, count ..."""
    parent: str | None = None
    """The name of the request that an alternative belongs to; None for a request."""

    @property
    def reference(self) -> str:
        """The request's name in constraints, configurations and allocations: ``request`` or
        ``request/subrequest``.
        """
        return f"{self.parent}/{self.name}" if self.parent is not None else self.name

    @property
    def whole(self) -> str:
        """The name of the request; for an alternative, of the request that it belongs to."""
        return self.name if self.parent is None else self.parent

    @property
    def device_class(self) -> str:
        return text(self.fields.get("deviceClassName"))

    @property
    def takes_all(self) -> bool:
        return self.fields.get("allocationMode") == "All"

    @property
    def amount(self) -> int:
        """The number of devices after defaulting; 0 for allocationMode All."""
        return 0 if self.takes_all else number(self.fields.get("count")) or 1

    @cached_property
    def selectors(self) -> list[Expression]:
        return expressions(self.fields.get("selectors"), (*self.path, "selectors"))

    @property
    def tolerations(self) -> list[Mapping[str, Any]]:
        return [mapping(item) for item in items(self.fields.get("tolerations"))]

    @property
    def capacity(self) -> Mapping[str, Any]:
        """The requested amounts, by the name of the capacity."""
        return mapping(mapping(self.fields.get("capacity")).get("requests"))


class Constraint(Struct, frozen=True):
    """One of ``devices.constraints``."""

    path: Path
    fields: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """``matchAttribute`` or ``distinctAttribute``."""
        return "matchAttribute" if "matchAttribute" in self.fields else "distinctAttribute"

    @property
    def attribute(self) -> str:
        return text(self.fields.get(self.kind))

    @property
    def requests(self) -> list[str]:
        return [text(name) for name in items(self.fields.get("requests"))]


class Claim(Struct, Generic[Owner], frozen=True, dict=True):
    """The ``devices`` of a ResourceClaim or of a ResourceClaimTemplate."""

    subject: Owner
    """The object that contains the claim, as the caller identifies it."""
    path: Path
    devices: Mapping[str, Any]

    @classmethod
    def of(cls, subject: Owner, value: Mapping[str, Any], prefix: Path) -> Claim[Owner]:
        """Return the view for a whole object and the path of its claim's spec: ``("spec",)``, in a
        template ``("spec", "spec")``.
        """
        spec: Any = value
        for key in prefix:
            spec = mapping(spec).get(str(key))
        return cls(subject, (*prefix, "devices"), mapping(mapping(spec).get("devices")))

    @cached_property
    def requests(self) -> Sequence[Sequence[Request]]:
        """Each request as a list of its alternatives: the request itself, or the entries of
        ``firstAvailable``.
        """
        requests = []
        for at, item in enumerate(items(self.devices.get("requests"))):
            request, path = mapping(item), (*self.path, "requests", at)
            name = text(request.get("name"))
            alternatives = items(request.get("firstAvailable"))
            if alternatives:
                requests.append(
                    [
                        Request(
                            text(mapping(sub).get("name")),
                            (*path, "firstAvailable", at),
                            mapping(sub),
                            name,
                        )
                        for at, sub in enumerate(alternatives)
                    ]
                )
            elif "exactly" in request:
                requests.append([Request(name, (*path, "exactly"), mapping(request["exactly"]))])
            else:
                requests.append([Request(name, path, request)])  # v1beta1 has no ``exactly``
        return requests

    @cached_property
    def alternatives(self) -> Sequence[Request]:
        """Every request and subrequest."""
        return tuple(request for group in self.requests for request in group)

    def request(self, reference: str) -> Request | None:
        """Return the request or subrequest with this :attr:`Request.reference`; for the name of a
        request with alternatives, the entry that contains them.
        """
        for at, alternatives in enumerate(self.requests):
            match = next(
                (request for request in alternatives if request.reference == reference), None
            )
            if match is not None:
                return match
            if alternatives and alternatives[0].parent == reference:
                entry = mapping(items(self.devices.get("requests"))[at])
                return Request(reference, (*self.path, "requests", at), entry)
        return None

    @cached_property
    def constraints(self) -> list[Constraint]:
        listed = items(self.devices.get("constraints"))
        return [
            Constraint((*self.path, "constraints", at), mapping(item))
            for at, item in enumerate(listed)
        ]

    def targets(self, names: Sequence[str]) -> Sequence[Request]:
        """Return the requests that ``names`` of a constraint or configuration refer to; all
        requests if ``names`` is empty.
        """
        if not names:
            return self.alternatives
        return [
            r
            for r in self.alternatives
            if r.reference in names or (r.parent is not None and r.parent in names)
        ]

    def binds_one(self, constraint: Constraint) -> bool:
        """Return True if a constraint covers a single device, so that there is nothing to
        compare.
        """
        bound = self.targets(constraint.requests)
        return len({request.whole for request in bound}) == 1 and all(
            request.amount == 1 for request in bound
        )


def selectors_of(device_class: Mapping[str, Any]) -> list[Expression]:
    """Return the selectors of a DeviceClass."""
    return expressions(mapping(device_class.get("spec")).get("selectors"), ("spec", "selectors"))


def expressions(value: Any, path: Path) -> list[Expression]:
    """Return the CEL expressions of the list of selectors at ``path``."""
    cel_expressions = []
    for at, item in enumerate(items(value)):
        expression = mapping(mapping(item).get("cel")).get("expression")
        if isinstance(expression, str) and expression:
            cel_expressions.append(Expression(expression, (*path, at, "cel", "expression")))
    return cel_expressions
