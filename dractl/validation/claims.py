"""ResourceClaims and ResourceClaimTemplates: the rules RC-01 to RC-33 and the rules for a
template's metadata.

They follow validateDeviceClaim of kubernetes/kubernetes pkg/apis/resource/validation/validation.go,
release by release.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice

from msgspec import Struct

from dractl.model.releases import Target
from dractl.validation.causes import (
    as_declared,
    count_violation,
    filter_declared,
    forbidden,
    invalid,
    not_supported,
    value_required,
)
from dractl.validation.formats import fully_qualified_name, label, label_errors, subdomain
from dractl.validation.lists import check_list, check_set, name_of, text_of, unique
from dractl.validation.opaque import OpaqueRules, configuration
from dractl.validation.place import Place
from dractl.validation.selectors import MAX_COST, SelectorRules, check_derived_attribute, selectors
from dractl.validation.tolerations import toleration
from dractl.validation.violation import Violation

MAX_REQUESTS = MAX_CONSTRAINTS = MAX_CONFIG = MAX_DERIVED = 32
MAX_FIRST_AVAILABLE = 8
MAX_OFFERED = 64
"""Maximum number of names that are suggested in place of a wrong name. Few claims have more names,
and hostile input must not take unbounded time.
"""

_SELECTORS = SelectorRules("RC-10", "RC-11", "RC-12", "RC-13", "RC-14")
_OPAQUE = OpaqueRules("RC-26", "RC-27", "RC-28", "RC-29", "RC-30")
_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)


class _Claim(Struct, frozen=True):
    """Context of a claim for the rules about its parts."""

    target: Target
    references: Mapping[str, frozenset[str]]
    """The names of the alternatives of each request, by the name of the request."""
    constrained: Mapping[str, frozenset[str]]
    """The attributes in constraints, by the reference to the constrained request; "" for all
    requests.
    """
    cost: list[int]
    """The costs of the derived attributes that compile; the checks add to the list."""


def spec(place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in the spec of a claim."""
    devices = place.child("devices")
    requests, constraints, config = (
        devices.child(name) for name in ("requests", "constraints", "config")
    )
    claim = _Claim(target, references(requests), _attributes_by_reference(constraints), cost=[])
    yield from check_set(
        ("RC-01", "RC-02"),
        requests,
        MAX_REQUESTS,
        partial(_request, claim),
        name_of,
        target,
        name="name",
    )
    yield from check_list(
        "RC-01", constraints, MAX_CONSTRAINTS, partial(_constraint, claim), target
    )
    yield from check_list("RC-01", config, MAX_CONFIG, partial(_config, claim), target)
    if sum(claim.cost) > MAX_COST:
        detail = (
            "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost"
            " limit"
        )
        yield forbidden("RC-33", devices, detail)


def admin_access(
    place: Place, namespace: Mapping[str, str] | None, target: Target
) -> Iterator[Violation]:
    """Yield the violations of admin access in a namespace without the label
    (pkg/registry/resource/utils.go AuthorizedForAdmin).

    ``namespace`` has its labels; None if they are unknown. The server always names the path
    ``spec.devices.requests[N].adminAccess``, even for a template, and although v1 has the field in
    ``exactly``.
    """
    if namespace is None or not target.has("admin-access-namespace"):
        return
    label_key = (
        "resource.kubernetes.io/admin-access"
        if target.has("admin-access-kubernetes-io")
        else "resource.k8s.io/admin-access"
    )
    for index, request in enumerate(place.child("devices", "requests").items()):
        access = request.child("exactly", "adminAccess")
        if access.value is True:
            if namespace.get(label_key) != "true":
                detail = (
                    f"admin access to devices requires the `{label_key}: true` label on the"
                    " containing namespace"
                )
                reported = f"spec.devices.requests[{index}].adminAccess"
                yield forbidden("RC-19", access, detail, field=reported)
            return


def references(requests: Place) -> dict[str, frozenset[str]]:
    """Return the names of the alternatives of each request, by the name of the request."""
    return {
        name_of(request): frozenset(name_of(sub) for sub in request.child("firstAvailable").items())
        for request in requests.items()
    }


def _attributes_by_reference(constraints: Place) -> dict[str, frozenset[str]]:
    by_reference: dict[str, set[str]] = {}
    for constraint in constraints.items():
        attribute = next(
            (
                constraint.child(n)
                for n in ("matchAttribute", "distinctAttribute")
                if constraint.child(n).set
            ),
            None,
        )
        if attribute is not None:
            for reference in [item.text for item in constraint.child("requests").items()] or [""]:
                by_reference.setdefault(reference, set()).add(attribute.text)
    return {reference: frozenset(attributes) for reference, attributes in by_reference.items()}


def _request(claim: _Claim, place: Place) -> Iterator[Violation]:
    yield from label("RC-03", place.child("name"))
    exactly, first_available = place.child("exactly"), place.child("firstAvailable")
    if not claim.target.has("exactly-or-first-available"):  # this release has only flat requests
        yield from _body(claim, exactly, place.child("name").text, alternative=False)
        return
    detail = "exactly one of `exactly` or `firstAvailable` is required"
    if not exactly.set and not first_available.size:
        yield value_required("RC-04", place, detail)
        return
    if exactly.set and first_available.size:
        yield invalid("RC-05", place, f"{detail}, but multiple fields are set", None)
        if claim.target.has("declarative-validation"):
            yield from filter_declared(_alternatives(claim, place), claim.target)
            return
    yield from _alternatives(claim, place)


