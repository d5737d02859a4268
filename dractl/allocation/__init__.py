"""kube-scheduler's structured allocator: the devices that a pod's claims get on a node, or the
scheduler's words if they get none.

    features = Features.for_release("1.36", gates={"DRAConsumableCapacity": False})
    state = AllocatedState.from_claims(claims_of_the_cluster, features)
    tainted = apply_taint_rules(slices, rules, features, classes=classes)
    allocator = Allocator(tainted, classes, state=state, features=features)
    verdict = allocator.allocate(node, claims_of_the_pod)

The objects come from :mod:`dractl.model`. A verdict is a value; exceptions are for misuse only.
"""

from dractl.allocation.allocator import DEFAULT_BUDGET, Allocator
from dractl.allocation.eviction import (
    EVICTING_EFFECT,
    eviction_delay,
    find_evicting_taint,
    is_tolerated,
    list_evicting_taints,
)
from dractl.allocation.extended import (
    CLAIM_NAME,
    EXTENDED_CLAIM,
    ExtendedResources,
    backing_classes,
    delegated_resources,
    extended_resources,
    is_extended,
)
from dractl.allocation.faults import (
    DanglingCounter,
    DanglingCounterSet,
    DuplicateCounterSet,
    DuplicateDevice,
    Fault,
    FaultKind,
    PoolFault,
)
from dractl.allocation.features import BUGS, Bug, Features
from dractl.allocation.result import (
    FILTER_TIMEOUT,
    SHARE_ID,
    Allocated,
    Cost,
    Exhausted,
    Fatal,
    NoAllocator,
    NodeError,
    Unallocatable,
    Verdict,
    as_json,
)
from dractl.allocation.state import AllocatedState, DeviceID
from dractl.allocation.survey import (
    ConstraintSurvey,
    Loss,
    PoolSurvey,
    RequestSurvey,
    Stage,
    Survey,
    ValueGroup,
)
from dractl.allocation.taints import apply_taint_rules, effective_taint_rules

__all__ = [
    "BUGS",
    "CLAIM_NAME",
    "DEFAULT_BUDGET",
    "EVICTING_EFFECT",
    "EXTENDED_CLAIM",
    "FILTER_TIMEOUT",
    "SHARE_ID",
    "Allocated",
    "AllocatedState",
    "Allocator",
    "Bug",
    "ConstraintSurvey",
    "Cost",
    "DanglingCounter",
    "DanglingCounterSet",
    "DeviceID",
    "DuplicateCounterSet",
    "DuplicateDevice",
    "Exhausted",
    "ExtendedResources",
    "Fatal",
    "Fault",
    "FaultKind",
    "Features",
    "Loss",
    "NoAllocator",
    "NodeError",
    "PoolFault",
    "PoolSurvey",
    "RequestSurvey",
    "Stage",
    "Survey",
    "Unallocatable",
    "ValueGroup",
    "Verdict",
    "apply_taint_rules",
    "as_json",
    "backing_classes",
    "delegated_resources",
    "effective_taint_rules",
    "eviction_delay",
    "extended_resources",
    "find_evicting_taint",
    "is_extended",
    "is_tolerated",
    "list_evicting_taints",
]
