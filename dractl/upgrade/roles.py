"""Roles of drivers that are sufficient in one release but not in the next one."""

from collections.abc import Iterable, Iterator

from dractl.cluster.state import describe
from dractl.model import Target
from dractl.objects import Raw
from dractl.upgrade.finding import Finding
from dractl.upgrade.flags import type_of
from dractl.validation.roles import GROUP, ROLES, binding_of, companions, find_faults

_SOURCE = "kubernetes/kubernetes#134947, pkg/registry/resource/utils.go"
_READ = "2026-11-27"


def differences(objects: Iterable[Raw], before: Target, after: Target) -> Iterator[Finding]:
    """Yield a break for each request of a driver that only the later release forbids."""
    values = [value for value in objects if type_of(value)[0] == GROUP]
    roles = [value for value in values if value.get("kind") in ROLES]
    bindings = [binding for value in values if (binding := binding_of(value)) is not None]
    for role in roles:
        others = companions(role, roles, bindings)
        earlier_faults = {(fault.kind, fault.path) for fault in find_faults(role, before, others)}
        for fault in find_faults(role, after, others):
            if (fault.kind, fault.path) not in earlier_faults:
                objects_named = (describe(role),)
                yield Finding(
                    "role-lacks-permission",
                    "breaks",
                    fault.message,
                    objects_named,
                    fix=fault.help,
                    source=_SOURCE,
                    date=_READ,
                )
