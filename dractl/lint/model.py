"""The objects that rules see: documents by kind, with requests and devices in one struct for every
version.

Missing values and values of another type cause no error: a rule sees an empty mapping or no item
instead. Paths are the document's as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from msgspec import Struct

from dractl import objects
from dractl.lint.evidence import NOTHING, Evidence
from dractl.lint.relevance import GROUP, KINDS, group
from dractl.model import pod_specs, pod_templates
from dractl.objects import CLAIMS, Constraint, Expression, Request, Slice, mapping, selectors_of
from dractl.objects.chart_values import chart_pods
from dractl.properties import cached_property
from dractl.validation.roles import GROUP as ROLE_GROUP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dractl.cel import Environment, Program
    from dractl.lint.finding import Confidence, Severity
    from dractl.lint.inventory import TriedDevices
    from dractl.manifests import Document
    from dractl.model import Target
    from dractl.validation.violation import Path

T = TypeVar("T")
Claim: TypeAlias = "objects.Claim[Manifest]"
PodSpec: TypeAlias = "objects.PodSpec[Manifest]"

_GROUPS = (GROUP, "", "apps", "batch", ROLE_GROUP)
PODS = ("Pod template",)
"""The entry in :attr:`Run.kinds` for any object that holds a pod's specification."""


class Manifest:
    """One object of the run; ``kind`` is empty for an object of an unknown group."""

    def __init__(self, document: Document, kind: str) -> None:
        self.document = document
        self.kind = kind
        self.name = document.name or ""
        self.claim: Claim | None = None
        """The devices that a ResourceClaim or a ResourceClaimTemplate asks for."""
        if kind in CLAIMS:
            prefix = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
            self.claim = objects.Claim.of(self, document.value, prefix)

    @property
    def value(self) -> Mapping[str, Any]:
        return self.document.value

    @property
    def namespace(self) -> str | None:
        return self.document.namespace

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.value.get("spec"))

    @cached_property
    def selectors(self) -> list[Expression]:
        """The selectors of a DeviceClass."""
        return selectors_of(self.value)

    @cached_property
    def slice(self) -> Slice:
        """The view of a ResourceSlice."""
        return Slice(self.spec)

    @cached_property
    def devices(self) -> tuple[objects.Device, ...]:
        """The devices of a ResourceSlice."""
        return tuple(self.slice.devices)

    @cached_property
    def pods(self) -> tuple[PodSpec, ...]:
        """The pod specifications in the object; pods of a custom resource are found by their
        structure.
        """
        if self.kind in KINDS:  # pods in a driver's parameters are not pods of the cluster
            return ()
        value = self.document.value
        if self.kind:
            return tuple(
                objects.PodSpec(self, tuple(path), mapping(spec))
                for path, spec in pod_templates(value)
            )
        from_charts = tuple(chart_pods(self, value))
        parts = {
            path[:-2] for pod in from_charts for path, _ in pod.claims
        }  # the documents from which these pods are made
        specs = (
            objects.PodSpec(self, tuple(path), mapping(spec)) for path, spec in pod_specs(value)
        )
        return (*from_charts, *(pod for pod in specs if pod.path not in parts))


def manifest(document: Document) -> Manifest:
    """Return the object of a document.

    Another API group may have a kind of the same name; in such an object, only the pods matter.
    """
    return Manifest(document, (document.kind or "") if group(document.value) in _GROUPS else "")


class Circumstances(Struct, frozen=True):
    """The facts about an input, besides the objects themselves, by which its objects are judged."""

    applied_together: bool = False
    """True if a kustomization lists the objects."""
    namespaces: Collection[str | None] = ()
    """The names of the namespaces in the input; None is among them if a namespace allows admin
    access.
    """
    consumers: frozenset[str] = frozenset()
    """Programs besides kube-scheduler that read the claims."""
    versions: Mapping[str, str] = MappingProxyType({})
    """The versions of drivers, by name, where they are known."""
    undecided: Sequence[str] = ()
    """Files that may define objects of any name once they are rendered or corrected."""
    evidence: Evidence = NOTHING
    """The facts about drivers that other objects show."""
    checked_driver: str = ""
    """The driver that check-driver checks for its author; "" otherwise."""
    unasked_files: Collection[str] = ()
    """The files that were read although nobody asked about them, whose findings are not shown."""


_DEFAULTS = Circumstances()


