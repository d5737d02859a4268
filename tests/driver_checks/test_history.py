"""Findings of check-driver between two snapshots."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.driver_checks.published import check, codes, resource_slice

ONE = "gpu-0 {uuid: {string: GPU-1}, model: {string: A}}"
BOTH = f"{ONE}\ngpu-1 {{uuid: {{string: GPU-2}}, model: {{string: A}}}}"


def test_republished_equal_slices_are_fine() -> None:
    assert codes(resource_slice(BOTH), resource_slice(BOTH)) == set()


def test_a_changed_slice_alone_needs_no_new_generation() -> None:
    """The helper keeps the generation where one update suffices (resourceslicecontroller.go syncPool)."""
    assert codes(resource_slice(BOTH), resource_slice(ONE)) == set()


def test_a_further_slice_needs_a_new_generation() -> None:
    before = resource_slice(ONE)
    second = "gpu-1 {uuid: {string: GPU-2}, model: {string: A}}"
    after = resource_slice(ONE, count=2) + resource_slice(second, name="node-1-more", count=2)
    (finding,) = check(before, after)
    assert finding.code == "DRA381"
    assert "2 slices of" in finding.message
    assert codes(before, after.replace("generation: 1", "generation: 2")) == set()
    further = resource_slice(second, name="node-1-more", count=2)
    messages = [one.message for one in check(before, before + further) if one.code == "DRA381"]
    assert len(messages) == 1
    assert "1 slice of" in messages[0]


def test_falling_generation_is_a_warning() -> None:
    (finding,) = check(resource_slice(ONE, generation=5), resource_slice(BOTH, generation=2))
    assert (finding.code, finding.severity) == ("DRA381", "warning")
    assert "from 5 to 2" in finding.message


@pytest.mark.parametrize(
    "identifier", ["uuid", "serial", "resource.kubernetes.io/pciBusID", "gpu.example.com/uuid"]
)
def test_hardware_with_another_name(identifier: str) -> None:
    is_address = identifier.endswith("pciBusID")
    values = ["0000:3b:00.0", "0000:5e:00.0"] if is_address else ["GPU-1", "GPU-2"]
    before, after = (
        resource_slice(
            "\n".join(
                f'gpu-{index} {{{identifier}: {{string: "{value}"}}}}'
                for index, value in enumerate(order)
            ),
            generation=generation,
        )
        for generation, order in ((1, values), (2, values[::-1]))
    )
    (finding,) = check(before, after)
    assert finding.code == "DRA382"
    assert "gpu-0 is gpu-1 now" in finding.message
    assert "gpu-1 is gpu-0 now" in finding.message
    assert finding.position.file == "1.yaml"
    assert finding.related[0].position.file == "0.yaml"


def test_replaced_hardware_keeps_the_name_of_its_slot() -> None:
    repaired = BOTH.replace("GPU-2", "GPU-9")
    assert codes(resource_slice(BOTH), resource_slice(repaired)) == set()


def test_names_at_random_of_devices_without_identity() -> None:
    before = resource_slice("mem-a4f {size: {int: 1}}\nmem-77c {size: {int: 2}}")
    after = resource_slice("mem-b01 {size: {int: 2}}\nmem-c9e {size: {int: 1}}", generation=2)
    assert codes(before, after) == {"DRA382"}


def test_other_devices_with_other_names_are_no_renaming() -> None:
    before = resource_slice("mem-a {size: {int: 1}}")
    assert codes(before, resource_slice("mem-b {size: {int: 7}}", generation=2)) == set()


def test_a_partition_with_the_pci_address_of_its_parent_is_not_renamed() -> None:
    bus = "resource.kubernetes.io/pciBusID: {string: '0000:3b:00.0'}"
    before = resource_slice(
        f"gpu-0-mig-1 {{type: {{string: mig}}, {bus}}}\ngpu-0-mig-2 {{type: {{string: mig}}, {bus}}}"
    )
    after = resource_slice(f"gpu-0-mig-2 {{type: {{string: mig}}, {bus}}}")
    assert codes(before, after) == set()


def test_changed_type_is_reported_once_for_all_nodes() -> None:
    before = "".join(
        resource_slice("gpu-0 {cores: {int: 8}}", name=f"n{i}", pool=f"n{i}", node=f"n{i}")
        for i in range(3)
    )
    after = before.replace("{int: 8}", "{string: '8'}").replace("generation: 1", "generation: 2")
    (finding,) = check(before, after)
    assert finding.code == "DRA383"
    assert "int before" in finding.message
    assert "string now" in finding.message


def test_the_short_and_the_full_name_are_one_attribute() -> None:
    before = resource_slice("gpu-0 {cores: {int: 8}}")
    after = resource_slice("gpu-0 {gpu.example.com/cores: {int: 8}}")
    assert codes(before, after) == set()


def test_attribute_lost_by_all_devices_is_reported() -> None:
    assert codes(
        resource_slice(BOTH), resource_slice(BOTH.replace(", model: {string: A}", ""))
    ) == {"DRA384"}


def test_attribute_of_one_device_may_go() -> None:
    before = "gpu-0 {uuid: {string: G}, ipv4: {string: 10.0.0.1}}\ngpu-1 {uuid: {string: H}}"
    after = "gpu-0 {uuid: {string: G}}\ngpu-1 {uuid: {string: H}}"
    assert codes(resource_slice(before), resource_slice(after)) == set()


def test_a_pool_of_another_name_on_the_node() -> None:
    assert codes(resource_slice(ONE), resource_slice(ONE, pool="gpus")) == {"DRA385"}


@pytest.mark.parametrize(
    ("devices", "is_renamed"), [(ONE, True), (ONE.replace("GPU-1", "GPU-9"), False)]
)
def test_a_renamed_pool_is_found_beside_the_old_one(devices: str, is_renamed: bool) -> None:
    """The helper deletes the old pool 30 s later; a second pool has devices of its own."""
    new = resource_slice(devices, pool="gpus", name="gpus")
    assert ("DRA385" in codes(resource_slice(ONE), resource_slice(ONE) + new)) == is_renamed


def test_a_pool_of_another_node_is_a_new_node() -> None:
    other = resource_slice(ONE, pool="node-2", node="node-2", name="other")
    assert codes(resource_slice(ONE), other) == set()


def write(name: str, device: str, generation: int) -> str:
    """Return one of two slices of a pool."""
    devices = f"{device} {{uuid: {{string: {device}}}}}"
    return resource_slice(devices, name=name, generation=generation, count=2)


def test_a_recording_whose_generations_are_all_completed() -> None:
    recording = [
        write(name, device, generation)
        for generation in (1, 2, 3)
        for name, device in (("a", "gpu-0"), ("b", "gpu-1"))
    ]
    assert codes("".join(recording)) == set()


def test_recording_with_a_never_complete_generation_is_reported() -> None:
    recording = [
        write("a", "gpu-0", 1),
        write("b", "gpu-1", 1),
        write("a", "gpu-0", 2),
        write("a", "gpu-0", 3),
        write("b", "gpu-1", 3),
    ]
    (finding,) = check("".join(recording))
    assert finding.code == "DRA386"
    assert "1 of 2 slices before 3 came" in finding.message


def test_a_recording_in_which_a_slice_was_deleted() -> None:
    """A watch without events does not show it: the count tells."""
    recording = [
        write("a", "gpu-0", 1),
        write("b", "gpu-1", 1),
        resource_slice("gpu-1 {uuid: {string: gpu-1}}", name="b", count=1),
    ]
    assert codes("".join(recording)) == set()


def test_hardware_of_a_deleted_slice_has_another_name_in_the_next() -> None:
    """The slice is gone as soon as the other one announces that it is alone, not only at the end."""
    renamed = "gpu-1 {uuid: {string: gpu-1}}\ngpu-9 {uuid: {string: gpu-0}}"
    recording = [
        write("a", "gpu-0", 1),
        write("b", "gpu-1", 1),
        *(resource_slice(renamed, name="b", count=1, generation=now) for now in (1, 1, 2)),
    ]
    (finding,) = check("".join(recording))
    assert finding.code == "DRA382"
    assert "gpu-0 is gpu-9 now" in finding.message


def test_a_snapshot_without_all_slices_is_an_error() -> None:
    (finding,) = check(write("a", "gpu-0", 1))
    assert (finding.code, finding.severity, finding.confidence) == ("DRA352", "error", "certain")


def test_fault_of_all_snapshots_is_reported_for_the_newest() -> None:
    wrong = "gpu-0 {resource.kubernetes.io/numaNode: {int: -1}}"
    findings = check(resource_slice(wrong), resource_slice(wrong), resource_slice(wrong))
    assert [(finding.code, finding.position.file) for finding in findings] == [("DRA356", "2.yaml")]


def watch(*events: tuple[str, str]) -> str:
    """Return what ``kubectl get resourceslices -w -o json --output-watch-events`` prints: each event in a line."""
    return "".join(
        json.dumps({"type": kind, "object": yaml.safe_load(text.removeprefix("---\n"))}) + "\n"
        for kind, text in events
    )


def test_pool_losing_a_slice_in_a_watch_is_reported() -> None:
    """The helper writes what stays, then deletes the rest (resourceslicecontroller.go syncPool)."""
    stays = resource_slice("gpu-0 {uuid: {string: gpu-0}}", name="a", generation=2, count=1)
    events = [("ADDED", write("a", "gpu-0", 1)), ("ADDED", write("b", "gpu-1", 1))]
    events += [("MODIFIED", stays), ("DELETED", write("b", "gpu-1", 1))]
    assert codes(watch(*events)) == set()
    assert codes(watch(*events[:2], events[3])) == {"DRA352"}


def test_recreated_pool_may_begin_with_any_generation() -> None:
    before, after = resource_slice(ONE, generation=7), resource_slice(BOTH, name="new")
    events = [("ADDED", before), ("DELETED", before), ("ADDED", after)]
    assert codes(watch(*events)) == set()
    assert codes(before, after) == {"DRA381"}


def test_hardware_keeps_its_name_over_a_deletion() -> None:
    before = resource_slice(ONE)
    after = resource_slice(ONE.replace("gpu-0", "gpu-9"), name="new")
    events = [("ADDED", before), ("DELETED", before), ("ADDED", after)]
    (finding,) = check(watch(*events))
    assert finding.code == "DRA382"
    assert finding.position.line == 3
    assert finding.related[0].position.line == 1


def test_the_last_state_before_a_driver_is_removed_is_judged() -> None:
    wrong = resource_slice("gpu-0 {resource.kubernetes.io/numaNode: {int: -1}}")
    assert codes(watch(("ADDED", wrong), ("DELETED", wrong))) == {"DRA356"}


def test_bookmarks_and_errors_of_a_watch_are_no_slices() -> None:
    bookmark = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {resourceVersion: '9'}"
    )
    error = "apiVersion: v1\nkind: Status\nstatus: Failure\ncode: 410"
    events = [("ADDED", resource_slice(ONE)), ("BOOKMARK", bookmark), ("ERROR", error)]
    assert codes(watch(*events)) == set()
