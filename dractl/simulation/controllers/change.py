"""A workload before and after a change, as its controller sees it, and the response."""

from msgspec import Struct

from dractl.views import Key, Pod, Workload


class WorkloadChange(Struct, frozen=True):
    """A workload before and after a change, with its pods."""

    kind: str
    """Kind of the workload, such as ``Deployment``."""

    key: Key
    """Namespace and name of the workload."""

    previous: Workload
    """The object before the change; without fields if the input lacks it."""

    current: Workload
    """The object after the change; without fields if it is gone or the input lacks it."""

    previous_pods: tuple[Pod, ...]
    """Pods that were active before the change."""

    deleted_pods: tuple[Pod, ...]
    """Pods of ``previous_pods`` that the change deletes."""

    active_pods: tuple[Pod, ...]
    """Pods that are active now."""

    created_uids: frozenset[str] = frozenset()
    """UIDs of all pods that controllers have created since the change."""

    rejections: int = 0
    """Number of the workload's pods that the API server has refused to create since the change."""

    @property
    def template_changed(self) -> bool:
        """Whether the change gives the workload a different pod template."""
        return self.previous.template != self.current.template


class ControllerAction(Struct, frozen=True):
    """The next step of a controller."""

    pods_to_delete: tuple[Pod, ...] = ()
    """Pods that the controller deletes."""

    pods_to_create: tuple[Pod, ...] = ()
    """The pods to create; each entry is an earlier pod that serves as the model of a new one."""

    failure: str = ""
    """The reason why a Job fails and all its pods end; empty if the Job does not fail."""

    failure_reason: str = ""
    """Reason of the failed Job's condition, such as ``BackoffLimitExceeded``."""


NO_ACTION = ControllerAction()
