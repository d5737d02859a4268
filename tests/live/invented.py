"""The stories: workloads and their owners, node filters, drivers, devices in use, selectors."""

from __future__ import annotations

from typing import Any

from tests.live import stories
from tests.live.situations import oncall
from tests.live.stories import (
    API,
    BASE,
    CLASSES,
    NVIDIA,
    Story,
    claim,
    delete,
    deployment,
    device_class,
    devices,
    gpu,
    gpus,
    job,
    meta,
    node,
    owned,
    patch,
    pod,
    replace,
    request,
    slice_,
    taint,
    template,
)

ONE = template("one-gpu")
TWO = template("two-gpus", request(count=2))
EVAL = template("one-gpu", ns="eval")
RACK = "resource.kubernetes.io/pcieRoot"


def hogs(
    count: int, *, name: str = "hog", ns: str = "eval", gpus_each: int = 1, **more: Any
) -> list[Any]:
    """Bare pods with GPUs."""
    made = template(f"{name}-gpus", request(count=gpus_each), ns=ns)
    return [made, *(pod(f"{name}-{i}", f"{name}-gpus", ns=ns, **more) for i in range(count))]


def cel(text: str, *, product: str = "H100", count: int = 1, **changed: Any) -> list[Any]:
    """A node with two GPUs and a pod whose request has a selector."""
    wanted = template("picky", request(cel=text, count=count))
    return [
        [*BASE, node("gpu-1"), gpus("gpu-1", 2, product, **changed), wanted, pod("train", "picky")]
    ]


def attribute(name: str) -> str:
    return f"device.attributes['{NVIDIA}'].{name}"


def fpga(where: str, *names: str) -> Any:
    return slice_(
        where,
        [{"name": n, "attributes": {"model": {"string": "u55c"}}} for n in names],
        "fpga.example.com",
    )


def nics(where: str, count: int, **policy: Any) -> Any:
    bandwidth = {"value": "100G", "requestPolicy": policy} if policy else {"value": "100G"}
    shared = {"allowMultipleAllocations": True} if policy else {}
    made = [
        {"name": f"nic-{i}", "capacity": {"bandwidth": bandwidth}, **shared} for i in range(count)
    ]
    return slice_(where, made, "nic.example.com")


def sharing(strategy: str) -> Any:
    """A template for one GPU that is configured to be shared."""
    parameters = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": strategy},
    }
    return template("shared", config=[{"opaque": {"driver": NVIDIA, "parameters": parameters}}])


CLAIMS = "count/resourceclaims.resource.k8s.io"


def quota(name: str, hard: dict[str, str]) -> Any:
    """A quota of namespace ml of which nothing is used."""
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta(name, "ml"),
        "spec": {"hard": hard},
        "status": status,
    }


CREATION = {
    "apiGroups": ["resource.k8s.io"],
    "apiVersions": ["*"],
    "operations": ["CREATE"],
    "resources": ["resourceclaims"],
}
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": meta("require-team"),
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [CREATION]},
        "validations": [
            {
                "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
                "message": "every claim needs the label team",
            }
        ],
    },
}
POLICY_BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": meta("require-team"),
    "spec": {"policyName": "require-team", "validationActions": ["Deny"]},
}
WEBHOOK = {  # nobody listens there
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": meta("guard"),
    "webhooks": [
        {
            "name": "guard.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/validate"},
            "rules": [CREATION],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 1,
        }
    ],
}

