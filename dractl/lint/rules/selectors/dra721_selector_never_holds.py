"""A selector matches no device, whatever a driver publishes.

## What it does

Reports a selector that no device can satisfy, alone or together with the other selectors of the
request and the class:

- it is false, or an error, without reading the device;
- its logic alone makes it false (`x && !x`, `x && false`);
- it names another driver than the class, or a type of device that the class excludes;
- it has a condition that no possible value of an attribute satisfies.

DRA606 reports selectors that require different values of one attribute.

## Why is this bad

A device must satisfy all selectors of class and request, so the request is never satisfied. A
selector that is always true (`x || true`, `x != "a" || x != "b"`), or true for every device of its
class, selects nothing and is reported as info.

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
-        deviceClassName: gpu.nvidia.com
-        selectors:
-        - cel:
-            expression: 'device.attributes["gpu.nvidia.com"].type == "mig"'
+        deviceClassName: mig.nvidia.com
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`
"""

from dractl.cel import EvalError, Program
from dractl.cel.conditions import Excerpt
from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import KnownDriver, Selectors, classes, memories, selections, types_left
from dractl.model import Device
from dractl.objects import Expression

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for selection in selections(run):
        advices = [
            advice
            for expression, program in selection.selectors
            if program.admission == "ok"
            for advice in _judge_selector(run, selection, expression, program)
        ]
        yield from advices
        if all(advice.severity == "info" for advice in advices):
            advices = list(_judge_together(run, selection))
            yield from advices or _judge_nominal_size(selection)


def _judge_selector(
    run: Run, selection: Selectors, expression: Expression, program: Program
) -> Found:
    if program.reads == frozenset():
        yield from _judge_constant(selection, expression, program)
        return
    advice = _judge_logic(selection, expression, program)
    if advice is not None:
        yield advice
        return
    request = selection.request
    if request is not None:
        if _follows_from_class(run, selection, program):
            message = f"the selector is true for every device of class {request.device_class}"
            yield selection.advice(expression, message, "remove it", severity="info")
            return
        if run.device_class(request.device_class) is None:
            yield from _compare_with_class(selection, expression, program)
    yield from _judge_values(selection, expression, program)


def _judge_nominal_size(selection: Selectors) -> Found:
    """Yield advice on a capacity by which a product is sold, but which the product does not quite
    have: 80Gi for an "80GB" card.
    """
    known_driver = selection.devices.driver if selection.devices else None
    if known_driver is None:
        return
    name, memory = f"{known_driver.name}/productName", f"{known_driver.name}/memory"
    named = {
        str(literal.value)
        for _, program in selection.selectors
        for comparison in program.comparisons
        if comparison.required
        and comparison.operator == "=="
        and comparison.lookup
        and comparison.lookup.full_name == name
        for literal in comparison.literals
    }
    sizes = {product: memories(known_driver.name).get(product) for product in named}
    for product, size in sizes.items():
        if size is None or len(sizes) > 1:
            return
        for expression, program in selection.selectors:
            for part, condition in zip(program.conjuncts, program.conjunct_programs, strict=True):
                inside = [
                    item
                    for item in program.lookups
                    if part.start <= item.start and item.end <= part.end
                ]
                if {item.full_name for item in inside} != {memory} or not condition.ok:
                    continue
                device = Device({"name": "device", "capacity": {memory: {"value": f"{size}Mi"}}})
                if condition.evaluate(known_driver.name, device) is False:
                    yield _advise_never(
                        selection,
                        expression,
                        part,
                        f"{product} has {size}Mi, which is {size / 1024:.1f}Gi",
                    )


def _follows_from_class(run: Run, selection: Selectors, program: Program) -> bool:
    """Return True if every device of the class satisfies the selector of a request."""
    of_class = run.device_class(selection.request.device_class) if selection.request else None
    before = [run.program(item) for item in of_class.selectors] if of_class else []
    if not before and selection.devices is not None and of_class is None:
        before = list(selection.devices.classes)
    return (
        bool(before)
        and all(program_before.ok for program_before in before)
        and program.follows_from(before)
    )


def _judge_together(run: Run, selection: Selectors) -> Found:
    """Yield advice on the first selector that no device satisfies together with the earlier
    selectors, including those of the class.
    """
    if not all(program.ok for _, program in selection.selectors):
        return
    request = selection.request
    of_class = run.device_class(request.device_class) if request else None
    before = [run.program(item) for item in of_class.selectors] if of_class else []
    if not any(
        "!" in program.text
        for program in (*before, *(program for _, program in selection.selectors))
    ):
        return  # DRA606, or the finding on the class, reports contradictions without a negation
    if request and selection.devices and not before:
        before = list(selection.devices.classes)
    if not all(program.ok for program in before) or (before and before[-1].excludes(before[:-1])):
        return
    of_the_class = len(before)
    for expression, program in selection.selectors:
        if program.excludes(before):
            if not _compare_twice(*before, program):
                others = "the other selectors"
                if request and of_the_class == len(before):
                    others = f"the selectors of class {request.device_class}"
                yield selection.advice(
                    expression, f"no device satisfies this together with {others}"
                )
            return
        before.append(program)


