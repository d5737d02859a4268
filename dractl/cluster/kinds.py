"""The words that name a kind on the command line, as kubectl takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable

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
