"""DeviceTaintRules (validateDeviceTaintRuleSpec) and ResourcePoolStatusRequests."""

from collections.abc import Iterator

from dractl.model.releases import Target
from dractl.validation.causes import invalid, length_violation, value_required
from dractl.validation.formats import (
    MAX_POOL,
    driver_name,
    fully_qualified_name,
    label,
    length,
    pool_name,
    subdomain,
    subdomain_errors,
)
from dractl.validation.place import Place
from dractl.validation.selectors import SelectorRules, selectors
from dractl.validation.tolerations import TaintRules, taint
from dractl.validation.violation import Violation

MAX_LIMIT = 1000

_SELECTORS = SelectorRules("DT-04", "DT-04", "DT-04", "DT-04", "DT-04")
_TAINT = TaintRules("DT-05", "DT-06", "DT-07")


def taint_rule_spec(place: Place, target: Target) -> Iterator[Violation]:
    selector = place.child("deviceSelector")
    if selector.child("driver").set:
        yield from driver_name("DT-01", selector.child("driver"), target)
    if selector.child("pool").set:
        yield from pool_name("DT-02", selector.child("pool"))
    if selector.child("device").set:
        yield from label("DT-03", selector.child("device"))
    if not target.has("rules-without-class"):
        if selector.child("deviceClassName").set:
            yield from subdomain("DT-04", selector.child("deviceClassName"))
        yield from selectors(_SELECTORS, selector.child("selectors"), target)
    yield from taint(_TAINT, place.child("taint"), target)


def pool_status_request_spec(place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of the validation tags on ResourcePoolStatusRequestSpec in
    api/resource/v1alpha3/types.go.
    """
    driver, pool, limit = (place.child(name) for name in ("driver", "poolName", "limit"))
    if not driver.text:
        yield value_required("PS-01", driver)
    else:
        for error in subdomain_errors(driver.text, caseless=True):
            yield invalid("PS-01", driver, error)
    if pool.set:
        if length(pool.text) > MAX_POOL:
            yield length_violation("PS-02", pool, MAX_POOL)
        for index, segment in enumerate(pool.text.split("/")):
            for error in subdomain_errors(segment) if segment else ["must not be empty"]:
                yield invalid("PS-02", pool, f"segment {index}: {error}")
    if limit.set and limit.integer < 1:
        yield invalid("PS-03", limit, "must be greater than or equal to 1")
    if limit.set and limit.integer > MAX_LIMIT:
        yield invalid("PS-03", limit, f"must be less than or equal to {MAX_LIMIT}")
    attribute = place.child("defaultPartitionTypeAttribute")
    if attribute.set:
        yield from fully_qualified_name("PS-04", attribute, target)
