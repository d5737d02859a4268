"""Findings of check-driver in objects that install a driver, and in its cluster."""

from __future__ import annotations

import pytest

from tests.driver_checks.published import check, resource_slice

DRIVER = "gpu.example.com"
SLICE = resource_slice("gpu-0 {uuid: {string: GPU-1}}\ngpu-1 {uuid: {string: GPU-2}}")
VOLUMES = (
    "{name: plugins, hostPath: {path: /var/lib/kubelet/plugins}}",
    "{name: registry, hostPath: {path: /var/lib/kubelet/plugins_registry}}",
    "{name: cdi, hostPath: {path: /var/run/cdi}}",
)
RIGHTS = (
    "{apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch, create, update, delete]}",
    "{apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}",
    "{apiGroups: [''], resources: [nodes], verbs: [get]}",
)
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def daemon_set(volumes: tuple[str, ...] = VOLUMES, *, strategy: str = "", env: str = "") -> str:
    listed = "".join(f"      - {volume}\n" for volume in volumes)
    return (
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin, namespace: dra}\nspec:\n"
        "  selector: {matchLabels: {app: plugin}}\n"
        + (f"  updateStrategy: {strategy}\n" if strategy else "")
        + "  template:\n    metadata: {labels: {app: plugin}}\n    spec:\n"
        "      serviceAccountName: plugin\n      containers:\n"
        f"      - {{name: plugin, image: example/plugin, args: [--driver-name={DRIVER}], env: [{env}]}}\n"
        f"      volumes:\n{listed}"
    )


def role(*rules: str) -> str:
    listed = "".join(f"- {rule}\n" for rule in rules)
    return (
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
        f"metadata: {{name: plugin}}\nrules:\n{listed}"
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
        "metadata: {name: plugin}\nroleRef: {kind: ClusterRole, name: plugin}\n"
        "subjects: [{kind: ServiceAccount, name: plugin, namespace: dra}]\n"
    )


def chart(text: str) -> set[tuple[str, str]]:
    """Return codes and severities of the findings in a chart."""
    return {(finding.code, finding.severity) for finding in check(SLICE, chart=text)}


def test_a_plugin_with_its_folders_and_rights_is_fine() -> None:
    assert chart(daemon_set() + role(*RIGHTS)) == set()


@pytest.mark.parametrize(("missing", "severity"), [(0, "error"), (1, "error"), (2, "warning")])
def test_unmounted_folder_is_reported(missing: int, severity: str) -> None:
    volumes = tuple(one for index, one in enumerate(VOLUMES) if index != missing)
    assert chart(daemon_set(volumes)) == {("DRA393", severity)}


def test_a_plugin_of_the_container_runtime_needs_no_cdi_files() -> None:
    """kubernetes-sigs/dranet@v1.4.0 install.yaml: the driver is an NRI plug-in, and writes none."""
    volumes = (*VOLUMES[:2], "{name: nri, hostPath: {path: /var/run/nri}}")
    assert chart(daemon_set(volumes)) == set()


@pytest.mark.parametrize("path", ["/var/lib/kubelet", "/var/lib/k0s/kubelet", "/"])
def test_the_folder_of_the_kubelet_holds_both(path: str) -> None:
    volumes = (f"{{name: kubelet, hostPath: {{path: {path}}}}}", VOLUMES[2])
    assert chart(daemon_set(volumes)) == set()


def test_an_update_with_two_pods_needs_the_uid_of_the_pod() -> None:
    strategy = "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
    env = "{name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}"
    assert chart(daemon_set(strategy=strategy)) == {("DRA394", "error")}
    assert chart(daemon_set(strategy=strategy, env=env)) == set()
    assert chart(daemon_set(strategy="{rollingUpdate: {maxSurge: 0}}")) == set()


@pytest.mark.parametrize(
    ("rule", "missing"),
    [
        (0, "is not allowed to create resourceslices"),
        (1, "is not allowed to get ResourceClaims"),
        (2, "is not allowed to get Nodes"),
    ],
)
def test_a_missing_right(rule: int, missing: str) -> None:
    rules = tuple(one for index, one in enumerate(RIGHTS) if index != rule)
    (finding,) = check(SLICE, chart=daemon_set() + role(*rules))
    assert finding.code == "DRA391"
    assert missing in finding.message