WORKLOADS = [
    Story(
        "02-taint-on-gpu-nodes",
        [
            [
                *BASE,
                node("cpu-1"),
                *(node(f"gpu-{i}", [taint("nvidia.com/gpu", value="present")]) for i in (1, 2)),
                *(gpus(f"gpu-{i}", 4) for i in (1, 2)),
                ONE,
                deployment("web", 1, "one-gpu"),
            ]
        ],
        "ml/pod/web-*",
        [["nvidia.com/gpu"], ["taint"]],
        [["add a toleration", "tolerat"]],
    ),
    Story(
        "04-claim-of-old-template",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                template("many", request(count=8)),
                pod("train", "many"),
            ],
            replace(template("many", request(count=4))),
        ],
        "ml/pod/train",
        [["earlier version", "older"], ["template"]],
        [["recreate pod"]],
    ),
    Story(
        "06-claim-on-a-node-that-is-gone",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2),
                claim("model"),
                owned("StatefulSet", "server", 2, "=model"),
            ],
            [node("gpu-2"), gpus("gpu-2", 2)],
            delete("ResourceSlice", f"gpu-1-{NVIDIA}"),
            delete("Node", "gpu-1"),
            [pod("client", "=model")],
        ],
        "ml/pod/client",
        [["gpu-1"], ["does not exist", "gone", "no longer exists", "not exist"]],
        None,
    ),
    Story(
        "13b-time-slicing-statefulset",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                sharing("TimeSlicing"),
                owned("StatefulSet", "nb", 2, "shared"),
            ]
        ],
        "ml/pod/nb-1",
        [["each replica", "one claim", "own claim"]],
        [["resourceclaim"]],
    ),
    Story(
        "88b-statefulset-whose-node-selector-is-corrected",
        [
            [
                *BASE,
                node("gpu-1", labels={"pool": "gpu"}),
                gpus("gpu-1", 4),
                ONE,
                owned("StatefulSet", "ring", 2, "one-gpu", nodeSelector={"pool": "gpuu"}),
            ],
            patch(
                "StatefulSet",
                "ml/ring",
                {"spec": {"template": {"spec": {"nodeSelector": {"pool": "gpu"}}}}},
            ),
        ],
        "ml/pod/ring-0",
        [["earlier version of statefulset ml/ring"]],
        [["recreate pod ml/ring-0"]],
    ),
    Story(
        "88c-statefulset-whose-template-is-corrected",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                ONE,
                owned("StatefulSet", "ring", 2, "one-gp"),
            ],
            patch(
                "StatefulSet",
                "ml/ring",
                {
                    "spec": {
                        "template": {
                            "spec": {
                                "resourceClaims": [
                                    {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}
                                ]
                            }
                        }
                    }
                },
            ),
        ],
        "ml/pod/ring-0",
        [["earlier version of statefulset ml/ring"]],
        [["recreate pod ml/ring-0"]],
    ),
    Story(
        "09b-quota-of-claims",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 4), ONE, quota("claims", {CLAIMS: "1"})],
            [deployment("infer", 2, "one-gpu")],
        ],
        "ml/pod/infer-*",
        [["quota ml/claims allows 1 claim"]],
        [["raise quota ml/claims from 1 to 2"]],
    ),
    Story(
        "09c-quota-used-by-an-idle-claim",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 4), ONE, quota("claims", {CLAIMS: "1"})],
            [claim("idle", request())],
            [pod("train", "one-gpu")],
        ],
        "ml/pod/train",
        [["quota ml/claims allows 1 claim"]],
        [["delete claim ml/idle"]],
    ),
    Story(
        "09d-quota-used-by-a-running-pod",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 4), ONE, quota("claims", {CLAIMS: "1"})],
            [pod("notebook", "one-gpu")],
            [pod("train", "one-gpu")],
        ],
        "ml/pod/train",
        [["quota ml/claims allows 1 claim"]],
        [["delete pod ml/notebook"]],
    ),
    Story(
        "47b-policy-refuses-claims",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 2), ONE, POLICY, POLICY_BINDING],
            [deployment("infer", 2, "one-gpu")],
        ],
        "ml/pod/infer-*",
        [["every claim needs the label team"]],
        [["one-gpu so that its claims are accepted", "label"]],
        applies=False,
    ),
    Story(
        "47c-webhook-does-not-answer",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 2), ONE, WEBHOOK],
            [deployment("infer", 2, "one-gpu")],
        ],
        "ml/pod/infer-*",
        [["failed calling webhook"]],
        [["webhook guard.example.com"]],
        applies=False,
    ),
    Story(
        "14-shared-claim-and-anti-affinity",
        [
            [
                *BASE,
                *(node(f"gpu-{i}") for i in (1, 2)),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2)),
                claim("team-gpu"),
                deployment(
                    "api",
                    2,
                    "=team-gpu",
                    affinity={
                        "podAntiAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": [
                                {
                                    "labelSelector": {"matchLabels": {"app": "api"}},
                                    "topologyKey": "kubernetes.io/hostname",
                                }
                            ]
                        }
                    },
                ),
            ]
        ],
        "ml/pod/api-*",
        [["team-gpu"], ["already allocated", "allocated on"]],
        [["own claim", "its own"]],
    ),
    Story(
        "32-daemonset-on-a-full-node",
        [
            [
                *BASE,
                node("gpu-1"),
                node("gpu-2"),
                gpus("gpu-1", 1),
                gpus("gpu-2", 1),
                ONE,
                pod("hog", "one-gpu"),
            ],
            [owned("DaemonSet", "burn-in", 0, "one-gpu")],
        ],
        "ml/pod/burn-in-*",
        [["in use"], ["hog"]],
        [["hog"]],
    ),
    Story(
        "56-cronjob-overlaps",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "metadata": meta("nightly", "ml"),
                    "spec": {
                        "schedule": "0 0 31 2 *",
                        "jobTemplate": {"spec": job("x", 1, "one-gpu")["spec"]},
                    },
                },
            ],
            lambda plane: run(plane, "nightly", "nightly-1"),
            lambda plane: run(plane, "nightly", "nightly-2"),
        ],
        "ml/pod/nightly-2-*",
        [["cronjob", "nightly"], ["nightly-1"]],
        [["wait"], ["concurrencypolicy"]],
        applies=False,
    ),
    Story(
        "87-statefulset-of-two",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                template("three", request(count=3)),
                owned("StatefulSet", "ring", 2, "three"),
            ]
        ],
        "ml/pod/ring-1",
        [["1 of 4"], ["ring"]],
        [["2"], ["both", "for all", "replica"]],
    ),
    Story(
        "60-quota-refuses-the-pods",
        [
            [
                *BASE,
                node("gpu-a"),
                gpus("gpu-a", 2),
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": meta("no-gpus", "ml"),
                    "spec": {"hard": {"requests.nvidia.com/gpu": "0"}},
                    "status": {
                        "hard": {"requests.nvidia.com/gpu": "0"},
                        "used": {"requests.nvidia.com/gpu": "0"},
                    },
                },
                ONE,
                deployment("infer", 1, "one-gpu", limits={"nvidia.com/gpu": "1"}),
            ]
        ],
        "ml/deploy/infer",
        [["no pod", "cannot create"], ["quota", "no-gpus"]],
        None,
        applies=False,
    ),
    Story(
        "75-job-waits-its-turn",
        [[*BASE, node("gpu-1"), gpus("gpu-1", 4), TWO, job("sweep", 5, "two-gpus")]],
        "ml/pod/sweep-*",
        [["job ml/sweep", "sweep"], ["its turn", "wait"]],
        [["wait"], ["parallelism"]],
        applies=False,
    ),
    Story(
        "101-job-is-immutable",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                ONE,
                job("bert", 1, "one-gpu", nodeSelector={"pool": "gpus"}),
            ]
        ],
        "ml/pod/bert-*",
        [["pool=gpus"], ["no such label", "label"]],
        [["bert"]],
        applies=False,
    ),
    Story(
        "90-container-names-another-request",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                ONE,
                pod(
                    "train",
                    "one-gpu",
                    container={"resources": {"claims": [{"name": "gpu", "request": "gpus"}]}},
                ),
            ]
        ],
        "ml/pod/train",
        [["gpus"], ["gets no device"]],
        None,
        applies=False,
    ),
    Story(
        "48-toleration-without-effect",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2),
                {
                    "apiVersion": API,
                    "kind": "DeviceTaintRule",
                    "metadata": meta("drain"),
                    "spec": {
                        "deviceSelector": {"driver": NVIDIA},
                        "taint": {"key": "maintenance", "value": "soon", "effect": "NoExecute"},
                    },
                },
                template(
                    "tolerant",
                    request(count=2, tolerations=[{"key": "maintenance", "operator": "Exists"}]),
                ),
                deployment("infer", 1, "tolerant"),
            ],
            lambda plane: __import__("time").sleep(8),
        ],
        "ml/deploy/infer",
        [["evict"]],
        None,
        applies=False,  # pods come and go: what is asked about may be gone when the fix is pasted
    ),
    Story(
        "65-claim-deleted-while-in-use",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 2), claim("data"), pod("nb-1", "=data")],
            delete("ResourceClaim", "ml/data", force=False),
            [pod("nb-2", "=data")],
        ],
        "ml/pod/nb-2",
        [["deleted"], ["nb-1"]],
        None,
        applies=False,
    ),
]


