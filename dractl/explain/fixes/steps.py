"""How a fix is applied: kubectl commands that say what they do (``uncordon``, ``scale``, ``label``), JSON patches where
there are none.

The specs of claims, templates and pods cannot be changed in place: they are replaced, and so is a pod whose template
changed; a controller recreates its own pods (kubernetes pkg/apis/resource/validation, pkg/registry/core/pod). Before
anything is deleted the API server is asked, by a dry run, whether it takes what comes after.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
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
from dractl.cluster.state import ClusterState, Key, map_at, maps_at, text_at
from dractl.cluster.workloads import WORKLOAD_KINDS, controller_of, workload_target
from dractl.explain.ask import Question
from dractl.explain.fixes.pod_templates import pods_to_recreate
from dractl.explain.fixes.tolerations import format_taint
from dractl.manifests.dumping import dump
from dractl.objects import Raw

_IMMUTABLE_KINDS = (
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Pod",
)  # their specs cannot be changed in place
_ADMISSION_KINDS = (
    "Namespace",
    "ResourceQuota",
    "LimitRange",
)  # by them the API server takes an object, in a dry run, too
_RESTARTABLE_KINDS = ("Deployment", "StatefulSet", "DaemonSet")
_MAX_DELETED_BY_NAME = (
    5  # pods that are deleted by name; more of them by a restart of their workload
)


class Command(Struct, frozen=True):
    """One shell command. ``stdin`` is the text that it reads; ``destroys``: it deletes something, if only to create it
    again."""

    command: str
    stdin: str = ""
    destroys: bool = False

    def __str__(self) -> str:
        return f"{self.command} <<'EOF'\n{self.stdin}EOF" if self.stdin else self.command


def steps(
    state: ClusterState, question: Question, changes: Iterable[Change]
) -> tuple[Command, ...]:
    """The commands that apply ``changes`` one after the other; empty where one is :func:`by_hand`."""
    checks: list[Command] = []
    allows: list[Command] = []
    acts: list[Command] = []
    changes = tuple(changes)
    siblings = _deleted_siblings(state, question, changes)
    for change in _merge_patches(changes):
        match change:
            case Patch(target) if _manifest_owner(state, question, target) is not None:
                return ()
            case Patch(target):
                before, acting = _patch_commands(state, change)
                if target.partition("/")[0] in _ADMISSION_KINDS:
                    allows += acting
                else:
                    checks += before
                    acts += acting
                acts += _propagate(state, question, change, siblings)
            case Create(value) if (again := _merge_with_deletion(state, acts, value)) is not None:
                acts.remove(again[0])
                acts.append(again[1])
            case Create(value):
                create = f"kubectl create -f - {_DRY_RUN}"
                checks.append(Command(create, dump(value)))
                acts.append(Command(create.removesuffix(f" {_DRY_RUN}"), dump(value)))
            case Delete(target) if parse_target(target) in [("Pod", key) for key in siblings]:
                pass  # ends with the pods that the change is for
            case Delete(target):
                acts.append(Command(f"kubectl delete {kubectl_arguments(target)}", destroys=True))
    acts = list(dict.fromkeys(_merge_pod_deletions(acts)))
    prepared = [c for c in checks if _DRY_RUN not in c.command]
    asked = [c for c in checks if _DRY_RUN in c.command] if any(s.destroys for s in acts) else []
    return (*prepared, *allows, *asked, *acts)


def _merge_with_deletion(
    state: ClusterState, acts: Iterable[Command], value: Raw
) -> tuple[Command, Command] | None:
    """The step that deletes what is created next, and the one that does both: the same object, recreated."""
    metadata = value["metadata"]
    target = "/".join(filter(None, (value["kind"], metadata.get("namespace"), metadata["name"])))
    deleted = Command(f"kubectl delete {kubectl_arguments(target)}", destroys=True)
    if deleted not in acts:
        return None
    return deleted, _recreate_command(state, target)


def _recreate_command(state: ClusterState, target: str) -> Command:
    """The step that recreates an object as it is; a pod without the node that the scheduler has given it: with it the
    scheduler would not see the new one."""
    without = ""
    if text_at(state.get(*parse_target(target)), "spec", "nodeName"):
        removed = _quote_json([{"op": "remove", "path": "/spec/nodeName"}])
        without = f" | kubectl patch --local --type=json -o yaml -f - -p {removed}"
    return Command(
        f"kubectl get {kubectl_arguments(target)} -o yaml{without} | kubectl replace --force -f -",
        destroys=True,
    )


def _merge_patches(changes: Iterable[Change]) -> Iterator[Change]:
    """The changes, with all patches of an object in one."""
    patches: dict[str, Patch] = {}
    others: list[Change] = []
    for change in changes:
        if isinstance(change, Patch):
            before = patches.get(change.target)
            patches[change.target] = Patch(
                change.target, (*(before.operations if before else ()), *change.operations)
            )
            if before is None:
                others.append(change)
        else:
            others.append(change)
    yield from (patches[c.target] if isinstance(c, Patch) else c for c in others)


_DRY_RUN = "--dry-run=server"


def find_manual_edit(
    state: ClusterState, question: Question, changes: Iterable[Change]
) -> str | None:
    """The object whose manifest somebody has to change and recreate, ``Kind namespace/name``; None where commands can
    apply the changes."""
    makers = (_manifest_owner(state, question, c.target) for c in changes if isinstance(c, Patch))
    found = next((m for m in makers if m is not None), None)
    return None if found is None else found.replace("/", " ", 1)


def _manifest_owner(state: ClusterState, question: Question, target: str) -> str | None:
    """The owner of the asked pod, if ``target`` is the pod or its Job: their specs cannot be changed in place, and
    how a custom kind writes its pods is not known. The owner of any workload that another controller writes: it would
    write it again as it was (a LeaderWorkerSet its StatefulSets, a JobSet its Jobs; a CronJob leaves its Jobs alone).
    """
    kind, key = parse_target(target)
    owner = workload_target(state.get("Pod", question.key), question.key[0])
    if kind in (*WORKLOAD_KINDS, "JobSet"):
        asked = kind == "Job" and target == owner
        references = maps_at(state.get(kind, key), "metadata", "ownerReferences")
        above = (
            o
            for o in references
            if o.get("controller") is True and (asked or o.get("kind") != "CronJob")
        )
        owned = next(
            (f"{text_at(o, 'kind')}/{key[0]}/{text_at(o, 'name')}" for o in above),
            target if asked else None,
        )
        if owned is None or not owned.startswith("Pod/"):
            return owned
        leader = workload_target(
            state.get(*parse_target(owned)), key[0]
        )  # of a LeaderWorkerSet's group
        return owned if leader is None else _manifest_owner(state, question, leader) or leader
    return owner if target == "/".join(("Pod", *question.key)) else None


def _patch_commands(state: ClusterState, change: Patch) -> tuple[list[Command], list[Command]]:
    """The steps that prepare and check a patch, and those that apply it."""
    kind, key = parse_target(change.target)
    before = state.get(kind, key)
    after = _patched_object(before, change)
    status = all(str(o["path"]).startswith("/status/") for o in change.operations)
    if (
        kind in _IMMUTABLE_KINDS
        and not status
        and (after is None or _changed_keys(before, after) - {"metadata"})
    ):
        return _replacement_commands(change, lost=_has_no_kubelet(state, change.target))
    command = (
        _scale_command(change)
        or _short_command(change.target, before, after)
        or _json_patch_command(change, status)
    )
    check = replace(command, command=f"{command.command} {_DRY_RUN}")
    return [check], [command]


def _patched_object(before: Raw | None, change: Patch) -> Raw | None:
    try:
        return None if before is None else apply_patch(before, change.operations)
    except PatchError:
        return None


def _has_no_kubelet(state: ClusterState, target: str) -> bool:
    """True for a pod on a node that does not exist: no kubelet ends it."""
    kind, key = parse_target(target)
    node = text_at(state.get(kind, key), "spec", "nodeName") if kind == "Pod" else ""
    return bool(node) and state.has("Node") and state.get("Node", ("", node)) is None


def _replacement_commands(change: Patch, *, lost: bool) -> tuple[list[Command], list[Command]]:
    """An object that is deleted and created again with other contents: its new manifest is written to a file, and
    created under another name in a dry run. For a ``lost`` pod ``kubectl replace --force`` would wait, whatever grace
    period it is given (tried with 1.37)."""
    kind, name = change.target.partition("/")[0].lower(), change.target.rpartition("/")[2]
    old, new = shlex.quote(f"{kind}-{name}.before.yaml"), shlex.quote(f"{kind}-{name}.yaml")
    local = "kubectl patch --local --type=json -o yaml"
    fresh = [
        {"op": "remove", "path": "/metadata/uid"},
        {"op": "remove", "path": "/metadata/resourceVersion"},
        {"op": "replace", "path": "/metadata/name", "value": f"{name}-dry-run"},
    ]
    prepare = [
        Command(f"kubectl get {kubectl_arguments(change.target)} -o yaml > {old}"),
        Command(
            f"{local} -f {old} --patch-file=/dev/stdin > {new}",
            _format_operations(change.operations),
        ),
    ]
    asked = Command(f"{local} -f {new} -p {_quote_json(fresh)} | kubectl create -f - {_DRY_RUN}")
    if not lost:
        return [*prepare, asked], [Command(f"kubectl replace --force -f {new}", destroys=True)]
    gone = f"kubectl delete {kubectl_arguments(change.target)} --force --grace-period=0"
    return [*prepare, asked], [Command(f"{gone} && kubectl create -f {new}", destroys=True)]


def _json_patch_command(change: Patch, status: bool) -> Command:
    where = f"kubectl patch {kubectl_arguments(change.target)} --type=json" + (
        " --subresource=status" if status else ""
    )
    text = json.dumps(list(map(dict, change.operations)))
    if "'" in text or len(text) > 120:
        return Command(f"{where} --patch-file=/dev/stdin", _format_operations(change.operations))
    return Command(f"{where} -p {_quote_json(change.operations)}")


def _scale_command(change: Patch) -> Command | None:
    kind, _, rest = kubectl_arguments(change.target).partition(" ")
    match change.operations:
        case [{"path": "/spec/replicas", "value": replicas}] if (
            change.target.partition("/")[0] in WORKLOAD_KINDS
        ):
            return Command(f"kubectl scale {kind}/{rest} --replicas={replicas}")
    return None


def _short_command(target: str, before: Raw | None, after: Raw | None) -> Command | None:
    """The kubectl command for what a person would not write a patch for; None where there is none."""
    if before is None or after is None:
        return None
    kind, name = target.partition("/")[0], kubectl_arguments(target)
    changed = {
        f"{top}.{k}"
        for top in _changed_keys(before, after)
        for k in _changed_keys(before.get(top), after.get(top))
    }
    if kind == "Node" and changed and changed <= {"spec.unschedulable", "spec.taints"}:
        return _node_command(target.rpartition("/")[2], before, after)
    for field, command in (("labels", "label"), ("annotations", "annotate")):
        if changed == {f"metadata.{field}"}:
            old, new = map_at(before, "metadata", field), map_at(after, "metadata", field)
            keys = [k for k in {**old, **new} if old.get(k) != new.get(k)]
            if any(k.startswith("-") for k in keys):
                return None
            values = " ".join(shlex.quote(f"{k}={new[k]}" if k in new else f"{k}-") for k in keys)
            over = " --overwrite" if any(k in old and k in new for k in keys) else ""
            return Command(f"kubectl {command} {name} {values}{over}")
    return None


def _node_command(name: str, before: Raw, after: Raw) -> Command | None:
    """Cordon and taints of a node. Uncordoning removes the taint of a cordon, too."""
    old, new = maps_at(before, "spec", "taints"), maps_at(after, "spec", "taints")
    gone = [t for t in old if t not in new]
    if map_at(before, "spec").get("unschedulable") and not map_at(after, "spec").get(
        "unschedulable"
    ):
        others = [t for t in gone if text_at(t, "key") != "node.kubernetes.io/unschedulable"]
        return None if others else Command(f"kubectl uncordon {shlex.quote(name)}")
    if not gone or any(t not in old for t in new):
        return None
    return Command(
        f"kubectl taint node {shlex.quote(name)} {' '.join(shlex.quote(f'{format_taint(t)}-') for t in gone)}"
    )


def _changed_keys(before: Any, after: Any) -> set[str]:
    old, new = map_at(before), map_at(after)
    return {key for key in {**old, **new} if old.get(key) != new.get(key)}


def _deleted_siblings(
    state: ClusterState, question: Question, changes: Iterable[Change]
) -> list[Key]:
    """The pods of the asked pod's workload that are deleted together with it."""
    changes = tuple(changes)
    owner = workload_target(state.get("Pod", question.key), question.key[0])
    if owner is None or not any(
        pods_to_recreate(state, question, c) for c in changes if isinstance(c, Patch)
    ):
        return []
    deleted = [parse_target(c.target) for c in changes if isinstance(c, Delete)]
    return [
        k
        for kind, k in deleted
        if kind == "Pod" and workload_target(state.get("Pod", k), k[0]) == owner
    ]


