"""Subjects that get the same verdict on a described machine, since they differ only in their names,
or in selectors that have the same results on its devices.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct

from dractl.allocation import DeviceID, Features
from dractl.allocation.matching import Matcher
from dractl.allocation.pools import PoolDevice
from dractl.cel import Program
from dractl.cluster import ClusterState
from dractl.cluster.podgroups import group_object
from dractl.explain.ask import CLAIMS, Question, pods_using
from dractl.explain.obstacles.trial import set_in
from dractl.model import Target
from dractl.objects import Claim, Raw
from dractl.scheduler.holdings import collect_held_devices
from dractl.simulation.conditions import list_reads
from dractl.simulation.unknown_values import list_unknown_values
from dractl.validation.previews import preview_of
from dractl.views import View

_IDENTITY = ("name", "generateName", "uid", "resourceVersion", "managedFields")
"""Metadata that tell equal subjects apart."""


RequestSelectors = tuple[str, tuple[str, ...]]
"""The class that a request names, and the request's selectors."""


class ClaimShape(Struct, frozen=True):
    """A claim or template without its name, in two parts."""

    text: str
    """Everything but the selectors of requests."""
    selectors: tuple[RequestSelectors, ...]
    """The selectors of each request or alternative."""
    asks_capacity: bool
    """True if a request asks for an amount of a capacity."""


def shape_of(state: ClusterState, kind: str, value: Raw) -> ClaimShape:
    """Return the shape of a claim or template."""
    return state.cache.from_object("claim-shape", value, lambda: _shape(kind, value))


def _shape(kind: str, value: Raw) -> ClaimShape:
    prefix = ("spec",) if kind == "ResourceClaim" else ("spec", "spec")
    requests = Claim.of(None, value, prefix).alternatives
    other_fields: Raw = {**value, "metadata": _drop_identity(value)}
    for request in requests:
        for selector in request.selectors:
            other_fields = set_in(other_fields, selector.path, "")
    return ClaimShape(
        repr(other_fields),
        tuple((each.device_class, tuple(s.text for s in each.selectors)) for each in requests),
        any("capacity" in request.fields for request in requests),
    )


def _drop_identity(value: Raw) -> Raw:
    return {key: each for key, each in View(value).metadata.items() if key not in _IDENTITY}


class SelectorResults:
    """The results of selectors on the devices of one cluster.

    If the selectors of two claims have the same results on every device that their classes select,
    their answers differ only in the text of the selectors.
    """

    def __init__(self, state: ClusterState, features: Features) -> None:
        self._classes = {item.metadata.name: item for item in state.classes}
        self._devices = tuple(
            PoolDevice(DeviceID(item.spec.driver, item.spec.pool.name, device.name), device, item)
            for item in state.slices
            for device in item.spec.devices
        )
        self._unknown = frozenset[str]().union(*list_unknown_values(state).values())
        self._matcher = _matcher(state, features)
        self._selected: dict[str, tuple[PoolDevice, ...] | None] = {}
        self._alike: dict[Hashable, tuple[int, ...]] = {}
        self._results: dict[RequestSelectors, Hashable] = {}

    def of(self, shape: ClaimShape) -> Hashable:
        """Return a key that is equal for claims whose selectors have the same results. If a result
        is not certain, the key has the text of the selector.
        """
        if self._matcher is None or shape.asks_capacity:
            return shape.selectors
        return tuple([self._results_of_request(self._matcher, each) for each in shape.selectors])

    def _results_of_request(self, matcher: Matcher, selectors: RequestSelectors) -> Hashable:
        if selectors not in self._results:
            results = self._evaluate(matcher, selectors)
            self._results[selectors] = selectors if results is None else results
        return self._results[selectors]

    def _evaluate(
        self, matcher: Matcher, selectors: RequestSelectors
    ) -> tuple[tuple[bool, ...], ...] | None:
        """Return the results of each selector of a request; None if a result is not certain."""
        name, texts = selectors
        if name not in self._selected:
            self._selected[name] = self._select(matcher, name)
        devices = self._selected[name]
        if devices is None:
            return None
        results: list[tuple[bool, ...]] = []
        for text in texts:
            program = matcher.program(text)
            if not self._is_certain(program):
                return None
            key = name, program.reads
            if key not in self._alike:
                self._alike[key] = _list_alike(program, devices)
            alike = self._alike[key]
            answers = {
                number: matcher.match(text, devices[number], 0, None) for number in set(alike)
            }
            decided = {n: answer for n, answer in answers.items() if isinstance(answer, bool)}
            if len(decided) < len(answers):
                return None
            results.append(tuple([decided[number] for number in alike]))
        return tuple(results)

    def _select(self, matcher: Matcher, name: str) -> tuple[PoolDevice, ...] | None:
        """Return the devices that a class selects; None if that is not certain of some device."""
        if name not in self._classes:
            return None
        devices = self._devices
        for selector in self._classes[name].spec.selectors:
            text = selector.cel.expression if selector.cel is not None else ""
            answers = [matcher.match(text, device, 0, None) for device in devices]
            is_certain = self._is_certain(matcher.program(text))
            if not is_certain or not all(isinstance(answer, bool) for answer in answers):
                return None
            devices = tuple(d for d, answer in zip(devices, answers, strict=True) if answer)
        return devices

    def _is_certain(self, program: Program) -> bool:
        """Return True if a selector compiles, and reads no value that no source shows."""
        return program.ok and not list_reads(program, self._unknown)


