"""Additions of ``discover`` to the hardware: the devices that drivers would publish, and claims that align them.

``publication`` joins a rendering to the PCI functions it came from, ``alignment`` counts the alignments that claims can
ask for, and ``suggestion`` searches for the claim with the closest alignment.
"""
