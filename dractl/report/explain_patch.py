"""The smallest fix as YAML, with the kubectl commands that apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.explain.answer import Create, Delete, Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.explain.answer import Change, Explanation


def render(explanations: Sequence[Explanation]) -> str:
    """A YAML stream: for each change a JSON patch or an object, and comments that say what to do with it."""
    return "---\n".join(_change(e, change) for e in explanations for change in e.fixes[0].changes or (None,))


def _change(explanation: Explanation, change: Change | None) -> str:
    fix = explanation.fixes[0]
    effect = f" ({fix.effect})" if fix.effect else ""
    head = f"# {explanation.subject.title}: {fix.title}{effect}\n# fits then on {', '.join(fix.nodes[:5])}\n"
    match change:
        case Patch(target, operations):
            command = f"kubectl patch {_words(target)} --type=json --patch-file=THIS_FILE"
            return f"{head}# {command}\n{_yaml([dict(o) for o in operations])}"
        case Create(value):
            return f"{head}# kubectl create -f THIS_FILE\n{_yaml(dict(value))}"
        case Delete(target):
            return f"{head}# kubectl delete {_words(target)}\n"
        case _:
            return head


def _words(target: str) -> str:
    """``Kind/namespace/name`` as kubectl's arguments."""
    kind, *rest = target.split("/")
    if len(rest) == 2:
        return f"{kind.lower()} {rest[1]} -n {rest[0]}"
    return f"{kind.lower()} {rest[0]}"


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
    return text
