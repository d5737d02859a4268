"""Pools that the scheduler does not use, as causes."""

from typing import Any

from dractl.allocation.survey import PoolSurvey
from dractl.model import RequestRef
from dractl.reasons.pools import OfPool, PoolIncomplete, PoolInvalid, PoolObsolete


def unusable(
    pool: PoolSurvey, request: RequestRef | None = None, *, device_class: str | None = None, all_mode: bool = False
) -> OfPool:
    """Why a pool is not used. ``all_mode``: it stops ``request``, which wants all devices."""
    facts: dict[str, Any] = {
        "driver": pool.driver,
        "pool": f"{pool.driver}/{pool.pool}",
        "have": pool.slices,
        "want": pool.expected,
        "generation": pool.generation,
        "request": request,
        "device_class": device_class,
        "all_mode": all_mode,
    }
    if pool.state == "invalid":
        fault = pool.fault.text if pool.fault is not None else "its slices contradict each other"
        return PoolInvalid(**facts, fault=fault)
    return (PoolIncomplete if pool.state == "incomplete" else PoolObsolete)(**facts)
