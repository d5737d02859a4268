"""DRA711 parameters-refused."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found, marked

GPU = "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, "


def claim_with_parameters(parameters: str, driver: str = "gpu.nvidia.com") -> str:
    config = f"config: [{{opaque: {{driver: {driver}, parameters: {parameters}}}}}]"
    return claim("gpu gpu.nvidia.com", config)


@pytest.mark.parametrize(
    ("parameters", "place", "message", "nearest"),
    [
        # NVIDIA/k8s-dra-driver-gpu api/nvidia.com/resource/v1beta1: sharing.go, api.go (StrictDecoder)
        (
            GPU + "sharing: {strategy: TimeSlice}}",
            "TimeSlice",
            "must be one of TimeSlicing, MPS",
            "TimeSlicing",
        ),
        (
            GPU + "sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Lang}}}",
            "Lang",
            "must be one of Default, Short, Medium, Long",
            "Long",
        ),
        (GPU + "sharin: {strategy: TimeSlicing}}", "sharin", 'unknown field "sharin"', "sharing"),
        (
            "{apiVersion: gpu.nvidia.com/v1alpha1, kind: GpuConfig}",  # its name until 25.3
            "gpu.nvidia.com/v1alpha1",
            'must be "resource.nvidia.com/v1beta1"',
            "resource.nvidia.com/v1beta1",
        ),
    ],
)
def test_settings_refused_by_the_driver_are_refused(
    parameters: str, place: str, message: str, nearest: str
) -> None:
    (finding,) = found(claim_with_parameters(parameters), "DRA711")
    assert (finding.severity, finding.confidence, marked(finding)) == ("warning", "likely", place)
    assert finding.message.startswith(f"gpu.nvidia.com would refuse this: {message}")
    assert (finding.help or "").startswith(
        f"did you mean {nearest}? (gpu.nvidia.com is known to v0.5.1, read on 20"
    )
    assert finding.fix is not None
    assert (finding.fix.safe, [edit.text for edit in finding.fix.edits]) == (False, [nearest])


@pytest.mark.parametrize(
    "parameters",
    [
        GPU + "sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}",
        GPU + "sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50}}}",
        "{apiVersion: gpu.resource.example.com/v1alpha1, kind: GpuConfig, sharing: {strategy: X}}",  # a fake driver's
    ],
)
def test_parameters_accepted_or_of_a_namesake_driver_are_fine(parameters: str) -> None:
    assert found(claim_with_parameters(parameters), "DRA711") == []


def test_parameters_of_an_unknown_driver_are_its_own() -> None:
    assert found(claim_with_parameters("{a: b}", "gpu.vendor.example"), "DRA711") == []
