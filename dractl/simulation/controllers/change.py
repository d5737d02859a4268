"""A workload in a change as its controller sees it, and the next step of the controller."""

from msgspec import Struct

from dractl.cluster.state import Key, at
from dractl.objects import Raw


class WorkloadChange(Struct, frozen=True):
    """A workload before and after a change, with its pods."""

    kind: str
    """Kind of the workload, such as ``Deployment``."""

    key: Key
    """Namespace and name of the workload."""

    previous: Raw | None
    """The object before the change; None if the input lacks it."""

    current: Raw | None
    """The object after the change; None if the change deletes it or the input lacks it."""

    previous_pods: tuple[Raw, ...]
    """Pods that were active before the change."""

    deleted_pods: tuple[Raw, ...]
    """Pods of ``previous_pods`` that the change deletes."""

    active_pods: tuple[Raw, ...]
    """Pods that are active now."""

    created_uids: frozenset[str] = frozenset()
    """UIDs of all pods that controllers have created since the change."""

    rejections: int = 0
    """Number of its pods that the API server has refused to create since the change."""

    @property
    def template_changed(self) -> bool:
        """Whether the change gives the workload another pod template."""
        before, after = at(self.previous, "spec", "template"), at(self.current, "spec", "template")
        return bool(before != after)


class ControllerAction(Struct, frozen=True):
    """The next step of a controller."""

    pods_to_delete: tuple[Raw, ...] = ()
    """Pods that the controller deletes."""

    pods_to_create: tuple[Raw, ...] = ()
    """Models of the pods that the controller creates: an earlier pod for each new one."""

    failure: str = ""
    """Why a Job fails, which ends all its pods; empty if it does not fail."""

    failure_reason: str = ""
    """Reason of the failed Job's condition, such as ``BackoffLimitExceeded``."""


NO_ACTION = ControllerAction()
