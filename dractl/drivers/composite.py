"""``composite.dra.example.io``: devices that are made of several drivers' devices, such as a GPU
with its NIC.

Source: openshift-psap/composite-dra-driver@1f6ab3e pkg/synthesizer/pairer.go, publisher.go.
"""

from dractl.drivers.agent import Agent

NAME = "composite.dra.example.io"


PROFILE = Agent(NAME)
