"""One fix of each answer as a shell script: kubectl commands, each run only if the one before it
succeeded.
"""

import json
from collections.abc import Iterator, Sequence

from dractl.cluster.changes import Patch, parse_target
from dractl.explain.answer import Explanation, Fix

_SHOWN = 5  # maximum number of subjects, and of nodes
# These kinds create their pods once, so a change of the template does not reach them (JobSet,
# RayCluster, PyTorchJob, RayJob ...).
_RECREATED = ("Job", "JobSet", "RayCluster")


# Tools that apply objects from git, and the annotation with which they replace objects that cannot
# be changed in place.
_IN_GIT = {
    "Argo CD": "argocd.argoproj.io/sync-options: Force=true,Replace=true",
    "Flux": "kustomize.toolkit.fluxcd.io/force: enabled",
}
_FIXED = ("ResourceClaim", "ResourceClaimTemplate")


def render(explanations: Sequence[Explanation], number: int = 1) -> str:
    """Return a script for pasting, with the fix of this ``number`` from each answer. Comments name
    the fix, the nodes that fit after it, and the work that remains by hand; subjects with the same
    fix share it.
    """
    shared: dict[tuple[str, ...], list[Explanation]] = {}
    for explanation in explanations:
        fix = explanation.fixes[number - 1]
        same = tuple(map(str, fix.steps)) or (repr(fix.changes), fix.title)
        shared.setdefault(same, []).append(explanation)
    return "\n".join("".join(_block(those, number)) for those in shared.values())


def _block(explanations: Sequence[Explanation], number: int) -> Iterator[str]:
    fixes = explanations[0].fixes
    fix = fixes[number - 1]
    for explanation in explanations[:_SHOWN]:
        fix_of_subject = explanation.fixes[number - 1]
        effects = f" ({fix_of_subject.effects})" if fix_of_subject.effects else ""
        yield _comment(f"{explanation.subject.title}: {fix_of_subject.title}{effects}")
    if len(explanations) > _SHOWN:
        yield f"# and {len(explanations) - _SHOWN} more\n"
    yield f"# fits then on {', '.join(fix.nodes[:_SHOWN])}\n"
    if fix.steps:
        yield _script(fix)
    else:
        yield from _by_hand(fix)
        other = next((n for n, later in enumerate(fixes, 1) if later.steps and n > number), None)
        if other is not None:
            yield _comment(f"--patch {other} prints: {fixes[other - 1].title}")


def _script(fix: Fix) -> str:
    """Return the steps joined by ``&&``; the input of a step follows its line."""
    lines = []
    for number, step in enumerate(fix.steps, 1):
        onward = " &&" if number < len(fix.steps) else ""
        document = f" <<'EOF'{onward}\n{step.stdin}EOF\n" if step.stdin else f"{onward}\n"
        lines.append(step.command + document)
    return "".join(lines)


def _comment(text: str) -> str:
    """Return a text as a one-line comment, even if it has several lines, as selectors in a dump
    can.
    """
    return f"# {' '.join(text.split())}\n"


def _by_hand(fix: Fix) -> Iterator[str]:
    """Yield the comments for a fix that no command applies."""
    if not fix.changes:
        yield "# nothing to apply\n"
        return
    if fix.by_hand is not None and fix.by_hand.partition(" ")[0].endswith(_RECREATED):
        yield (
            f"# change the manifest of {fix.by_hand} and recreate it: the objects that it created"
            " cannot be changed\n"
        )
    elif fix.by_hand is not None:
        yield f"# change it in {fix.by_hand}, which would undo this:\n"
    again = next(
        (text for tool, text in _IN_GIT.items() if (fix.by_hand or "").startswith(tool)), None
    )
    if again is not None:
        yield from _for_git(fix, again)
        return
    for change in fix.changes:
        if isinstance(change, Patch):
            yield from (
                f"#   {json.dumps(dict(o), ensure_ascii=False)}\n" for o in change.operations
            )


def _for_git(fix: Fix, again: str) -> Iterator[str]:
    """Yield the patches as a kustomization has them; a Flux HelmRelease takes the same in
    spec.postRenderers. ``again`` is the annotation for objects whose specs cannot be changed.
    """
    yield "# in a kustomization.yaml there:\n# patches:\n"
    for change in fix.changes:
        if isinstance(change, Patch):
            kind, (namespace, name) = parse_target(change.target)
            target = {"kind": kind, **({"namespace": namespace} if namespace else {}), "name": name}
            yield f"# - target: {json.dumps(target)}\n#   patch: |-\n"
            yield from (
                f"#     - {json.dumps(dict(o), ensure_ascii=False)}\n" for o in change.operations
            )
            if kind in _FIXED:
                yield (
                    f"# {kind} {name} cannot be changed in place; for that it needs the"
                    f" annotation\n#   {again}\n"
                )