def _alternatives(claim: _Claim, place: Place) -> Iterator[Violation]:
    """Yield the violations in ``exactly`` and ``firstAvailable``."""
    exactly, first_available = place.child("exactly"), place.child("firstAvailable")
    if first_available.size:
        check = partial(_sub_request, claim, place.child("name").text)
        yield from check_set(
            ("RC-06", "RC-06"),
            first_available,
            MAX_FIRST_AVAILABLE,
            check,
            name_of,
            claim.target,
            name="name",
        )
    if exactly.set:
        yield from _body(claim, exactly, place.child("name").text, alternative=False)


def _sub_request(claim: _Claim, parent: str, place: Place) -> Iterator[Violation]:
    yield from label("RC-07", place.child("name"))
    yield from _body(claim, place, f"{parent}/{name_of(place)}", alternative=True)


def _body(claim: _Claim, place: Place, reference: str, *, alternative: bool) -> Iterator[Violation]:
    """Yield the violations in the fields that exact requests and alternatives share."""
    device_class = place.child("deviceClassName")
    wrong = (
        subdomain("RC-09", device_class)
        if device_class.text
        else [value_required("RC-08", device_class)]
    )
    yield from as_declared(device_class, wrong) if alternative else wrong
    yield from selectors(_SELECTORS, place.child("selectors"), claim.target)
    yield from _check_derived_attributes(claim, place.child("derivedAttributes"), reference)
    # The field always has a default in earlier releases
    if claim.target.has("allocation-mode-checked") or place.child("allocationMode").set:
        yield from _allocation_mode(place)
    for item in place.child("tolerations").items():
        yield from toleration("RC-18", item, claim.target)


def _allocation_mode(place: Place) -> Iterator[Violation]:
    mode, count = place.child("allocationMode"), place.child("count")
    match mode.text:
        case "All":
            if count.integer != 0:
                yield invalid("RC-15", count, "must not be specified when allocationMode is 'All'")
        case "ExactCount":
            if count.integer <= 0:
                yield invalid("RC-16", count, "must be greater than zero")
        case _:
            wrong = not_supported("RC-17", mode, ("All", "ExactCount"))
            yield from as_declared(mode, [wrong]) if mode.text else [wrong]


def _check_derived_attributes(claim: _Claim, places: Place, reference: str) -> Iterator[Violation]:
    """Yield the violations of validateDeviceDerivedAttributes, and of the declarative rules of the
    field.
    """
    if places.size > MAX_DERIVED:
        yield from as_declared(places, [count_violation("RC-31", places, MAX_DERIVED)])
    for item in places.items():
        yield from _check_derived_attribute(
            claim, item, reference, declarative=places.size <= MAX_DERIVED
        )
    yield from unique("RC-31", places, name_of, claim.target)


def _check_derived_attribute(
    claim: _Claim, place: Place, reference: str, *, declarative: bool
) -> Iterator[Violation]:
    name, expression = place.child("name"), place.child("expression")
    # If there are too many items, generated validation does not report each of them, but
    # handwritten validation does.
    if declarative and not name.text:
        yield from as_declared(name, [value_required("RC-31", name)])
    elif declarative:
        yield from as_declared(name, fully_qualified_name("RC-31", name, claim.target))
    targets = {"", reference, reference.partition("/")[0]}
    if name.text and not any(name.text in claim.constrained.get(ref, ()) for ref in targets):
        detail = (
            "must be referenced by at least one matchAttribute or distinctAttribute constraint"
            " targeting this request"
        )
        yield invalid("RC-32", name, detail)
    if expression.text:
        yield from check_derived_attribute(("RC-31", "RC-33"), expression, claim.target, claim.cost)
    elif declarative:
        yield from as_declared(expression, [value_required("RC-31", expression)])


def _constraint(claim: _Claim, place: Place) -> Iterator[Violation]:
    target = claim.target
    yield from request_references(
        ("RC-20", "RC-21"), place.child("requests"), claim.references, target
    )
    match, distinct = place.child("matchAttribute"), place.child("distinctAttribute")
    if match.set:
        yield from fully_qualified_name("RC-22", match, target)
    if distinct.set and (not match.set or target.has("both-attributes-checked")):
        yield from fully_qualified_name("RC-23", distinct, target)
    if match.set or distinct.set:
        return
    if target.has("match-or-distinct") and target.enabled("DRAConsumableCapacity"):
        detail = (
            'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple'
            " fields are set"
        )
        yield value_required("RC-24", place, detail)
    else:
        yield value_required("RC-24", match)


def _config(claim: _Claim, place: Place) -> Iterator[Violation]:
    yield from request_references(
        ("RC-25", "RC-25"), place.child("requests"), claim.references, claim.target
    )
    yield from configuration(_OPAQUE, place, claim.target)


def request_references(
    rules: tuple[str, str], places: Place, known: Mapping[str, frozenset[str]], target: Target
) -> Iterator[Violation]:
    """Yield the violations in references to requests from another part of a claim.

    ``rules`` has two ids: one for too many or repeated references, and one for a reference that is
    not in ``known``.
    """
    check = partial(request_reference, rules[1], known=known)
    yield from check_set((rules[0], rules[0]), places, MAX_REQUESTS, check, text_of, target)


def request_reference(
    rule: str, place: Place, known: Mapping[str, frozenset[str]]
) -> Iterator[Violation]:
    """Yield the violations of validateRequestNameRef: a reference is the name of a request, or that
    name with a slash and the name of an alternative.
    """
    segments = place.text.split("/")
    if len(segments) <= 2:
        for segment in segments:
            for error in label_errors(segment):
                yield invalid(rule, place, error, segment)
        if segments[0] in known and (len(segments) == 1 or segments[1] in known[segments[0]]):
            return
    alternatives = (f"{name}/{sub}" for name, subs in known.items() for sub in sorted(subs))
    allowed = list(islice(chain(known, alternatives), MAX_OFFERED))
    yield invalid(rule, place, _REFERENCE, place.text, allowed=allowed)
