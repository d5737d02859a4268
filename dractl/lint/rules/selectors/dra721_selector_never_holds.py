"""A selector matches no device, whatever a driver publishes.

## What it does

Reports selectors that are false or an error without reading the device, or by their logic alone (`x && !x`,
`x && false`), by themselves or together with the class and the other selectors; conditions that name a different driver
than the class, types of devices that the class excludes, and conditions that no possible value of an attribute
satisfies. Selectors that require different values are DRA606.

## Why is this bad

A device must satisfy all selectors of class and request, so the request is never satisfied. A selector that is always
true (`x || true`, `x != "a" || x != "b"`), or true for every device that its class takes, selects nothing and is
reported as info.

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

from dractl.cel import EvalError, Program, reading
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
        found = [
            advice
            for expression, program in selection.selectors
            if program.admission == "ok"
            for advice in _alone(run, selection, expression, program)
        ]
        yield from found
        if all(advice.severity == "info" for advice in found):
            found = list(_together(run, selection))
            yield from found or _nominal(selection)


def _alone(run: Run, selection: Selectors, expression: Expression, program: Program) -> Found:
    if program.reads == frozenset():
        yield from _constant(selection, expression, program)
        return
    advice = _by_logic(selection, expression, program)
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
            yield from _against_class(selection, expression, program)
    yield from _values(selection, expression, program)


def _nominal(selection: Selectors) -> Found:
    """A capacity that the named product is sold with, and does not quite have: 80Gi of an "80GB" card."""
    known = selection.devices.driver if selection.devices else None
    if known is None:
        return
    name, memory = f"{known.name}/productName", f"{known.name}/memory"
    named = {
        str(literal.value)
        for _, program in selection.selectors
        for found in program.comparisons
        if found.required
        and found.operator == "=="
        and found.lookup
        and found.lookup.full_name == name
        for literal in found.literals
    }
    sizes = {product: memories(known.name).get(product) for product in named}
    for product, size in sizes.items():
        if size is None or len(sizes) > 1:
            return
        for expression, program in selection.selectors:
            for part in program.conjuncts:
                inside = [
                    item
                    for item in program.lookups
                    if part.start <= item.start and item.end <= part.end
                ]
                condition = reading(part.text)
                if {item.full_name for item in inside} != {memory} or not condition.ok:
                    continue
                device = Device({"name": "device", "capacity": {memory: {"value": f"{size}Mi"}}})
                if condition.evaluate(known.name, device) is False:
                    yield _never(
                        selection,
                        expression,
                        part,
                        f"{product} has {size}Mi, which is {size / 1024:.1f}Gi",
                    )


def _follows_from_class(run: Run, selection: Selectors, program: Program) -> bool:
    """True if no device that the class takes fails a selector of a request."""
    of_class = run.device_class(selection.request.device_class) if selection.request else None
    before = [run.program(item) for item in of_class.selectors] if of_class else []
    if not before and selection.devices is not None and of_class is None:
        before = list(selection.devices.classes)
    return bool(before) and all(one.ok for one in before) and program.follows_from(before)


def _together(run: Run, selection: Selectors) -> Found:
    """The first selector that no device satisfies together with those before it, the class's among them."""
    if not all(program.ok for _, program in selection.selectors):
        return
    request = selection.request
    of_class = run.device_class(request.device_class) if request else None
    before = [run.program(item) for item in of_class.selectors] if of_class else []
    if not any(
        "!" in program.text
        for program in (*before, *(program for _, program in selection.selectors))
    ):
        return  # without a negation it is DRA606, or was said of the class
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


def _constant(selection: Selectors, expression: Expression, program: Program) -> Found:
    """One that reads nothing of the device; a class that takes all devices is DRA210."""
    result = program.evaluate("driver", Device({"name": "device"}))
    if result is True:
        if selection.request is not None:
            yield selection.advice(
                expression, "the selector is true for every device", "remove it", severity="info"
            )
        return
    why = (
        f"fails on every device: {result.text}"
        if isinstance(result, EvalError)
        else "is false for every device"
    )
    yield selection.advice(expression, f"the selector {why}")


def _by_logic(selection: Selectors, expression: Expression, program: Program) -> Advice | None:
    """One that its logic alone makes true, or never true; comparisons that contradict each other are DRA606."""
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
        found.lookup.full_name if found.lookup else ""
        for program in programs
        for found in program.comparisons
        if found.required and found.operator in ("==", "in")
    ]
    return len(set(demands)) < len(demands)


def _against_class(selection: Selectors, expression: Expression, program: Program) -> Found:
    wanted, request = selection.devices, selection.request
    if wanted is None or request is None or request.device_class not in classes():
        return
    for found in program.comparisons:
        if not found.required or found.operator not in ("==", "in"):
            continue
        values = {str(literal.value) for literal in found.literals}
        if found.lookup is None and wanted.driver.name not in values:
            said = (
                f"the devices of class {request.device_class} belong to driver {wanted.driver.name}"
            )
        elif (
            found.lookup and found.lookup.full_name == f"{wanted.driver.name}/type" and wanted.types
        ):
            if values & set(wanted.types) or not types_left(wanted.driver, [program]):
                continue
            said = (
                f"class {request.device_class} has devices of type {', '.join(wanted.types)} only"
            )
        else:
            continue
        help_ = _other_class(wanted.driver, values) or (
            wanted.driver.explain_absence() if found.lookup else None
        )
        message = f"no device satisfies this: {said}"
        yield selection.advice(expression, message, help_, span=found.span, confidence="likely")


def _other_class(driver: KnownDriver, values: set[str]) -> str | None:
    fitting = [
        name
        for name, one in classes().items()
        if one.driver == driver.name and set(one.types) & values
    ]
    return f"{driver.name} installs a class for them: {', '.join(fitting)}" if fitting else None


def _values(selection: Selectors, expression: Expression, program: Program) -> Found:
    """Conditions on one attribute, all of whose values are known, other than the comparisons of DRA719."""
    known = selection.devices.driver if selection.devices else None
    if known is None:
        return
    for part in program.conjuncts:
        inside = [
            found
            for found in program.lookups
            if part.start <= found.start and found.end <= part.end
        ]
        names = {found.full_name for found in inside if found.kind == "attributes"}
        row = known.attributes.get(names.pop()) if len(names) == 1 else None
        if row is None or not row.values or row.type != "string":
            continue
        condition = reading(part.text)
        fields = {field.kind for field in condition.reads or ()}
        if condition.comparisons or not condition.ok:
            continue
        if fields <= {"attributes", "driver"} and not _holds(
            condition, known, row.name, row.values
        ):
            why = f"{row.name} is one of {', '.join(map(str, row.values))}"
            yield _never(selection, expression, part, why, known.explain_absence())


def _holds(
    condition: Program, known: KnownDriver, name: str, values: tuple[str | int | bool, ...]
) -> bool:
    devices = (
        Device({"name": "device", "attributes": {name: {"string": str(value)}}}) for value in values
    )
    return any(condition.evaluate(known.name, device) is True for device in devices)


def _never(
    selection: Selectors, expression: Expression, part: Excerpt, why: str, rests: str | None = None
) -> Advice:
    message = f"no device satisfies this: {why}"
    return selection.advice(expression, message, rests, span=part.span, confidence="likely")
