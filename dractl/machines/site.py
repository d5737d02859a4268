"""Values that a described machine cannot know, because they depend on the site where it is set up,
or on installed software.
"""

from functools import cache

from dractl import facts
from dractl.cel import Program, environment
from dractl.facts import pack
from dractl.model import Target


@cache
def site_attributes_of(driver: str) -> frozenset[str]:
    """Return the attributes of a driver's devices that a described machine cannot know.

    They are addresses, names of interfaces, and versions of software, under the names that the
    driver publishes.
    """
    if driver not in facts.names():
        return frozenset()
    driver_facts = facts.driver(driver)
    return frozenset(driver_facts.full(row.name) for row in driver_facts.attributes if row.site)


@cache
def site_attributes() -> frozenset[str]:
    """Return the attributes, of all known drivers, that a described machine cannot know."""
    return frozenset[str]().union(*map(site_attributes_of, facts.names()))


def list_site_reads(program: Program) -> tuple[str, ...]:
    """Return the names that an expression reads and that a described machine cannot know."""
    reads = {lookup.full_name for lookup in program.lookups}
    return tuple(sorted(site_attributes().intersection(filter(None, reads))))


def assume_site_values(text: str, names: frozenset[str], target: Target) -> str:
    """Return the expression that remains if every condition on ``names`` holds."""
    env = environment(target, "stored")
    parts = env.compile(text).conjuncts
    kept = [
        part.text
        for part in parts
        if not any(lookup.full_name in names for lookup in env.compile(part.text).lookups)
    ]
    if len(kept) == len(parts):
        return text
    return " && ".join(kept) or "true"


pack.forget_with(site_attributes_of.cache_clear)
pack.forget_with(site_attributes.cache_clear)
