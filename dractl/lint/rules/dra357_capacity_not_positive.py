"""A device has no or a negative amount of a capacity.

## What it does

Looks at the values of capacities and shared counters.

## Why is this bad

The API server does not check them. Nothing can be taken from such a capacity.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    capacity:
      memory: {value: "0"}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    capacity:
      memory: {value: 80Gi}
```

## Source

api.md section 3.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice
from dractl.lint.run import mapping
from dractl.model import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.run import Run

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Iterator[Advice]:
    for subject in run.of("ResourceSlice"):
        for device in subject.devices:
            for name, capacity in mapping(device.fields.get("capacity")).items():
                value = capacity.get("value") if isinstance(capacity, dict) else capacity
                if _sign(value) <= 0:
                    path = (*device.path, "capacity", name, *(["value"] if isinstance(capacity, dict) else []))
                    yield Advice(
                        subject,
                        path,
                        f"{device.name} has {value if value is not None else 0} of {name}",
                        help="leave the capacity out, or say how much there is",
                        confidence="likely",
                    )


def _sign(value: object) -> int:
    try:
        return Quantity.parse(value).sign() if isinstance(value, str | int | float) else 0 if value is None else 1
    except ValueError:
        return 1  # the decoder says what is wrong
