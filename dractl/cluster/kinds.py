"""Kinds and names as the command line takes them, and the errors for those that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import GROUPS
from dractl.errors import InputError, UsageError
from dractl.model.nearest import nearest, nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dractl.cluster.state import ClusterState

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
    raise UsageError(f"unknown kind {word!r}" + (f"; did you mean {near}?" if near else ""), hint=hint)


def not_found(
    state: ClusterState, kinds: tuple[str, ...], name: str, namespace: str | None, otherwise: str | None = None
) -> InputError:
    """The error for a name that no object of ``kinds`` has: its hint names the same object elsewhere, or the nearest
    names; ``otherwise`` is the hint if there are none."""
    noun = " or ".join(kind.lower() for kind in kinds)
    where = f" in namespace {namespace}" if namespace and kinds != ("Node",) else ""
    elsewhere = [key for kind in kinds for key in state.all(kind) if key[1] == name]
    names = {key[1]: key for kind in kinds for key in state.all(kind) if namespace in (None, key[0]) or not key[0]}
    near = nearest_names(name, names)
    if elsewhere:
        hint: str | None = f"there is {'/'.join(elsewhere[0])}"
    elif near:
        hint = f"there is {', '.join('/'.join(filter(None, names[n])) for n in near)}"
    elif kinds == ("Node",) and names:
        hint = f"there are {', '.join(list(names)[:8])}"
    elif not any(state.has(kind) for kind in kinds):
        hint = f"the input has no {' and no '.join(kinds)} at all"
    else:
        hint = otherwise
    return InputError(f"no {noun} {name}{where} in the input", hint=hint)
