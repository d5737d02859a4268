"""Apply a fix by kubectl commands that say what they do, or by JSON patches.

The specs of claims, templates and pods cannot be changed in place: they are replaced, and so is a
pod whose template changed; a controller recreates its own pods (kubernetes
pkg/apis/resource/validation, pkg/registry/core/pod). Before anything is deleted, a dry run shows
whether the API server accepts the later changes.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.cluster.changes import (
    Change,
    Create,
    Delete,
    Patch,
    PatchError,
    apply_patch,
    parse_target,
)
from dractl.cluster.state import ClusterState, Key, map_at
from dractl.cluster.workloads import WORKLOAD_KINDS, pods_of_target, workload_target
from dractl.explain.ask import Question
from dractl.explain.fixes.candidates import join_patches
from dractl.explain.fixes.pod_templates import pods_to_recreate
from dractl.manifests.dumping import dump
from dractl.model.taints import format_taint
from dractl.objects import Raw
from dractl.views import Node, Pod, View

# Kinds with specs that cannot be changed in place.
_IMMUTABLE_KINDS = ("ResourceClaim", "ResourceClaimTemplate", "Pod")
# Kinds of objects that decide whether the API server accepts other objects, even in a dry run.
_ADMISSION_KINDS = ("Namespace", "ResourceQuota", "LimitRange")
_RESTARTABLE_KINDS = ("Deployment", "StatefulSet", "DaemonSet")
_MAX_DELETED_BY_NAME = 5  # more pods than this are deleted by a restart of their workload
_MAX_ARGUMENT_LENGTH = 120  # characters of a patch in a command line
_DRY_RUN = "--dry-run=server"


class Command(Struct, frozen=True):
    """One shell command."""

    command: str
    """The command line."""
    stdin: str = ""
    """The text on the command's standard input."""
    destroys: bool = False
    """True if it deletes something, even if the object is created again."""

    def __str__(self) -> str:
        return f"{self.command} <<'EOF'\n{self.stdin}EOF" if self.stdin else self.command


def steps(
    state: ClusterState, question: Question, changes: Iterable[Change]
) -> tuple[Command, ...]:
    """Return the commands that apply changes one after the other.

    The result is empty if somebody has to edit a manifest (:func:`find_manual_edit`).
    """
    changes = tuple(changes)
    if find_manual_edit(state, question, changes) is not None:
        return ()
    script = _Script(state, question, _find_deleted_siblings(state, question, changes))
    # The pods of a rollout get their claims from the templates that exist when it begins.
    for change in sorted(join_patches(changes), key=_creates_pods):
        script.add(change)
    return script.commands()


def _creates_pods(change: Change) -> bool:
    """Decide whether pods are created after a change."""
    kind, _ = parse_target(change.target)
    return not isinstance(change, Delete) and (kind == "Pod" or kind in WORKLOAD_KINDS)


class _Script(Struct):
    """The commands for some changes, in a safe order."""

    state: ClusterState
    """The cluster as it is."""
    question: Question
    """The question about the waiting pod."""
    siblings: Sequence[Key]
    """Pods of the waiting pod's workload that are deleted together with it."""
    checks: list[Command] = field(default_factory=list)
    """Commands that prepare and check the actions."""
    permissions: list[Command] = field(default_factory=list)
    """Commands after which the API server accepts objects that it refuses now. They come first,
    since dry runs depend on them, too.
    """
    actions: list[Command] = field(default_factory=list)
    """The commands that change everything else."""

    def add(self, change: Change) -> None:
        """Add the commands for a change."""
        match change:
            case Patch():
                self._patch(change)
            case Create():
                self._create(change)
            case Delete(target) if parse_target(target) in [("Pod", key) for key in self.siblings]:
                pass  # the commands that recreate the waiting pod delete this pod, too
            case Delete(target):
                self.actions.append(_delete_command(target))

    def _patch(self, patch: Patch) -> None:
        """Add the commands for a patch, and those that make it reach the waiting pods."""
        commands = _patch_commands(self.state, patch)
        if patch.target.partition("/")[0] in _ADMISSION_KINDS:
            self.permissions += commands.actions
        else:
            self.checks += commands.checks
            self.actions += commands.actions
        self.actions += _propagate(self.state, self.question, patch, self.siblings)

    def _create(self, creation: Create) -> None:
        """Create an object; if it has just been deleted, recreate it."""
        deletion = _delete_command(creation.target)
        if deletion in self.actions:
            self.actions.remove(deletion)
            self.actions.append(_recreate_command(self.state, creation.target))
        else:
            create, manifest = "kubectl create -f -", dump(creation.value)
            self.checks.append(Command(f"{create} {_DRY_RUN}", manifest))
            self.actions.append(Command(create, manifest))

    def commands(self) -> tuple[Command, ...]:
        """Return all commands. Dry runs are included only if something is deleted after them."""
        actions = list(dict.fromkeys(_merge_pod_deletions(self.actions)))
        destroys = any(command.destroys for command in actions)
        preparations = [check for check in self.checks if _DRY_RUN not in check.command]
        dry_runs = [check for check in self.checks if _DRY_RUN in check.command]
        return (*preparations, *self.permissions, *(dry_runs if destroys else ()), *actions)


