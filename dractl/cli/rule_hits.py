"""The short form of ``dractl impact`` in ``lint`` and ``explain``: the pods that a rule affects."""

import os
from collections.abc import Iterator, Sequence

from dractl.allocation import Features
from dractl.allocation.features import schedulable_release
from dractl.cli import terminal
from dractl.cli.options import cluster_input
from dractl.cluster.sources import Sources, read_published
from dractl.cluster.state import ClusterState
from dractl.errors import DractlError, InputError
from dractl.impact import Impact, describe_hits, find_taint_impact
from dractl.manifests.content import read_file
from dractl.model import Target
from dractl.model.nearest import nearest_names
from dractl.program import program_name

KIND = "DeviceTaintRule"
_WORDS = ("devicetaintrule", "devicetaintrules")
_MAX_BYTES = 1_000_000
"""A larger manifest is not searched for rules."""


def select_rule_names(words: Sequence[str]) -> list[str]:
    """Return the names of ``devicetaintrule/NAME`` among the arguments."""
    pairs = (word.partition("/") for word in words)
    return [name for kind, _, name in pairs if name and kind.lower().partition(".")[0] in _WORDS]


def describe_stored_rules(state: ClusterState, features: Features, names: Sequence[str]) -> str:
    """Return a paragraph for each rule of a cluster.

    Raises InputError for an absent rule.
    """
    return "\n".join(_describe_stored_rule(state, features, name) for name in names)


def _describe_stored_rule(state: ClusterState, features: Features, name: str) -> str:
    key = ("", name)
    rule = state.get(KIND, key)
    if rule is None:
        names = [other for _, other in state.objects(KIND)]
        near = nearest_names(name, names, most=1)
        raise InputError(
            f"no {KIND} {name}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"the input has {', '.join(sorted(names)[:8]) or 'none'}",
        )
    impact = find_taint_impact(state.replace(KIND, key, None), {KIND: {key: rule}}, features)
    return "\n".join(_list_sentences(impact, f"{program_name()} impact FILE says more"))


def _list_sentences(impact: Impact, hint: str) -> Iterator[str]:
    yield describe_hits(impact)
    yield from (f"  {note}" for note in impact.notes if note.startswith(KIND))
    yield f"  {hint}"


def note_rules(paths: Sequence[str], devices: Sequence[str], target: Target) -> None:
    """Print a notice for the rules in the named files, if ``devices`` is a dump with claims.

    A file is parsed only if its bytes mention a rule. lint reports files that cannot be read.
    """
    files = [path for path in paths if _has_rule(path)]
    dumps = [source for source in devices if os.path.exists(source)]
    if not files or not dumps:
        return
    try:
        changes = cluster_input.load_files(Sources((), tuple(files)), None)
        cluster = read_published(dumps[0])
        if cluster is None or not (cluster.has("Pod") or cluster.has("ResourceClaim")):
            return
        features = Features.for_release(schedulable_release(target.release))
        impact = find_taint_impact(cluster, {KIND: changes.objects(KIND)}, features)
    except DractlError:
        return
    terminal.notice(f"{describe_hits(impact)} ({program_name()} impact says more)")


def _has_rule(path: str) -> bool:
    data = read_file(path, _MAX_BYTES + 1)
    return data is not None and len(data) <= _MAX_BYTES and KIND.encode() in data
