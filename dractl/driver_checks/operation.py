"""A driver in operation in a cluster: its pods, the claims that it prepared, its taints, its
writes.
"""

from collections.abc import Iterable

from dractl.cluster.clock import read_time
from dractl.cluster.kubelet import parse_missing_cdi_device
from dractl.driver_checks.installation import Objects, find_workloads
from dractl.driver_checks.remark import Remarks, remark
from dractl.lint.model import Manifest
from dractl.model import Target
from dractl.model.releases import SERVED
from dractl.objects import items, mapping, newest, text
from dractl.views import Claim, Event, Pod, View, parse_timestamp

_PREPARE_FAILED = "FailedPrepareDynamicResources"
_START_FAILED = "Failed"
"""The reason of events about a container that cannot be created: FailedToCreateContainer in
kubernetes/kubernetes pkg/kubelet/events/event.go.
"""
_MAX_RESTARTS = 5
_LONG_TAINT_SECONDS = 24 * 3600
_MAX_QUOTED_CHARS = 240


def check_operation(objects: Objects, driver: str, target: Target) -> Remarks:
    """Yield the faults of a driver in operation that the objects of a cluster show."""
    slices = [
        published_slice
        for published_slice in objects.list_kind("ResourceSlice")
        if published_slice.slice.driver == driver
    ]
    yield from _check_events(objects, driver)
    yield from _check_pods(objects, driver, slices)
    yield from _check_versions(slices, target)
    yield from _check_taints(objects, slices)
    yield from _check_claims(objects, driver, slices)


def _check_events(objects: Objects, driver: str) -> Remarks:
    """Yield the kubelet's messages about pods with claims of the driver that do not start."""
    state = objects.state
    quoted: set[str] = set()
    for key, event in state.events.items():
        pod = (key[0], event.regarding.name)
        failure = _describe_failure(event)
        if not failure or event.regarding.kind != "Pod":
            continue
        claims = [state.claim(claim) for claim in state.claims_of_pod(pod)]
        is_driver_meant = driver in event.message or any(
            {device.driver for device in claim.allocated_devices} == {driver} for claim in claims
        )
        subject = objects.find("Event", key)
        if is_driver_meant and subject is not None and event.message not in quoted:
            quoted.add(event.message)
            yield remark(
                "DRA395",
                subject,
                ("reason",),
                f"{failure} of pod {'/'.join(pod)}: {event.message[:_MAX_QUOTED_CHARS]}",
                help="look into the log of the driver's pod on that node",
            )


def _describe_failure(event: Event) -> str:
    """Return the failure for a claim that an event reports; "" for any other event."""
    if event.reason == _PREPARE_FAILED:
        return "the kubelet could not prepare the claims"
    if event.reason == _START_FAILED and parse_missing_cdi_device(event.message) is not None:
        return "the container runtime has no CDI devices for a container"
    return ""


def _check_pods(objects: Objects, driver: str, slices: Iterable[Manifest]) -> Remarks:
    """Yield pods of the plug-in that are not ready, and slices of nodes without a plug-in pod."""
    workloads = find_workloads(objects, driver)
    for pod in workloads.pods:
        subject = objects.find("Pod", pod.key)
        if subject is not None:
            yield from _check_pod(subject, pod)
    if not (workloads.pods and objects.state.covers("Node")):
        return
    for published_slice in slices:
        node = published_slice.slice.node
        if node and not workloads.pods_on(node):
            yield remark(
                "DRA396",
                published_slice,
                ("spec", "nodeName"),
                f"{published_slice.name} is published for {node}, where no pod of the driver runs:"
                " the scheduler sends pods there, and no driver prepares their claims",
                help="delete the slice, or let the DaemonSet tolerate the node's taints",
                confidence="likely",
            )


