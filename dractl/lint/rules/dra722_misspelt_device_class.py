"""An undefined device class has almost the same name as one that a driver installs.

## What it does

Looks up the classes that requests name in the files, and among those that known drivers install.
Reports names that nearly match one of the latter, and classes that drivers no longer have:
`imex.nvidia.com` was removed when ComputeDomains were introduced. If `--devices` has classes,
DRA755 compares the names with these instead.

## Why is this bad

Nobody checks that a class exists when a claim is created. The pod stays pending until somebody
creates it.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
-        deviceClassName: gpu.nvida.com
+        deviceClassName: gpu.nvidia.com
```

## Source

The classes of the drivers in dractl/drivers; kubernetes-sigs/dra-driver-nvidia-gpu f3afd1a4
(2025-02-06) removed `imex.nvidia.com`
"""

from collections.abc import Iterator
from functools import lru_cache

from dractl.lint.implicit import implicit_advice, misspelt_implicit
from dractl.lint.model import Advice, Found, Manifest, Replacement, Run
from dractl.lint.published import classes
from dractl.lint.relevance import PER_CLASS, class_mappings
from dractl.model.nearest import nearest_names
from dractl.objects import mapping
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "ResourceQuota", "Pod template", "")
ALONE = True
UNLESS = ("DRA423",)

_REMOVED_CLASSES = {
    "imex.nvidia.com": "a ComputeDomain makes the template of the claim for its channels (class "
    "compute-domain-default-channel.nvidia.com)"
}
_MIN_LENGTH = 8
"""The minimum length of a name that is compared, since too many names resemble a shorter one."""


def check(run: Run) -> Found:
    if run.devices is not None and run.devices.classes:
        return
    for subject, path, name, suffix in _class_references(run):
        if not name or name in classes() or run.device_class(name):
            continue
        fix, key = None, bool(suffix)
        if name in _REMOVED_CLASSES:
            message, help_ = f"today's driver has no class {name}", _REMOVED_CLASSES[name]
        elif meant := _guess_class(name):
            message = f"unknown device class {name}; did you mean {meant}?"
            help_ = f"no DeviceClass {name} is in the files; its driver installs {meant}"
            fix = Replacement(path, f"{meant}{suffix}", key=key)
        else:
            continue
        yield Advice(subject, path, message, help=help_, key=key, confidence="likely", fix=fix)
    for subject, paths, name in misspelt_implicit(run):
        if meant := _guess_class(name):
            yield implicit_advice(subject, paths, name, meant)


def _class_references(run: Run) -> Iterator[tuple[Manifest, Path, str, str]]:
    """Yield the names of classes in claims, in Kueue's configuration and in quotas: subject, path,
    name and suffix.

    The keys of quotas begin with the name of a class, and the suffix is the remainder of the key.
    """
    for claim, request in run.requests:
        yield claim.subject, (*request.path, "deviceClassName"), request.device_class, ""
    for subject in run.of(""):
        for path, name in class_mappings(subject.value):
            yield subject, path, name, ""
    for subject in run.of("ResourceQuota"):
        for key in mapping(subject.spec.get("hard")):
            if isinstance(key, str) and key.endswith(PER_CLASS):
                yield subject, ("spec", "hard", key), key.removesuffix(PER_CLASS), PER_CLASS


@lru_cache(1024)
def _guess_class(name: str) -> str | None:
    """Return the installed class that a name misspells, or whose first part (``gpu.``) the name
    lacks; None if there is none.
    """
    if f"gpu.{name}" in classes():
        return f"gpu.{name}"
    near = [
        candidate
        for candidate in nearest_names(name, classes(), 0.9, 2)
        if _digits(candidate) == _digits(name)
    ]
    return near[0] if len(name) >= _MIN_LENGTH and near else None


def _digits(name: str) -> str:
    """Return the digits of a name, since people choose digits and do not misspell them."""
    return "".join(character for character in name if character.isdigit())
