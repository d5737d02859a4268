"""Targets for the commands about changes: plan, impact and check-driver, with damaged clusters,
changes and snapshots.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from fuzz.cli import LINK, run_cli
from fuzz.mutate import of_bytes, of_leaves, of_tree
from tests.planning import cluster

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

DRIVER = cluster.DRIVER
SUBJECTS = (
    "gpu=2", "gpu=4", "pod/wanted", "template/t2", "claim/x-gpus", "deploy/missing", "gpu=0", "gpu=99999999999",
    "gpu=1,nic=1", "pod/", "gpu=-1", "pod/../x",
)  # fmt: skip
RULE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "sick"},
    "spec": {
        "deviceSelector": {"driver": DRIVER, "pool": "a"},
        "taint": {"key": "example.com/x", "value": "v", "effect": "NoExecute"},
    },
}


@cache
def _objects() -> tuple[dict[str, Any], ...]:
    """Return a cluster in which pods have to move, with a budget, owners and a driver."""
    labels = {"app": "x"}
    workloads = [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": "ml", "uid": name},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
            },
        }
        for name in ("x", "y")
    ]
    plugin = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": "plugin"}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"app": "plugin"}},
                "spec": {
                    "containers": [{"name": "plugin", "image": f"example.com/{DRIVER}:1"}],
                    "terminationGracePeriodSeconds": 30,
                },
            },
        },
    }
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "ml"},
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1},
    }
    return tuple(
        cluster.objects(
            cluster.machine("a", 4),
            cluster.machine("b", 4),
            cluster.running("x", "StatefulSet/x", "a", 0, metadata={"labels": labels}),
            cluster.running("y", "StatefulSet/y", "b", 0, 1, metadata={"labels": labels}),
            cluster.running("z", "Job/z", "b", 2),
            cluster.running("bare", "", "a", 1),
            cluster.waiting(3),
            workloads,
            plugin,
            budget,
            RULE,
        )
    )


def _dump(dice: random.Random) -> bytes:
    damage = of_tree if dice.random() < 0.3 else of_leaves
    share = dice.choice((0.0, 0.1, 0.3))
    items = [damage(item, dice) if dice.random() < share else item for item in _objects()]
    dump = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    return of_bytes(dump, dice) if dice.random() < 0.05 else dump


def plan(dice: random.Random) -> None:
    options: list[str] = dice.choice(
        (
            [],
            ["--end"],
            ["--replicas", "2"],
            ["--replicas", "99999"],
            ["--keep", "app=x"],
            ["--keep", "((("],
        )
    )
    form = dice.choice(("text", "json", "html", "yaml"))
    question = [
        "plan",
        dice.choice(SUBJECTS),
        "-f",
        "DIR/a.json",
        "-n",
        "ml",
        "--isolated",
        "-o",
        form,
    ]
    run_cli([*question, *options], {"a.json": _dump(dice)})


def impact(dice: random.Random) -> None:
    slices = [item for item in _objects() if item["kind"] == "ResourceSlice"]
    change = dice.choice((RULE, *slices))
    if change is not RULE:
        taints = [{"key": "example.com/x", "effect": dice.choice(("NoExecute", "NoSchedule"))}]
        devices = [{**one, "taints": taints} for one in change["spec"]["devices"]]
        change = {**change, "spec": {**change["spec"], "devices": devices}}
    if dice.random() < 0.6:
        change = dice.choice((of_tree, of_leaves))(change, dice)
    subjects: tuple[list[str], ...] = (
        ["DIR/change.json"],
        ["DIR/change.json"],
        ["node/a", dice.choice(("--cordon", "--drain", "--reboot"))],
        [f"driver/{DRIVER}", *dice.choice(([], ["--restart"], ["--node", "a"]))],
        ["node/../a"],
        ["driver/"],
    )
    form = dice.choice(("text", "json", "html", "yaml"))
    run_cli(
        ["impact", *dice.choice(subjects), "-f", "DIR/a.json", "--isolated", "-o", form],
        {"a.json": _dump(dice), "change.json": json.dumps(change).encode()},
    )


def check_driver(dice: random.Random) -> None:
    """Check folders of snapshots of a driver, with its classes and its objects in a cluster."""
    damage = of_tree if dice.random() < 0.3 else of_leaves
    files = {}
    for number in range(dice.randint(1, 4)):
        for item in _objects():
            if item["kind"] == "ResourceSlice":
                value = damage(item, dice) if dice.random() < 0.4 else item
                name = (
                    dice.choice(("s", "-o", "a b", "\x1b[31m", "n" * 200, "::error::"))
                    + f"-{item['metadata']['name']}"
                )
                files[f"{number}/{name}.json"] = json.dumps(value).encode()
    if dice.random() < 0.2:
        files[dice.choice(list(files))] = LINK + dice.choice(
            (b"/etc/passwd", b"/dev/zero", b".", b"missing")
        )
    folders = [f"DIR/{number}" for number in sorted({name.partition("/")[0] for name in files})]
    classes = [item for item in _objects() if item["kind"] == "DeviceClass"]
    files["classes.json"] = json.dumps(of_leaves(classes[0], dice)).encode()
    files["a.json"] = _dump(dice)
    question = dice.choice(
        (
            folders,
            [*folders, "--classes", "DIR/classes.json"],
            [*folders, "--chart", "DIR/a.json"],
            ["--cluster", "-f", "DIR/a.json"],
            ["--cluster", "-f", "DIR/a.json", "--driver", DRIVER],
        )
    )
    form = dice.choice(
        ("full", "concise", "json", "sarif", "junit", "github", "gitlab", "markdown")
    )
    run_cli(["check-driver", *question, "--isolated", "-o", form], files)


TARGETS: tuple[Callable[[random.Random], None], ...] = (plan, impact, check_driver)