def _delete_command(target: str) -> Command:
    """Return the command that deletes an object."""
    return Command(f"kubectl delete {kubectl_arguments(target)}", destroys=True)


def _recreate_command(state: ClusterState, target: str) -> Command:
    """Recreate an object as it is; a pod loses its node.

    With a node, the scheduler would ignore the new pod.
    """
    arguments, removal = kubectl_arguments(target), ""
    if Pod(state.get(*parse_target(target))).node_name:
        operations = _quote_json([{"op": "remove", "path": "/spec/nodeName"}])
        removal = f" | kubectl patch --local --type=json -o yaml -f - -p {operations}"
    return Command(
        f"kubectl get {arguments} -o yaml{removal} | kubectl replace --force -f -", destroys=True
    )


def find_manual_edit(
    state: ClusterState, question: Question, changes: Iterable[Change]
) -> str | None:
    """Return the object whose manifest somebody has to change and recreate.

    The object is ``Kind namespace/name``. Return None if commands can apply the changes.
    """
    owners = (
        _manifest_owner(state, question, change.target)
        for change in changes
        if isinstance(change, Patch)
    )
    owner = next((owner for owner in owners if owner is not None), None)
    return None if owner is None else owner.replace("/", " ", 1)


def _manifest_owner(state: ClusterState, question: Question, target: str) -> str | None:
    """Return the object whose manifest a person has to edit to change ``target``; None if
    ``target`` itself can be edited.

    The specs of pods and Jobs cannot be changed in place. So for the waiting pod and its Job, the
    result is their owner; a custom kind may write its pods in any way. A controller undoes changes
    of the workloads that it writes, so for these, the result is the object of the controller: a
    LeaderWorkerSet writes StatefulSets, and a JobSet writes Jobs. A CronJob does not rewrite its
    Jobs.
    """
    kind, key = parse_target(target)
    owner = workload_target(state, question.key)
    if target == "/".join(("Pod", *question.key)):
        return owner
    if kind not in (*WORKLOAD_KINDS, "JobSet"):
        return None
    is_own_job = kind == "Job" and target == owner
    controllers = (
        f"{reference.kind}/{key[0]}/{reference.name}"
        for reference in View(state.get(kind, key)).owners
        if reference.is_controller and (is_own_job or reference.kind != "CronJob")
    )
    controller = next(controllers, target if is_own_job else None)
    if controller is None or not controller.startswith("Pod/"):
        return controller
    # The controller of the pod is the leader of its LeaderWorkerSet group.
    leader_owner = workload_target(state, parse_target(controller)[1])
    if leader_owner is None:
        return controller
    return _manifest_owner(state, question, leader_owner) or leader_owner


class _PatchCommands(Struct, frozen=True):
    """The commands for a patch."""

    checks: Sequence[Command]
    """Commands that prepare and check the patch."""
    actions: Sequence[Command]
    """Commands that apply the patch."""


def _patch_commands(state: ClusterState, patch: Patch) -> _PatchCommands:
    """Return the shortest commands for a patch; objects whose spec cannot change are replaced."""
    kind, key = parse_target(patch.target)
    before = state.get(kind, key)
    after = _patch_object(before, patch)
    is_status = all(str(o["path"]).startswith("/status/") for o in patch.operations)
    changes_spec = after is None or _find_changed_keys(before, after) - {"metadata"}
    if kind in _IMMUTABLE_KINDS and not is_status and changes_spec:
        return _replacement_commands(patch, is_lost=_has_no_kubelet(state, patch.target))
    command = (
        _scale_command(patch)
        or _short_command(patch.target, before, after)
        or _json_patch_command(patch, is_status=is_status)
    )
    dry_run = replace(command, command=f"{command.command} {_DRY_RUN}")
    return _PatchCommands([dry_run], [command])


def _patch_object(before: Raw | None, patch: Patch) -> Raw | None:
    """Return an object after a patch; None if the patch does not apply."""
    try:
        return None if before is None else apply_patch(before, patch.operations)
    except PatchError:
        return None


