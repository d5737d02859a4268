"""Plans carried out on a real control plane: each pod ends on the node, and with the devices, that the plan said.

The commands are those that ``dractl plan -o json`` prints, in their order. No kubelet runs: pods are set to Running,
and end, by a stand-in (plane.py). The status of PodDisruptionBudgets is the disruption controller's.
``pytest -m live tests/live/test_plans.py -k gang`` carries out one of them.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.planning import PlanOptions, find_plan, subject_of_pods
from tests.explain.cluster import state_of
from tests.live.plane import CONTROLLERS, RELEASE, Plane, oracle, until
from tests.live.plans import SITUATIONS, group_of, list_objects, priority_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.cluster.state import ClusterState
    from dractl.views import Pod
    from tests.live.plans import Situation

    Step = dict[str, Any]

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
KINDS = (
    "nodes,namespaces,pods,deployments,replicasets,statefulsets,jobs,poddisruptionbudgets,priorityclasses,"
    "resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses,podgroups"
)


@pytest.fixture(scope="module")
def plane() -> Iterator[Plane]:
    """A control plane on which the pods of all situations wait."""
    module = oracle()
    if module is None:
        pytest.skip("no conformance data, or the cluster program is not built")
    controllers = f"{CONTROLLERS},disruption-controller"
    served = "scheduling.k8s.io/v1beta1=true"
    with Plane(module, GATES, controllers=controllers, apis=served) as running:
        running.ending_seconds = 1
        for situation in SITUATIONS:
            if situation.gang:
                namespace = {"metadata": {"name": situation.name}}
                running.must("POST", "/api/v1/namespaces", namespace)
                groups = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{situation.name}/podgroups"
                running.must("POST", groups, group_of(situation))
        objects = [o for situation in SITUATIONS for o in list_objects(situation)]
        running.load([*priority_classes(), *objects])
        assert until(lambda: has_settled(running), 60), "the scheduler has not tried all pods"
        yield running


def has_settled(plane: Plane) -> bool:
    """Whether the scheduler has tried all pods, and the disruption controller has seen all budgets."""
    pods = plane.pods()
    deployments = [s for s in SITUATIONS if s.wanted.replicas]
    waiting = sum(not pod["spec"].get("nodeName") for pod in pods)
    count = len(SITUATIONS) + sum(s.wanted.replicas - 1 for s in deployments)
    budgets = plane.all("PodDisruptionBudget")
    return (
        waiting == count
        and all(map(plane.tried, pods))
        and all(b["status"].get("currentHealthy") == 2 for b in budgets)
    )


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_every_pod_ends_where_the_plan_said(plane: Plane, situation: Situation) -> None:
    before = load_state(plane)
    done = plane.dractl("plan", situation.wanted.subject, "-n", situation.name, "-o", "json")
    plan = json.loads(done.stdout)
    assert (plan["verdict"], done.returncode) == ("plan", 0), done.stdout
    moves = Counter(step["owner"].rpartition("/")[2] for step in plan["steps"])
    assert moves == situation.moves
    assert situation.is_open == any("or" in step for step in plan["steps"])

    carry_out(plane, situation, plan["steps"])
    assert until(lambda: has_places(plane, situation), 30), plane.pods()
    after = load_state(plane)
    if situation.is_open:
        assert after.pod((situation.name, "wanted")).node_name == situation.node("a")
    else:
        assert locate_pods(after, situation) == locate_pods(plan_for(before, situation), situation)


def plan_for(state: ClusterState, situation: Situation) -> ClusterState:
    """The cluster after the plan: the command's report does not name the devices."""
    waiting = [pod.key for pod in list_pods(state, situation) if not pod.node_name]
    features = Features.for_release(RELEASE, GATES)
    return find_plan(subject_of_pods(state, "wanted", waiting), features, PlanOptions()).after


def has_places(plane: Plane, situation: Situation) -> bool:
    pods = [pod for pod in plane.pods() if pod["metadata"]["namespace"] == situation.name]
    return all(pod["spec"].get("nodeName") for pod in pods)


def carry_out(plane: Plane, situation: Situation, steps: Sequence[Step]) -> None:
    """Run the commands of the steps; after each, its new pods are where it said."""
    homes = count_homes(load_state(plane), situation)
    for batch in list_batches(steps):
        failures = plane.paste("set -e\n" + "\n".join(batch[0]["commands"]))
        assert not failures, failures
        staying = homes - Counter((step["owner"], step["from"]) for step in batch)
        homes = count_homes(load_state(plane), situation)
        arrivals = sorted((homes - staying).elements())
        assert len(arrivals) == len(batch), (batch, homes)
        assert staying.total() + len(batch) == homes.total()
        for (owner, node), step in zip(arrivals, sorted(batch, key=target_of), strict=True):
            assert owner == step["owner"]
            assert node in (step["to"], *step.get("or", ()))


def list_batches(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps, those of a gang together: the first has the commands of all."""
    batches: list[list[Step]] = []
    for step in steps:
        if step["commands"]:
            batches.append([])
        batches[-1].append(step)
    return batches


def target_of(step: Step) -> tuple[str, str]:
    return step["owner"], step["to"]


def load_state(plane: Plane) -> ClusterState:
    listed = plane.cluster.kubectl("get", KINDS, "-A", "-o", "json").stdout
    return state_of(*json.loads(listed)["items"])


def name_owner(pod: Pod) -> str:
    """``KIND/NAMESPACE/NAME`` of the workload of a pod, or of the pod."""
    kind, name = pod.workload or ("Pod", pod.name)
    return f"{kind}/{pod.key[0]}/{name}"


def list_pods(state: ClusterState, situation: Situation) -> list[Pod]:
    return [pod for (namespace, _), pod in state.pods.items() if namespace == situation.name]


def count_homes(state: ClusterState, situation: Situation) -> Counter[tuple[str, str]]:
    """How many pods of each workload are on each node, but for those that waited."""
    pods = list_pods(state, situation)
    homes = Counter((name_owner(pod), pod.node_name) for pod in pods)
    return Counter({home: n for home, n in homes.items() if not home[0].endswith("/wanted")})


def locate_pods(state: ClusterState, situation: Situation) -> Counter[tuple[str, str, str]]:
    """How many pods of each workload have which devices of which node."""
    places: Counter[tuple[str, str, str]] = Counter()
    for pod in list_pods(state, situation):
        claims = map(state.claim, state.claims_of_pod(pod.key))
        devices = sorted(d.id.device for claim in claims for d in claim.allocated_devices)
        places[name_owner(pod), pod.node_name, " ".join(devices)] += 1
    return places
