"""The documents of one run as rules look at them: by kind, with requests and devices in one shape for every version.

Nothing here fails on what a document lacks or has of another type: a rule sees an empty mapping or no item instead.
Paths are those of the document as it was written.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.lint.inventory import Inventory
    from dractl.manifests import Document
    from dractl.model import Target
    from dractl.validation.violation import Path

CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
PODS = ("Pod template",)
"""What :attr:`Subject.kinds` calls everything that holds a pod's specification."""


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """``value`` if it is an integer, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


class Expression(NamedTuple):
    """A CEL expression and where its text stands."""

    text: str
    path: Path


class Request(NamedTuple):
    """A request, or one of the alternatives in ``firstAvailable`` (then ``parent`` is the request's name).

    ``path`` is where ``fields`` (deviceClassName, selectors, count ...) stand.
    """

    name: str
    path: Path
    fields: Mapping[str, Any]
    parent: str | None = None

    @property
    def reference(self) -> str:
        """What constraints and configurations call it: ``request`` or ``request/subrequest``."""
        return f"{self.parent}/{self.name}" if self.parent is not None else self.name

    @property
    def whole(self) -> str:
        """The name of the request, for an alternative too."""
        return self.name if self.parent is None else self.parent

    @property
    def device_class(self) -> str:
        return text(self.fields.get("deviceClassName"))

    @property
    def takes_all(self) -> bool:
        return self.fields.get("allocationMode") == "All"

    @property
    def amount(self) -> int:
        """How many devices it asks for, after defaulting; 0 for all that there are."""
        return 0 if self.takes_all else number(self.fields.get("count")) or 1

    @property
    def selectors(self) -> list[Expression]:
        return _selectors(self.fields.get("selectors"), (*self.path, "selectors"))


class Constraint(NamedTuple):
    """One of ``devices.constraints``."""

    path: Path
    fields: Mapping[str, Any]

    @property
    def requests(self) -> list[str]:
        return [text(name) for name in items(self.fields.get("requests"))]


class Claim(NamedTuple):
    """The ``devices`` of a ResourceClaim or of a ResourceClaimTemplate."""

    subject: Subject
    path: Path
    devices: Mapping[str, Any]

    @property
    def requests(self) -> list[list[Request]]:
        """Each request as its alternatives: one, or those of ``firstAvailable``."""
        found = []
        for number_, item in enumerate(items(self.devices.get("requests"))):
            request, path = mapping(item), (*self.path, "requests", number_)
            name = text(request.get("name"))
            alternatives = items(request.get("firstAvailable"))
            if alternatives:
                found.append(
                    [
                        Request(text(mapping(sub).get("name")), (*path, "firstAvailable", at), mapping(sub), name)
                        for at, sub in enumerate(alternatives)
                    ]
                )
            elif "exactly" in request:
                found.append([Request(name, (*path, "exactly"), mapping(request["exactly"]))])
            else:
                found.append([Request(name, path, request)])
        return found

    @property
    def alternatives(self) -> list[Request]:
        """Every request and subrequest."""
        return [request for group in self.requests for request in group]

    @property
    def constraints(self) -> list[Constraint]:
        listed = items(self.devices.get("constraints"))
        return [Constraint((*self.path, "constraints", at), mapping(item)) for at, item in enumerate(listed)]

    def targets(self, names: Sequence[str]) -> list[Request]:
        """The requests that ``names`` of a constraint or configuration stand for; all if there are none."""
        if not names:
            return self.alternatives
        return [r for r in self.alternatives if r.reference in names or (r.parent is not None and r.parent in names)]

    def binds_one(self, constraint: Constraint) -> bool:
        """Whether a constraint holds a single device, so that there is nothing to compare it with."""
        bound = self.targets(constraint.requests)
        return len({request.whole for request in bound}) == 1 and all(request.amount == 1 for request in bound)


class Device(NamedTuple):
    """A device of a ResourceSlice; ``path`` is where ``fields`` (attributes, capacity, taints ...) stand."""

    name: str
    path: Path
    fields: Mapping[str, Any]


class PodSpec(NamedTuple):
    """The specification of a pod, in a Pod or in the template of a workload."""

    subject: Subject
    path: Path
    fields: Mapping[str, Any]

    @property
    def claims(self) -> list[tuple[Path, Mapping[str, Any]]]:
        listed = items(self.fields.get("resourceClaims"))
        return [((*self.path, "resourceClaims", at), mapping(item)) for at, item in enumerate(listed)]

    @property
    def uses(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Every entry of ``resources.claims`` of every container."""
        for kind in ("initContainers", "containers", "ephemeralContainers"):
            for at, container in enumerate(items(self.fields.get(kind))):
                used = mapping(mapping(container).get("resources")).get("claims")
                for number_, item in enumerate(items(used)):
                    yield (*self.path, kind, at, "resources", "claims", number_), mapping(item)


class Subject:
    """One object of the run; ``kind`` is empty for what is of no group of Kubernetes."""

    def __init__(self, document: Document, kind: str) -> None:
        self.document = document
        self.kind = kind

    @property
    def value(self) -> Mapping[str, Any]:
        return self.document.value

    @property
    def name(self) -> str:
        return self.document.name or ""

    @property
    def namespace(self) -> str | None:
        return self.document.namespace

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.value.get("spec"))

    @property
    def selectors(self) -> list[Expression]:
        """Those of a DeviceClass."""
        return selectors_of(self.value)

    @property
    def devices(self) -> Iterator[Device]:
        """Those of a ResourceSlice."""
        for at, item in enumerate(items(self.spec.get("devices"))):
            device, path = mapping(item), ("spec", "devices", at)
            name = text(device.get("name"))
            if "basic" in device:
                yield Device(name, (*path, "basic"), mapping(device["basic"]))
            else:
                yield Device(name, path, device)

    @cached_property
    def claim(self) -> Claim | None:
        """The devices that a ResourceClaim or a ResourceClaimTemplate asks for."""
        if self.kind not in CLAIMS:
            return None
        spec = self.spec
        path: Path = ("spec", "devices")
        if self.kind == "ResourceClaimTemplate":
            spec, path = mapping(spec.get("spec")), ("spec", "spec", "devices")
        return Claim(self, path, mapping(spec.get("devices")))

    @cached_property
    def pods(self) -> tuple[PodSpec, ...]:
        """The pod specifications that the object holds."""
        from dractl.model import pod_templates

        return tuple(PodSpec(self, tuple(path), mapping(spec)) for path, spec in pod_templates(self.document.value))


