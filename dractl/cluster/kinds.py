"""Kinds and names as the command line takes them, and the errors for those that do not exist."""

from collections.abc import Iterable, Mapping

from dractl.cluster.kubelet import last_of
from dractl.cluster.state import GROUPS, ClusterState
from dractl.cluster.workloads import WORKLOADS, owned_pods, topmost
from dractl.errors import InputError, UsageError
from dractl.model.nearest import nearest, nearest_names

_WORDS = {
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
KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def workload_words(names: Iterable[str]) -> list[str]:
    """The words of ``KIND/NAME`` for kinds that are made of pods, so far as can be told from the word alone."""
    words = dict.fromkeys(name.partition("/")[0] for name in names if "/" in name)
    return [word for word in words if KINDS.get(word.lower().partition(".")[0]) not in GROUPS]


def kind_of(state: ClusterState, word: str, further: Mapping[str, str] | None, hint: str) -> str:
    """The kind that a word stands for; ``further`` are the words that the cluster itself knows.

    Workloads of other groups (JobSet, LeaderWorkerSet) are known by the objects of the input. Raises UsageError with
    the nearest word, and with ``hint``, for an unknown kind.
    """
    known = (further or {}).get(word.lower()) or KINDS.get(word.lower().partition(".")[0])
    if known is not None:
        return known
    for kind in state.kinds:
        if kind not in GROUPS and kind.lower() in (word.lower(), word.lower().removesuffix("s")):
            return kind
    near = nearest(word, KINDS)
    raise UsageError(
        f"unknown kind {word!r}" + (f"; did you mean {near}?" if near else ""), hint=hint
    )


def not_found(
    state: ClusterState,
    kinds: tuple[str, ...],
    name: str,
    namespace: str | None,
    otherwise: str | None = None,
) -> InputError:
    """The error for a name that no object of ``kinds`` has: its hint names the same object elsewhere, or the nearest
    names; ``otherwise`` is the hint if there are none."""
    noun = " or ".join(kind.lower() for kind in kinds)
    where = f" in namespace {namespace}" if namespace and kinds != ("Node",) else ""
    hidden = state.rights.hidden(*kinds)
    if hidden:
        resources = " and ".join(one.resource.partition(".")[0] for one in hidden)
        return InputError(
            f"no {noun} {name}{where} can be seen: {resources} may not be read",
            hint=f"an administrator can allow it: {state.rights.allowing(*kinds)}",
        )
    last = last_of(state, (namespace, name)) if namespace and "Pod" in kinds else None
    gone = (
        f"; it is gone, and its events say {last.reason}: {last.message} ({last.when})"
        if last is not None
        else ""
    )
    return InputError(
        f"no {noun} {name}{where}{gone}",
        hint=_instead(state, kinds, name, namespace)
        or otherwise
        or _there(state, kinds, namespace),
    )


def check_namespace(state: ClusterState, namespace: str | None) -> None:
    """Raises InputError for a namespace that is known not to exist."""
    if (
        namespace is None
        or not state.has("Namespace")
        or state.get("Namespace", ("", namespace)) is not None
    ):
        return
    if any(key[0] == namespace for kind in state.kinds for key in state.all(kind)):
        return
    near = nearest_names(namespace, [key[1] for key in state.all("Namespace")])
    raise InputError(
        f"no namespace {namespace}", hint=f"there is {', '.join(near)}" if near else None
    )


def _instead(
    state: ClusterState, kinds: tuple[str, ...], name: str, namespace: str | None
) -> str | None:
    """Suggestions: the name in another namespace, names that begin with it, near names."""
    elsewhere = [key for kind in kinds for key in state.all(kind) if key[1] == name]
    if elsewhere:
        return f"there is {'/'.join(elsewhere[0])}"
    here = [
        (kind, key)
        for kind in kinds
        for key in state.all(kind)
        if namespace in (None, key[0]) or not key[0]
    ]
    longer = [
        f"{kind.lower()}/{key[1]}"
        for kind, key in here
        if key[1].startswith(name) and len(name) > 1
    ]
    if longer:
        more = f" and {len(longer) - 3} more" if len(longer) > 3 else ""
        return f"there is {', '.join(longer[:3])}{more}{_whole(state, name, namespace)}"
    made_by = _of_pod(state, name, namespace) if "Pod" in kinds else None
    if made_by is not None:
        return made_by
    names = {key[1]: key for _, key in here}
    near = nearest_names(name, names)
    if near:
        return f"there is {', '.join('/'.join(filter(None, names[n])) for n in near)}"
    if kinds == ("Node",) and names:
        return f"there are {', '.join(list(names)[:8])}"
    if not any(state.has(kind) for kind in kinds):
        return f"there is no {' and no '.join(kinds)} at all"
    return None


def _of_pod(state: ClusterState, name: str, namespace: str | None) -> str | None:
    """The workload that has made a pod of such a name, and has others by now (another ReplicaSet's hash)."""
    found = [
        (len(key[1]), kind, key)
        for kind in state.kinds
        if kind in (*WORKLOADS, "CronJob")
        for key in state.all(kind)
        if namespace in (None, key[0]) and name.startswith(f"{key[1]}-")
    ]
    if not found:
        return None
    _, kind, key = max(found)
    kind, key = topmost(state, kind, key)
    pods = [own[1] for own, _ in owned_pods(state, kind, key)]
    has = (
        f"; its pods are {', '.join(pods[:3])}{' ...' * (len(pods) > 3)}"
        if pods
        else "; it has no pod now"
    )
    return f"{_word(kind)}/{key[1]} made pods of such names{has}"


def _there(state: ClusterState, kinds: tuple[str, ...], namespace: str | None) -> str | None:
    found = [
        f"{_word(kind)}/{key[1]}"
        for kind in kinds
        for key in state.all(kind)
        if namespace in (None, key[0])
    ]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return f"there is {', '.join(found[:3])}{more}" if found else None


def _word(kind: str) -> str:
    words = (word for word, known in KINDS.items() if known == kind)
    return next((word for word in words if len(word) > 2), kind.lower())


def _whole(state: ClusterState, name: str, namespace: str | None) -> str:
    """The workload of a name, as people type it."""
    for kind in state.kinds:
        if kind not in GROUPS and any(
            key[1] == name and namespace in (None, key[0]) for key in state.all(kind)
        ):
            return f"; {_word(kind)}/{name} asks about all of its pods"
    return ""