def run(plane: Any, cron: str, name: str) -> None:
    """What ``kubectl create job --from`` does, and the controller of CronJobs."""
    made = plane.must("GET", f"/apis/batch/v1/namespaces/ml/cronjobs/{cron}")
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": cron,
        "uid": made["metadata"]["uid"],
    }
    value = {
        "metadata": meta(name, "ml", ownerReferences=[{**owner, "controller": True}]),
        "spec": made["spec"]["jobTemplate"]["spec"],
    }
    plane.must("POST", "/apis/batch/v1/namespaces/ml/jobs", value)


ZONE = "topology.kubernetes.io/zone"
TYPE = "node.kubernetes.io/instance-type"


def wants(key: str, *values: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }


def near(kind: str, key: str, **labels: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


NODES = [
    Story(
        "10-topology-spread",
        [
            [
                *BASE,
                node("gpu-a", labels={ZONE: "a"}),
                node("gpu-b", labels={ZONE: "b"}),
                gpus("gpu-a", 4),
                gpus("gpu-b", 1),
                ONE,
                deployment(
                    "web",
                    4,
                    "one-gpu",
                    topologySpreadConstraints=[
                        {
                            "maxSkew": 1,
                            "topologyKey": ZONE,
                            "whenUnsatisfiable": "DoNotSchedule",
                            "labelSelector": {"matchLabels": {"app": "web"}},
                        }
                    ],
                ),
            ]
        ],
        "ml/pod/web-*",
        [["maxskew is 1"], ["zone"]],
        [["scheduleanyway", "maxskew"]],
    ),
    Story(
        "30-full-pool-beside-a-free-one",
        [
            [
                *BASE,
                node("h-1", labels={"pool": "gpu-h100"}),
                node("a-1", labels={"pool": "gpu-a100"}),
                gpus("h-1", 2),
                gpus("a-1", 2, "A100"),
                *hogs(2, nodeSelector={"pool": "gpu-h100"}),
            ],
            [ONE, pod("train", "one-gpu", nodeSelector={"pool": "gpu-h100"})],
        ],
        "ml/pod/train",
        [["in use"], ["h-1"]],
        [["hog"]],
    ),
    Story(
        "67-new-node-not-initialized",
        [
            [*BASE, node("gpu-1"), gpus("gpu-1", 1), *hogs(1)],
            [
                node(
                    "gpu-new",
                    [
                        taint("node.cloudprovider.kubernetes.io/uninitialized", value="true"),
                        taint("node.kubernetes.io/network-unavailable"),
                    ],
                ),
                gpus("gpu-new", 1),
                ONE,
                pod("train", "one-gpu"),
            ],
        ],
        "ml/pod/train",
        [["gpu-new"], ["network-unavailable", "uninitialized"]],
        [["wait until gpu-new is ready"]],
        applies=False,
    ),
    Story(
        "69-pvc-missing",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                pod(
                    "train",
                    "one-gpu",
                    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "datasets"}}],
                ),
            ]
        ],
        "ml/pod/train",
        [["datasets"], ["not found", "does not exist"]],
        None,
        applies=False,
    ),
    Story(
        "77-instance-type-misspelt",
        [
            [
                *BASE,
                *(node(f"gpu-{i}", labels={TYPE: "p5.48xlarge"}) for i in (1, 2)),
                node("cpu-1", labels={TYPE: "m7i.large"}),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2)),
                ONE,
                deployment("web", 1, "one-gpu", affinity=wants(TYPE, "p5.48xlarg")),
            ]
        ],
        "ml/pod/web-*",
        [["p5.48xlarg"], ["p5.48xlarge"]],
        [["to p5.48xlarge"]],
    ),
    Story(
        "77b-instance-type-misspelt-in-node-selector",
        [
            [
                *BASE,
                *(node(f"gpu-{i}", labels={TYPE: "Standard_ND96isr_H100_v5"}) for i in (1, 2)),
                node("cpu-1", labels={TYPE: "Standard_D16s_v5"}),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2)),
                ONE,
                pod("train", "one-gpu", nodeSelector={TYPE: "standard_nd96isr_h100_v5"}),
            ]
        ],
        "ml/pod/train",
        [["standard_nd96isr_h100_v5"], ["standard_nd96isr_h100_v5"]],
        [["to standard_nd96isr_h100_v5"]],
    ),
    Story(
        "77c-misspelt-key-among-several",
        [
            [
                *BASE,
                *(
                    node(f"gpu-{i}", labels={"example.com/pool": "train", ZONE: "a"})
                    for i in (1, 2)
                ),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2)),
                ONE,
                pod("train", "one-gpu", nodeSelector={"example.com/pools": "train", ZONE: "a"}),
            ]
        ],
        "ml/pod/train",
        [["example.com/pools"]],
        [["to example.com/pool"]],
    ),
    Story(
        "81-node-selector-misspelt-everywhere",
        [
            [
                *BASE,
                node("gpu-9", [taint("team", value="research")], {"pool": "h100"}),
                *(node(f"gpu-{i}", labels={"pool": "h100"}) for i in (1, 2)),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2, 9)),
                ONE,
                pod("train", "one-gpu", nodeSelector={"pool": "h-100"}),
            ]
        ],
        "ml/pod/train",
        [["pool=h-100"], ["h100"]],
        [["to h100"]],
    ),
    Story(
        "83-selector-and-cordon",
        [
            [
                *BASE,
                node("gpu-1", labels={"pool": "train"}, unschedulable=True),
                node("gpu-2", labels={"pool": "infer"}),
                *(gpus(f"gpu-{i}", 2) for i in (1, 2)),
                ONE,
                pod("train", "one-gpu", nodeSelector={"pool": "train"}),
            ]
        ],
        "ml/pod/train",
        [["gpu-1"], ["cordon"]],
        [["uncordon gpu-1"]],
    ),
    Story(
        "85-node-unreachable",
        [
            [*BASE, node("gpu-a"), gpus("gpu-a", 1), *hogs(1, name="sweep")],
            [
                node(
                    "gpu-b",
                    [
                        taint("node.kubernetes.io/unreachable"),
                        taint("node.kubernetes.io/unreachable", "NoExecute"),
                    ],
                    ready="Unknown",
                ),
                gpus("gpu-b", 1),
                ONE,
                pod("train", "one-gpu"),
            ],
        ],
        "ml/pod/train",
        [["gpu-b"], ["unreachable"]],
        [["gpu-b is back"]],
        applies=False,
    ),
    Story(
        "85b-holders-on-an-unreachable-node",
        [
            [*BASE, node("gpu-b"), gpus("gpu-b", 1), ONE, pod("old", "one-gpu")],
            stories.unready("gpu-b"),
            [pod("train", "one-gpu")],
        ],
        "ml/pod/train",
        [["gpu-b"], ["does not answer", "unreachable", "not ready"]],
        None,
        applies=False,
    ),
    Story(
        "93-hugepages",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                pod(
                    "train",
                    "one-gpu",
                    limits={"hugepages-2Mi": "1Gi"},
                    requests={"hugepages-2Mi": "1Gi"},
                ),
            ]
        ],
        "ml/pod/train",
        [["hugepages-2mi"], ["1gi"]],
        [["hugepages"]],
    ),
    Story(
        "95-anti-affinity-of-another-pod",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2),
                EVAL,
                pod(
                    "bench",
                    "one-gpu",
                    ns="eval",
                    affinity={
                        "podAntiAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": [
                                {
                                    "labelSelector": {"matchLabels": {"noisy": "yes"}},
                                    "namespaces": ["ml"],
                                    "topologyKey": "kubernetes.io/hostname",
                                }
                            ]
                        }
                    },
                ),
            ],
            [ONE, pod("train", "one-gpu", labels={"noisy": "yes"})],
        ],
        "ml/pod/train",
        [["eval/bench"]],
        [["eval/bench"]],
    ),
    Story(
        "97-limit-range-adds-cpu",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                {
                    "apiVersion": "v1",
                    "kind": "LimitRange",
                    "metadata": meta("defaults", "ml"),
                    "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "96"}}]},
                },
                ONE,
                deployment("web", 1, "one-gpu", cpu=None),
            ]
        ],
        "ml/pod/web-*",
        [["cpu"], ["limitrange", "admission", "default"]],
        [["cpu"]],
    ),
    Story(
        "96b-runtime-class-of-a-deployment",
        [
            [
                *BASE,
                {
                    "apiVersion": "node.k8s.io/v1",
                    "kind": "RuntimeClass",
                    "metadata": meta("nvidia"),
                    "handler": "nvidia",
                    "scheduling": {"nodeSelector": {"runtime": "nvidia"}},
                },
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                deployment("web", 1, "one-gpu", runtimeClassName="nvidia"),
            ]
        ],
        "ml/pod/web-*",
        [["runtime=nvidia"], ["runtimeclass", "runtime class"]],
        [["runtime=nvidia", "runtimeclassname"]],
    ),
]


