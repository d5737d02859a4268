"""DRA359 to DRA370: what drivers publish, beyond the examples of the rules' pages."""

from __future__ import annotations

import pytest

from tests.lint.written import documents, found

HEAD = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"


def make_slice(
    *devices: str, name: str = "s", count: int = 1, driver: str = "gpu.acme.com", rest: str = ""
) -> str:
    """Return a slice whose devices are flow mappings."""
    listed = "".join(f"  - {{{device}}}\n" for device in devices)
    return (
        f"{HEAD}metadata: {{name: {name}}}\nspec:\n  driver: {driver}\n  nodeName: node-1\n"
        f"  pool: {{name: node-1, generation: 1, resourceSliceCount: {count}}}\n{rest}"
        + (f"  devices:\n{listed}" if devices else "")
    )


def counters(amount: str) -> str:
    rest = f"  sharedCounters:\n  - name: set\n    counters: {{memory: {{value: {amount}}}}}\n"
    return make_slice(name="counters", count=2, rest=rest)


def consumer(amount: str) -> str:
    consumed = f"consumesCounters: [{{counterSet: set, counters: {{memory: {{value: {amount}}}}}}}]"
    return make_slice(f"name: gpu-0, {consumed}", count=2)


def test_differing_counts_are_reported_at_the_differing_slice() -> None:
    text = documents(
        make_slice("name: a", name="s-1", count=2), make_slice("name: b", name="s-2", count=3)
    )
    (finding,) = found(text, "DRA359")
    assert finding.object.name == "s-2"
    assert "3 slices here and 2 in s-1" in finding.message


@pytest.mark.parametrize(
    ("set_has", "device_takes", "is_wrong"),
    [
        ("80Gi", "80Gi", False),
        ("80Gi", "81920Mi", False),
        ("80Gi", "81921Mi", True),
        ("80Gi", "-1Gi", True),
        ("0", "0", False),
    ],
)
def test_amounts_of_counters_are_compared_as_quantities(
    set_has: str, device_takes: str, *, is_wrong: bool
) -> None:
    text = documents(counters(set_has), consumer(device_takes))
    assert bool(found(text, "DRA360")) is is_wrong


def test_counters_of_an_incomplete_pool_are_not_compared() -> None:
    assert not found(consumer("81921Mi"), "DRA360")


def test_a_capacity_under_both_names() -> None:
    device = "name: gpu-0, capacity: {memory: {value: 1Gi}, gpu.acme.com/memory: {value: 1Gi}}"
    (finding,) = found(make_slice(device), "DRA361")
    assert finding.path == "spec.devices[0].capacity[gpu.acme.com/memory]"


def test_the_same_name_in_another_domain_is_another_attribute() -> None:
    device = "name: gpu-0, attributes: {model: {string: a}, other.example.com/model: {string: a}}"
    assert not found(make_slice(device), "DRA361")


def test_types_are_compared_over_slices_and_names() -> None:
    one = make_slice("name: a, attributes: {size: {int: 1}}", name="s-1", count=2)
    other = make_slice("name: b, attributes: {gpu.acme.com/size: {string: x}}", name="s-2", count=2)
    (finding,) = found(documents(one, other), "DRA362")
    assert "of type string on b and of type int on a" in finding.message


def test_types_of_two_drivers_may_differ() -> None:
    one = make_slice("name: a, attributes: {size: {int: 1}}", name="s-1")
    other = make_slice(
        "name: b, attributes: {size: {string: x}}", name="s-2", driver="nic.example.com"
    )
    assert not found(documents(one, other), "DRA362")


@pytest.mark.parametrize(
    ("attribute", "standard"),
    [
        ('pciAddress: {string: "0000:3b:00.0"}', "pciBusID"),
        ('nic.example.com/bdf: {string: "0000:3B:00.0"}', "pciBusID"),
        ("numaNode: {int: 0}", "numaNode"),
        ('numaInfo: {string: "1"}', "numaNode"),
        ("dra.net/numaNode: {int: 1}", "numaNode"),
    ],
)
def test_a_standard_attribute_under_another_name_alone(attribute: str, standard: str) -> None:
    (finding,) = found(make_slice(f"name: a, attributes: {{{attribute}}}"), "DRA363")
    assert finding.severity == "info"
    assert f"not resource.kubernetes.io/{standard}" in finding.message


@pytest.mark.parametrize(
    "attributes",
    [
        'pciAddress: {string: "0000:3b:00.0"}, resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}',
        'pfPciAddress: {string: "0000:3b:00.0"}',  # of the PF, which is another device
        'parentPciAddr: {string: "0000:3b:00.0"}',
        "numaNode: {int: -1}",  # unknown: nothing to publish
        'numaInfo: {string: ""}',
        "enumerated: {int: 1}",
    ],
)
def test_no_standard_attribute_is_missed(attributes: str) -> None:
    assert not found(make_slice(f"name: a, attributes: {{{attributes}}}"), "DRA363")


