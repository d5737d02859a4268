"""A selector that Kueue cannot compile.

## What it does

With `--for kueue`: finds selectors of templates that read `device.allowMultipleAllocations` or call
`includes`.

## Why is this bad

Kueue compiles the selectors of the templates that it counts, without these parts of the language,
and refuses the workload ("CEL compilation failed"): its jobs stay suspended.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: nic}
 spec:
   spec:
     devices:
       requests:
       - name: nic
         exactly:
-          deviceClassName: nic.example.com
-          selectors:
-          - cel:
-              expression: device.allowMultipleAllocations == true
+          deviceClassName: shared-nic.example.com
```

## Source

kubernetes-sigs/kueue pkg/dra/claims.go: celCache has no features, validateCELSelectors (ff69552);
k8s.io/dynamic-resource-allocation v0.36.3 cel/compile.go newCompiler
"""

from dractl.cel.tokens import tokenize
from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaimTemplate",)
FIELDS = ("selectors",)
FOR = ("kueue",)


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        if subject.kind != "ResourceClaimTemplate":
            continue
        tokens = tokenize(expression.text)
        for before, name, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
            called = after is not None and after.text == "("
            if before.text == "." and (
                name.text == "allowMultipleAllocations" or (name.text == "includes" and called)
            ):
                yield Advice(
                    subject,
                    expression.path,
                    f"Kueue does not know {name.text} in selectors: it refuses workloads that "
                    "use this template",
                    help="select by a class instead",
                    span=name.span,
                )
