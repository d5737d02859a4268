"""The nearest names for a DeviceTaintRule that selects no device."""

from collections.abc import Iterator

from dractl.cluster.state import ClusterState
from dractl.model import DeviceTaintRule
from dractl.model.nearest import nearest_names


def note_unselected(state: ClusterState, rule: DeviceTaintRule) -> Iterator[str]:
    """Yield a note on a rule that selects no device, with the nearest names."""
    selector = rule.spec.device_selector
    if selector is None:
        return
    name = rule.metadata.name
    if not state.covers("ResourceSlice"):
        yield f"which devices DeviceTaintRule {name} selects is unknown: the input has no slices"
        return
    slices = state.slices
    names_by_field = {
        "driver": (selector.driver, {item.spec.driver for item in slices}),
        "pool": (selector.pool, {item.spec.pool.name for item in slices}),
        "device": (selector.device, {d.name for item in slices for d in item.spec.devices}),
    }
    unknown = [
        _describe_unknown(field, wanted, names)
        for field, (wanted, names) in names_by_field.items()
        if wanted is not None and wanted not in names
    ]
    reason = "; ".join(unknown) or "no device has all of its driver, pool and name"
    yield f"DeviceTaintRule {name} selects no device: {reason}"


def _describe_unknown(field: str, wanted: str, names: set[str]) -> str:
    near = nearest_names(wanted, names, most=1)
    return f"there is no {field} {wanted}" + (f"; did you mean {near[0]}?" if near else "")
