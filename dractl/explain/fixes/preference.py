"""The order of fixes."""

from enum import IntEnum, auto


class Preference(IntEnum):
    """The order in which an experienced engineer considers fixes."""

    RENEW = auto()
    """Recreate an object that is older than its template; the template is right by now."""
    CORRECT = auto()
    """Correct a name, a value or a type."""
    AGAIN = auto()
    """Wait, or recreate the pod: the fault is gone, or ends soon."""
    SUPPLY = auto()
    """Create a missing object."""
    RESTORE = auto()
    """Bring back an object that is switched off, stuck or broken."""
    IDLE = auto()
    """Free devices that nobody uses, or whose pod cannot run."""
    ADMIT = auto()
    """Let the pod use devices and nodes from which it is kept."""
    REPAIR = auto()
    """Have somebody repair or start a broken part, which no change of objects can do."""
    LESS = auto()
    """Ask for less."""
    ADAPT = auto()
    """Ask for other devices."""
    END = auto()
    """End replicas of other workloads that keep some replicas."""
    RELAX = auto()
    """Weaken a constraint, or remove a condition on nodes or on a gang."""
    DROP = auto()
    """Give up a selector or constraint."""
    RESERVED = auto()
    """Use nodes that a taint may reserve for others."""
    POLICY = auto()
    """Change an object that affects other subjects, too."""
    LAST = auto()
    """End a Job, or pods that nothing recreates."""
    OUTAGE = auto()
    """End the last replica of another workload."""
    CLUSTER = auto()
    """Change the cluster itself."""
