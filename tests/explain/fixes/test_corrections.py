"""Corrections of selectors: each is proven on the devices."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

DRIVER = "gpu.nvidia.com"
GPU = device_class(DRIVER, f"device.driver == '{DRIVER}'")
ATTRIBUTE = f"device.attributes['{DRIVER}']"


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "claim/c", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def gpu(name: str = "gpu-0") -> dict[str, Any]:
    made = device(
        name, productName="NVIDIA H100 80GB HBM3", numaNode=1, capacity={"memory": "81559Mi"}
    )
    made["attributes"]["driverVersion"] = {"version": "550.90.7"}
    return made


def first_correction(expression: str) -> str:
    """The selector after the first fix."""
    pending = claim("c", request("r", DRIVER, selectors=[{"cel": {"expression": expression}}]))
    answer = explain(GPU, node("node-1"), slice_of(DRIVER, "node-1", gpu()), pending)
    ((operation,),) = [c.operations for c in answer.fixes[0].changes]  # type: ignore[union-attr]
    return str(operation["value"])


@pytest.mark.parametrize(
    ("expression", "intended"),
    [
        # semver() wants three parts (Masterminds/semver StrictNewVersion): runtime error else
        (f"{ATTRIBUTE}.driverVersion.compareTo(semver('550.0')) >= 0", "semver('550.0.0')"),
        (f"{ATTRIBUTE}.driverVersion >= '540'", "driverVersion.compareTo(semver('540.0.0')) >= 0"),
        (
            f"{ATTRIBUTE}.driverVersion.compareTo(semver('570.0.0')) >= 0",
            "compareTo(semver('550.90.7')) >= 0",
        ),
        (f"{ATTRIBUTE}.productName == 'NVIDIA-H100-80GB-HBM3'", "'NVIDIA H100 80GB HBM3'"),
        (f"{ATTRIBUTE}.productName in ['H100', 'H200']", "in ['NVIDIA H100 80GB HBM3']"),
        (f"{ATTRIBUTE}.productName.matches('^H100')", "matches('H100')"),
        (f"{ATTRIBUTE}.productName.startsWith('H100')", "contains('H100')"),
        (f"{ATTRIBUTE}.numaNode == '1'", "numaNode == 1"),
        (
            f"{ATTRIBUTE}.memory.compareTo(quantity('40Gi')) >= 0",
            f"device.capacity['{DRIVER}'].memory.compareTo",
        ),
        (
            f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) >= 0",
            "quantity('81559Mi')",
        ),
        ("device.driver == 'nvidia.com'", f"'{DRIVER}'"),
    ],
)
def test_a_selector_is_corrected_to_the_intended_value(expression: str, intended: str) -> None:
    assert intended in first_correction(expression)


def test_the_driver_of_a_class_is_corrected_only_to_a_similar_name() -> None:
    def first(driver: str) -> str:
        misspelt = device_class("gpus", f"device.driver == '{driver}'")
        pending = claim("c", request("r", "gpus"))
        return (
            explain(misspelt, node("node-1"), slice_of(DRIVER, "node-1", gpu()), pending)
            .fixes[0]
            .title
        )

    assert first("nvidia.com/gpu") == "change driver nvidia.com/gpu to gpu.nvidia.com in class gpus"
    assert "class gpus" not in first("gpu.amd.com")


def test_publishing_driver_is_not_corrected() -> None:
    """Devices of another driver fail the first condition of a class, those of its own the
    second.
    """
    classes = device_class("gpus", f"device.driver == '{DRIVER}' && {ATTRIBUTE}.type == 'mig'")
    pending = claim("c", request("r", "gpus"))
    other_devices = slice_of("dra.net", "node-1", device("nic-0"))
    answer = explain(
        classes, node("node-1"), slice_of(DRIVER, "node-1", gpu()), other_devices, pending
    )
    texts = [*(fix.title for fix in answer.fixes), *answer.notes]
    assert not any(f"change driver {DRIVER} to {DRIVER}" in text for text in texts)


@pytest.mark.parametrize(
    ("product", "titles"),
    [
        (
            "NVIDIA H100 64GB HBM3",
            (
                "change productName == 'NVIDIA H100 64GB HBM3' to 'NVIDIA H100 80GB HBM3' in class"
                " gpus"
            ),
        ),
        ("NVIDIA L4", None),
    ],
)
def test_another_product_is_offered_for_a_class_only_where_it_differs_in_numbers(
    product: str, titles: str | None
) -> None:
    """An H100 that a cluster lacks may be meant as the one it has; an L4 is another class."""
    other = device_class(
        "gpus", f"device.driver == '{DRIVER}' && {ATTRIBUTE}.productName == '{product}'"
    )
    fix_titles = explain(
        GPU,
        other,
        node("node-1"),
        slice_of(DRIVER, "node-1", gpu()),
        claim("c", request("r", "gpus")),
    )
    assert (
        next((fix.title for fix in fix_titles.fixes if "in class gpus" in fix.title), None)
        == titles
    )
    effects = [fix.effect for fix in fix_titles.fixes if "in class gpus" in fix.title]
    assert effects == ["for every claim of the class, if these devices are acceptable"] * len(
        effects
    )


def test_a_selector_accepts_the_old_and_the_new_name_of_an_attribute() -> None:
    old, new = device("gpu-0", busy=False), device("gpu-1")
    old["attributes"] = {"cudaComputeCapability": {"version": "9.0.0"}}
    new["attributes"] = {"computeCapability": {"version": "9.0.0"}}
    expression = f"{ATTRIBUTE}.cudaComputeCapability.compareTo(semver('9.0.0')) >= 0"
    pending = claim("c", request("r", DRIVER, 2, selectors=[{"cel": {"expression": expression}}]))
    answer = explain(GPU, node("node-1"), slice_of(DRIVER, "node-1", new, old), pending)
    assert answer.fixes[0].title.startswith(f"read {DRIVER}/computeCapability on devices without")


def test_the_next_smaller_mig_profile_is_offered() -> None:
    profiles = [
        device(f"mig-{n}", profile=p) for n, p in enumerate(("1g.10gb", "1g.10gb", "3g.40gb"))
    ]
    expression = f"{ATTRIBUTE}.profile == '4g.40gb'"
    pending = claim("c", request("r", DRIVER, selectors=[{"cel": {"expression": expression}}]))
    answer = explain(GPU, node("node-1"), slice_of(DRIVER, "node-1", *profiles), pending)
    assert answer.fixes[0].title == "change profile == '4g.40gb' to '3g.40gb' in request r"


@pytest.mark.parametrize(
    ("product", "published"),
    [("NVIDIA L4", "NVIDIA L40S"), ("NVIDIA L40S", "NVIDIA L4"), ("NVIDIA H100", "NVIDIA H200")],
)
def test_another_product_is_not_a_typing_error(product: str, published: str) -> None:
    selector = {"cel": {"expression": f"{ATTRIBUTE}.productName == '{product}'"}}
    pending = claim("c", request("r", DRIVER, selectors=[selector]))
    answer = explain(
        GPU,
        node("node-1"),
        slice_of(DRIVER, "node-1", device("gpu-0", productName=published)),
        pending,
    )
    assert (
        answer.fixes[0].title == f"change productName == '{product}' to '{published}' in request r"
    )
    assert answer.fixes[0].effect == "if these devices are acceptable"
