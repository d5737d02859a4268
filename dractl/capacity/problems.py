"""Problems to clean up: devices that are held for no pod, allocated twice, or published in an
unusable way.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl.capacity.device_plugins import PluginRow
from dractl.capacity.inventory import Inventory, PoolRow
from dractl.cluster.podgroups import group_reference
from dractl.cluster.pods import describe_consumers, pods_using_claim
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, Key
from dractl.facts.resources import drivers_of
from dractl.objects import slice_of
from dractl.views import Claim, Consumer, Pod


class Problem(Struct, frozen=True):
    """One thing to clean up."""

    code: str
    message: str
    objects: tuple[str, ...]
    """``Kind/[namespace/]name`` or ``driver/pool/device``."""
    next: tuple[NextStep, ...] = ()


def find_problems(
    state: ClusterState, inventory: Inventory, plugins: tuple[PluginRow, ...]
) -> tuple[Problem, ...]:
    """Find everything to clean up, with problems of claims first."""
    return (
        *_check_claims(state),
        *_check_health(state),
        *_check_double_allocations(inventory),
        *_check_unpublished_devices(inventory),
        *_check_pools(state, inventory),
        *_check_device_plugins(inventory, plugins),
    )


def _check_claims(state: ClusterState) -> Iterator[Problem]:
    for key, claim in sorted(state.claims.items()):
        held = len(claim.held_devices)
        if not held:
            continue
        name, devices = "/".join(key), f"{held} {'device' if held == 1 else 'devices'}"
        users = claim.consumers
        if claim.deletion_timestamp:
            yield _deletion_problem(claim, devices)
        elif not state.shows("Pod", key[0]):
            continue  # it is unknown whether pods use the claim, or have ended
        elif not users and not pods_using_claim(state, key):
            yield Problem(
                "claim-unused",
                f"claim {name} holds {devices}, and no pod uses it",
                (f"ResourceClaim/{name}",),
                (NextStep("delete the claim if nobody needs it", _delete_command(key)),),
            )
        else:
            yield from _check_ended_pods(state, key, users, devices)
            yield from _check_ended_groups(state, key, users, devices)


def _delete_command(key: Key) -> str:
    return quote_command("kubectl delete resourceclaim {} -n {}", key[1], key[0])


def _deletion_problem(claim: Claim, devices: str) -> Problem:
    namespace, object_name = claim.key
    name, users = "/".join(claim.key), describe_consumers(claim)
    finalizers = ", ".join(claim.finalizers)
    waits = users or (f"finalizer {finalizers}" if finalizers else "nobody")
    step = NextStep(
        "see who uses it",
        quote_command("kubectl describe resourceclaim {} -n {}", object_name, namespace),
    )
    return Problem(
        "claim-deleting",
        f"claim {name} holds {devices} and waits for its deletion on {waits}",
        (f"ResourceClaim/{name}",),
        (step,),
    )


def _check_ended_pods(
    state: ClusterState, key: Key, users: Sequence[Consumer], devices: str
) -> Iterator[Problem]:
    """Report a claim whose pods have all ended or are gone.

    As long as one pod runs, the claim rightly holds the devices.
    """
    names = [user.name for user in users if user.resource == "pods"]
    if not names or len(names) < len(users):
        return
    pods = {name: state.pod((key[0], name)) for name in names}
    if any(pod.exists and not pod.has_ended for pod in pods.values()):
        return
    name = "/".join(key)
    finished = [pod_name for pod_name, pod in pods.items() if pod.exists]
    gone = [pod_name for pod_name, pod in pods.items() if not pod.exists]
    holders = [f"pod {', '.join(finished)}, which has ended"] if finished else []
    holders += [f"pod {', '.join(gone)}, which does not exist"] if gone else []
    step = NextStep(
        "kube-controller-manager releases it in time; if it does not, delete the claim",
        _delete_command(key),
    )
    yield Problem(
        "pod-finished",
        f"claim {name} holds {devices} for {' and '.join(holders)}",
        (f"ResourceClaim/{name}", *(f"Pod/{key[0]}/{pod}" for pod in names)),
        (step,),
    )


def _check_ended_groups(
    state: ClusterState, key: Key, users: Sequence[Consumer], devices: str
) -> Iterator[Problem]:
    """Report a claim of a PodGroup that has no running or pending pods.

    kube-controller-manager keeps the reservation as long as the PodGroup exists
    (pkg/controller/resourceclaim, syncClaim).
    """
    groups = [user.name for user in users if user.resource == "podgroups"]
    if not groups or len(groups) < len(users):
        return
    alive = {
        group_reference(pod)
        for other, pod in state.pods.items()
        if other[0] == key[0] and not pod.has_ended
    }
    if any((group,) in alive for group in groups):
        return
    name, namespace = "/".join(key), key[0]
    yield Problem(
        "pod-finished",
        f"claim {name} holds {devices} for PodGroup {', '.join(groups)}, whose pods have all ended",
        (f"ResourceClaim/{name}", *(f"PodGroup/{namespace}/{group}" for group in groups)),
        (
            NextStep(
                "delete the PodGroup if it gets no further pods: it keeps the claim",
                quote_command(
                    "kubectl delete podgroups.scheduling.k8s.io {} -n {}", groups[0], namespace
                ),
            ),
        ),
    )


def _check_health(state: ClusterState) -> Iterator[Problem]:
    """Report the devices that the kubelet marks as unhealthy in the status of their pods
    (KEP-4680).
    """
    for key, pod in sorted(state.pods.items()):
        for health in () if pod.has_ended else pod.unhealthy_devices:
            claim = _find_pod_claim(state, pod, health.claim)
            names = {str(device.id): device.device for device in claim.allocated_devices}
            device_name = health.match_device(list(names.values()))
            device = next(
                (full for full, name in names.items() if name == device_name), health.device
            )
            reason = f": {health.message}" if health.message else ""
            yield Problem(
                "device-unhealthy",
                f"device {device} is unhealthy and used by pod {'/'.join(key)}{reason}",
                (device, f"Pod/{'/'.join(key)}"),
                (
                    NextStep(
                        "keep other pods away with a DeviceTaintRule, delete the pod, and reset or"
                        " replace the device",
                        quote_command("kubectl delete pod {} -n {}", key[1], key[0]),
                    ),
                ),
            )


def _find_pod_claim(state: ClusterState, pod: Pod, name: str) -> Claim:
    """Return the claim that a pod calls ``name``; an empty one if the input lacks it."""
    claim_names = {reference.name: reference.claim_name for reference in pod.claim_references}
    generated = pod.claim_statuses.get(name)
    return state.claim((pod.key[0], generated or claim_names.get(name, "")))


def _check_double_allocations(inventory: Inventory) -> Iterator[Problem]:
    for row in inventory.devices:
        claims = sorted({holder.claim for holder in row.holders})
        if (
            row.state == "held"
            and len(claims) > 1
            and not any(a.consumed != "0" for a in row.capacity)
        ):
            yield Problem(
                "device-twice",
                f"device {row.id} is allocated to {len(claims)} claims: {', '.join(claims)}",
                (str(row.id), *(f"ResourceClaim/{claim}" for claim in claims)),
                (NextStep("end the pods of all but one of these claims"),),
            )


def _check_unpublished_devices(inventory: Inventory) -> Iterator[Problem]:
    for row in inventory.devices:
        if row.state in ("gone", "stale") and row.holders:
            claims = sorted({holder.claim for holder in row.holders})
            published = (
                "is no longer published"
                if row.state == "gone"
                else "is only in an old generation of its pool"
            )
            yield Problem(
                "device-gone",
                f"device {row.id} {published} and is held by claim {', '.join(claims)}",
                (str(row.id), *(f"ResourceClaim/{claim}" for claim in claims)),
                (NextStep(f"see whether driver {row.id.driver} runs and still sees the device"),),
            )


def _check_pools(state: ClusterState, inventory: Inventory) -> Iterator[Problem]:
    nodes = {name for _, name in state.objects("Node")}
    for row in inventory.pools:
        name = f"{row.driver}/{row.pool}"
        logs = NextStep(
            f"look at driver {row.driver}" + (f" on node {row.node}" if row.node else "")
        )
        if row.duplicates:
            twice = ", ".join(row.duplicates)
            message = (
                f"pool {name} publishes {twice} more than once: the scheduler takes no device of it"
            )
            yield Problem("pool-invalid", message, _slice_names(state, row), (logs,))
        elif row.slices != row.expected:
            fault = (
                "slices are missing" if row.slices < row.expected else "there are too many slices"
            )
            message = (
                f"pool {name} has {row.slices} of {row.expected} slices of generation"
                f" {row.generation}: {fault}, and the scheduler takes no device of it"
            )
            yield Problem("pool-incomplete", message, _slice_names(state, row), (logs,))
        if row.node is not None and state.lists_all_nodes and row.node not in nodes:
            step = NextStep(
                "delete its slices if the node is gone for good",
                quote_command(
                    "kubectl get resourceslices --field-selector spec.nodeName={}", row.node
                ),
            )
            message = f"pool {name} belongs to node {row.node}, which does not exist"
            yield Problem("node-gone", message, _slice_names(state, row), (step,))


def _slice_names(state: ClusterState, row: PoolRow) -> tuple[str, ...]:
    slices = sorted(state.objects("ResourceSlice").items())
    pool = row.driver, row.pool
    return tuple(
        f"ResourceSlice/{key[1]}" for key, value in slices if slice_of(value).identity[:2] == pool
    )


def _check_device_plugins(
    inventory: Inventory, plugins: tuple[PluginRow, ...]
) -> Iterator[Problem]:
    published = {(row.node, row.driver): row for row in inventory.pools if row.node is not None}
    for plugin in plugins:
        drivers = [
            driver for driver in drivers_of(plugin.resource) if (plugin.node, driver) in published
        ]
        if drivers:
            message = (
                f"node {plugin.node} offers {plugin.allocatable} {plugin.resource} through a device"
                f" plugin and devices of {drivers[0]} through ResourceSlices: both will hand out"
                " the same hardware"
            )
            step = NextStep("run either the device plugin or the DRA driver on a node")
            yield Problem("offered-twice", message, (f"Node/{plugin.node}",), (step,))
