"""A patch of kustomize replaces a list, and drops what it does not repeat.

## What it does

Compares strategic merge patches of claims, templates and classes with the object that they change:
`requests`, `constraints` and `config` of claims, `selectors` and `config` of classes. Reports the
entries and fields of such a list that the patch does not repeat. A patch with `$patch: replace`
does so on purpose, and is not reported.

## Why is this bad

kustomize knows no merge keys of these lists, so the list in the patch takes the place of the whole
list. A patch that only raises a count drops the selectors of the request: the pod gets any device
of the class.

## Source

kubernetes-sigs/kustomize kyaml/openapi (no merge keys for resource.k8s.io);
k8s.io/api/resource/v1/types.go (the lists are atomic); `kubectl kustomize` of 1.37
"""

from msgspec.json import encode

from dractl.lint.model import Advice, Found, Run
from dractl.lint.patched import find_losses
from dractl.model.abbreviation import abbreviate

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
_MAX_NAMED = 4


def check(run: Run) -> Found:
    for subject in run.subjects:
        for base in run.bases:
            for loss in find_losses(base.value, subject.value):
                lost = abbreviate(loss.lost, _MAX_NAMED)
                yield Advice(
                    subject,
                    loss.path,
                    f"the patch replaces the whole list {loss.path[-1]}: {lost} of "
                    f"{base.document.file} is lost",
                    help=_patch(subject.kind, base.name, encode(loss.operations).decode())
                    if loss.operations
                    else "leave the list out: the patch changes nothing in it",
                    key=True,
                    confidence="likely",
                    related=(("what it replaces", base, loss.path),),
                )


def _patch(kind: str, name: str, operations: str) -> str:
    """Return an entry of ``patches`` that makes only the changes of the patch."""
    quoted = operations.replace("'", "''")
    return (
        "change the fields alone, in patches of the kustomization: "
        f"{{target: {{kind: {kind}, name: {name}}}, patch: '{quoted}'}}"
    )
