"""Edits of claims, templates and classes that make them work with two versions of a driver, proven
with both.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from msgspec import Struct, to_builtins

from dractl.cel import reading
from dractl.cluster import ClusterState
from dractl.cluster.changes import PatchError, apply_patch, pointer
from dractl.facts.drivers import driver as find_driver, names as known_drivers
from dractl.model import Device
from dractl.objects import mapping, selectors_of
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.upgrade.finding import ObjectEdit, Operation
from dractl.upgrade.placing import Applicant, find_outcome
from dractl.upgrade.readers import Read, Reader
from dractl.views import View

_MAX_TRIES = 12
"""The number of candidates that are proven for one object."""
_STANDARD = "resource.kubernetes.io/"


class Proof(Struct, frozen=True):
    """The clusters and the subject with which an edit is proven."""

    driver: str
    """The driver that is upgraded."""
    subject: Applicant | None
    """The subject that has to fit in both clusters. Without one, the object's selectors have to
    match devices.
    """
    before: Scheduler
    """The scheduler with the present slices."""
    after: Scheduler
    """The scheduler with the slices of the later version."""


class _Candidate(Struct, frozen=True):
    """An edit that is not proven."""

    title: str
    operations: tuple[Operation, ...]


def find_edit(
    driver: str, reader: Reader, reads: Sequence[Read], proof: Proof
) -> ObjectEdit | None:
    """Return the first edit with which the subject fits before the upgrade and after it; None if
    none does.

    Edits that keep the meaning come first: they use another name, or restrict a condition to
    devices that have the attribute. A condition is removed only if no such edit is enough.
    """
    candidates = list(_candidates(driver, reader, reads, proof))
    for candidate in candidates[:_MAX_TRIES]:
        try:
            value = apply_patch(reader.value, map(to_builtins, candidate.operations))
        except PatchError:
            continue
        if all(_works(reader, value, proof, side) for side in (proof.before, proof.after)):
            return ObjectEdit(candidate.title, reader.name, candidate.operations)
    return None


# -- candidates --


def _candidates(
    driver: str, reader: Reader, reads: Sequence[Read], proof: Proof
) -> Iterator[_Candidate]:
    """Yield edits of all places at once: first edits that keep the meaning, then edits that change
    it where necessary.
    """
    equivalent: list[_Candidate | None] = []
    reduced: list[_Candidate | None] = []
    by_place: dict[tuple[object, ...], list[Read]] = {}
    for read in reads:
        by_place.setdefault(read.path, []).append(read)
    for place_reads in by_place.values():
        first = place_reads[0]
        if first.by == "selector":
            equivalent.append(_rewrite_selector(driver, first, place_reads))
            reduced.append(equivalent[-1])
        elif first.by == "capacity":
            equivalent.append(None)
            reduced.append(_remove(first, f"remove the capacity {first.name}"))
        else:
            equivalent.append(_replace_attribute(driver, first, proof))
            reduced.append(equivalent[-1] or _remove(first, f"remove {first.by} {first.name}"))
    for chosen in (equivalent, reduced):
        parts = [each for each in chosen if each is not None]
        if parts and len(parts) == len(chosen):
            title = "; ".join(part.title for part in parts)
            operations = tuple(each for part in reversed(parts) for each in part.operations)
            recreate_note = " (create it again)" if _is_fixed(reader) else ""
            yield _Candidate(f"in {reader.name}{recreate_note}: {title}", operations)


def _is_fixed(reader: Reader) -> bool:
    """Return True for a stored claim, whose spec cannot be changed."""
    return reader.kind == "ResourceClaim" and bool(View(reader.value).uid)


def _rewrite_selector(driver: str, first: Read, reads: Sequence[Read]) -> _Candidate | None:
    """Return an edit with which a selector reads the attribute under its name in each version. If
    the attribute has no second name, restrict the condition to devices that have the attribute.
    """
    program = reading(first.text)
    text = first.text
    names = {read.name for read in reads}
    guards: dict[tuple[int, int], list[str]] = {}
    for lookup in sorted(program.lookups, key=lambda each: -each.start):
        if lookup.full_name not in names or lookup.tested or lookup.name is None:
            continue
        alias = _alias(driver, lookup.full_name)
        written = text[lookup.start : lookup.end]
        if alias is not None:
            domain, _, name = alias.rpartition("/")
            new = f'device.{lookup.kind}["{domain}"].{name}'
            guarded = f'("{name}" in device.{lookup.kind}["{domain}"] ? {new} : {written})'
            text = text[: lookup.start] + guarded + text[lookup.end :]
            continue
        conjunct = next(
            (one for one in program.conjuncts if one.start <= lookup.start < one.end), None
        )
        if conjunct is not None:
            guard = f'!("{lookup.name}" in device.{lookup.kind}["{lookup.domain}"])'
            guards.setdefault((conjunct.start, conjunct.end), []).append(guard)
    if guards and text == first.text:
        for (start, end), conditions in sorted(guards.items(), reverse=True):
            tests = " || ".join(dict.fromkeys(conditions))
            text = f"{text[:start]}({tests} || {text[start:end]}){text[end:]}"
    if text == first.text:
        return None
    operation = Operation("replace", pointer(*first.path), text)
    return _Candidate(f"write the selector as {text}", (operation,))


def _alias(driver: str, name: str) -> str | None:
    """Return the name that an attribute has in other versions of the driver; None if the facts have
    no other name.
    """
    if driver not in known_drivers():
        return None
    catalogue = find_driver(driver)
    for row in catalogue.attributes:
        if row.same_as and name in (catalogue.full(row.name), catalogue.full(row.same_as)):
            return catalogue.full(row.same_as if name == catalogue.full(row.name) else row.name)
    return None


def _replace_attribute(driver: str, read: Read, proof: Proof) -> _Candidate | None:
    """Return an edit that uses another attribute: both versions have it, and it distinguishes the
    same devices.
    """
    for name in _equivalents(driver, read.name, proof):
        operation = Operation("replace", pointer(*read.path, read.by), name)
        return _Candidate(f"replace {read.by} {read.name} by {name}", (operation,))
    return None


def _equivalents(driver: str, name: str, proof: Proof) -> Iterator[str]:
    """Yield the attributes in both versions whose values correspond one to one to those of
    ``name``, on every node.
    """
    with_name, other = proof.before, proof.after
    if not _values_of_attribute(with_name, driver, name):
        with_name, other = other, with_name
    values = _values_of_attribute(with_name, driver, name)
    common: set[str] | None = None
    for side in (with_name, other):
        for pool, device in _devices_of_driver(side, driver):
            if (pool, device.name) in values:
                present = {one if "/" in one else f"{driver}/{one}" for one in device.attributes}
                common = present if common is None else common & present
    for candidate in sorted(common or (), key=partial(_rank, name)):
        other_values = _values_of_attribute(with_name, driver, candidate)
        triples = {(key[0], text, other_values[key]) for key, text in values.items()}
        left = {(pool, text) for pool, text, _ in triples}
        right = {(pool, text) for pool, _, text in triples}
        if candidate != name and len(triples) == len(left) == len(right):
            yield candidate


def _rank(name: str, other: str) -> tuple[Any, ...]:
    """Return a key that sorts names by similarity, the most similar first. The values of attributes
    with other names may correspond only by chance.
    """
    bare, other_bare = name.rpartition("/")[2], other.rpartition("/")[2]
    similar = SequenceMatcher(None, bare, other_bare).ratio()
    return -similar, not other.startswith(_STANDARD), other


def _devices_of_driver(scheduler: Scheduler, driver: str) -> Iterator[tuple[str, Device]]:
    for item in scheduler.slices:
        if item.spec.driver == driver:
            for device in item.spec.devices:
                yield item.spec.pool.name, device


def _values_of_attribute(
    scheduler: Scheduler, driver: str, name: str
) -> dict[tuple[str, str], str]:
    """Return the value of an attribute, by pool and device."""
    values: dict[tuple[str, str], str] = {}
    for pool, device in _devices_of_driver(scheduler, driver):
        attribute = device.attribute(name, driver)
        if attribute is not None:
            values[pool, device.name] = repr(attribute.value)
    return values


def _remove(read: Read, title: str) -> _Candidate:
    return _Candidate(title, (Operation("remove", pointer(*read.path)),))


# -- proofs --


def _works(reader: Reader, value: dict[str, Any], proof: Proof, side: Scheduler) -> bool:
    """Return True if the subject fits with the edited object."""
    state = _with_object(side.state, reader, value)
    scheduler = side.with_state(state)
    if proof.subject is None:
        return _matches_any(value, proof.driver, scheduler)
    subject = proof.subject
    if subject.claim is not None and reader.kind == "ResourceClaim":
        claim = PodClaim("", subject.key, value, state.decode(value))
        subject = Applicant(subject.objects, subject.key, None, claim)
    elif subject.runs is False and subject.pod is not None and reader.generated:
        subject = Applicant(subject.objects, subject.key, subject.pod, runs=False)
    return find_outcome(scheduler, subject).fits


def _with_object(state: ClusterState, reader: Reader, value: dict[str, Any]) -> ClusterState:
    """Return the cluster with the edited object, and with the claims that a template would have
    made after the edit.
    """
    state = state.replace(reader.kind, reader.key, value)
    spec = mapping(mapping(value.get("spec")).get("spec"))
    for key in reader.generated if reader.kind == "ResourceClaimTemplate" else ():
        claim = state.get("ResourceClaim", key)
        if claim is not None:
            state = state.replace("ResourceClaim", key, {**claim, "spec": spec})
    return state


def _matches_any(value: dict[str, Any], driver: str, scheduler: Scheduler) -> bool:
    programs = [scheduler.compile_selector(each.text) for each in selectors_of(value)]
    return all(program.ok for program in programs) and any(
        all(program.evaluate(driver, device) is True for program in programs)
        for _, device in _devices_of_driver(scheduler, driver)
    )
