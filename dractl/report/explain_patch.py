"""The smallest fix as YAML, with the kubectl commands that apply it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Create, Delete, Patch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.cluster.changes import Change
    from dractl.explain.answer import Explanation, Subject

# Objects whose spec cannot be changed in place, and those whose pod template brings new pods when it changes.
_MADE_ANEW = ("ResourceClaim", "ResourceClaimTemplate", "Pod")
_TEMPLATE = "ResourceClaimTemplate/"
_ROLLS_OUT = ("Deployment",)


def render(explanations: Sequence[Explanation]) -> str:
    """A YAML stream: for each change a JSON patch or an object, and comments that say what to do with it."""
    return "---\n".join(_change(e, change) for e in explanations for change in e.fixes[0].changes or (None,))


def _change(explanation: Explanation, change: Change | None) -> str:
    fix = explanation.fixes[0]
    effect = f" ({fix.effect})" if fix.effect else ""
    head = f"# {explanation.subject.title}: {fix.title}{effect}\n# fits then on {', '.join(fix.nodes[:5])}\n"
    match change:
        case Patch(target, operations):
            steps = "".join(f"#   {step}\n" for step in _steps(change, "THIS_FILE", explanation.subject))
            stay = "# claims that the template has made already stay as they are\n" * target.startswith(_TEMPLATE)
            return f"{head}{stay}{steps}{_yaml([dict(o) for o in operations])}"
        case Create(value):
            return f"{head}#   kubectl create -f THIS_FILE\n{_yaml(dict(value))}"
        case Delete(target):
            return f"{head}#   kubectl delete {_words(target)}\n"
        case _:
            return f"{head}# there is nothing to apply\n"


def _steps(change: Patch, file: str, subject: Subject) -> Iterator[str]:
    """How a patch in ``file`` is applied. The specs of claims, templates and pods cannot be changed in place: they are
    made anew, and so is a pod whose template changes; who controls the pod does that when it is gone."""
    target = change.target
    kind = target.partition("/")[0]
    pod = f"Pod/{subject.namespace}/{subject.name}"
    patch = f"--type=json --patch-file={file}"
    remade = subject.controller is not None
    if (kind == "Job" and target == subject.controller) or (target == pod and remade):
        maker = (subject.controller or target).replace("/", " ", 1)
        yield f"change it where {maker} is written, and create that again: what it makes cannot be changed"
        return
    if kind not in _MADE_ANEW or all(str(o["path"]).startswith("/metadata/") for o in change.operations):
        yield f"kubectl patch {_words(target)} {patch}"
    else:
        yield _again(target, f" | kubectl patch --local -f - {patch} -o yaml")
    if target == subject.controller and kind in _ROLLS_OUT:
        return
    if remade and (target == subject.controller or kind == "ResourceClaimTemplate"):
        yield f"kubectl delete {_words(pod)}"
    elif kind == "ResourceClaimTemplate" and subject.kind == "Pod":
        yield _again(pod, "")


def _again(target: str, change: str) -> str:
    return f"kubectl get {_words(target)} -o yaml{change} | kubectl replace --force -f -"


def _words(target: str) -> str:
    """``Kind/namespace/name`` as kubectl's arguments."""
    kind, *rest = target.split("/")
    if len(rest) == 2:
        return f"{kind.lower()} {rest[1]} -n {rest[0]}"
    return f"{kind.lower()} {rest[0]}"


def _yaml(value: Any) -> str:
    import json

    import yaml

    # Through JSON no two parts of the value are the same object, which YAML would write as an anchor and an alias.
    text: str = yaml.safe_dump(json.loads(json.dumps(value)), sort_keys=False, allow_unicode=True, width=120)
    return text
