"""A standard attribute has a value of the wrong form.

## What it does

Checks `resource.kubernetes.io/pcieRoot` (`pci0000:17`, the name of the first folder below
`/sys/devices`), `pciBusID` (`0000:3b:00.0`) and `numaNode` (an integer), and lists of such values.

## Why is this bad

Constraints compare these attributes across drivers. A value of another form or type never equals
those of the other drivers, so devices that belong together are not allocated together.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
     attributes:
-      resource.kubernetes.io/pcieRoot: {string: "0000:17:00.0"}
+      resource.kubernetes.io/pcieRoot: {string: "pci0000:17"}
```

## Source

k8s.io/dynamic-resource-allocation/deviceattribute pci_linux.go and attribute.go
"""

import re

from msgspec import Struct

from dractl.lint.model import Advice, Found, Run
from dractl.lint.standard import STANDARD_DOMAIN
from dractl.objects import mapping

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


class Form(Struct, frozen=True):
    """The form of a standard attribute: the fields of a value that may hold it, the valid texts,
    and an example.
    """

    members: tuple[str, str]
    pattern: str
    example: str


# Behind Intel VMD, PCI domains have more than four digits.
FORMS = {
    "pcieRoot": Form(("string", "strings"), r"pci[0-9a-f]{4,}:[0-9a-f]{2}", "pci0000:17"),
    "pciBusID": Form(
        ("string", "strings"), r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", "0000:3b:00.0"
    ),
    "numaNode": Form(("int", "ints"), r"-?[0-9]+", "0"),
}


def check(run: Run) -> Found:
    for subject in run.of("ResourceSlice"):
        for device in subject.devices:
            attributes = mapping(device.fields.get("attributes"))
            for name, form in FORMS.items():
                key = f"{STANDARD_DOMAIN}/{name}"
                for member, value in mapping(attributes.get(key)).items():
                    wrong = _wrong(form, member, value)
                    if wrong:
                        yield Advice(
                            subject,
                            (*device.path, "attributes", key, member),
                            f"{name} is {wrong}",
                            help=(
                                f"publish {form.members[0]}: {form.example}, or remove the "
                                "attribute"
                            ),
                            confidence="likely",
                        )


def _wrong(form: Form, member: str, value: object) -> str | None:
    if member not in form.members:
        return f"of type {member}; other drivers publish it as {form.members[0]}"
    for item in value if isinstance(value, list) else [value]:
        if not re.fullmatch(form.pattern, str(item)):
            return f'"{item}"; other drivers publish it in the form {form.example}'
    return None
