"""dractl: the hardware of a node, the ResourceSlices it becomes, the scheduler's verdict on claims that ask for it."""

__version__ = "0.1.0"