def _check_pod(subject: Manifest, pod: Pod) -> Remarks:
    restarts = max((container.restarts for container in pod.container_statuses), default=0)
    ready = pod.condition("Ready")
    if ready.status == "False" and not pod.has_ended:
        reason = next(
            (
                container.reason or container.state
                for container in pod.container_statuses
                if not container.is_ready
            ),
            ready.reason,
        )
        yield remark(
            "DRA396",
            subject,
            ("status", "conditions"),
            f"pod {pod.full_name} of the driver is not ready on {pod.node_name or 'any node'}"
            + (f": {reason}" if reason else ""),
            help=f"run kubectl logs -n {pod.namespace} {pod.name} --previous",
        )
    elif restarts >= _MAX_RESTARTS:
        yield remark(
            "DRA396",
            subject,
            ("status", "containerStatuses"),
            f"pod {pod.full_name} of the driver has been restarted {restarts} times",
            help=f"run kubectl logs -n {pod.namespace} {pod.name} --previous",
        )


def _check_versions(slices: Iterable[Manifest], target: Target) -> Remarks:
    """Yield versions of the API in which the driver writes, although a release ends their
    support.
    """
    ends = {
        row.api_version: row.removed
        for row in SERVED
        if row.kind == "ResourceSlice" and row.removed
    }
    reported: set[str] = set()
    for published_slice in slices:
        for index, manager in enumerate(View(published_slice.value).field_managers):
            version = manager.api_version
            if manager.subresource or version not in ends or version in reported:
                continue
            reported.add(version)
            yield remark(
                "DRA397",
                published_slice,
                ("metadata", "managedFields", index, "apiVersion"),
                f"{manager.name or 'the driver'} writes slices in {version}, which Kubernetes"
                f" {ends[version]} does not serve any more",
                help="write resource.k8s.io/v1 where the API server has it (Kubernetes"
                f" 1.34 and newer; this is {target.release})",
            )


def _check_taints(objects: Objects, slices: Iterable[Manifest]) -> Remarks:
    """Yield taints that have stayed on devices for more than a day."""
    now = objects.read_at or read_time(objects.state)
    for published_slice in slices if now is not None else ():
        for device in published_slice.devices:
            for index, taint in enumerate(map(mapping, items(device.fields.get("taints")))):
                added = parse_timestamp(text(taint.get("timeAdded")))
                age = (now or 0) - added if added is not None else 0
                if age > _LONG_TAINT_SECONDS and taint.get("effect") != "None":
                    yield remark(
                        "DRA398",
                        published_slice,
                        (*device.path, "taints", index),
                        f"{device.name} has had taint {text(taint.get('key'))} for"
                        f" {int(age // 86400)} d",
                        help="remove the taint when the device works again, also after a restart"
                        " of the driver",
                    )


def _check_claims(objects: Objects, driver: str, slices: Iterable[Manifest]) -> Remarks:
    """Yield claims in use whose devices the driver no longer publishes."""
    pools = newest(slices, lambda published_slice: published_slice.slice.identity)
    # Devices that an incomplete pool lacks may be published shortly.
    published = {
        pool: {device.name for published_slice in members for device in published_slice.devices}
        for (_, pool), members in pools.items()
        if members[0].slice.announced == len(members)
    }
    shows_whole = objects.state.covers("Node")
    for subject in objects.list_kind("ResourceClaim"):
        claim = Claim(subject.value)
        for index, device in enumerate(claim.allocated_devices if claim.reserved_for else ()):
            pool, name = device.pool, device.device
            is_gone = pool not in {key[1] for key in pools} if shows_whole else False
            if device.driver == driver and (is_gone or name not in published.get(pool, {name})):
                yield remark(
                    "DRA399",
                    subject,
                    ("status", "allocation", "devices", "results", index, "device"),
                    f"claim {claim.full_name} is in use with {pool}/{name}, which the driver does"
                    " not publish any more",
                    help="keep a device in its slice while a claim has it, and taint it if it is"
                    " unhealthy",
                )
