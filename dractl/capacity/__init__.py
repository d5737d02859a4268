"""What a cluster has and how many more fit: the allocator and the scheduler asked many times.

from dractl.capacity import inventory, place, subject
inventory(state, features)                                  # every pool and device, its state and its holders
place(subject(state, "template/gpu-pair", "ml"), features)  # copies, one after the other, until one stays pending
"""

from __future__ import annotations

from dractl.capacity.copies import Subject, subject
from dractl.capacity.placing import Fit, NodeFit, place

__all__ = ["Fit", "NodeFit", "Subject", "place", "subject"]
