"""Nodes whose instance type shows that they have no accelerator (EC2 instance type naming conventions)."""

from __future__ import annotations

import pytest

from dractl.cluster.driver_workloads import lacks_hardware
from dractl.views import Node


@pytest.mark.parametrize(
    ("instance_type", "driver", "lacks"),
    [
        ("m7i.2xlarge", "gpu.nvidia.com", True),
        ("c7g.metal", "neuron.aws.com", True),
        ("g6.2xlarge", "gpu.nvidia.com", False),
        ("p5.48xlarge", "gpu.nvidia.com", False),
        ("trn1.2xlarge", "neuron.aws.com", False),
        ("inf2.xlarge", "neuron.aws.com", False),
        ("m7i.2xlarge", "dra.cpu", False),
        ("m7i.2xlarge", "dra.net", False),
        ("n2-standard-8", "gpu.nvidia.com", False),
        ("", "gpu.nvidia.com", False),
    ],
)
def test_the_family_of_an_instance_type_shows_its_accelerators(
    instance_type: str, driver: str, lacks: bool
) -> None:
    labels = {"node.kubernetes.io/instance-type": instance_type} if instance_type else {}
    node = Node({"metadata": {"name": "n", "labels": labels}})
    assert lacks_hardware(node, driver) == lacks
