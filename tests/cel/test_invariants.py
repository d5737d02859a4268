"""What an expression remembers, for a round of a loop or for all devices, changes neither a result nor its cost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from dractl.cel.device import View
from dractl.cel.evaluation import build, frame
from dractl.cel.values import COST_LIMIT, CelError, Halted
from dractl.model import Device
from tests.cel.conftest import GPU, compiled, evaluated

if TYPE_CHECKING:
    from dractl.cel.ast import Node
    from dractl.cel.closures import Run

DRIVER = "gpu.example.com"
A = f'device.attributes["{DRIVER}"]'
C = f'device.capacity["{DRIVER}"]'
RANGE = "lists.range(7)"

# Parts that read nothing, the device, a loop variable, or both; with errors, lazy values and loops
# inside loops
EXPRESSIONS = [
    f"{RANGE}.all(x, {RANGE}.all(y, x * y < 50)) && {A}.index == 3",
    f"{RANGE}.all(x, {RANGE}.exists(y, x + y == {A}.index))",
    f"{RANGE}.exists(x, {RANGE}.all(y, y <= x || {A}.index == 3))",
    f"{RANGE}.all(x, {A}.index < 5)",
    f"{RANGE}.all(x, {A}.missing == 1)",
    f"{RANGE}.all(x, {A}.missing == 1 || x < 3)",
    f"{RANGE}.exists(x, {A}.missing == x || x == 6)",
    f"{RANGE}.exists(x, {A}.missing == x)",
    f"{RANGE}.all(x, 10 / (x - {A}.index) != 4)",
    f"{RANGE}.exists(x, 10 / (x - {A}.index) == 5)",
    f"{RANGE}.all(x, dyn(x) == 1 ? true : dyn({A}.index))",
    f"{RANGE}.exists_one(x, {A}.index == 3)",
    f"{RANGE}.exists_one(x, x == {A}.index)",
    f"{RANGE}.map(x, {A}.index).size() == 7",
    f"{RANGE}.map(x, [dyn(x), dyn({A}.index)]).map(p, p[0] + p[1]) == {RANGE}.map(x, x + {A}.index)",
    f"{RANGE}.filter(x, {A}.index == 3) == {RANGE}",
    f"{RANGE}.filter(x, {A}.index == x).size() == 1",
    f"{RANGE}.filter(x, {RANGE}.filter(y, y > {A}.index).size() == x) != [1]",
    f"{RANGE}.transformList(i, x, i == {A}.index, i + x).size() == 1",
    f"{RANGE}.transformMap(i, x, {A}.index == 3, x).size() == 7",
    f"{RANGE}.all(i, x, i == x)",
    f"{{'a': dyn(1), 'b': dyn({A}.index)}}.all(k, n, n < 4 || k == 'a')",
    f"cel.bind(n, {A}.index, {RANGE}.all(x, {RANGE}.all(y, x + y != 20 + n)))",
    f"{RANGE}.all(x, cel.bind(n, {A}.index, {RANGE}.all(y, x + y != 20 + n)))",
    f"cel.bind(n, {RANGE}.filter(x, x > {A}.index).size(), {RANGE}.exists(y, y == n + 1))",
    f"cel.bind(n, {RANGE}.map(x, x).size(), {RANGE}.all(y, n == 7))",
    f"cel.bind(n, {RANGE}.map(x, x / 0).size(), {RANGE}.exists(y, n == 7 || y == 5))",
    f"cel.bind(n, 1 / 0, {RANGE}.exists(x, x == 3 || n == 1))",
    f"{RANGE}.all(x, null == dyn({A}.index) || null == dyn(null))",
    f"{RANGE}.all(x, {C}.memory.isGreaterThan(quantity('1Gi')))",
    f"{RANGE}.all(x, {C}.memory.isGreaterThan(quantity('one')))",
    f"{RANGE}.all(x, x > 2 || {C}.memory.compareTo(quantity('40Gi').add(x)) > 0)",
    f"{A}.all(k, {A}.all(l, k == l || {A}[k] != {A}[l]))",
    f"{RANGE}.all(x, {A}.driverVersion in ['1.0.0'])",
    f"{RANGE}.exists(x, x == 6 || {A}.driverVersion in ['1.0.0'])",
    f"[dyn(1), dyn(1.0), dyn(1u), dyn(true), dyn('1')].exists(v, v == {A}.index)",
    f"[3, 9223372036854775807].all(x, x + {A}.index > 0)",
    f"{RANGE}.all(x, [dyn(x), dyn({A}.index)].sort() != [])",
    f"{RANGE}.all(device, device < 7)",
    f"{RANGE}.all(x, [1, 2].all(x, x == 1 || {A}.index == 3))",
    f"{RANGE}.sortBy(x, {A}.index - x)[0] == 6",
    f"{A}.?index.optMap(i, {RANGE}.all(x, x < i)).orValue(true)",
]

# Nests of loops, of which many rounds are decided at once, or must not be
LONG, INNER = "lists.range(40)", "lists.range(9)"
NESTS = [
    f"{LONG}.all(x, {INNER}.all(y, x * y != -1 - {A}.index))",
    f"{LONG}.all(x, {INNER}.all(y, x * y != 160 + {A}.index))",
    f"{LONG}.all(x, {INNER}.exists(y, x + y >= {A}.index - 20))",
    f"{LONG}.all(x, !{INNER}.exists(y, x * y == 1000 + {A}.index))",
    f"{LONG}.exists(x, {INNER}.all(y, x + y > 40 + {A}.index))",
    f"{LONG}.exists(x, {INNER}.all(y, x + y + {A}.index < 20))",
    f"{LONG}.filter(x, {INNER}.exists(y, x + y == {A}.index)).size() == 4",
    f"{LONG}.exists_one(x, {INNER}.all(y, x + y < 11))",
    f"{LONG}.all(x, {INNER}.all(y, [1, 2].exists(z, x + y + z < 60 + {A}.index)))",
    f"{LONG}.all(x, {INNER}.exists(y, [1, 2].all(z, x + y + z < 60 + {A}.index)))",
    # the result of a loop without items does not depend on its predicate
    f"{LONG}.exists(x, lists.range({A}.index - 3).all(y, x > 100))",
    f"{LONG}.all(x, lists.range({A}.index - 3).exists(y, x < 100))",
    # the innermost variable hides the outer one
    f"{LONG}.all(x, {INNER}.all(x, x < 9))",
    f"{LONG}.all(x, {INNER}.all(y, {INNER}.all(x, x + y < 17)))",
    # neither a list nor a map
    f"{LONG}.all(x, dyn({A}.index).all(y, x < 100))",
    f"{LONG}.all(x, {A}.all(y, x < 100))",
    # an error in one round, which a later round hides or does not hide
    f"{LONG}.all(x, {INNER}.all(y, x + y < 100 || {A}.missing == 1))",
    f"{LONG}.exists(x, [0, 9223372036854775807 - {A}.index].all(y, x + y > 0))",
    f"{LONG}.exists(x, {INNER}.all(y, 1 / (x - {A}.index) == 0 && x + y > 30))",
    # round 15, the last of those that are evaluated by themselves, decides
    f"lists.range(32).exists(x, {INNER}.all(y, x == 15 && y < 100 + {A}.index))",
    f"lists.range(32).all(x, {INNER}.exists(y, x * 100 + y < 1500 - {A}.index * 0))",
]

# Predicates that are decided for many rounds at once, with errors and overflows between them
NUMBERS = st.recursive(
    st.sampled_from(
        ["x", "y", "0", "1", "7", "-3", "9223372036854775807", f"{A}.index", f"{A}.missing"]
    ),
    lambda part: st.one_of(
        st.builds("({} {} {})".format, part, st.sampled_from(["+", "-", "*", "/", "%"]), part),
        st.builds("int({})".format, part),
    ),
    max_leaves=4,
)
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
TEXTS = st.one_of(
    NUMBERS.map("string({})".format),
    NUMBERS.map("'%d-'.format([{}])".format),
    st.sampled_from(["'3'", "'12'", "'-5'", "'7-'", f"{A}.type", f"string({A}.index)"]),
)
TIMES = NUMBERS.map("timestamp({})".format)
QUANTITIES = st.recursive(
    st.sampled_from(
        [f"{C}.memory", f"{C}.missing", "quantity('1500m')", "quantity('7')", "quantity('1e4200')"]
    ),
    lambda part: st.one_of(
        st.builds("{}.{}({})".format, part, st.sampled_from(["add", "sub"]), NUMBERS),
        st.builds("{}.{}({})".format, part, st.sampled_from(["add", "sub"]), part),
    ),
    max_leaves=3,
)
COMPARISONS = st.one_of(
    st.builds(
        "{} {} {}".format,
        NUMBERS,
        SIGNS,
        st.one_of(NUMBERS, NUMBERS, st.sampled_from([f"dyn({A}.type)", "dyn('x')", "dyn(1.5)"])),
    ),
    st.builds("{} {} {}".format, TEXTS, SIGNS, TEXTS),
    st.builds("{} {} {}".format, TIMES, SIGNS, TIMES),
    st.builds("{}.compareTo({}) {} {}".format, QUANTITIES, QUANTITIES, SIGNS, NUMBERS),
    st.builds(
        "{}.{}({})".format, QUANTITIES, st.sampled_from(["isGreaterThan", "isLessThan"]), QUANTITIES
    ),
    st.builds("{} {} {}".format, QUANTITIES, st.sampled_from(["==", "!="]), QUANTITIES),
)
PREDICATES = st.recursive(
    COMPARISONS,
    lambda part: st.one_of(
        part.map("!({})".format),
        st.builds("({} {} {})".format, part, st.sampled_from(["&&", "||"]), part),
    ),
    max_leaves=4,
)
LISTS = st.sampled_from(
    [
        "lists.range(50)",
        f"lists.range(40).map(n, n - {A}.index)",
        "lists.range(40).map(n, 20 - n)",
        "lists.range(30).map(n, n * 300000000000000000)",
    ]
)


def _in_terms_of_x(text: str) -> str:
    """The text with ``x`` in place of the variable ``y``."""
    return re.sub(r"\by\b", "x", text)


LOOPS = st.builds(
    "{}.{}(x, {})".format,
    LISTS,
    st.sampled_from(["all", "exists", "exists_one", "filter"]),
    PREDICATES.map(_in_terms_of_x),
)
MAPS = st.builds(
    "{}.map(x, {}){}".format,
    LISTS,
    NUMBERS.map(_in_terms_of_x),
    st.sampled_from(["", ".size()", "[3]", f".map(x, x * {A}.index)"]),
)
NESTED = st.builds(
    "{}.{}(x, {}.{}(y, {}))".format,
    LISTS,
    st.sampled_from(["all", "exists", "exists_one", "filter"]),
    LISTS,
    st.sampled_from(["all", "exists", "exists_one"]),
    PREDICATES,
)

DEVICES = [
    Device(GPU),
    *(Device({**GPU, "attributes": {**GPU["attributes"], "index": {"int": i}}}) for i in (1, 5, 3)),
    Device({**GPU, "attributes": {"driverVersion": {"version": "1.0.0"}}, "capacity": {}}),
    Device(GPU),
]


def outcome(run: Run, device: Device) -> tuple[Any, ...]:
    """The result of an evaluation and the cost of its loops."""
    f = frame(View(DRIVER, device))
    try:
        value = run(f)
    except CelError as error:
        return "error", str(error), f[1]
    except Halted as error:
        return "halted", str(error)
    return type(value), value, f[1]


class Unobserved:
    """An observer that adds nothing."""

    def observe(self, _: Node, run: Run) -> Run:
        return run

    def observe_loop(self, run: Run, plain: Run) -> Run:
        return run


def plain(text: str, release: str = "1.37") -> Run:
    """The expression as it is evaluated for explanations: nothing is remembered."""
    checked = compiled(text, release).checked
    assert checked is not None, text
    return build(checked.root, compiled(text, release).declarations.release, Unobserved())


@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize("text", EXPRESSIONS + NESTS)
def test_results_and_costs_are_those_of_an_evaluation_without_memory(
    text: str, release: str
) -> None:
    program = compiled(text, release)
    assert program.checked is not None, program.error
    run = build(program.checked.root, program.declarations.release)
    for device in DEVICES:
        assert outcome(run, device) == outcome(plain(text, release), device)


@settings(max_examples=40, deadline=None)
@given(st.one_of(LOOPS, NESTED, MAPS))
def test_rounds_that_are_decided_together_have_the_same_result_and_cost(text: str) -> None:
    program = compiled(f"dyn({text}) == dyn(true)")
    if program.checked is None:
        return
    run = build(program.checked.root, program.declarations.release)
    for device in DEVICES[1:5]:
        assert outcome(run, device) == outcome(plain(program.text), device)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        # 3 is in the range, 300 + 3 is not
        (f"lists.range(300).exists(x, x == {A}.index)", True),
        (f"lists.range(300).exists(x, x == 300 + {A}.index)", False),
        # an error of one round is hidden by a round that decides, in any order
        (f"lists.range(300).exists(x, 1 / x == {A}.index || x == 299)", True),
        (f"lists.range(300).all(x, 1 / x == {A}.index || x == 0)", False),
        ("lists.range(300).all(x, 1 / x >= 0)", "division by zero"),
        (f"lists.range(300).all(x, {A}.missing == 1)", "no such key: missing"),
        (f"lists.range(300).map(x, {A}.missing).size() == 1", "no such key: missing"),
        (f"lists.range(300).map(x, x + {A}.index)[299] == 302", True),
        (f"lists.range(300).exists_one(x, {A}.index == 3)", False),
        # the index of the device is 3, and its memory is 80Gi
        (f"lists.range(300).exists_one(x, x * 3 - {A}.index == 6)", True),
        (f"lists.range(300).exists(x, x * 3 - {A}.index == 7)", False),
        (f"lists.range(300).filter(x, 297 - x > {A}.index).size() == 294", True),
        (f"lists.range(300).filter(x, string(x + 9) == string({A}.index + 97)) == [91]", True),
        (
            f"lists.range(300).filter(x, 'gpu-%d'.format([x]) == 'gpu-' + string({A}.index)) == [3]",
            True,
        ),
        (f"lists.range(300).filter(x, x % 100 == {A}.index) == [3, 103, 203]", True),
        (f"lists.range(300).filter(x, timestamp(x) < timestamp({A}.index)) == [0, 1, 2]", True),
        (
            f"lists.range(300).filter(x, {C}.memory.isLessThan(quantity('80Gi').add(x - 200))).size() == 99",
            True,
        ),
        (f"lists.range(300).all(x, {C}.memory == {C}.memory.add(x))", "no such overload"),
        (
            f"lists.range(300).map(x, x + {A}.index + 9223372036854775506).size() == 300",
            "integer overflow",
        ),
    ],
)
def test_loops_over_many_items(text: str, result: Any) -> None:
    assert evaluated(text) == result


def test_a_part_that_reads_no_device_is_counted_for_every_device() -> None:
    loops = "lists.range(400).all(x, lists.range(400).all(y, x + y >= 0))"
    run = build(compiled(f"{loops} && {A}.index == 3").checked.root, 37)  # type: ignore[union-attr]
    costs = [outcome(run, device) for device in DEVICES[:2]]
    assert costs[0][2] == costs[1][2] > COST_LIMIT // 2


def test_the_limit_holds_for_the_sum_of_the_parts() -> None:
    """Each part alone is below the limit of the actual cost, together they are above it."""
    part = "lists.range(400).all(x, lists.range(400).all(y, x + y >= 0))"
    limit = "operation cancelled: actual cost limit exceeded"
    assert evaluated(part) is True
    assert evaluated(f"{part} && {part}") == limit
    assert evaluated(f"({part} && {part}) || true") == limit
    assert evaluated(f"lists.range(3).all(z, {part})") == limit
