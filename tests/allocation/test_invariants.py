"""What holds for every allocation, whatever the cluster; and that looking ahead never changes an answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings, strategies as st

from dractl.allocation import Allocated, AllocatedState, DeviceID, Unallocatable
from dractl.allocation.bounds import Bounds
from dractl.allocation.search import Search, search
from dractl.model import Quantity

from .conftest import Cluster, claim, node, taken, want

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)

devices = st.lists(
    st.fixed_dictionaries(
        {"numa": st.integers(0, 2), "model": st.sampled_from(["A", "B"]), "part": st.integers(0, 2)}
    ),
    min_size=1,
    max_size=8,
)
requests = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from([None, "A", "B"]), st.booleans()),
    min_size=1,
    max_size=3,
)
constraint = st.sampled_from([None, "matchAttribute", "matchAttribute twice", "distinctAttribute"])
claims = st.lists(st.tuples(requests, constraint), min_size=1, max_size=3)


def build(described: list[dict[str, Any]], *, prefix: str = "d", extra: bool = False) -> Cluster:
    """One driver whose devices draw on a counter set."""
    cluster = Cluster()
    found = [
        {
            "name": f"{prefix}{n}",
            "attributes": {"numa": {"int": d["numa"]}, "model": {"string": d["model"]}},
            "consumesCounters": [
                {"counterSet": "set", "counters": {"c": {"value": str(d["part"])}}}
            ],
        }
        for n, d in enumerate(described)
    ]
    cluster.pool("gpu.io", found, pool={"resourceSliceCount": 2})
    cluster.pool(
        "gpu.io",
        [],
        pool={"resourceSliceCount": 2},
        sharedCounters=[{"name": "set", "counters": {"c": {"value": "6"}}}],
    )
    if extra:
        cluster.pool("other.io", [{"name": "o"}], "aaa")
        cluster.device_class("zzz", "true")
    return cluster


def ask(described: list[Any]) -> list[Any]:
    found = []
    for index, (asked, kind) in enumerate(described):
        wanted = []
        for number, (count, model, alternative) in enumerate(asked):
            selectors = (
                () if model is None else (f'device.attributes["gpu.io"].model == "{model}"',)
            )
            request = want(f"r{number}", "gpu.io", count, *selectors)
            if alternative:
                body = request["exactly"]
                options = [{"name": "more", **body, "count": count + 1}, {"name": "less", **body}]
                request = {"name": f"r{number}", "firstAvailable": options}
            wanted.append(request)
        kind, _, twice = (kind or "").partition(" ")
        constraints = [{kind: "gpu.io/numa"}] * (2 if twice else 1) if kind else []
        found.append(claim(*wanted, name=f"c{index}", constraints=constraints))
    return found


@SETTINGS
@given(devices, claims)
def test_an_allocation_keeps_every_promise(
    described: list[dict[str, Any]], asked: list[Any]
) -> None:
    pod = ask(asked)
    verdict = build(described).allocator().allocate(node(), pod)
    if not isinstance(verdict, Allocated):
        assert isinstance(verdict, Unallocatable)
        return
    used = [int(d.device[1:]) for r in verdict.results for d in r.devices.results]
    assert max(Counter(used).values()) == 1, "a device is allocated twice"
    assert sum(described[n]["part"] for n in used) <= 6, "more of a counter is used than there is"
    for wanted, kind, result in zip(
        (a for a, _ in asked), (k for _, k in asked), verdict.results, strict=True
    ):
        numas = [described[int(d.device[1:])]["numa"] for d in result.devices.results]
        if (kind or "").startswith("matchAttribute"):
            assert len(set(numas)) == 1
        elif kind == "distinctAttribute":
            assert len(set(numas)) == len(numas)
        by_request = Counter(d.request.partition("/")[0] for d in result.devices.results)
        for number, (count, model, alternative) in enumerate(wanted):
            assert by_request[f"r{number}"] in ({count, count + 1} if alternative else {count})
            if model is not None:
                own = [
                    d.device
                    for d in result.devices.results
                    if d.request.partition("/")[0] == f"r{number}"
                ]
                assert {described[int(name[1:])]["model"] for name in own} == {model}


@SETTINGS
@given(devices, claims)
def test_names_of_devices_and_unrelated_objects_do_not_matter(
    described: list[dict[str, Any]], asked: list[Any]
) -> None:
    pod = ask(asked)
    plain = build(described).allocator().allocate(node(), pod)
    renamed = build(described, prefix="x", extra=True).allocator().allocate(node(), pod)
    assert type(plain) is type(renamed)
    if isinstance(plain, Allocated):
        assert [name.replace("=d", "=x") for name in taken(plain)] == taken(renamed)


@SETTINGS
@given(devices, claims)
def test_pruned_branches_of_the_search_hold_no_solution(
    described: list[dict[str, Any]], asked: list[Any]
) -> None:
    """The search with looking ahead, and the plain walk over everything, find the same."""
    as_the_plain_walk(build(described), asked)


partitions = st.lists(
    st.fixed_dictionaries(
        {
            "numa": st.just(0) | st.integers(0, 1),
            "model": st.sampled_from(["A", "B"]),
            "slots": st.sets(st.integers(0, 3), min_size=1, max_size=3),
            "cores": st.integers(0, 3),
        }
    ),
    min_size=2,
    max_size=4,
)


def make_partitions(parts: list[dict[str, Any]], gpus: int, other: bool) -> Cluster:
    """GPUs with the same partitions, each in places of its own GPU; with ``other`` the last is smaller."""
    cluster = Cluster()
    places = {f"slot-{n}": {"value": "1"} for n in range(4)}
    found = [
        {
            "name": f"d{gpu}-{n}",
            "attributes": {"numa": {"int": part["numa"]}, "model": {"string": part["model"]}},
            "consumesCounters": [
                {
                    "counterSet": f"gpu-{gpu}",
                    "counters": {f"slot-{place}": {"value": "1"} for place in part["slots"]}
                    | {"cores": {"value": str(part["cores"])}},
                }
            ],
        }
        for gpu in range(gpus)
        for n, part in enumerate(parts)
    ]
    cores = ["4"] * (gpus - 1) + ["3" if other else "4"]
    sets = [
        {"name": f"gpu-{n}", "counters": {**places, "cores": {"value": cores[n]}}}
        for n in range(gpus)
    ]
    cluster.pool("gpu.io", found, pool={"resourceSliceCount": 2})
    return cluster.pool("gpu.io", [], pool={"resourceSliceCount": 2}, sharedCounters=sets)


@SETTINGS
@given(partitions, st.integers(2, 3), st.booleans(), claims)
def test_equal_gpus_count_by_their_remaining_counters(
    parts: list[dict[str, Any]], gpus: int, other: bool, asked: list[Any]
) -> None:
    as_the_plain_walk(make_partitions(parts, gpus, other), asked)


def as_the_plain_walk(cluster: Cluster, asked: list[Any]) -> None:
    allocator = cluster.allocator()
    allocator.allocate(node(), ask(asked))
    for problem, budget in allocator._outcomes:
        plain = Search(problem, 200_000)
        plain.pure = (False,) * (len(problem.requests) + 1)
        found = plain.run()
        outcome = search(problem, budget)
        assert getattr(outcome, "picks", None) == (tuple(plain.picks) if found else None)


@SETTINGS
@given(devices, claims)
def test_a_solution_is_never_ruled_out(described: list[dict[str, Any]], asked: list[Any]) -> None:
    """Bounds are proofs: before anything is taken they allow every problem that has a solution."""
    allocator = build(described).allocator()
    verdict = allocator.allocate(node(), ask(asked))
    if not isinstance(verdict, Allocated):
        return
    (problem, _), *_ = allocator._outcomes
    start = Search(problem, 10)
    first = problem.requests[0]
    bounds = Bounds(problem)
    todos = [problem.slots[n].selectable for n in first]
    assert any(
        bounds.feasible(start, n, problem.slots[n].need, todo)
        for n, todo in zip(first, todos, strict=True)
    )


shares = st.lists(
    st.fixed_dictionaries(
        {
            "memory": st.integers(1, 4),
            "part": st.integers(0, 3),
            "taint": st.booleans(),
            "held": st.booleans(),
            "shared": st.booleans(),
        }
    ),
    min_size=1,
    max_size=5,
)


@SETTINGS
@given(shares, st.integers(0, 4), st.sampled_from(["1.35", "1.36", "1.37"]))
def test_the_survey_keeps_a_device_if_and_only_if_the_search_takes_it(
    described: list[dict[str, Any]], memory: int, release: str
) -> None:
    """Every stage is decided once: a request for one device fits exactly where its survey keeps a candidate."""
    cluster = Cluster()
    found = []
    for n, d in enumerate(described):
        taints = [{"key": "k", "effect": "NoSchedule"}] if d["taint"] else []
        found.append(
            {
                "name": f"d{n}",
                "capacity": {"memory": {"value": str(d["memory"])}},
                "consumesCounters": [
                    {"counterSet": "set", "counters": {"c": {"value": str(d["part"])}}}
                ],
                **({"taints": taints} if taints else {}),
                **({"allowMultipleAllocations": True} if d["shared"] else {}),
            }
        )
    pool = {"resourceSliceCount": 2}
    cluster.pool("gpu.io", found, pool=pool)
    cluster.pool(
        "gpu.io", [], pool=pool, sharedCounters=[{"name": "set", "counters": {"c": {"value": "4"}}}]
    )
    ids = [DeviceID("gpu.io", "node-1", f"d{n}") for n in range(len(described))]
    held = [(i, d) for i, d in zip(ids, described, strict=True) if d["held"]]
    state = AllocatedState(
        devices=frozenset(i for i, d in held if not d["shared"]),
        shared=frozenset(i for i, d in held if d["shared"]),
        capacity={i: {"memory": Quantity(1)} for i, d in held if d["shared"]},
    )
    gates = dict.fromkeys(
        ("DRAConsumableCapacity", "DRAPartitionableDevices", "DRADeviceTaints"), True
    )
    allocator = cluster.allocator(release, state=state, **gates)
    request = want(
        "r", "gpu.io", 1, **({"capacity": {"requests": {"memory": str(memory)}}} if memory else {})
    )
    pod = [claim(request)]
    (survey,) = allocator.survey(node(), pod).requests
    verdict = allocator.allocate(node(), pod)
    assert isinstance(verdict, Allocated) == survey.enough
    if isinstance(verdict, Allocated):
        assert (
            DeviceID("gpu.io", "node-1", verdict.results[0].devices.results[0].device)
            == survey.candidates[0]
        )
