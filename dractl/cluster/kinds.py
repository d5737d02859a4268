"""Kinds and names as the command line takes them, and the errors for unknown ones."""

from collections.abc import Iterable, Mapping

from dractl.cluster.events import last_event_of_pod
from dractl.cluster.rights import plural_of
from dractl.cluster.state import API_GROUPS, ClusterState
from dractl.cluster.workloads import WORKLOAD_KINDS, pods_of_workload, topmost
from dractl.errors import InputError, UsageError
from dractl.model.abbreviation import abbreviate
from dractl.model.nearest import nearest, nearest_names

_WORDS_BY_KIND = {
    "Pod": "po pod pods",
    "ResourceClaim": "claim claims resourceclaim resourceclaims",
    "ResourceClaimTemplate": "template templates resourceclaimtemplate resourceclaimtemplates",
    "Node": "no node nodes",
    "Deployment": "deploy deployment deployments",
    "StatefulSet": "sts statefulset statefulsets",
    "DaemonSet": "ds daemonset daemonsets",
    "ReplicaSet": "rs replicaset replicasets",
    "Job": "job jobs",
    "CronJob": "cj cronjob cronjobs",
}
KINDS_BY_WORD = {word: kind for kind, words in _WORDS_BY_KIND.items() for word in words.split()}


def workload_words(names: Iterable[str]) -> list[str]:
    """Return the words in ``KIND/NAME`` that may name a kind with pods, judging by the word
    alone.
    """
    words = dict.fromkeys(name.partition("/")[0] for name in names if "/" in name)
    return [
        word
        for word in words
        if KINDS_BY_WORD.get(word.lower().partition(".")[0]) not in API_GROUPS
    ]


def resolve_kind(
    state: ClusterState, word: str, server_words: Mapping[str, str] | None, hint: str
) -> str:
    """Return the kind that a word stands for; ``server_words`` are the words that the cluster
    knows.

    Workloads of other groups (JobSet, LeaderWorkerSet) are known if the input has such objects.
    Raises UsageError with the nearest word, and with ``hint``, for an unknown kind.
    """
    kind = (server_words or {}).get(word.lower()) or KINDS_BY_WORD.get(
        word.lower().partition(".")[0]
    )
    if kind is not None:
        return kind
    for kind in state.kinds:
        if kind not in API_GROUPS and kind.lower() in (
            word.lower(),
            word.lower().removesuffix("s"),
        ):
            return kind
    near = nearest(word, KINDS_BY_WORD)
    raise UsageError(
        f"unknown kind {word!r}" + (f"; did you mean {near}?" if near else ""), hint=hint
    )


def object_not_found(
    state: ClusterState,
    kinds: tuple[str, ...],
    name: str,
    namespace: str | None,
    fallback_hint: str | None = None,
) -> InputError:
    """Return the error for a name that no object of ``kinds`` has.

    Its hint names the same object in another namespace, or the nearest names; if there are none,
    ``fallback_hint`` is the hint.
    """
    noun = " or ".join(kind.lower() for kind in kinds)
    scope = f" in namespace {namespace}" if namespace and kinds != ("Node",) else ""
    hidden = state.rights.unreadable(*kinds)
    if hidden:
        resources = " and ".join(plural_of(resource.resource) for resource in hidden)
        return InputError(
            f"no {noun} {name}{scope} can be seen: you are not allowed to read {resources}",
            hint=f"an administrator can allow it: {state.rights.grant_commands(*kinds)}",
        )
    last = last_event_of_pod(state, (namespace, name)) if namespace and "Pod" in kinds else None
    departure = (
        f"; it is gone, and its events say {last.reason}: {last.message} ({last.last_seen})"
        if last is not None
        else ""
    )
    return InputError(
        f"no {noun} {name}{scope}{departure}",
        hint=_suggest_names(state, kinds, name, namespace)
        or fallback_hint
        or _list_names(state, kinds, namespace),
    )


def check_namespace(state: ClusterState, namespace: str | None) -> None:
    """Raise InputError for a namespace that is known not to exist."""
    if (
        namespace is None
        or not state.has("Namespace")
        or state.get("Namespace", ("", namespace)) is not None
    ):
        return
    if any(key[0] == namespace for kind in state.kinds for key in state.objects(kind)):
        return
    near = nearest_names(namespace, [key[1] for key in state.objects("Namespace")])
    raise InputError(
        f"no namespace {namespace}", hint=f"there is {', '.join(near)}" if near else None
    )


def _suggest_names(
    state: ClusterState, kinds: tuple[str, ...], name: str, namespace: str | None
) -> str | None:
    """Suggest the name in another namespace, names that begin with it, or near names."""
    namesakes = [key for kind in kinds for key in state.objects(kind) if key[1] == name]
    if namesakes:
        return f"there is {'/'.join(namesakes[0])}"
    candidates = [
        (kind, key)
        for kind in kinds
        for key in state.objects(kind)
        if namespace in (None, key[0]) or not key[0]
    ]
    longer_names = [
        f"{kind.lower()}/{key[1]}"
        for kind, key in candidates
        if key[1].startswith(name) and len(name) > 1
    ]
    if longer_names:
        return f"there is {abbreviate(longer_names)}{_workload_note(state, name, namespace)}"
    workload = _suggest_workload(state, name, namespace) if "Pod" in kinds else None
    if workload is not None:
        return workload
    names = {key[1]: key for _, key in candidates}
    near_names = nearest_names(name, names)
    if near_names:
        return f"there is {', '.join('/'.join(filter(None, names[n])) for n in near_names)}"
    if kinds == ("Node",) and names:
        return f"there are {', '.join(list(names)[:8])}"
    if not any(state.has(kind) for kind in kinds):
        return f"there is no {' and no '.join(kinds)} at all"
    return None


def _suggest_workload(state: ClusterState, name: str, namespace: str | None) -> str | None:
    """Suggest the workload that has made a pod of such a name, and may have other pods by now.

    The name may contain the hash of an earlier ReplicaSet.
    """
    candidates = [
        (len(key[1]), kind, key)
        for kind in state.kinds
        if kind in (*WORKLOAD_KINDS, "CronJob")
        for key in state.objects(kind)
        if namespace in (None, key[0]) and name.startswith(f"{key[1]}-")
    ]
    if not candidates:
        return None
    _, kind, key = max(candidates)
    kind, key = topmost(state, kind, key)
    pods = [own[1] for own, _ in pods_of_workload(state, kind, key)]
    has = (
        f"; its pods are {', '.join(pods[:3])}{' ...' * (len(pods) > 3)}"
        if pods
        else "; it has no pod now"
    )
    return f"{_kind_word(kind)}/{key[1]} made pods of such names{has}"


def _list_names(state: ClusterState, kinds: tuple[str, ...], namespace: str | None) -> str | None:
    names = [
        f"{_kind_word(kind)}/{key[1]}"
        for kind in kinds
        for key in state.objects(kind)
        if namespace in (None, key[0])
    ]
    return f"there is {abbreviate(names)}" if names else None


def _kind_word(kind: str) -> str:
    words = (word for word, candidate in KINDS_BY_WORD.items() if candidate == kind)
    return next((word for word in words if len(word) > 2), kind.lower())


def _workload_note(state: ClusterState, name: str, namespace: str | None) -> str:
    """Return a note about the workload of this name, in the form that people type; "" if there is
    none.
    """
    for kind in state.kinds:
        if kind not in API_GROUPS and any(
            key[1] == name and namespace in (None, key[0]) for key in state.objects(kind)
        ):
            return f"; {_kind_word(kind)}/{name} asks about all of its pods"
    return ""
