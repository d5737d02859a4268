"""What explain and ``discover --check`` say of a real node while something is wrong on it, and that the cure which they
name helps: the pod runs, or is gone.

``pytest -m node tests/live/test_node.py -k image`` plays one situation.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from dractl.cluster.kubelet import parse_prepare_failure
from tests.live.node import CDI, CNI, CONTAINERD, RELEASE, Node, claim, lacking, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = pytest.mark.node


@pytest.fixture(scope="module", params=[RELEASE])
def node(request: pytest.FixtureRequest) -> Iterator[Node]:
    why = lacking(request.param)
    if why:
        pytest.skip(f"no real node: {why}")
    with Node(release=request.param) as running:
        yield running


class Situation(Struct, frozen=True):
    """``wrong`` happens before the pod is created, ``later`` after it runs. ``says`` stands in the headline, ``does``
    in the next steps, ``check`` in a failed line of ``discover --check``. ``gone``: the cure ends the pod."""

    name: str
    reason: str
    says: str
    cure: Callable[[Node], object]
    does: str = ""
    check: str = ""
    wrong: Callable[[Node], object] = lambda _: None
    pod: Mapping[str, Any] | None = None
    claim: Mapping[str, Any] | None = None
    later: Callable[[Node], object] | None = None
    gone: bool = False


def recreate(**new: Any) -> Callable[[Node], object]:
    """Pod and claim are deleted and created as they should be."""

    def cure(node: Node) -> None:
        node.faults()
        node.clean()
        node.apply(new.get("claim", claim()), new.get("pod", pod()))

    return cure


def part(action: str, name: str) -> Callable[[Node], object]:
    return lambda node: node.part(action, name)


def wrong(**faults: Any) -> Callable[[Node], object]:
    return lambda node: node.faults(**faults)


def rewrite(path: Path, old: str, new: str, *parts: str) -> Callable[[Node], object]:
    """A file of the node with another text; ``parts`` are started again."""

    def change(node: Node) -> None:
        path.write_text(path.read_text().replace(old, new))
        for name in parts:
            node.part("stop", name)
            node.part("start", name)

    return change


def delete(node: Node) -> None:
    node.kubectl("delete", "pod", "train", "--wait=false")


def all_steps(*steps: Callable[[Node], object]) -> Callable[[Node], object]:
    def all_of_them(node: Node) -> None:
        for step in steps:
            step(node)

    return all_of_them


def make_device(_: Node) -> None:
    for number in range(4):
        subprocess.run(
            ["mknod", f"/dev/dev-{number}", "c", "1", "3"], check=False, capture_output=True
        )


def forget_files_and_end_container(node: Node) -> None:
    for path in CDI.glob("lab_node_test-*.json"):
        path.unlink()
    tasks = node.part("ctr", "task", "ls").stdout.splitlines()[1:]
    for task in (line.split()[0] for line in tasks):
        if "/tool" in node.part("ctr", "container", "info", task).stdout:
            node.part("ctr", "task", "kill", "-s", "KILL", task, check=False)


def create(kind: str) -> Callable[[Node], object]:
    data = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": "absent", "namespace": "default"},
    }
    return lambda node: node.apply(data)


FROM_MAP = {
    "env": [
        {
            "name": "X",
            "valueFrom": {"configMapKeyRef": {"name": "absent", "key": "x", "optional": False}},
        }
    ]
}
MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "absent", "namespace": "default"},
    "data": {"x": "1"},
}
SECRET_VOLUME = {"volumes": [{"name": "v", "secret": {"secretName": "absent"}}]}
MOUNTS = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
HOG = {"resources": {"claims": [{"name": "c"}], "limits": {"memory": "20Mi"}}}
HANDLER = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "nvidia"},
    "handler": "nvidia",
}
INIT = {
    "name": "first",
    "image": "node.test/tool:1",
    "imagePullPolicy": "IfNotPresent",
    "args": ["exit", "4"],
}
ELSEWHERE = ('cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]', 'cdi_spec_dirs = ["/etc/cdi"]')
PREPARE = "cannot prepare its devices"

SITUATIONS = (
    Situation(
        "driver-stopped",
        "not-prepared",
        "is not registered",
        part("start", "lab"),
        "restart it",
        "",
        part("stop", "lab"),
    ),
    Situation(
        "driver-killed",
        "not-prepared",
        PREPARE,
        part("start", "lab"),
        "restart it",
        "nobody listens",
        part("kill", "lab"),
    ),
    Situation(
        "driver-hangs",
        "not-prepared",
        "DeadlineExceeded",
        wrong(),
        "why it does not answer",
        wrong=wrong(hang=60),
    ),
    Situation(
        "device-lost",
        "not-prepared",
        "GPU is lost",
        wrong(),
        "reset or replace",
        wrong=wrong(prepare="GPU is lost (Xid 79)"),
    ),
    Situation(
        "feature-gate",
        "not-prepared",
        "feature gate",
        wrong(),
        "switch on feature gate Fancy",
        wrong=wrong(prepare='"X" is selected, but the "Fancy" feature gate is not enabled'),
    ),
    Situation(
        "driver-root",
        "not-prepared",
        "libcuda.so",
        wrong(),
        "driver root",
        wrong=wrong(prepare="failed to locate libcuda.so.580: not found"),
    ),
    Situation(
        "configuration",
        "not-prepared",
        "unknown mode",
        recreate(claim=claim("a")),
        "correct the parameters",
        claim=claim("turbo"),
    ),
    Situation(
        "cdi-broken",
        "not-prepared",
        "does not find its CDI devices",
        recreate(),
        "discover --check",
        "cannot be parsed",
        wrong(cdi="broken"),
    ),
    Situation(
        "cdi-kind",
        "not-prepared",
        "never has",
        recreate(),
        "discover --check",
        "no specification has CDI device",
        wrong(cdi="vendor"),
    ),
    Situation(
        "cdi-device-node",
        "not-prepared",
        "/dev/dev-",
        make_device,
        "device node",
        "does not exist here",
        wrong(cdi="absent-path"),
    ),
    Situation(
        "cdi-spec-dirs",
        "not-prepared",
        "never has",
        rewrite(CONTAINERD, *reversed(ELSEWHERE), "containerd"),
        "cdi_spec_dirs",
        "the runtime reads only /etc/cdi",
        rewrite(CONTAINERD, *ELSEWHERE, "containerd"),
    ),
    Situation(
        "cdi-files-gone",
        "not-prepared",
        "no longer knows",
        recreate(),
        "recreate the pod",
        "no specification has CDI device",
        later=forget_files_and_end_container,
    ),
    Situation(
        "crash",
        "container-failed",
        "exit code 1",
        recreate(),
        "log of container main",
        pod=pod("exit", "1"),
    ),
    Situation(
        "no-claim-listed",
        "container-failed",
        "exit code 3",
        recreate(),
        "resources.claims",
        pod=pod(lists={}),
    ),
    Situation(
        "absent-request",
        "container-failed",
        "exit code 3",
        recreate(),
        "resources.claims",
        pod=pod(lists={"name": "c", "request": "x"}),
    ),
    Situation(
        "cdi-off",
        "container-failed",
        "exit code 3",
        all_steps(
            rewrite(CONTAINERD, "enable_cdi = false", "enable_cdi = true", "containerd"), recreate()
        ),
        "enable_cdi",
        "enable_cdi = false",
        rewrite(CONTAINERD, "enable_cdi = true", "enable_cdi = false", "containerd"),
    ),
    Situation(
        "init-crash",
        "container-failed",
        "init container first",
        recreate(),
        "log of container first",
        pod=pod(initContainers=[INIT]),
    ),
    Situation(
        "out-of-memory",
        "container-failed",
        "OOMKilled",
        recreate(),
        "memory limit",
        pod=pod("hog", "200", main=HOG),
    ),
    Situation(
        "image",
        "not-started",
        "ErrImageNeverPull",
        lambda n: n.kubectl("set", "image", "pod/train", "main=node.test/tool:1"),
        "name of the image",
        pod=pod(main={"image": "node.test/none:1", "imagePullPolicy": "Never"}),
    ),
    Situation(
        "config-map",
        "not-started",
        'configmap "absent" not found',
        lambda n: n.apply(MAP),
        "create ConfigMap absent",
        pod=pod(main=FROM_MAP),
    ),
    Situation(
        "secret-volume",
        "not-started",
        'secret "absent" not found',
        create("Secret"),
        "create Secret absent",
        pod=pod(main=MOUNTS, **SECRET_VOLUME),
    ),
    Situation(
        "runtime-handler",
        "not-started",
        'no runtime for "nvidia"',
        recreate(),
        "handler nvidia",
        wrong=lambda n: n.apply(HANDLER),
        pod=pod(runtimeClassName="nvidia"),
    ),
    Situation(
        "cni-plugin",
        "not-started",
        "failed to find plugin",
        rewrite(CNI, '"ptpx"', '"ptp"'),
        "ptpx",
        "names plugin ptpx",
        rewrite(CNI, '"ptp"', '"ptpx"'),
    ),
    Situation(
        "containerd-down",
        "not-started",
        "containerd.sock",
        part("start", "containerd"),
        "container runtime",
        "containerd does not run",
        part("stop", "containerd"),
    ),
    Situation(
        "unhealthy",
        "device-unhealthy",
        "ECC page retirement",
        all_steps(wrong(), delete),
        "reset or replace",
        gone=True,
        later=wrong(
            health={f"dev-{n}": "Unhealthy" for n in range(4)},
            message="ECC page retirement limit reached",
        ),
    ),
    Situation(
        "unprepare-driver-down",
        "pod-terminating",
        "unprepare",
        part("start", "lab"),
        "start driver",
        later=all_steps(part("stop", "lab"), delete),
        gone=True,
    ),
    Situation(
        "unprepare-refused",
        "pod-terminating",
        "unprepare",
        wrong(),
        "NodeUnprepareResources",
        later=all_steps(wrong(unprepare="busy"), delete),
        gone=True,
    ),
    Situation(
        "kubelet-silent",
        "node-not-ready",
        "has not reported on",
        part("start", "kubelet"),
        "kubelet",
        "kubelet: does not run",
        part("kill", "kubelet"),
    ),
    Situation(
        "node-silent",
        "node-not-ready",
        "does not answer",
        part("start", "kubelet"),
        "start the kubelet",
        "kubelet: does not run",
        later=part("kill", "kubelet"),
    ),
)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_a_situation(node: Node, situation: Situation) -> None:
    play(node, situation)


# What kubelet says of a preparation, by its release: dractl/cluster/kubelet.py has the texts.
ANSWERS = {
    "driver-stopped": "unregistered",
    "driver-killed": "silent",
    "driver-hangs": "silent",
    "device-lost": "refused",
}
OLDER = (
    *ANSWERS,
    "cdi-kind",
    "crash",
    "config-map",
    "secret-volume",
    "runtime-handler",
    "cni-plugin",
)


@pytest.mark.parametrize("node", ["1.36", "1.35", "1.34"], indirect=True)
@pytest.mark.parametrize(
    "situation", [s for s in SITUATIONS if s.name in OLDER], ids=lambda s: s.name
)
def test_an_older_kubelet(node: Node, situation: Situation) -> None:
    events = play(node, situation)
    said = {
        parse_prepare_failure(message).answer
        for reason, message in events
        if reason == "FailedPrepareDynamicResources"
    }
    assert situation.name not in ANSWERS or ANSWERS[situation.name] in said, events


def play(node: Node, situation: Situation) -> list[tuple[str, str]]:
    """Makes a situation, asks, applies the cure; the events about the pod until then."""
    node.clean()
    situation.wrong(node)
    node.apply(situation.claim or claim(), situation.pod or pod())
    if situation.later is not None:
        node.until("the pod runs", lambda: node.phase("train") == "Running")
        situation.later(node)
    seen: list[str] = []

    def told() -> bool:
        code, answer = node.explain("train")
        reasons = [reason["code"] for reason in answer.get("reasons", ())]
        steps = " ".join(step["text"] for step in answer.get("next", ()))
        seen[:] = [
            f"exit code {code}",
            str(answer.get("verdict")),
            *reasons,
            answer["headline"],
            steps,
        ]
        right = (code, answer.get("verdict"), reasons[:1]) == (1, "failing", [situation.reason])
        return right and situation.says in answer["headline"] and situation.does in steps

    try:
        node.until("explain says it", told)
        events = node.events("train")
        if situation.check:
            assert situation.check in node.failed_checks()
        situation.cure(node)
        wanted = "" if situation.gone else "Running"
        node.until("the cure helps", lambda: node.phase("train") == wanted)
    except TimeoutError as error:
        pytest.fail(f"{error}: {seen}")
    finally:
        for number in range(4):
            Path(f"/dev/dev-{number}").unlink(missing_ok=True)
        for path, changed, right in (
            (CONTAINERD, ELSEWHERE[1], ELSEWHERE[0]),
            (CONTAINERD, "enable_cdi = false", "enable_cdi = true"),
            (CNI, '"ptpx"', '"ptp"'),
        ):
            if changed in path.read_text():
                rewrite(path, changed, right, "containerd")(node)
    return events


def test_the_node_against_the_cluster(node: Node) -> None:
    """What kubelet has prepared against the cluster's claims, and RuntimeClasses against containerd's handlers."""

    def failed() -> str:
        checks = json.loads(node.dractl("discover", "--check", "--cluster", "-o", "json").stdout)[
            "checks"
        ]
        assert {"prepared claims", "pools"} <= {check["name"] for check in checks}
        return "\n".join(
            f"{c['name']}: {c['evidence']}"
            for c in checks
            if c["state"] != "ok" and c["name"] in ours
        )

    ours = ("prepared claims", "runtime handlers", "pools")  # its hardware lacks drivers
    node.clean()
    node.kubectl("delete", "runtimeclasses", "--all")
    node.apply(claim(), pod())
    node.until("the pod runs", lambda: node.phase("train") == "Running")
    assert failed() == ""
    node.apply({**HANDLER, "handler": "absent", "metadata": {"name": "absent"}})
    assert "handler absent" in failed()
    node.kubectl("delete", "runtimeclasses", "absent")
    node.faults(unprepare="busy")
    node.kubectl("delete", "pod", "train", "--grace-period=0", "--force", check=False)
    node.until(
        "the claim is free",
        lambda: "results" not in node.kubectl("get", "resourceclaim", "train", "-o", "json"),
    )
    assert "claim default/train is prepared here, and the cluster has" in failed()
    node.faults()
    node.until("it is unprepared", lambda: failed() == "")


def test_no_report_claims_a_stopped_pod_runs(node: Node) -> None:
    """200 looks at a crash loop, at a container that is killed for its memory, and at a node that is gone."""
    node.clean()
    crashes, hogs, stays = (
        {**value, "metadata": {"name": name, "namespace": "default"}}
        for name, value in (
            ("crashes", pod("exit", "1")),
            ("hogs", pod("hog", "200", main=HOG)),
            ("stays", pod()),
        )
    )
    node.apply(claim(), stays)
    node.until("one runs", lambda: node.phase("stays") == "Running")
    node.apply(crashes, hogs)
    node.until("both have ended", lambda: all(node.events(name) for name in ("crashes", "hogs")))
    looks = 0

    def look(*pods: str) -> None:
        nonlocal looks
        for name in pods:
            before = node.ends(name)
            code, answer = node.explain(name)
            looks += 1
            if (before == node.ends(name) and before[1] != "running") or name == "stays":
                assert (code, answer["verdict"]) == (1, "failing"), answer["headline"]
                assert "runs on" not in answer["headline"]

    node.until(
        "both were restarted", lambda: min(node.ends("crashes")[0], node.ends("hogs")[0]) > 0
    )
    while looks < 140:
        look("crashes", "hogs")
    node.part("kill", "kubelet")
    ready = (
        "get",
        "node",
        node.name,
        "-o",
        "jsonpath={.status.conditions[?(@.type=='Ready')].status}",
    )
    node.until("the node is gone", lambda: node.kubectl(*ready) == "Unknown")
    while looks < 200:
        look("crashes", "hogs", "stays")