def _has_no_kubelet(state: ClusterState, target: str) -> bool:
    """Return whether a pod is on a node that does not exist: no kubelet ends it."""
    kind, key = parse_target(target)
    node = state.pod(key).node_name if kind == "Pod" else ""
    return bool(node) and state.lists_all_nodes and state.get("Node", ("", node)) is None


def _replacement_commands(patch: Patch, *, is_lost: bool) -> _PatchCommands:
    """Delete an object and create it again with other contents.

    Its new manifest is written to a file, and created under another name in a dry run. If a pod is
    lost with its node, ``kubectl replace --force`` would wait for it whatever the grace period
    (tried with 1.37).
    """
    kind, name = patch.target.partition("/")[0].lower(), patch.target.rpartition("/")[2]
    old_file = shlex.quote(f"{kind}-{name}.before.yaml")
    new_file = shlex.quote(f"{kind}-{name}.yaml")
    arguments = kubectl_arguments(patch.target)
    local_patch = "kubectl patch --local --type=json -o yaml"
    trial_identity = [
        {"op": "remove", "path": "/metadata/uid"},
        {"op": "remove", "path": "/metadata/resourceVersion"},
        {"op": "replace", "path": "/metadata/name", "value": f"{name}-dry-run"},
    ]
    checks = [
        Command(f"kubectl get {arguments} -o yaml > {old_file}"),
        Command(
            f"{local_patch} -f {old_file} --patch-file=/dev/stdin > {new_file}",
            _format_operations(patch.operations),
        ),
        Command(
            f"{local_patch} -f {new_file} -p {_quote_json(trial_identity)} "
            f"| kubectl create -f - {_DRY_RUN}"
        ),
    ]
    action = f"kubectl replace --force -f {new_file}"
    if is_lost:
        deletion = f"kubectl delete {arguments} --force --grace-period=0"
        action = f"{deletion} && kubectl create -f {new_file}"
    return _PatchCommands(checks, [Command(action, destroys=True)])


def _json_patch_command(patch: Patch, *, is_status: bool) -> Command:
    """Return the command for a JSON patch; long or quoted patches are on standard input."""
    command = f"kubectl patch {kubectl_arguments(patch.target)} --type=json"
    command += " --subresource=status" if is_status else ""
    text = json.dumps(list(map(dict, patch.operations)))
    if "'" in text or len(text) > _MAX_ARGUMENT_LENGTH:
        return Command(f"{command} --patch-file=/dev/stdin", _format_operations(patch.operations))
    return Command(f"{command} -p {_quote_json(patch.operations)}")


def _scale_command(patch: Patch) -> Command | None:
    """Return ``kubectl scale`` for a change of nothing but replicas."""
    if patch.target.partition("/")[0] not in WORKLOAD_KINDS:
        return None
    match patch.operations:
        case [{"path": "/spec/replicas", "value": replicas}]:
            return Command(
                f"kubectl scale {kubectl_arguments(patch.target, '/')} --replicas={replicas}"
            )
    return None


def _short_command(target: str, before: Raw | None, after: Raw | None) -> Command | None:
    """Return the kubectl command for a change that needs no patch; None for other changes."""
    if before is None or after is None:
        return None
    changed = {
        f"{top}.{key}"
        for top in _find_changed_keys(before, after)
        for key in _find_changed_keys(before.get(top), after.get(top))
    }
    if target.startswith("Node/") and changed and changed <= {"spec.unschedulable", "spec.taints"}:
        return _node_command(target.rpartition("/")[2], before, after)
    old, new = View(before), View(after)
    if changed == {"metadata.labels"}:
        return _label_command(f"kubectl label {kubectl_arguments(target)}", old.labels, new.labels)
    if changed == {"metadata.annotations"}:
        command = f"kubectl annotate {kubectl_arguments(target)}"
        return _label_command(command, old.annotations, new.annotations)
    return None


def _label_command(command: str, old: Raw, new: Raw) -> Command | None:
    """Return a command for labels or annotations; None if a key would be an option of kubectl."""
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if any(key.startswith("-") for key in keys):
        return None
    arguments = (f"{key}={new[key]}" if key in new else f"{key}-" for key in keys)
    overwrites = any(key in old and key in new for key in keys)
    suffix = " --overwrite" if overwrites else ""
    return Command(f"{command} {' '.join(map(shlex.quote, arguments))}{suffix}")


def _node_command(name: str, before: Raw, after: Raw) -> Command | None:
    """Uncordon a node, or remove taints. Uncordoning also removes the taint of the cordon."""
    old, new = Node(before).taints, Node(after).taints
    removed_taints = [taint for taint in old if taint not in new]
    if Node(before).unschedulable and not Node(after).unschedulable:
        has_others = any(
            taint.key != "node.kubernetes.io/unschedulable" for taint in removed_taints
        )
        return None if has_others else Command(f"kubectl uncordon {shlex.quote(name)}")
    if not removed_taints or any(taint not in old for taint in new):
        return None
    arguments = " ".join(shlex.quote(f"{format_taint(taint)}-") for taint in removed_taints)
    return Command(f"kubectl taint node {shlex.quote(name)} {arguments}")


