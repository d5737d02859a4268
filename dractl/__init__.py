"""dractl: the hardware of a node, the ResourceSlices it becomes, and the scheduler's verdict on the claims that ask for it."""

__version__ = "0.1.0"