def _propagate(
    state: ClusterState, question: Question, change: Patch, siblings: Sequence[Key]
) -> Iterator[Command]:
    """Commands that bring a change to the waiting pods: pods of a controller are deleted, others replaced."""
    pods = pods_to_recreate(state, question, change)
    owner = workload_target(state.get("Pod", question.key), question.key[0])
    if pods and owner is None:
        yield _recreate_command(state, "/".join(("Pod", *question.key)))
    elif pods and owner is not None:
        yield from recreate_pods(state, owner, list(dict.fromkeys([*pods, *siblings])))


def recreate_pods(state: ClusterState, owner: str, pods: Sequence[Key]) -> Iterator[Command]:
    """The steps after which the pods of a workload are new ones. A Job counts pods that are deleted as failures, and
    does not count those of its suspension (kubernetes pkg/controller/job), which whoever owns it would end."""
    kind = owner.partition("/")[0]
    named, _, rest = kubectl_arguments(owner).partition(" ")
    value = state.get(*parse_target(owner))
    alone = kind == "Job" and value is not None and controller_of(value) is None
    if alone and all(
        k in pods for k, pod in state.objects("Pod").items() if workload_target(pod, k[0]) == owner
    ):
        suspend = f"kubectl patch {named} {rest} -p"
        yield Command(f"""{suspend} '{{"spec":{{"suspend":true}}}}'""", destroys=True)
        yield Command(f"kubectl wait --for=condition=Suspended {named} {rest} --timeout=60s")
        yield Command(f"""{suspend} '{{"spec":{{"suspend":false}}}}'""")
    elif len(pods) > _MAX_DELETED_BY_NAME and kind in _RESTARTABLE_KINDS:
        yield Command(f"kubectl rollout restart {named}/{rest}", destroys=True)
    else:
        names = " ".join(shlex.quote(name) for _, name in pods)
        yield Command(f"kubectl delete pod {names} -n {pods[0][0]}", destroys=True)


