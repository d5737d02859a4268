"""``composite.dra.example.io``: devices that are made of several drivers' devices, such as a GPU with its NIC.

Source: openshift-psap/composite-dra-driver@1f6ab3e pkg/synthesizer/pairer.go, publisher.go.
"""

from __future__ import annotations

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Catalogue
from dractl.drivers.standard import PCI_BUS_ID, PCIE_ROOT

NAME = "composite.dra.example.io"

CATALOGUE = Catalogue(
    title="devices composed of other drivers' devices",
    source="openshift-psap/composite-dra-driver@1f6ab3e pkg/synthesizer/pairer.go",
    versions=("main",),
    released="main",
    complete=False,
    attributes=(
        Attribute("composite/compositionName", "string", "name of the composition"),
        Attribute("composite/numaNode", "int", "NUMA node of a member", when="where a member has one"),
        Attribute("composite/railIndex", "int", "rail of the pair", when="of pairs that are listed explicitly"),
        Attribute(PCI_BUS_ID, "string", "PCI address of a member", when="if the source forwards it"),
        Attribute(PCIE_ROOT, "string", "PCIe root that the members share", when="if a constraint or source names it"),
    ),
    notes=(
        "the name of the driver, compositions and the attributes that are forwarded are the installation's own",
        "devices are named after their members, joined by two hyphens, and cut at 63 characters",
        "a class composite-<composition> selects by driver and compositionName",
        "the devices are made of slices that other drivers publish, not of hardware",
    ),
)

PROFILE = Agent(NAME, CATALOGUE)