class Run:
    """Objects that belong together, such as the objects of a folder.

    They are tried on ``devices``. Names that the objects do not define are looked up in ``others``,
    the rest of the input, or in ``whole``, the run that contains this one. If the objects are
    patches, ``bases`` are the objects that they change.
    """

    def __init__(
        self,
        subjects: Sequence[Manifest],
        target: Target,
        devices: TriedDevices | None = None,
        others: Run | None = None,
        *,
        circumstances: Circumstances = _DEFAULTS,
        whole: Run | None = None,
        bases: Sequence[Manifest] = (),
    ) -> None:
        self._whole = whole
        self._circumstances = circumstances
        self.subjects = subjects
        self.target = target
        self.devices = devices
        self.others = others
        self.bases = bases
        self.applied_together = circumstances.applied_together
        self.namespaces = circumstances.namespaces
        self.consumers = circumstances.consumers
        self.versions = circumstances.versions
        self.undecided = circumstances.undecided
        self.evidence = circumstances.evidence
        self.checked_driver = circumstances.checked_driver
        self.unasked_files = circumstances.unasked_files
        self._kinds: dict[str, list[Manifest]] = {}
        self._names: dict[tuple[str, str], list[Manifest]] = {}
        self._classes: dict[str, Manifest | None] = {}
        self._derived: dict[Callable[[Run], object], object] = {}
        for subject in subjects:
            self._kinds.setdefault(subject.kind, []).append(subject)
            if subject.name:
                self._names.setdefault((subject.kind, subject.name), []).append(subject)

    @cached_property
    def without_devices(self) -> Run:
        """The run of these objects, judged by the facts about drivers alone."""
        return self._derive(self.subjects, None, None)

    def restrict_to(self, subjects: Sequence[Manifest]) -> Run:
        """Return a run of some of the objects, in which names mean the same as in the whole run."""
        return self._derive(subjects, self.devices, self.whole)

    @property
    def whole(self) -> Run:
        """Return the run that contains this one and judges all objects, or else the run itself."""
        return self._whole or self

    def _derive(
        self, subjects: Sequence[Manifest], devices: TriedDevices | None, whole: Run | None
    ) -> Run:
        return Run(
            subjects,
            self.target,
            devices,
            self.others,
            circumstances=self._circumstances,
            whole=whole,
        )

    def derive(self, build: Callable[[Run], T]) -> T:
        """Return the value that ``build`` makes of the run; it is computed once."""
        if build not in self._derived:
            self._derived[build] = build(self)
        return cast("T", self._derived[build])

    @cached_property
    def applied_files(self) -> frozenset[str]:
        """The files of objects that charts, kustomizations and GitOps controllers make."""
        rendered = (subject.document for subject in self.subjects if subject.document.rendered)
        return frozenset(document.file for document in rendered)

    @cached_property
    def unfinished(self) -> Sequence[Manifest]:
        """The objects whose names are completed by variables of Flux."""
        return [subject for subject in self.subjects if "${" in subject.name]

    def of(self, kind: str) -> list[Manifest]:
        """Return the objects of a kind."""
        return self._kinds.get(kind, [])

    def find_here(self, kind: str, name: str) -> list[Manifest]:
        """Return the objects of a kind and name among the objects that belong together."""
        return self.whole._names.get((kind, name), [])

    def find_anywhere(self, kind: str, name: str) -> list[Manifest]:
        """Return the objects of a kind and name in the whole input."""
        return self.find_here(kind, name) or (
            self.others.find_here(kind, name) if self.others is not None else []
        )

    def find_object(self, kind: str, name: str) -> list[Manifest]:
        """Return the objects of a kind with this name, in any namespace.

        If this run has none, return the only object of that name in the rest of the input. Objects
        that kustomizations build count only if no written object has the name.
        """
        subjects = self.find_here(kind, name)
        if subjects or self.others is None:
            return subjects
        elsewhere = self.others.find_here(kind, name)
        written = [subject for subject in elsewhere if not subject.document.built] or elsewhere
        return written if len(written) == 1 else []

    def device_class(self, name: str) -> Manifest | None:
        """Return the DeviceClass of that name: the last one in the run, or else the only one
        elsewhere; None if there is none.
        """
        classes = self.whole._classes
        if name not in classes:
            subjects = self.find_object("DeviceClass", name)
            classes[name] = subjects[-1] if subjects else None
        return classes[name]

    @cached_property
    def class_names(self) -> frozenset[str]:
        """The names of classes that :meth:`device_class` finds."""
        elsewhere = self.others.of("DeviceClass") if self.others is not None else ()
        names = {
            subject.name for subject in (*self.whole.of("DeviceClass"), *elsewhere) if subject.name
        }
        return frozenset(name for name in names if self.device_class(name) is not None)

    def driver_of_class(self, name: str) -> str | None:
        """Return the driver that the selectors of a class require; None if they require none, or if
        the class is unknown.
        """
        device_class = self.device_class(name)
        return self.driver_of(device_class.selectors) if device_class is not None else None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of the run; with ``Pod template`` if any object holds a pod's specification."""
        holders = PODS if any(subject.pods for subject in self.subjects) else ()
        return frozenset({*self._kinds, *holders})

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that the claims and the classes of the run have, down to the fields of
        requests and constraints; slices add only ``attributes``.
        """
        names: set[str] = {"attributes"} if self.of("ResourceSlice") else set()
        for subject in self.of("DeviceClass"):
            names.update(subject.spec)
        for claim in self.claims:
            names.update(claim.devices)
            for request in claim.alternatives:
                names.update(request.fields, () if request.parent is None else ("firstAvailable",))
            for constraint in claim.constraints:
                names.update(constraint.fields)
        return frozenset(names)

    @cached_property
    def claims(self) -> Sequence[Claim]:
        """The claims and the templates of claims."""
        return tuple(subject.claim for subject in self.subjects if subject.claim)

    @cached_property
    def pods(self) -> Sequence[PodSpec]:
        return tuple(pod for subject in self.subjects for pod in subject.pods)

    def driver_of(self, selectors: Iterable[Expression]) -> str | None:
        """Return the driver that one of the selectors requires; None if none requires a driver."""
        return next((driver for item in selectors if (driver := self.program(item).driver)), None)

    def program(self, expression: Expression) -> Program:
        """Return the expression as an API server of the run's release compiles it in a new
        object.
        """
        return self._environment.compile(expression.text)

    @cached_property
    def _environment(self) -> Environment:
        from dractl.cel import environment  # only needed for files with selectors

        return environment(self.target, "new")

    @cached_property
    def requests(self) -> Sequence[tuple[Claim, Request]]:
        """Every request and subrequest of the claims."""
        return tuple((claim, request) for claim in self.claims for request in claim.alternatives)

    @cached_property
    def constraints(self) -> Sequence[tuple[Claim, Constraint]]:
        return tuple(
            (claim, constraint) for claim in self.claims for constraint in claim.constraints
        )

    @cached_property
    def expressions(self) -> Sequence[tuple[Manifest, Expression]]:
        """Every selector, of classes and of requests."""
        of_classes = [
            (subject, item) for subject in self.of("DeviceClass") for item in subject.selectors
        ]
        of_requests = [
            (claim.subject, item) for claim, request in self.requests for item in request.selectors
        ]
        return (*of_classes, *of_requests)


class Replacement(Struct, frozen=True):
    """A fix that replaces one scalar (or one key) by another text."""

    path: Path
    """The path of the scalar."""
    text: str
    """The new text."""
    title: str = ""
    """``replace by`` the text, if empty."""
    key: bool = False
    """True if the key is replaced, and not the value."""
    span: tuple[int, int] | None = None
    """The range of the value, in code points, that is replaced; None for the whole value."""
    safe: bool = False
    """True if nothing else can be meant."""


class Advice(Struct, frozen=True):
    """A finding of a check, before it is placed in a file."""

    subject: Manifest
    """The object."""
    path: Path
    """The path inside the document, as written there."""
    message: str
    """The fault."""
    help: str | None = None
    """The remedy, as an imperative."""
    key: bool = False
    """True if the finding is about the key, and not the value."""
    span: tuple[int, int] | None = None
    """The range of the fault in the scalar at the path, in code points; None for the whole value.
    """
    severity: Severity | None = None
    """The severity, if this case is less severe than the rule's own severity."""
    confidence: Confidence = "certain"
    """The certainty of the fault."""
    fix: Replacement | None = None
    """The fix, if the intended value is clear."""
    related: tuple[tuple[str, Manifest, Path], ...] = ()
    """Further places: description, subject, path."""


Found = Iterator[Advice]


def spot(program: Program, name: str = "") -> tuple[int, int]:
    """Return the part of an expression to point at, as code points.

    The part reads ``name``, or else it is the first attribute or capacity, or else the first line.
    """
    lookups = [
        lookup for lookup in program.lookups if lookup.name is not None and not lookup.tested
    ]
    for lookup in [lookup for lookup in lookups if lookup.name == name] or lookups:
        return lookup.name_span
    return 0, len(program.text.partition("\n")[0])
