"""Values that described machines cannot know."""

from __future__ import annotations

import pytest

from dractl.facts import driver, names
from dractl.machines.site import assume_site_values, site_attributes
from dractl.model import Target

TARGET = Target.of("1.37")
IPV4 = 'device.attributes["dra.net"].ipv4.startsWith("10.1.0.")'
RDMA = 'device.attributes["dra.net"].rdma'


def test_each_attribute_is_published_by_its_driver() -> None:
    for name in site_attributes():
        domain, _, bare = name.partition("/")
        assert domain in names()
        published = {attribute.name for attribute in driver(domain).attributes}
        assert published & {bare, name}, name


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        (f"{RDMA} && {IPV4}", RDMA),
        (IPV4, "true"),
        (f"{RDMA} && ({IPV4} || {RDMA})", RDMA),
        (RDMA, RDMA),
        ("device.attributes[", "device.attributes["),
    ],
)
def test_conditions_on_the_site_are_taken_to_hold(text: str, assumed: str) -> None:
    assert assume_site_values(text, site_attributes(), TARGET) == assumed
