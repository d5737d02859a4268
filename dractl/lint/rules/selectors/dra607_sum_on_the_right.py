"""A quantity is compared with a sum on the right of `==` or `in`.

## What it does

Finds `add(...)` and `sub(...)` as the right operand of `==`, and in the list of an `in`.

## Why is this bad

`add` and `sub` return a Go type that differs from the type of a device's quantity. On the right of
`==`, this causes the error "no such overload", which stops the scheduling of the pod on all nodes;
in the list of an `in`, it never compares equal. The API server accepts both.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: >-
              device.capacity["gpu.example.com"].size == quantity("4Gi").add(quantity("8Gi"))
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: >-
              device.capacity["gpu.example.com"].size.compareTo(
              quantity("4Gi").add(quantity("8Gi"))) == 0
```

## Source

k8s.io/apiserver/pkg/cel/library/quantity.go: quantityAdd and quantitySub return a pointer, which
Equal of pkg/cel/quantity.go does not take
"""

from dractl.cel.ast import Call, ListLiteral, Node
from dractl.cel.spans import Spans
from dractl.lint.model import Advice, Found, Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True

_MESSAGES = {
    "_==_": "== with a sum of quantities on the right is an error on every device",
    "@in": "in is never true of a sum of quantities",
}


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        if "add" not in expression.text and "sub" not in expression.text:
            continue
        checked = run.program(expression).checked
        if checked is None:
            continue  # the API server reports the reason
        for node in checked.walk():
            if (
                isinstance(node, Call)
                and node.function in _MESSAGES
                and any(map(_is_sum, _right(node)))
            ):
                yield Advice(
                    subject,
                    expression.path,
                    _MESSAGES[node.function],
                    help="compare with compareTo(...) == 0, or put the sum on the left",
                    severity="error" if node.function == "_==_" else "warning",
                    span=Spans(checked).span(node),
                )


def _right(comparison: Call) -> tuple[Node, ...]:
    """Return the right side of the comparison; for a list, its elements."""
    right = comparison.args[1]
    return (
        tuple(right.elements)
        if comparison.function == "@in" and isinstance(right, ListLiteral)
        else (right,)
    )


def _is_sum(node: Node) -> bool:
    return (
        isinstance(node, Call)
        and node.function in ("add", "sub")
        and node.type == "kubernetes.Quantity"
    )