def fabric(*names: str) -> Any:
    made = [
        {"name": n, "bindsToNode": True, "bindingConditions": ["fabric.example.com/attached"]}
        for n in names
    ]
    made = [{**d, "bindingFailureConditions": ["fabric.example.com/failed"]} for d in made]
    return slice_("fabric", made, "fabric.example.com", reach={"allNodes": True})


DRIVERS = [
    Story(
        "34-bad-gpu-config",
        [
            stories.unprepared("ml/train"),
            [*BASE, node("gpu-a"), gpus("gpu-a", 1), sharing("TimeSlice"), pod("train", "shared")],
            stories.refused(
                "ml/train",
                "Failed to prepare dynamic resources: prepare devices for claim ml/train: rpc error: code = Unknown "
                "desc = unknown sharing strategy: TimeSlice",
            ),
        ],
        "ml/pod/train",
        [["gpu-a"], ["unknown sharing strategy"], ["sharing.strategy"]],
        [["from timeslice to timeslicing"]],
    ),
    Story(
        "44-rack-label-differs",
        [
            [
                *BASE,
                device_class("fpga", "device.driver == 'fpga.example.com'"),
                *(node(f"n-{i}", labels={"rack": "rack1"}) for i in (1, 2)),
                slice_(
                    "rack-pool",
                    [{"name": "f0"}, {"name": "f1"}],
                    "fpga.example.com",
                    reach={
                        "nodeSelector": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "rack", "operator": "In", "values": ["rack-1"]}
                                    ]
                                }
                            ]
                        }
                    },
                ),
                template("f", request("f", "fpga")),
                pod("train", "f"),
            ]
        ],
        "ml/pod/train",
        [["rack=rack-1"], ["rack1"]],
        [["rack"]],
    ),
    Story(
        "46-waits-for-a-fabric",
        [
            [
                *BASE,
                device_class("fabric", "device.driver == 'fabric.example.com'"),
                node("n-1"),
                fabric("f0"),
                template("f", request("f", "fabric")),
                pod("train", "f"),
            ]
        ],
        "ml/pod/train",
        [["fabric.example.com/attached"]],
        None,
        applies=False,
    ),
    Story(
        "54-two-installations-one-pool",
        [
            [
                *BASE,
                node("gpu-a"),
                slice_("gpu-a", [gpu(0), gpu(1)], name="gpu-a-1"),
                slice_("gpu-a", [gpu(0), gpu(1)], name="gpu-a-2"),
                ONE,
                pod("train", "one-gpu"),
            ]
        ],
        "ml/pod/train",
        [["gpu-a-1"], ["gpu-a-2"]],
        [["delete"], ["stale", "older", "other"]],
    ),
    Story(
        "42-class-selector-typo",
        [
            [
                *BASE,
                device_class(
                    "a100",
                    f"device.driver == '{NVIDIA}' && {attribute('productName')} == 'NVIDIA A100-SXM4-80GB'",
                ),
                node("gpu-1"),
                gpus("gpu-1", 4, "A100"),
                template("a", request("gpu", "a100")),
                pod("train", "a"),
            ]
        ],
        "ml/pod/train",
        [["nvidia a100-sxm4-80gb"], ["nvidia a100-sxm4-40gb"]],
        [["nvidia a100-sxm4-40gb"]],
    ),
    Story(
        "50-gpu-and-fpga-on-different-nodes",
        [
            [
                *BASE,
                device_class("fpga", "device.driver == 'fpga.example.com'"),
                node("gpu-1"),
                node("fpga-1"),
                gpus("gpu-1", 2),
                fpga("fpga-1", "f0"),
                template("both", request(), request("f", "fpga")),
                pod("train", "both"),
            ]
        ],
        "ml/pod/train",
        [["no node has", "on different nodes"]],
        [["split", "node that has both", "node with both"]],
        applies=False,
    ),
    Story(
        "61-implicit-resource-name",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2),
                pod("train", limits={f"deviceclass.resource.k8s.io/{NVIDIA}": "1"}),
            ]
        ],
        "ml/pod/train",
        [
            [f"deviceclass.resource.k8s.io/{NVIDIA}"],
            [f"deviceclass.resource.kubernetes.io/{NVIDIA}"],
        ],
        [[f"deviceclass.resource.kubernetes.io/{NVIDIA}"]],
    ),
    Story(
        "61b-extended-resource-of-the-class-misspelt",
        [
            [
                NODES[0].steps[0][0],
                device_class(NVIDIA, extendedResourceName="nvidia.com/gpu"),
                node("gpu-1"),
                gpus("gpu-1", 2),
                deployment("web", 1, limits={"nvida.com/gpu": "1"}),
            ]
        ],
        "ml/pod/web-*",
        [["nvida.com/gpu"], ["nvidia.com/gpu"]],
        [["to nvidia.com/gpu"]],
    ),
    Story(
        "63-higher-priority",
        [
            [
                *BASE,
                *(
                    {
                        "apiVersion": "scheduling.k8s.io/v1",
                        "kind": "PriorityClass",
                        "metadata": meta(name),
                        "value": value,
                    }
                    for name, value in (("high", 1000), ("low", 1))
                ),
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                pod("cheap", "one-gpu", priorityClassName="low"),
            ],
            [pod("train", "one-gpu", priorityClassName="high")],
        ],
        "ml/pod/train",
        [["in use"], ["preempt"]],
        [["cheap"]],
    ),
    Story(
        "12-admin-access",
        [[*BASE, node("gpu-1"), gpus("gpu-1", 1), ONE], lambda plane: admin(plane)],
        "ml/pod/monitor",
        [["admin"], ["label"]],
        [["label namespace ml"]],
    ),
    Story(
        "58-kueue-gate",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 1),
                ONE,
                pod(
                    "train",
                    "one-gpu",
                    labels={"kueue.x-k8s.io/queue-name": "team-a"},
                    schedulingGates=[{"name": "kueue.x-k8s.io/admission"}],
                ),
            ]
        ],
        "ml/pod/train",
        [["kueue"], ["gate"]],
        [["team-a"], ["workload"]],
        applies=False,
    ),
    Story(
        "40-four-causes-at-once",
        [
            [
                *BASE,
                node("gpu-1", [taint("team", value="research")], {"pool": "h100"}),
                gpus("gpu-1", 2),
                template(
                    "both",
                    request(cel=f"{attribute('architecture')} == 'hopper'"),
                    request("nic", "rdma.example.com"),
                ),
                pod("train", "both", nodeSelector={"pool": "h-100"}),
            ]
        ],
        "ml/pod/train",
        [["rdma.example.com"], ["hopper"], ["pool=h-100"], ["team=research"]],
        None,
        applies=False,
    ),
]