def _matcher(state: ClusterState, features: Features) -> Matcher | None:
    """Return the matcher of selectors; None if an answer may depend on more than their results.

    In a preview, every name that a selector reads is in doubt. Where devices may be in use, an
    answer may try the selectors on devices that the cluster does not have.
    """
    behaviour, in_use = features.behaviour, collect_held_devices(state, features).in_use
    may_lack_room = any(
        item.spec.shared_counters or (item.spec.driver, item.spec.pool.name) in in_use
        for item in state.slices
    )
    is_preview = preview_of(Target(features.release, features.on)) is not None
    if behaviour is None or may_lack_room or is_preview:
        return None
    return Matcher(features, behaviour)


def _list_alike(program: Program, devices: Sequence[PoolDevice]) -> tuple[int, ...]:
    """Return for each device the first device on which every expression with the reads of
    ``program`` has the same result.
    """
    first: dict[Hashable, int] = {}
    return tuple(
        [
            first.setdefault(program.memory_key(each.id.driver, each.device) or number, number)
            for number, each in enumerate(devices)
        ]
    )


def equality_key(
    state: ClusterState, question: Question, results: SelectorResults | None = None
) -> Hashable:
    """Return a key that is equal for subjects that differ in nothing but their names. With
    ``results``, claims may also differ in selectors whose results are the same.

    A pod with a claim by name or with a group is equal to no other pod, since a claim may be
    shared, and a group counts its members.
    """
    kind, namespace, value = question.kind, question.key[0], question.value
    alone = (kind, question.key, id(value))
    if kind in CLAIMS:
        if kind == "ResourceClaim" and pods_using(state, question.key):
            return alone
        shape = shape_of(state, kind, value)
        return (
            kind,
            namespace,
            shape.text,
            shape.selectors if results is None else results.of(shape),
        )
    pod = question.pod
    if pod.uid or group_object(pod) is not None:
        return alone
    specs = []
    for reference in pod.claim_references:
        if not reference.template_name:
            return alone
        template = state.claim_template((namespace, reference.template_name))
        specs.append((reference.name, template.exists, repr(template.claim_spec)))
    spec = {key: each for key, each in pod.spec.items() if key != "resourceClaims"}
    return kind, namespace, repr(pod.labels), repr(spec), tuple(specs)