def _find_changed_keys(before: Any, after: Any) -> set[str]:
    """Return the keys of two maps whose values differ."""
    old, new = map_at(before), map_at(after)
    return {key for key in {**old, **new} if old.get(key) != new.get(key)}


def _find_deleted_siblings(
    state: ClusterState, question: Question, changes: Sequence[Change]
) -> list[Key]:
    """Return the pods of the waiting pod's workload that are deleted together with it."""
    owner = workload_target(state, question.key)
    patches = (change for change in changes if isinstance(change, Patch))
    if owner is None or not any(pods_to_recreate(state, question, patch) for patch in patches):
        return []
    deletions = (parse_target(c.target) for c in changes if isinstance(c, Delete))
    return [
        key for kind, key in deletions if kind == "Pod" and workload_target(state, key) == owner
    ]


def _propagate(
    state: ClusterState, question: Question, patch: Patch, siblings: Sequence[Key]
) -> Iterator[Command]:
    """Make a change reach the waiting pods: delete pods of a controller, and replace others."""
    pods = pods_to_recreate(state, question, patch)
    owner = workload_target(state, question.key)
    if pods and owner is None:
        yield _recreate_command(state, "/".join(("Pod", *question.key)))
    elif pods and owner is not None:
        yield from recreate_pods(state, owner, list(dict.fromkeys([*pods, *siblings])))


def recreate_pods(state: ClusterState, owner: str, pods: Sequence[Key]) -> Iterator[Command]:
    """Recreate pods of a workload.

    A Job counts deleted pods as failures, unless they are deleted because it is suspended
    (kubernetes pkg/controller/job). A Job with an owner is not suspended, since its owner would
    resume it.
    """
    kind = owner.partition("/")[0]
    workload = state.get(*parse_target(owner))
    is_free_job = kind == "Job" and workload is not None and Pod(workload).controller is None
    if is_free_job and set(pods_of_target(state, owner)) <= set(pods):
        arguments = kubectl_arguments(owner)
        suspend = f"kubectl patch {arguments} -p"
        yield Command(f"""{suspend} '{{"spec":{{"suspend":true}}}}'""", destroys=True)
        yield Command(f"kubectl wait --for=condition=Suspended {arguments} --timeout=60s")
        yield Command(f"""{suspend} '{{"spec":{{"suspend":false}}}}'""")
    elif len(pods) > _MAX_DELETED_BY_NAME and kind in _RESTARTABLE_KINDS:
        yield Command(f"kubectl rollout restart {kubectl_arguments(owner, '/')}", destroys=True)
    else:
        names = " ".join(shlex.quote(name) for _, name in pods)
        yield Command(f"kubectl delete pod {names} -n {pods[0][0]}", destroys=True)


def _merge_pod_deletions(commands: Sequence[Command]) -> Iterator[Command]:
    """Yield the commands; commands that end pods come last and name each pod once."""
    delete = "kubectl delete pod "
    pods_by_namespace: dict[str, dict[str, None]] = {}
    restarts = []
    for step in commands:
        if step.command.startswith(delete):
            names, _, namespace = step.command.removeprefix(delete).partition(" -n ")
            pods_by_namespace.setdefault(namespace, {}).update(dict.fromkeys(names.split()))
        elif step.command.startswith("kubectl rollout restart"):
            restarts.append(step)
        else:
            yield step
    yield from restarts
    for namespace, pods in pods_by_namespace.items():
        yield Command(f"kubectl delete pod {' '.join(pods)} -n {namespace}", destroys=True)


def kubectl_arguments(target: str, separator: str = " ") -> str:
    """Return ``Kind/namespace/name`` as arguments of kubectl: ``kind name -n namespace``."""
    kind, *namespace, name = target.split("/")
    option = f" -n {shlex.quote(namespace[0])}" if namespace else ""
    return f"{kind.lower()}{separator}{shlex.quote(name)}{option}"


def _quote_json(operations: Iterable[Raw]) -> str:
    """Format operations as JSON, quoted for a shell."""
    return shlex.quote(json.dumps([dict(o) for o in operations]))


def _format_operations(operations: Iterable[Raw]) -> str:
    """Format operations as JSON, one per line."""
    return "[" + ",\n ".join(json.dumps(dict(o), ensure_ascii=False) for o in operations) + "]\n"