def admin(plane: Any) -> None:
    """A template with adminAccess in a namespace that lost its label afterwards."""
    label = {"resource.kubernetes.io/admin-access": "true"}
    patch("Namespace", "ml", {"metadata": {"labels": label}})(plane)
    import time

    time.sleep(2)  # admission reads namespaces from a cache
    plane.create(template("admin", request(adminAccess=True)))
    patch(
        "Namespace", "ml", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": None}}}
    )(plane)
    time.sleep(2)
    plane.create(pod("monitor", "admin"))


def rule(name: str, effect: str = "NoSchedule", **selector: Any) -> Any:
    return {
        "apiVersion": API,
        "kind": "DeviceTaintRule",
        "metadata": meta(name),
        "spec": {
            "deviceSelector": {"driver": NVIDIA, **selector},
            "taint": {"key": "example.com/drain", "value": "broken", "effect": effect},
        },
    }


def list_gpus(where: str) -> Any:
    values = (["a", "b"], ["b", "c"], ["c", "d"])
    return slice_(
        where,
        [
            {"name": f"d-{i}", "attributes": {"example.com/group": {"strings": v}}}
            for i, v in enumerate(values)
        ],
        "list.example.com",
    )


def mig_node() -> list[Any]:
    """A node with two A100 whose MIG devices are partitions, as a recorded situation has it."""
    (found,) = (s for s in oncall() if s.name.startswith("25-"))
    return [o for o in found.objects() if o["kind"] == "ResourceSlice"]