class Run:
    """Everything that is linted together; ``devices`` is the inventory that it is tried on, if there is one."""

    def __init__(self, subjects: Sequence[Subject], target: Target, devices: Inventory | None = None) -> None:
        self.subjects = subjects
        self.target = target
        self.devices = devices
        self._kinds: dict[str, list[Subject]] = {}
        self._names: dict[tuple[str, str], list[Subject]] = {}
        for subject in subjects:
            self._kinds.setdefault(subject.kind, []).append(subject)
            if subject.name:
                self._names.setdefault((subject.kind, subject.name), []).append(subject)

    def of(self, kind: str) -> list[Subject]:
        """The objects of a kind."""
        return self._kinds.get(kind, [])

    def named(self, kind: str, name: str) -> list[Subject]:
        """The objects of a kind that have a name, in whatever namespaces."""
        return self._names.get((kind, name), [])

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of the run; with ``Pod template`` if any object holds a pod's specification."""
        holders = PODS if any(subject.pods for subject in self.subjects) else ()
        return frozenset({*self._kinds, *holders})

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that the claims and the classes of the run have, down to those of requests and constraints; of
        slices only that they have ``attributes``."""
        found: set[str] = {"attributes"} if self.of("ResourceSlice") else set()
        for subject in self.of("DeviceClass"):
            found.update(subject.spec)
        for claim in self.claims:
            found.update(claim.devices)
            for request in claim.alternatives:
                found.update(request.fields, () if request.parent is None else ("firstAvailable",))
            for constraint in claim.constraints:
                found.update(constraint.fields)
        return frozenset(found)

    @property
    def claims(self) -> list[Claim]:
        """The claims and the templates of claims."""
        return [subject.claim for subject in self.subjects if subject.claim]

    @property
    def pods(self) -> list[PodSpec]:
        return [pod for subject in self.subjects for pod in subject.pods]

    @property
    def expressions(self) -> Iterator[tuple[Subject, Expression]]:
        """Every selector, of classes and of requests."""
        for subject in self.of("DeviceClass"):
            for expression in subject.selectors:
                yield subject, expression
        for claim in self.claims:
            for request in claim.alternatives:
                for expression in request.selectors:
                    yield claim.subject, expression


def selectors_of(device_class: Mapping[str, Any]) -> list[Expression]:
    """The selectors of a DeviceClass."""
    return _selectors(mapping(device_class.get("spec")).get("selectors"), ("spec", "selectors"))


def _selectors(value: Any, path: Path) -> list[Expression]:
    found = []
    for at, item in enumerate(items(value)):
        expression = mapping(mapping(item).get("cel")).get("expression")
        if isinstance(expression, str) and expression:
            found.append(Expression(expression, (*path, at, "cel", "expression")))
    return found
