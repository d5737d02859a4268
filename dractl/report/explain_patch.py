"""The smallest fix as YAML, with the kubectl commands that apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.explain.answer import Create, Delete, Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.explain.answer import Change, Explanation, Subject


def render(explanations: Sequence[Explanation]) -> str:
    """A YAML stream: for each change a JSON patch or an object, and comments that say what to do with it."""
    return "---\n".join(_change(e, change) for e in explanations for change in e.fixes[0].changes or (None,))


def _change(explanation: Explanation, change: Change | None) -> str:
    fix = explanation.fixes[0]
    effect = f" ({fix.effect})" if fix.effect else ""
    head = f"# {explanation.subject.title}: {fix.title}{effect}\n# fits then on {', '.join(fix.nodes[:5])}\n"
    match change:
        case Patch(target, operations):
            steps = "\n".join(f"#   {step}" for step in commands(target, "THIS_FILE", explanation.subject))
            return f"{head}{steps}\n{_yaml([dict(o) for o in operations])}"
        case Create(value):
            return f"{head}#   kubectl create -f THIS_FILE\n{_yaml(dict(value))}"
        case Delete(target):
            return f"{head}#   kubectl delete {_words(target)}\n"
        case _:
            return head


def commands(target: str, file: str, subject: Subject) -> list[str]:
    """How a patch in ``file`` is applied. The specs of claims, templates and pods cannot be changed in place: they are
    made anew, and so is a pod whose template changes."""
    kind = target.partition("/")[0]
    patch = f"--type=json --patch-file={file}"
    if kind not in ("ResourceClaim", "ResourceClaimTemplate", "Pod"):
        return [f"kubectl patch {_words(target)} {patch}"]
    steps = [_again(target, f" | kubectl patch --local -f - {patch} -o yaml")]
    if kind == "ResourceClaimTemplate" and subject.kind == "Pod":
        steps.append(_again(f"Pod/{subject.namespace}/{subject.name}", ""))
    return steps


def _again(target: str, change: str) -> str:
    return f"kubectl get {_words(target)} -o yaml{change} | kubectl replace --force -f -"


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