def _judge_constant(selection: Selectors, expression: Expression, program: Program) -> Found:
    """Yield advice on a selector that reads nothing of the device; DRA210 reports a class that
    takes all devices.
    """
    result = program.evaluate("driver", Device({"name": "device"}))
    if result is True:
        if selection.request is not None:
            yield selection.advice(
                expression, "the selector is true for every device", "remove it", severity="info"
            )
        return
    effect = (
        f"fails on every device: {result.text}"
        if isinstance(result, EvalError)
        else "is false for every device"
    )
    yield selection.advice(expression, f"the selector {effect}")


def _judge_logic(selection: Selectors, expression: Expression, program: Program) -> Advice | None:
    """Return advice on a selector that is always true, or never true, by its logic alone.

    DRA606 reports comparisons that contradict each other.
    """
    if True not in program.outcomes:
        if _compare_twice(program):
            return None
        return selection.advice(
            expression, "no device satisfies this: it is never true, whatever a device has"
        )
    if False in program.outcomes:
        return None
    message = "the selector is true for every device"
    if None in program.outcomes:
        message = "the selector excludes no device: it is true wherever it does not fail"
    return selection.advice(expression, message, "remove it, or correct it", severity="info")


def _compare_twice(*programs: Program) -> bool:
    demands = [
        comparison.lookup.full_name if comparison.lookup else ""
        for program in programs
        for comparison in program.comparisons
        if comparison.required and comparison.operator in ("==", "in")
    ]
    return len(set(demands)) < len(demands)


def _compare_with_class(selection: Selectors, expression: Expression, program: Program) -> Found:
    wanted, request = selection.devices, selection.request
    if wanted is None or request is None or request.device_class not in classes():
        return
    for comparison in program.comparisons:
        if not comparison.required or comparison.operator not in ("==", "in"):
            continue
        values = {str(literal.value) for literal in comparison.literals}
        if comparison.lookup is None and wanted.driver.name not in values:
            reason = (
                f"the devices of class {request.device_class} belong to driver {wanted.driver.name}"
            )
        elif (
            comparison.lookup
            and comparison.lookup.full_name == f"{wanted.driver.name}/type"
            and wanted.types
        ):
            if values & set(wanted.types) or not types_left(wanted.driver, [program]):
                continue
            reason = (
                f"class {request.device_class} has devices of type {', '.join(wanted.types)} only"
            )
        else:
            continue
        help_ = _suggest_class(wanted.driver, values) or (
            wanted.driver.explain_absence() if comparison.lookup else None
        )
        message = f"no device satisfies this: {reason}"
        yield selection.advice(
            expression, message, help_, span=comparison.span, confidence="likely"
        )


def _suggest_class(driver: KnownDriver, values: set[str]) -> str | None:
    fitting = [
        name
        for name, device_class in classes().items()
        if device_class.driver == driver.name and set(device_class.types) & values
    ]
    return f"{driver.name} installs a class for them: {', '.join(fitting)}" if fitting else None


def _judge_values(selection: Selectors, expression: Expression, program: Program) -> Found:
    """Yield advice on conditions on one attribute whose values are all known, except the
    comparisons of DRA719.
    """
    known_driver = selection.devices.driver if selection.devices else None
    if known_driver is None:
        return
    for part, condition in zip(program.conjuncts, program.conjunct_programs, strict=True):
        inside = [
            lookup
            for lookup in program.lookups
            if part.start <= lookup.start and lookup.end <= part.end
        ]
        names = {lookup.full_name for lookup in inside if lookup.kind == "attributes"}
        row = known_driver.attributes.get(names.pop()) if len(names) == 1 else None
        if row is None or not row.values or row.type != "string":
            continue
        fields = {field.kind for field in condition.reads or ()}
        if condition.comparisons or not condition.ok:
            continue
        if fields <= {"attributes", "driver"} and not _holds(
            condition, known_driver, row.name, row.values
        ):
            why = f"{row.name} is one of {', '.join(map(str, row.values))}"
            yield _advise_never(selection, expression, part, why, known_driver.explain_absence())


def _holds(
    condition: Program, known_driver: KnownDriver, name: str, values: tuple[str | int | bool, ...]
) -> bool:
    devices = (
        Device({"name": "device", "attributes": {name: {"string": str(value)}}}) for value in values
    )
    return any(condition.evaluate(known_driver.name, device) is True for device in devices)


def _advise_never(
    selection: Selectors,
    expression: Expression,
    part: Excerpt,
    reason: str,
    help_: str | None = None,
) -> Advice:
    message = f"no device satisfies this: {reason}"
    return selection.advice(expression, message, help_, span=part.span, confidence="likely")