DEVICES = [
    Story(
        "24-small-partitions-block-a-large-one",
        [
            lambda plane: [plane.create(o) for o in [*BASE, node("mig-a"), *mig_node()]],
            [
                template(
                    "small",
                    request("mig", "mig.nvidia.com", cel=f"{attribute('profile')} == '1g.5gb'"),
                    ns="eval",
                ),
                deployment("notebooks", 9, "small", ns="eval"),
            ],
            [
                template(
                    "large",
                    request("mig", "mig.nvidia.com", cel=f"{attribute('profile')} == '4g.20gb'"),
                ),
                pod("train", "large"),
            ],
        ],
        "ml/pod/train",
        [["notebooks"], ["4g20gb"]],
        [["3g.20gb"], ["scale deployment eval/notebooks from 9 to 7"]],
    ),
    Story(
        "26-all-alternatives-full",
        [
            [
                *BASE,
                node("h100"),
                node("a100"),
                gpus("h100", 4),
                gpus("a100", 4, "A100"),
                *hogs(1, name="h", gpus_each=1, nodeSelector={"kubernetes.io/hostname": "h100"}),
                *hogs(3, name="a", nodeSelector={"kubernetes.io/hostname": "a100"}),
                template(
                    "any",
                    {
                        "name": "gpu",
                        "firstAvailable": [
                            {
                                "name": name,
                                "deviceClassName": NVIDIA,
                                "count": 4,
                                "selectors": [
                                    {
                                        "cel": {
                                            "expression": f"{attribute('architecture')} == '{arch}'"
                                        }
                                    }
                                ],
                            }
                            for name, arch in (("hopper", "Hopper"), ("ampere", "Ampere"))
                        ],
                    },
                ),
            ],
            [pod("train", "any")],
        ],
        "ml/pod/train",
        [["h100"], ["3 of 4"]],
        [["h-0", "3"]],
    ),
    Story(
        "28-rounded-by-the-step",
        [
            [
                *BASE,
                device_class("nic", "device.driver == 'nic.example.com'"),
                node("n-1"),
                nics(
                    "n-1", 1, default="25G", validRange={"min": "25G", "max": "100G", "step": "25G"}
                ),
                template(
                    "stream", request("nic", "nic", capacity={"requests": {"bandwidth": "30G"}})
                ),
                template(
                    "small", request("nic", "nic", capacity={"requests": {"bandwidth": "10G"}})
                ),
                *(pod(f"stream-{i}", "stream") for i in range(2)),
            ],
            [pod("train", "small")],
        ],
        "ml/pod/train",
        [["10g"], ["25g"], ["round", "step"]],
        [["stream"]],
    ),
    Story(
        "36-xid-on-the-only-gpu",
        [
            [
                *BASE,
                node("gpu-1"),
                slice_(
                    "gpu-1",
                    [
                        gpu(
                            0,
                            taints=[
                                {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoExecute"}
                            ],
                        )
                    ],
                ),
                ONE,
                pod("train", "one-gpu"),
            ]
        ],
        "ml/pod/train",
        [["gpu.nvidia.com/xid"]],
        [["repair", "reset", "replace"]],
        applies=False,
    ),
    Story(
        "38-drained-by-rule",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2),
                rule("drain-gpu-1", "NoExecute", pool="gpu-1"),
                ONE,
            ],
            [deployment("infer", 1, "one-gpu")],
        ],
        "ml/pod/infer-*",
        [["drain-gpu-1"], ["example.com/drain"]],
        [["delete devicetaintrule drain-gpu-1"]],
    ),
    Story(
        "103-rule-without-a-pool",
        [
            [
                *BASE,
                *(node(f"gpu-{i}") for i in (1, 2, 3)),
                *(gpus(f"gpu-{i}", 4) for i in (1, 2, 3)),
                rule("drain-gpu-2"),
                ONE,
            ],
            [pod("train", "one-gpu")],
        ],
        "ml/pod/train",
        [["drain-gpu-2"], ["all 12", "12 devices", "all of gpu.nvidia.com", "every device"]],
        [["drain-gpu-2"]],
    ),
    Story(
        "52-distinct-attribute",
        [
            [
                *BASE,
                node("gpu-1"),
                slice_("gpu-1", [gpu(i, **{RACK: {"string": "pci0000:10"}}) for i in range(2)]),
                template(
                    "apart",
                    request(count=2),
                    constraints=[{"requests": ["gpu"], "distinctAttribute": RACK}],
                ),
                pod("train", "apart"),
            ]
        ],
        "ml/pod/train",
        [["pcieroot"]],
        [["pcieroot"]],
    ),
    Story(
        "79-all-with-one-held",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                *hogs(1),
                template("all", request(count=None)),
            ],
            [pod("train", "all")],
        ],
        "ml/pod/train",
        [["hog-0"], ["1"]],
        [["hog-0", "3 devices instead", "3"]],
    ),
    Story(
        "92-claim-without-pod",
        [[*BASE, node("gpu-1"), gpus("gpu-1", 2), *hogs(1), claim("spare")]],
        "ml/resourceclaim/spare",
        [["no pod"], ["would fit", "fit"]],
        None,
        applies=False,
    ),
    Story(
        "99-two-claims",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 4),
                template("main", request(count=3)),
                template("aux", request(count=2)),
                pod("train", "main:main", "aux:aux"),
            ]
        ],
        "ml/pod/train",
        [["4"], ["5"]],
        [["main", "aux"]],
    ),
    Story(
        "37b-toleration-of-another-case",
        [
            [
                *BASE,
                node("gpu-1"),
                slice_(
                    "gpu-1",
                    [
                        gpu(
                            0,
                            taints=[
                                {"key": "example.com/Team", "value": "llm", "effect": "NoSchedule"}
                            ],
                        )
                    ],
                ),
                template(
                    "t",
                    request(
                        tolerations=[
                            {"key": "example.com/team", "operator": "Equal", "value": "llm"}
                        ]
                    ),
                ),
                pod("train", "t"),
            ]
        ],
        "ml/pod/train",
        [["example.com/team"]],
        [["toleration of example.com/team"]],
    ),
    Story(
        "37c-node-toleration-of-another-value",
        [
            [
                *BASE,
                node("gpu-1", [taint("team", value="llm")]),
                gpus("gpu-1", 1),
                ONE,
                deployment(
                    "web",
                    1,
                    "one-gpu",
                    tolerations=[
                        {"key": "team", "operator": "Equal", "value": "LLM", "effect": "NoSchedule"}
                    ],
                ),
            ]
        ],
        "ml/pod/web-*",
        [["team=llm"]],
        [["change the pod's toleration"]],
    ),
    Story(
        "37d-node-toleration-of-another-effect",
        [
            [
                *BASE,
                node("gpu-1", [taint("team", "NoExecute", value="llm")]),
                gpus("gpu-1", 1),
                ONE,
                pod(
                    "train",
                    "one-gpu",
                    tolerations=[
                        {"key": "team", "operator": "Equal", "value": "llm", "effect": "NoSchedule"}
                    ],
                ),
            ]
        ],
        "ml/pod/train",
        [["team=llm:noexecute"]],
        [["toleration"]],
    ),
    Story(
        "110-list-attributes",
        [
            [
                *BASE,
                device_class("list", "device.driver == 'list.example.com'"),
                node("n-1"),
                list_gpus("n-1"),
                template(
                    "grouped",
                    request("d", "list", count=3),
                    constraints=[{"requests": ["d"], "matchAttribute": "example.com/group"}],
                ),
                pod("train", "grouped"),
            ]
        ],
        "ml/pod/train",
        [["group"]],
        [["3 to 2"]],
        gates={"DRAListTypeAttributes": True},
    ),
]

