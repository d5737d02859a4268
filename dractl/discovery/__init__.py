"""What ``discover`` adds to the hardware: the devices that drivers would publish, and claims that align them.

``publication`` joins a rendering to the PCI functions it came from, ``alignment`` counts what claims can align, and
``suggestion`` searches for the claim with the closest alignment.
"""