def _merge_pod_deletions(found: Sequence[Command]) -> Iterator[Command]:
    """The steps, of which those that end pods come last, and each pod is named once."""
    delete = "kubectl delete pod "
    deleted: dict[str, dict[str, None]] = {}
    restarts = []
    for step in found:
        if step.command.startswith(delete):
            names, _, namespace = step.command.removeprefix(delete).partition(" -n ")
            deleted.setdefault(namespace, {}).update(dict.fromkeys(names.split()))
        elif step.command.startswith("kubectl rollout restart"):
            restarts.append(step)
        else:
            yield step
    yield from restarts
    for namespace, pods in deleted.items():
        yield Command(f"kubectl delete pod {' '.join(pods)} -n {namespace}", destroys=True)


def kubectl_arguments(target: str) -> str:
    """``Kind/namespace/name`` as kubectl's arguments."""
    kind, *rest = target.split("/")
    if len(rest) == 2:
        return f"{kind.lower()} {shlex.quote(rest[1])} -n {shlex.quote(rest[0])}"
    return f"{kind.lower()} {shlex.quote(rest[0])}"


def _quote_json(operations: Iterable[Raw]) -> str:
    return shlex.quote(json.dumps([dict(o) for o in operations]))


def _format_operations(operations: Iterable[Raw]) -> str:
    """JSON with one operation a line."""
    return "[" + ",\n ".join(json.dumps(dict(o), ensure_ascii=False) for o in operations) + "]\n"
