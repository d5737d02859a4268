"""Explanations of messages that drivers, the kubelet and container runtimes write, from facts and
the input's objects.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.shell import NextStep
from dractl.cluster.state import parse_key
from dractl.explain.diagnosis.known_faults import (
    KnownFault,
    find_faults_of_driver,
    find_faults_of_node,
)
from dractl.facts.refusals import (
    CLAIM_UID,
    RUNTIME,
    Advice,
    Blame,
    RefusalFact,
    RefusalMatch,
    fields_of,
    match_words,
    refusal_file,
    refusals,
)
from dractl.program import program_name

if TYPE_CHECKING:
    from dractl.cluster.state import ClusterState
    from dractl.explain.answer import AllocatedDevice
    from dractl.model import ResourceSlice
    from dractl.views import Pod


class Refusal(Struct, frozen=True):
    """The explanation of a message, with advice."""

    id: str
    """The name of the entry in the file of facts."""
    blames: Blame
    driver: str
    """The driver that refuses; "" if that is not known."""
    meaning: str
    """A clause; "" if it would add nothing to the message."""
    steps: tuple[NextStep, ...]
    waits_for: str = ""
    """The driver waits for the pods of Deployments whose names begin with this prefix."""


class RefusedPod(Struct, frozen=True, kw_only=True):
    """The pod that a message is about, and the facts around it in the input."""

    state: ClusterState
    pod: Pod
    allocated: Sequence[AllocatedDevice] = ()
    """Devices of its claims."""
    slices: Iterable[ResourceSlice] = ()
    driver: str = ""
    """The driver that refuses; "" if that is not known."""
    claim: str = ""
    """The name of the claim that the message is about; "" if it names none."""

    @property
    def devices(self) -> tuple[AllocatedDevice, ...]:
        """The devices of ``claim`` that ``driver`` publishes."""
        named = [one for one in self.allocated if self.claim in ("", one.claim.rpartition("/")[2])]
        return tuple(one for one in named if self.driver in ("", one.driver))


def explain_driver_words(words: str, refused: RefusedPod) -> Refusal | None:
    """Return the explanation of a driver's message; None if no entry explains it.

    If the claim has several drivers, the message is taken to be from the first driver that can have
    written it.
    """
    drivers = (
        [refused.driver]
        if refused.driver
        else [
            device.driver
            for device in refused.allocated
            if refused.claim in ("", device.claim.rpartition("/")[2])
        ]
    )
    explanations = (
        explain_words(words, replace(refused, driver=driver), refusals(driver))
        for driver in dict.fromkeys(drivers or [""])
    )
    return next(filter(None, explanations), None)


def explain_runtime_words(words: str, refused: RefusedPod) -> Refusal | None:
    """Return the explanation of a message of the container runtime, or of a driver that it calls
    through NRI; None if no entry explains it.
    """
    if not refused.allocated:
        return None
    for driver in dict.fromkeys(device.driver for device in refused.allocated):
        file = refusal_file(driver)
        specific = (fact for fact in file.refusals if not fact.general) if file is not None else ()
        facts = (*refusals(RUNTIME), *specific)
        refusal = explain_words(words, replace(refused, driver=driver), facts)
        if refusal is not None:
            return refusal
    return explain_words(words, refused, ())


def explain_words(words: str, refused: RefusedPod, facts: Iterable[RefusalFact]) -> Refusal | None:
    """Return the explanation of a message by the first fact that matches; None if no fact
    matches.
    """
    faults = tuple(NextStep(fault.sentence) for fault in _find_faults(words, refused))
    match = match_words(words, facts, _types_of_devices(refused))
    if match is None:
        return Refusal("known-fault", "driver", refused.driver, "", faults) if faults else None
    fact, holder, foreign = match.fact, _holder(match, refused), _foreign_driver(match, refused)
    advice = Advice(fact.meaning, fact.steps)
    if fact.gone is not None and holder == "" and refused.state.covers("ResourceClaim"):
        advice = fact.gone
    if fact.foreign is not None and foreign:
        advice = fact.foreign
    values = {**_context(refused), **match.groups, "holder": holder or "", "foreign": foreign}
    negation = f"it is not {fact.is_not}" if fact.is_not else ""
    clauses = filter(None, (fill_text(text, values) for text in (*advice.meaning, negation)))
    steps = [
        NextStep(text, fill_command(step.run, values))
        for step in advice.steps
        if (text := fill_text(step.do, values))
    ]
    return Refusal(
        fact.id, fact.blames, refused.driver, "; ".join(clauses), (*steps, *faults), fact.waits_for
    )


def _find_faults(words: str, refused: RefusedPod) -> tuple[KnownFault, ...]:
    """Return the known faults of the driver; if the message is from no driver, the faults of the
    node.
    """
    if refused.driver:
        return find_faults_of_driver(words, refused.state, refused.driver)
    return find_faults_of_node(words, refused.state, refused.pod.node_name)


def _types_of_devices(refused: RefusedPod) -> frozenset[str]:
    """Return the values of the attribute ``type`` of the pod's devices, in the drivers' own
    domains.
    """
    wanted = {(device.driver, device.pool, device.device) for device in refused.devices}
    types = set()
    for published in refused.slices:
        for device in published.spec.devices:
            if (published.spec.driver, published.spec.pool.name, device.name) in wanted:
                attribute = device.attribute(f"{published.spec.driver}/type", published.spec.driver)
                if attribute is not None and isinstance(attribute.value, str):
                    types.add(attribute.value)
    return frozenset(types)


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values for the names in braces; "" if a name has no value."""
    if all(values.get(name) for name in fields_of(text)):
        return text.format_map(values)
    return ""


def fill_command(text: str, values: Mapping[str, str]) -> str:
    """Return a command with quoted values for the names in braces; "" if a name has no value, or a
    value that kubectl would read as an option.
    """
    words = {name: values.get(name, "") for name in fields_of(text)}
    if any(not word or word.startswith("-") or not word.isprintable() for word in words.values()):
        return ""
    return text.format_map({name: shlex.quote(word) for name, word in words.items()})


def _context(refused: RefusedPod) -> dict[str, str]:
    """Return the values for the names that every text may use."""
    pod, claims = refused.pod, dict.fromkeys(device.claim for device in refused.devices)
    others = {
        name
        for claim in claims
        for name in refused.state.claim(parse_key(claim)).consumer_pods
        if name != pod.name
    }
    return {
        "driver": f"driver {refused.driver}" if refused.driver else "the DRA driver",
        "node": pod.node_name,
        "namespace": pod.namespace,
        "pod": pod.name,
        "claim": next(iter(claims), "").rpartition("/")[2],
        "device": next((device.device for device in refused.devices), ""),
        "sharers": ", ".join(sorted(others)),
        "program": program_name(),
    }


def _holder(match: RefusalMatch, refused: RefusedPod) -> str | None:
    """Return the holder of the UID in the message: "" if no claim of the input has that UID, None
    if the message has no UID.
    """
    uid = match.groups.get(CLAIM_UID)
    if uid is None:
        return None
    for key, claim in refused.state.claims.items():
        if claim.uid == uid:
            pods = ", ".join(claim.consumer_pods)
            return f"claim {'/'.join(key)}" + (f" of pod {pods}" if pods else ", which no pod uses")
    return ""


def _foreign_driver(match: RefusalMatch, refused: RefusedPod) -> str:
    """Return the other driver whose device the message names; "" if it names none."""
    values = set(match.groups.values())
    drivers = (one.driver for one in refused.allocated if one.device in values)
    return next((driver for driver in drivers if driver != refused.driver), "")