def test_the_rights_of_two_roles_add_up() -> None:
    more = role(RIGHTS[1], RIGHTS[2]).replace("{name: plugin}", "{name: more}")
    bound = more.replace("kind: ClusterRole, name: plugin", "kind: ClusterRole, name: more")
    assert chart(daemon_set() + role(RIGHTS[0]) + more) == {("DRA391", "error")}
    assert chart(daemon_set() + role(RIGHTS[0]) + bound) == set()


def test_unseen_rights_are_not_judged() -> None:
    assert chart(daemon_set()) == set()


def test_a_rule_for_some_names_is_no_right_to_all() -> None:
    limited = RIGHTS[1].replace("verbs", "resourceNames: [mine], verbs")
    assert ("DRA391", "error") in chart(daemon_set() + role(RIGHTS[0], limited, RIGHTS[2]))


def test_the_status_of_claims_needs_a_verb_of_its_own_since_1_36() -> None:
    status = "{apiGroups: [resource.k8s.io], resources: [resourceclaims/status], verbs: [update]}"
    granted = (
        "{apiGroups: [resource.k8s.io], resources: [resourceclaims/driver],"
        " verbs: ['associated-node:update']}"
    )
    assert chart(daemon_set() + role(*RIGHTS, status)) == {("DRA391", "warning")}
    assert chart(daemon_set() + role(*RIGHTS, status, granted)) == set()


@pytest.mark.parametrize(
    "rule",
    [
        "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}",
        "{apiGroups: [''], resources: [secrets], verbs: [get, list]}",
        "{apiGroups: [resource.k8s.io], resources: [deviceclasses], verbs: [delete]}",
    ],
)
def test_unneeded_rights_are_reported(rule: str) -> None:
    (finding,) = check(SLICE, chart=daemon_set() + role(*RIGHTS, rule))
    assert (finding.code, finding.severity) == ("DRA392", "warning")


NODE = (
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1, uid: n}\n"
    "status: {conditions: [{type: Ready, status: 'True'}]}\n"
)


def plugin_pod(*, ready: str = "True", restarts: int = 0, node: str = "node-1") -> str:
    return (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: plugin-x, namespace: dra, uid: p,"
        " labels: {app: plugin}, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet,"
        " name: plugin, uid: d, controller: true}]}\n"
        f"spec: {{nodeName: {node}, containers: [{{name: plugin, image: example/plugin}}]}}\n"
        f"status: {{phase: Running, conditions: [{{type: Ready, status: '{ready}'}}],"
        f" containerStatuses: [{{name: plugin, ready: {str(ready == 'True').lower()},"
        f" restartCount: {restarts}, state: {{waiting: {{reason: CrashLoopBackOff}}}}}}]}}\n"
    )


def in_cluster(*texts: str, slices: str = SLICE) -> set[str]:
    """Return the codes of the findings in a cluster with the driver."""
    text = "".join((slices, NODE, daemon_set(), *texts))
    return {finding.code for finding in check(cluster=text, now=NOW)}


def test_a_driver_at_work_is_fine() -> None:
    assert in_cluster(plugin_pod()) == set()


def test_unready_or_restarting_pod_is_reported() -> None:
    assert in_cluster(plugin_pod(ready="False")) == {"DRA396"}
    assert in_cluster(plugin_pod(restarts=9)) == {"DRA396"}
    assert in_cluster(plugin_pod(restarts=1)) == set()


def test_a_slice_of_a_node_without_a_plugin() -> None:
    assert in_cluster(plugin_pod(node="node-2")) == {"DRA396"}


def test_without_pods_nothing_is_concluded_about_them() -> None:
    assert in_cluster() == set()


def claim(device: str, *, reserved: bool = True) -> str:
    pods = "[{resource: pods, name: train, uid: t}]" if reserved else "[]"
    return (
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n"
        "metadata: {name: gpus, namespace: ml, uid: c}\nspec:\n  devices:\n    requests:\n"
        f"    - {{name: gpu, exactly: {{deviceClassName: {DRIVER}}}}}\nstatus:\n"
        "  allocation: {devices: {results: [{request: gpu, "
        f"driver: {DRIVER}, pool: node-1, device: {device}}}]}}}}\n  reservedFor: {pods}\n"
    )


