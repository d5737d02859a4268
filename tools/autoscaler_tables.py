"""Turn the device tables of an autoscaler's provider into a file of facts.

    python tools/autoscaler_tables.py TABLES > dractl/facts/data/autoscalers/karpenter-aws.json

TABLES is JSON: ``provider`` (module and version), ``read`` (date) and ``types``: for each instance
type the ``devices`` by driver, as in a ResourceSlice, and ``equalOnNode``. Devices of a driver that
differ in a few attributes become one group.
"""

import json
import sys
from pathlib import Path
from typing import Any

DRIVERS = ("gpu.nvidia.com", "dra.net")  # in the order of populateDynamicResources of the provider

AWS_LABELS = (
    "capacity-reservation-id",
    "capacity-reservation-type",
    "capacity-reservation-interruptible",
    "instance-hypervisor",
    "instance-encryption-in-transit-supported",
    "instance-category",
    "instance-capability-flex",
    "instance-family",
    "instance-generation",
    "instance-size",
    "instance-local-nvme",
    "instance-cpu",
    "instance-cpu-manufacturer",
    "instance-cpu-sustained-clock-speed-mhz",
    "instance-memory",
    "instance-ebs-bandwidth",
    "instance-network-bandwidth",
    "instance-gpu-name",
    "instance-gpu-manufacturer",
    "instance-gpu-count",
    "instance-gpu-memory",
    "instance-accelerator-name",
    "instance-accelerator-manufacturer",
    "instance-accelerator-count",
    "instance-tenancy",
    "placement-group-id",
    "placement-group-partition",
)
WELL_KNOWN_LABELS = (
    "karpenter.sh/nodepool",
    "karpenter.sh/capacity-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    *(f"karpenter.k8s.aws/{name}" for name in AWS_LABELS),
)
"""WellKnownLabels in pkg/apis/v1/labels.go of karpenter and of its AWS provider."""


def group_devices(driver: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the devices of a driver as one group: a common value once, any other value for each
    device.
    """
    attributes = {key for device in devices for key in device.get("attributes", {})}
    common, varying = {}, {}
    for key in sorted(attributes):
        values = [device.get("attributes", {}).get(key) for device in devices]
        if all(value == values[0] for value in values):
            common[key] = values[0]
        else:
            varying[key] = values
    capacities = [device.get("capacity", {}) for device in devices]
    if any(capacity != capacities[0] for capacity in capacities):
        raise SystemExit(f"{driver}: devices of one type differ in capacity")
    group: dict[str, Any] = {
        "driver": driver,
        "names": [device["name"] for device in devices],
        "attributes": common,
    }
    if varying:
        group["varying"] = varying
    if capacities[0]:
        group["capacity"] = capacities[0]
    return group


def main() -> None:
    """Print the file of facts."""
    tables = json.loads(Path(sys.argv[1]).read_text())
    types = {
        name: {
            "groups": [
                group_devices(driver, table["devices"][driver])
                for driver in DRIVERS
                if driver in table["devices"]
            ],
            **({"equalOnNode": table["equalOnNode"]} if table["equalOnNode"] else {}),
        }
        for name, table in sorted(tables["types"].items())
    }
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(value, separators=(', ', ': '))}"
        for name, value in types.items()
    )
    head = {
        "autoscaler": "karpenter",
        "title": "Karpenter on AWS",
        "provider": "AWS",
        "since": "1.15",
        "source": (
            f"{tables['provider']} pkg/providers/nvidiadra, efadra and drametadata,"
            " pkg/apis/v1/labels.go; sigs.k8s.io/karpenter v1.15.0"
            " pkg/scheduling/dynamicresources, pkg/apis/v1/labels.go"
        ),
        "read": tables["read"],
        "newest": "1.15",
        "seconds": 5,
        "release": "1.35",
        "enabledBy": "settings.enableDRA",
        "wellKnownLabels": WELL_KNOWN_LABELS,
    }
    text = json.dumps(head, indent=1)[:-2]
    print(f'{text},\n "types": {{\n{lines}\n }}\n}}')


if __name__ == "__main__":
    main()