def test_names_defined_by_kubernetes_are_its_own() -> None:
    names = 'resource.kubernetes.io/pcieRoot: {string: "pci0000:17"}, resource.kubernetes.io/numaNode: {int: 0}'
    assert not found(make_slice(f"name: a, attributes: {{{names}}}"), "DRA364")


def test_a_misspelt_standard_name_is_one_finding() -> None:
    text = make_slice(
        "name: a, attributes: {resource.kubernetes.io/pcieroot: {string: pci0000:17}}"
    )
    assert found(text, "DRA701")
    assert not found(text, "DRA364")


def test_a_subproject_of_kubernetes_may_have_a_domain() -> None:
    text = make_slice("name: a, attributes: {k8s.cni.cncf.io/deviceID: {string: x}}")
    assert not found(text, "DRA364")
    assert not found(text, "DRA365")


@pytest.mark.parametrize(
    ("attribute", "is_reported"),
    [
        ("driverVersion: {string: 1.2.3}", True),
        ("driverVersion: {string: 2.25.4.0}", False),  # four parts are no semantic version
        ("driverVersion: {version: 1.2.3}", False),
        ("serial: {string: 1.2.3}", False),
        ('healthy: {string: "true"}', True),
    ],
)
def test_strings_with_a_type(attribute: str, *, is_reported: bool) -> None:
    assert bool(found(make_slice(f"name: a, attributes: {{{attribute}}}"), "DRA366")) is is_reported


BUS = 'resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}'


@pytest.mark.parametrize(
    "second",
    [
        f"name: gpu-0-mig-1, attributes: {{{BUS}, type: {{string: mig}}}}",
        f"name: b, attributes: {{{BUS}, parentUUID: {{string: GPU-1}}}}",
        f"name: b, allowMultipleAllocations: true, attributes: {{{BUS}}}",
    ],
)
def test_partitions_share_a_pci_function(second: str) -> None:
    assert not found(make_slice(f"name: gpu-0, attributes: {{{BUS}}}", second), "DRA367")


def test_devices_of_one_counter_set_exclude_each_other() -> None:
    consumed = "consumesCounters: [{counterSet: set, counters: {use: {value: 1}}}]"
    devices = [f"name: {name}, {consumed}, attributes: {{{BUS}}}" for name in "ab"]
    assert not found(make_slice(*devices), "DRA367")


def test_the_same_address_on_two_nodes_is_two_devices() -> None:
    one = make_slice(f"name: a, attributes: {{{BUS}}}", name="s-1")
    assert not found(
        documents(one, one.replace("node-1", "node-2").replace("s-1", "s-2")), "DRA367"
    )


def test_a_uuid_is_compared_on_a_node() -> None:
    device = "attributes: {uuid: {string: U}}"
    assert len(found(make_slice(*(f"name: {n}, {device}" for n in "abc")), "DRA368")) == 1
    one = make_slice(f"name: a, {device}", name="s-1")
    assert not found(
        documents(one, one.replace("node-1", "node-2").replace("s-1", "s-2")), "DRA368"
    )


def test_a_device_with_one_policy_is_meant_to_be_shared() -> None:
    policy = "requestPolicy: {default: 1Gi, validRange: {min: 1Gi, step: 1Gi}}"
    capacity = f"memory: {{value: 80Gi, {policy}}}, engines: {{value: 7}}, encoders: {{value: 0}}"
    device = f"name: a, allowMultipleAllocations: true, capacity: {{{capacity}}}"
    (finding,) = found(make_slice(device), "DRA369")
    assert finding.severity == "warning"
    assert "names no engines" in finding.message


def test_a_device_for_one_claim_needs_no_policy() -> None:
    assert not found(make_slice("name: a, capacity: {memory: {value: 80Gi}}"), "DRA369")


@pytest.mark.parametrize(
    ("attribute", "is_reported"),
    [
        ("memory: {int: 64}", True),
        ("memory: {string: 80Gi}", True),
        ("gpuMemory: {string: 40 GB}", True),
        ("memoryVendor: {string: hynix}", False),
        ("memoryPartition: {string: nps1}", False),
    ],
)
def test_amounts_published_as_attributes_are_found(attribute: str, *, is_reported: bool) -> None:
    assert bool(found(make_slice(f"name: a, attributes: {{{attribute}}}"), "DRA370")) is is_reported