def event(message: str, reason: str = "FailedPrepareDynamicResources") -> str:
    return (
        "---\napiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: ml}\n"
        f"reason: {reason}\ntype: Warning\n"
        f"involvedObject: {{kind: Pod, name: train, namespace: ml}}\nmessage: '{message}'\n"
    )


def test_a_claim_in_use_whose_device_is_gone() -> None:
    assert in_cluster(plugin_pod(), claim("gpu-0")) == set()
    assert in_cluster(plugin_pod(), claim("gpu-7")) == {"DRA399"}
    assert in_cluster(plugin_pod(), claim("gpu-7", reserved=False)) == set()


def test_a_device_of_an_incomplete_pool_is_unknown() -> None:
    incomplete = SLICE.replace("resourceSliceCount: 1", "resourceSliceCount: 2")
    assert in_cluster(plugin_pod(), claim("gpu-7"), slices=incomplete) == {"DRA352"}


def test_the_kubelets_words_about_a_claim_of_the_driver_are_quoted() -> None:
    message = f"prepare dynamic resources: NodePrepareResources failed: {DRIVER}: boom"
    text = "".join((SLICE, NODE, daemon_set(), plugin_pod(), event(message)))
    (finding,) = check(cluster=text, now=NOW)
    assert finding.code == "DRA395"
    assert message in finding.message


def test_words_without_a_name_are_about_the_driver_of_the_claims() -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: train, namespace: ml}\nspec:\n"
        "  containers: []\n  resourceClaims: [{name: gpu, resourceClaimName: gpus}]\n"
    )
    words = event("context deadline exceeded")
    assert in_cluster(plugin_pod(), claim("gpu-0"), pod, words) == {"DRA395"}
    assert in_cluster(plugin_pod(), pod, words) == set()


def test_words_about_another_driver_are_not() -> None:
    assert (
        in_cluster(plugin_pod(), event("NodePrepareResources failed: nic.example.com: boom"))
        == set()
    )


@pytest.mark.parametrize(("driver", "is_reported"), [(DRIVER, True), ("other.example.com", False)])
def test_cdi_devices_that_the_runtime_does_not_know(driver: str, *, is_reported: bool) -> None:
    """The words are those of tags.cncf.io/container-device-interface pkg/cdi/cache.go."""
    failure = f"CDI device injection failed: unresolvable CDI devices {driver}/device=gpu-0"
    words = event(failure, reason="Failed")
    assert in_cluster(plugin_pod(), words) == ({"DRA395"} if is_reported else set())


def test_a_container_that_fails_otherwise_is_not_the_drivers() -> None:
    words = event(f"Error: command of {DRIVER} not found", reason="Failed")
    assert in_cluster(plugin_pod(), words) == set()


@pytest.mark.parametrize(
    ("added", "effect", "is_reported"),
    [
        ("2027-01-10T00:00:00Z", "NoSchedule", True),
        ("2027-01-15T00:00:00Z", "NoSchedule", False),
        ("2027-01-10T00:00:00Z", "None", False),
    ],
)
def test_lasting_taint_is_reported(added: str, effect: str, *, is_reported: bool) -> None:
    taint = f"taints: [{{key: {DRIVER}/xid, effect: {effect}, timeAdded: '{added}'}}]"
    tainted = SLICE.replace("{name: gpu-0, ", f"{{name: gpu-0, {taint}, ")
    assert in_cluster(plugin_pod(), slices=tainted) == ({"DRA398"} if is_reported else set())


@pytest.mark.parametrize(("version", "is_reported"), [("v1beta1", True), ("v1", False)])
def test_the_version_in_which_the_driver_writes(version: str, *, is_reported: bool) -> None:
    manager = f"{{manager: plugin, operation: Update, apiVersion: resource.k8s.io/{version}}}"
    written = resource_slice("gpu-0", metadata=f"managedFields: [{manager}]")
    assert in_cluster(plugin_pod(), slices=written) == ({"DRA397"} if is_reported else set())