SELECTORS = [
    Story(
        "08-renamed-attribute",
        cel("device.attributes['nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'"),
        "ml/pod/train",
        [["nvidia.com"], [NVIDIA]],
        [[f"{NVIDIA}/productname"]],
    ),
    Story(
        "08b-attribute-of-another-case",
        cel(f"{attribute('productname')} == 'NVIDIA H100 80GB HBM3'"),
        "ml/pod/train",
        [["productname"]],
        [["to gpu.nvidia.com/productname"]],
    ),
    Story(
        "16-lower-case-value",
        cel(f"{attribute('architecture')} == 'hopper'"),
        "ml/pod/train",
        [["hopper"]],
        [["to 'hopper'"]],
    ),
    Story(
        "18-in-a-list",
        cel(f"{attribute('productName')} in ['H100', 'H200']"),
        "ml/pod/train",
        [["h100"], ["nvidia h100 80gb hbm3"]],
        [["nvidia h100 80gb hbm3"]],
    ),
    Story(
        "20-version-with-text",
        cel(f"{attribute('driverVersion')} >= '570'"),
        "ml/pod/train",
        [["version"]],
        [["semver('570.0.0')"]],
    ),
    Story(
        "20c-version-equal-text",
        cel(f"{attribute('cudaComputeCapability')} == '9.0'"),
        "ml/pod/train",
        [["version", "9.0"]],
        [["semver('9.0.0')"]],
    ),
    Story(
        "22-one-of-three-conditions",
        cel(
            f"device.driver == '{NVIDIA}' && {attribute('architecture')} == 'Hopper' && "
            f"{attribute('brand')} == 'NVIDIA'"
        ),
        "ml/pod/train",
        [["brand"], ["nvidia"]],
        [["brand"], ["to 'nvidia'"]],
    ),
    Story(
        "71-memory-as-attribute",
        cel(f"{attribute('memory')} >= 80"),
        "ml/pod/train",
        [["memory"], ["capacity"]],
        [["capacity"]],
    ),
    Story(
        "71b-memory-as-attribute-quantity",
        cel(f"{attribute('memory')}.compareTo(quantity('40Gi')) >= 0"),
        "ml/pod/train",
        [["memory"], ["capacity"]],
        [["capacity"]],
    ),
    Story(
        "71c-memory-as-attribute-text",
        cel(f"{attribute('memory')} == '80Gi'"),
        "ml/pod/train",
        [["memory"], ["capacity"]],
        [["capacity"]],
    ),
    Story(
        "72b-starts-with",
        cel(f"{attribute('productName')}.startsWith('H100')"),
        "ml/pod/train",
        [["h100"], ["nvidia h100 80gb hbm3"]],
        [["contains('h100')"]],
    ),
    Story(
        "72c-pattern-of-another-case",
        cel(f"{attribute('productName')}.matches('.*h100.*')"),
        "ml/pod/train",
        [["h100"], ["nvidia h100 80gb hbm3"]],
        [["h100"]],
    ),
    Story(
        "72d-contains-of-another-case",
        cel(f"{attribute('productName')}.contains('h100')"),
        "ml/pod/train",
        [["h100"], ["nvidia h100 80gb hbm3"]],
        [["h100"]],
    ),
    Story(
        "73-number-as-text",
        [
            [
                *BASE,
                node("gpu-1"),
                gpus("gpu-1", 2, **{"resource.kubernetes.io/numaNode": {"int": 0}}),
                template(
                    "n", request(cel="device.attributes['resource.kubernetes.io'].numaNode == '0'")
                ),
                pod("train", "n"),
            ]
        ],
        "ml/pod/train",
        [["numanode"]],
        [["numanode"], ["0"]],
    ),
    Story(
        "89-guard-on-a-mixed-fleet",
        [
            [
                *BASE,
                node("gpu-1"),
                slice_("gpu-1", [gpu(0, productName=None), gpu(1)]),
                template("h", request(cel=f"{attribute('productName')}.contains('H100')")),
                pod("train", "h"),
            ]
        ],
        "ml/pod/train",
        [["productname"]],
        [["productname' in device.attributes", "guard productname"]],
    ),
    Story(
        "98b-driver-misspelt-in-the-request",
        cel("device.driver == 'gpu.nvdia.com'"),
        "ml/pod/train",
        [["gpu.nvdia.com"], [NVIDIA]],
        [[f"to {NVIDIA}"]],
    ),
    Story(
        "43b-driver-misspelt-in-the-class",
        [
            [
                *BASE,
                device_class("fast", "device.driver == 'gpu.nvdia.com'"),
                node("gpu-1"),
                gpus("gpu-1", 2),
                template("f", request("gpu", "fast")),
                pod("train", "f"),
            ]
        ],
        "ml/pod/train",
        [["gpu.nvdia.com"], [NVIDIA]],
        [[f"to {NVIDIA}"]],
    ),
    Story(
        "43c-driver-of-the-class-in-another-case",
        [
            [
                *BASE,
                device_class("fast", "device.driver == 'GPU.nvidia.com'"),
                node("gpu-1"),
                gpus("gpu-1", 2),
                template(
                    "f",
                    {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "fast"}]},
                ),
                deployment("web", 1, "f"),
            ]
        ],
        "ml/pod/web-*",
        [["gpu.nvidia.com"]],
        [[f"to {NVIDIA}"]],
    ),
    Story(
        "112-list-compared-with-text",
        [
            [
                *BASE,
                device_class("list", "device.driver == 'list.example.com'"),
                node("n-1"),
                list_gpus("n-1"),
                template(
                    "g", request("d", "list", cel="device.attributes['example.com'].group == 'a'")
                ),
                pod("train", "g"),
            ]
        ],
        "ml/pod/train",
        [["group"], ["[a, b]"]],
        [["list group"]],
        gates={"DRAListTypeAttributes": True},
    ),
]

EVERY = [*WORKLOADS, *NODES, *DRIVERS, *DEVICES, *SELECTORS]
__all__ = ["CLASSES", "EVERY", "devices"]
