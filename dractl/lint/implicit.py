"""Classes that containers request by their implicit extended resource,
``deviceclass.resource.kubernetes.io/CLASS``.
"""

from collections.abc import Iterator, Sequence

from dractl.lint.model import Advice, Manifest, Replacement, Run
from dractl.lint.published import classes
from dractl.objects import IMPLICIT_PREFIX
from dractl.validation.violation import Path


def misspelt_implicit(run: Run) -> Iterator[tuple[Manifest, Sequence[Path], str]]:
    """Yield the classes that exist neither in the input nor in a known driver, each with the keys
    of one container that name it.
    """
    for pod in run.pods:
        for paths, name in pod.implicit_classes:
            if name and name not in classes() and run.device_class(name) is None:
                yield pod.subject, paths, name


def implicit_advice(subject: Manifest, paths: Sequence[Path], name: str, near: str) -> Advice:
    """Return the advice to write another class, with a fix if the name occurs only once."""
    path = paths[0]
    return Advice(
        subject,
        path,
        f"unknown DeviceClass {name} in {IMPLICIT_PREFIX}{name}; did you mean {near}?",
        help=f"no node has the resource of a class that does not exist; there is {near}",
        key=True,
        confidence="likely",
        severity="warning",
        fix=Replacement(path, f"{IMPLICIT_PREFIX}{near}", key=True) if len(paths) == 1 else None,
    )
