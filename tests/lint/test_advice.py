"""What dractl advises of its own: when it speaks, for which release, and when it keeps silent."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from dractl.allocation import Allocated, Allocator, Features
from dractl.lint import Finding, lint
from dractl.lint.inventory import Inventory
from dractl.lint.model import Run, Subject
from dractl.lint.rules import dra606_contradictory_selectors as dra606
from dractl.manifests import load
from dractl.model import Target, decode
from dractl.model.releases import COMPARED
from dractl.objects import Expression
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

API = "apiVersion: resource.k8s.io/v1\n"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def found(text: str, code: str, release: str = "1.37", gates: dict[str, bool] | None = None) -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release, gates or {}))
    assert not [finding for finding in report.findings if finding.api]
    return [finding for finding in report.findings if finding.code == code]


def claim(requests: str, rest: str = "", name: str = "gpus") -> str:
    """Requests are ``name class`` or ``name class {fields}``, one a line."""
    text = API + f"kind: ResourceClaim\nmetadata: {{name: {name}}}\nspec:\n  devices:\n    requests:\n"
    for line in requests.strip().splitlines():
        called, of_class, fields = [*line.split(None, 2), "{}"][:3]
        fields = ", ".join(part for part in (f"deviceClassName: {of_class}", fields.strip()[1:-1]) if part)
        text += f"    - name: {called}\n      exactly: {{{fields}}}\n"
    return text + indent(rest, "    ") + ("\n" if rest else "")


def template(text: str) -> str:
    head, _, spec = text.partition("spec:\n")
    return head.replace("ResourceClaim", "ResourceClaimTemplate") + "spec:\n  spec:\n" + indent(spec, "  ")


def device_class(name: str, *expressions: str, config: str = "") -> str:
    text = API + f"kind: DeviceClass\nmetadata: {{name: {name}}}\nspec:\n  selectors:\n"
    text += "".join(f"  - cel:\n      expression: {expression}\n" for expression in expressions)
    return text + (f"  config:\n  - opaque: {{driver: {config}, parameters: {{a: b}}}}\n" if config else "")


def pod(*claims: str, kind: str = "Pod", spec: str = "") -> str:
    """Claims are ``name=claim`` or ``name:template``."""
    listed = ""
    for text in claims:
        separator, field = ("=", "resourceClaimName") if "=" in text else (":", "resourceClaimTemplateName")
        name, _, referenced = text.partition(separator)
        listed += f"  - {{name: {name}, {field}: {referenced}}}\n"
    uses = ", ".join(f"{{name: {text.replace('=', ':').partition(':')[0]}}}" for text in claims)
    body = (
        f"spec:\n  resourceClaims:\n{listed}  containers:\n  - {{name: c, image: x, resources: {{claims: [{uses}]}}}}\n"
    )
    if kind == "Pod":
        return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" + body
    head = f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec:\n"
    labels = "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
    return head + indent(spec, "  ") + labels + indent(body, "    ")


# -- start-up --


def test_no_rule_is_imported_for_what_a_claim_does_not_say() -> None:
    program = (
        "import sys\nfrom dractl.lint import lint\nfrom dractl.manifests import load\nfrom dractl.model import Target\n"
        "report = lint(load(['-'], stdin=sys.stdin.buffer.read()), Target.of())\nassert not report.findings\n"
        "print([name for name in sys.modules if name.startswith('dractl.lint.rules.')], 'dractl.cel' in sys.modules)"
    )
    plain = claim("gpu gpu.example.com").encode()
    done = subprocess.run([sys.executable, "-c", program], input=plain, capture_output=True, check=True)
    imported = (
        "dra151_claim_without_requests",
        "dra423_misspelt_reference",
        "dra535_duplicate_object",
        "dra722_misspelt_device_class",
    )
    assert done.stdout.decode().strip() == f"{[f'dractl.lint.rules.{name}' for name in imported]} False"


# -- DRA354 --


def published(node: str, devices: str, pool: str = "gpus", count: int = 1, generation: int = 1, name: str = "") -> str:
    where = f"  nodeName: {node}\n" if node else "  allNodes: true\n"
    listed = "".join(f"  - name: {device}\n" for device in devices.split())
    return (
        f"{API}kind: ResourceSlice\nmetadata: {{name: {name or node or 'all'}-slice}}\n"
        "spec:\n  driver: gpu.example.com\n"
        f"  pool: {{name: {pool}, generation: {generation}, resourceSliceCount: {count}}}\n{where}  devices:\n{listed}"
    )


SAME = (published("node-1", "gpu-0 gpu-1"), published("node-2", "gpu-1", generation=3))


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_devices_of_one_name_on_two_nodes_are_one_device(release: str) -> None:
    (advice,) = found(documents(*SAME), "DRA354", release)
    assert (advice.severity, advice.object.name, advice.path) == ("error", "node-2-slice", "spec.pool.name")
    assert "gpu-1" in advice.message
    assert "gpu-0" not in advice.message
    assert advice.related[0].position.line == 6


@pytest.mark.parametrize(
    "slices",
    [
        (published("node-1", "gpu-0", "node-1"), published("node-2", "gpu-0", "node-2")),
        (published("node-1", "gpu-0"), published("node-2", "gpu-1")),  # seen to work by the upstream allocator
        (published("node-1", "gpu-0", count=2), published("node-2", "gpu-1", count=2)),  # one pool of two nodes
        # The device of a pool of two nodes that goes from one to the other.
        (published("node-1", "gpu-0", count=2), published("node-2", "gpu-0", count=2, generation=2)),
    ],
)
def test_pools_of_different_nodes_may_be_alike(slices: tuple[str, ...]) -> None:
    for code in ("DRA351", "DRA354"):
        assert not found(documents(*slices), code)


def test_a_pool_that_is_complete_on_each_node_has_no_wrong_number_of_slices() -> None:
    assert not found(documents(*SAME), "DRA352")
    same_node = (published("node-1", "gpu-0"), published("node-1", "gpu-1", name="other"))
    (advice,) = found(documents(*same_node), "DRA352")
    assert advice.severity == "error"


def test_a_device_twice_for_one_node_makes_the_pool_invalid() -> None:
    both = (published("node-1", "gpu-0", count=2), published("", "gpu-0", count=2))
    assert found(documents(*both), "DRA351")
    assert not found(documents(*both), "DRA354")


# -- DRA425 --

ROOT = "constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]"
ONE = claim("gpu gpu.example.com", ROOT, "gpu")
NIC = claim("nic nic.example.com", ROOT, "nic")
PAIR = claim("gpu gpu.example.com\nnic nic.example.com", ROOT, "pair")


def test_a_constraint_does_not_reach_the_other_claims_of_a_pod() -> None:
    text = documents(ONE, NIC, pod("a=gpu", "b=nic"))
    (advice,) = found(text, "DRA425")
    assert (advice.object.kind, advice.path) == ("Pod", "spec.resourceClaims[1].name")
    assert [item.message for item in advice.related] == [
        "the constraint of ResourceClaim gpu",
        "the constraint of ResourceClaim nic",
    ]
    workload = documents(template(ONE), template(NIC), pod("a:gpu", "b:nic", kind="Deployment"))
    assert found(workload, "DRA425")


@pytest.mark.parametrize(
    "text",
    [
        documents(PAIR, pod("a=pair", "b=pair")),  # each of them is aligned in itself, which is a purpose
        documents(ONE, NIC.replace("pcieRoot", "numaNode"), pod("a=gpu", "b=nic")),
        documents(ONE, NIC, pod("a=gpu")),
        documents(ONE, claim("nic nic.example.com", "", "nic"), pod("a=gpu", "b=nic")),
        documents(ONE, NIC, pod("a=gpu", "b=elsewhere")),
    ],
)
def test_claims_that_need_no_alignment_are_left_alone(text: str) -> None:
    assert not found(text, "DRA425")


# -- DRA541: the numbers are those of claimEvaluator.Usage --


def quota(hard: str, more: str = "", namespace: str = "") -> str:
    where = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q{where}}}\nspec:\n  hard: {{{hard}}}\n{more}"


DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"
COUNT = "count/resourceclaims.resource.k8s.io"
TWO = claim("gpu gpu.example.com {count: 2}", name="two")
MANY = "replicas: 3\n"


@pytest.mark.parametrize(
    ("hard", "text", "said"),
    [
        (f"{DEVICES}: 1", TWO, "2 devices of class gpu.example.com, its limit is 1"),
        (f"{DEVICES}: 2", TWO, None),
        (f"{DEVICES}: 3", documents(TWO, TWO.replace("two", "three")), "4 devices"),
        (f"{DEVICES}: 31", claim("gpu gpu.example.com {allocationMode: All}"), "32 devices"),
        (f"{DEVICES}: 32", claim("gpu gpu.example.com {allocationMode: All}"), None),
        (f"{DEVICES}: 1", claim("gpu other.example.com {count: 2}"), None),
        (f"{DEVICES}: 5", documents(template(TWO), pod("a:two", kind="Deployment", spec=MANY)), "6 devices"),
        (f"{DEVICES}: 6", documents(template(TWO), pod("a:two", kind="Deployment", spec=MANY)), None),
        (f"{DEVICES}: 1", documents(TWO, pod("a=two")), "2 devices"),  # shared, not copied
        (f"{DEVICES}: 1", template(TWO), None),  # nobody has it made
        (f"{COUNT}: 1", documents(TWO, claim("gpu a", name="b")), "2 claims, its limit is 1"),
        (f"{COUNT}: 2", pod("a:elsewhere", kind="StatefulSet", spec=MANY), "3 claims"),
        (f"{COUNT}: 0, cpu: 1", claim("gpu a"), "1 claims, its limit is 0"),
    ],
)
def test_what_the_manifests_ask_for_is_charged_as_the_server_does(hard: str, text: str, said: str | None) -> None:
    advice = found(documents(quota(hard), text), "DRA541")
    assert [finding.severity for finding in advice] == (["warning"] if said else [])
    assert said is None or said in advice[0].message


def test_of_alternatives_the_most_of_each_class_is_charged() -> None:
    text = claim("gpu gpu.example.com").replace(
        "exactly: {deviceClassName: gpu.example.com}",
        "firstAvailable: [{name: a, deviceClassName: gpu.example.com, count: 4}, "
        "{name: b, deviceClassName: gpu.example.com}, {name: c, deviceClassName: other.example.com}]",
    )
    assert found(documents(quota(f"{DEVICES}: 3"), text), "DRA541")
    assert not found(documents(quota(f"{DEVICES}: 4"), text), "DRA541")


def test_quotas_of_other_namespaces_and_of_scopes_do_not_count() -> None:
    assert not found(documents(quota(f"{DEVICES}: 1", namespace="other"), TWO), "DRA541")
    assert not found(documents(quota(f"{DEVICES}: 1", "  scopes: [NotTerminating]\n"), TWO), "DRA541")


def test_claims_that_a_pod_has_already_are_counted_once() -> None:
    made = TWO.replace("{name: two}", "{name: p-a-x, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}")
    text = documents(quota(f"{DEVICES}: 2"), template(TWO), pod("a:two"), made)
    assert not found(text, "DRA541")


# -- DRA605 --

GPU = device_class("gpu.example.com", 'device.driver == "gpu.example.com"')
NICS = device_class("nic.example.com", 'device.driver == "nic.example.com"')
ANY = device_class("any", "device.allowMultipleAllocations == false")


def selecting(expression: str, of_class: str = "any") -> str:
    return (
        claim("gpu CLASS {selectors: [{cel: {expression: EXPRESSION}}]}")
        .replace("CLASS", of_class)
        .replace("EXPRESSION", "'" + expression + "'")
    )


MODEL = 'device.attributes["gpu.example.com"].model == "A100"'


def test_a_lookup_fails_on_the_devices_of_another_driver() -> None:
    (advice,) = found(documents(GPU, NICS, ANY, selecting(MODEL)), "DRA605")
    assert (advice.severity, advice.confidence) == ("warning", "likely")
    assert "nic.example.com" in advice.message
    assert "no such key: model" in advice.message
    assert advice.related[0].message == "the driver nic.example.com"


@pytest.mark.parametrize(
    "text",
    [
        documents(GPU, ANY, selecting(MODEL)),  # no other driver is known
        documents(GPU, NICS, device_class("b", MODEL + ' && device.driver == "gpu.example.com"')),
        documents(GPU, NICS, device_class("b", MODEL)),  # DRA211 says so
        documents(
            NICS,
            device_class("b", 'device.driver == "b" && device.attributes["resource.kubernetes.io"].pageSize == "4k"'),
        ),
        documents(GPU, NICS, selecting(MODEL, "gpu.example.com")),  # the class asks for the driver
        documents(GPU, NICS, selecting(MODEL, "elsewhere")),
        documents(GPU, NICS, ANY, selecting('device.driver == "gpu.example.com" && ' + MODEL)),
        documents(GPU, NICS, ANY, selecting('device.attributes["gpu.example.com"].?model.orValue("") == "A100"')),
        documents(GPU, NICS, ANY, selecting('has(device.attributes["gpu.example.com"].model) && ' + MODEL)),
        documents(GPU, NICS, ANY, selecting('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:00"')),
        documents(GPU, NICS, ANY, selecting('device.attributes["shared.example.com"].model == "A100"')),
    ],
)
def test_a_lookup_that_is_guarded_is_left_alone(text: str) -> None:
    assert not found(text, "DRA605")


def test_a_class_that_asks_for_the_driver_too_late_is_found() -> None:
    late = device_class("late", MODEL, 'device.driver == "gpu.example.com"')
    (advice,) = found(documents(GPU, NICS, late), "DRA605")
    assert (advice.object.name, advice.path) == ("late", "spec.selectors[0].cel.expression")


# -- DRA606 --

FIRST = 'device.attributes["gpu.example.com"].model == "A100"'


@pytest.mark.parametrize(
    ("expressions", "at"),
    [
        (('device.driver == "a.example.com"',), 'device.driver == "a.example.com"'),
        ((FIRST, '"H100" == device.attributes["gpu.example.com"]["model"]'), '"H100" == device'),
        (
            (FIRST + ' && device.attributes["gpu.example.com"].model == "H100"',),
            'device.attributes["gpu.example.com"].model == "H',
        ),
        ((FIRST, 'device.attributes["gpu.example.com"].model in ["H100", "H200"]'), "device.attributes"),
        ((FIRST, 'device.attributes["gpu.example.com"].?model.orValue("") == "H100"'), "device.attributes"),
        ((FIRST, 'true && (1 == 1 && device.attributes["gpu.example.com"].model == 1)'), "device.attributes"),
    ],
)
def test_selectors_that_exclude_each_other_leave_no_device(expressions: tuple[str, ...], at: str) -> None:
    listed = ", ".join("{cel: {expression: '" + expression + "'}}" for expression in expressions)
    text = documents(GPU, claim("gpu gpu.example.com {selectors: [" + listed + "]}"))
    (advice,) = found(text, "DRA606")
    assert advice.severity == "error"
    assert text.splitlines()[advice.position.line - 1][advice.position.column - 1 :].startswith(at)


@pytest.mark.parametrize(
    "expressions",
    [
        (FIRST, FIRST),
        (FIRST, 'device.attributes["other.example.com"].model == "H100"'),
        (FIRST + ' || device.attributes["gpu.example.com"].model == "H100"',),
        (FIRST, '!(device.attributes["gpu.example.com"].model == "H100")'),
        (FIRST, 'device.attributes["gpu.example.com"].model != "H100"'),
        (FIRST, 'device.attributes["gpu.example.com"].model in ["H100", "A100"]'),
        ('device.attributes["gpu.example.com"].count == 1', 'device.attributes["gpu.example.com"].count in [1.0]'),
        # A device without the attribute satisfies both.
        (
            'device.attributes["gpu.example.com"].?model.orValue("A") == "A"',
            'device.attributes["gpu.example.com"].?model.orValue("B") == "B"',
        ),
        # The items of a list are different things.
        ('device.attributes["a.example.com"].x[0] == "A" && device.attributes["a.example.com"].x[1] == "B"',),
    ],
)
def test_selectors_that_may_hold_together_are_left_alone(expressions: tuple[str, ...]) -> None:
    listed = ", ".join("{cel: {expression: '" + expression + "'}}" for expression in expressions)
    assert not found(documents(GPU, claim("gpu gpu.example.com {selectors: [" + listed + "]}")), "DRA606")


def test_a_class_that_contradicts_itself_is_reported_once() -> None:
    bad = device_class("bad", 'device.driver == "a"', 'device.driver == "b"')
    (advice,) = found(documents(bad, claim("gpu bad"), claim("gpu bad", name="other")), "DRA606")
    assert advice.object.kind == "DeviceClass"


# -- DRA607 --

MEMORY = 'device.capacity["gpu.example.com"].memory'


@pytest.mark.parametrize(
    ("expression", "severity"),
    [
        # What upstream's evaluator gives in 1.34 and 1.37 on a device with memory 3:
        (f'{MEMORY} == quantity("1").add(quantity("2"))', "error"),  # no such overload
        (f'{MEMORY}.add(quantity("1")) == quantity("1").add(quantity("3"))', "error"),  # no such overload
        (f'{MEMORY} in [quantity("1").add(quantity("2"))]', "warning"),  # false
        (f'quantity("1").add(quantity("2")) == {MEMORY}', None),  # true
        (f'{MEMORY}.isGreaterThan(quantity("1").add(quantity("1")))', None),  # true
        (f'{MEMORY}.compareTo(quantity("1").add(quantity("2"))) == 0', None),  # true
    ],
)
def test_a_sum_on_the_right_of_a_comparison(expression: str, severity: str | None) -> None:
    advice = found(device_class("c", f"'{expression}'"), "DRA607")
    assert [finding.severity for finding in advice] == ([severity] if severity else [])


def test_what_costs_too_much_is_told_apart() -> None:
    """1.37's estimate: unbounded with ``!=``, 7 with ``!(a == b)``."""
    report = lint(load(["-"], stdin=device_class("c", f"'{MEMORY} != quantity(\"4\")'").encode()), Target.of("1.37"))
    (finding,) = (finding for finding in report.findings if finding.code == "DRA114")
    assert finding.help is not None
    assert finding.help.endswith("write !(a == b)")
    assert not found(device_class("c", f"'!({MEMORY} == quantity(\"4\"))'"), "DRA114")


# -- DRA712 --


def constrained(*names: str) -> str:
    requests = "gpu-0 gpu.example.com\ngpu-1 gpu.example.com\nnic nic.example.com\ncpu cpu.example.com"
    listed = ", ".join(f"{{requests: [{name}], matchAttribute: a.example.com/x}}" for name in names)
    return claim(requests, f"constraints: [{listed}]")


def test_a_request_that_was_forgotten_is_named() -> None:
    (advice,) = found(constrained("gpu-0, nic"), "DRA712")
    assert (advice.severity, advice.path) == ("info", "spec.devices.requests[1].name")
    assert "gpu-1" in advice.message


@pytest.mark.parametrize("names", [("gpu-0, gpu-1",), ("gpu-0, nic", "gpu-1, cpu"), ("gpu-0, nic", ""), ("gpu-0",)])
def test_requests_of_classes_without_constraints_are_left_alone(names: tuple[str, ...]) -> None:
    assert not found(constrained(*names), "DRA712")


# -- DRA804: against the allocator, which does as upstream's does --

DISTINCT = "constraints: [{distinctAttribute: gpu.example.com/numa}]"
GATE = {"DRAConsumableCapacity": True}


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize(
    ("counts", "values"),
    [
        ((1,), (0,)),
        ((2,), (0, 0)),
        ((3,), (0, 1, 0)),
        ((1, 1, 1), (0, 1, 0)),
        ((2, 1), (0, 1, 0)),
        ((1, 2), (0, 1, 0)),
    ],
)
def test_the_release_says_whether_values_are_compared(
    release: str, counts: tuple[int, ...], values: tuple[int, ...]
) -> None:
    requests = "\n".join(f"r{at} gpu.example.com {{count: {count}}}" for at, count in enumerate(counts))
    text = claim(requests, DISTINCT)
    listed = [{"name": f"gpu-{at}", "attributes": {"numa": {"int": value}}} for at, value in enumerate(values)]
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": listed}
    slices = [
        decode({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    ]
    (document,) = load(["-"], stdin=text.encode()).documents
    (of_class,) = load(["-"], stdin=GPU.encode()).documents
    allocator = Allocator(slices, [decode(of_class.value)], features=Features.for_release(release, GATE))  # type: ignore[arg-type, list-item]
    node = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    taken = allocator.allocate(node, [decode(document.value)])  # type: ignore[arg-type, list-item]
    equal = len(set(values)) < len(values)
    assert bool(found(text, "DRA804", release, GATE)) == (equal and isinstance(taken, Allocated))


def test_a_constraint_that_is_dropped_is_another_rules_business() -> None:
    text = claim("gpu gpu.example.com {count: 3}", "constraints: [{distinctAttribute: gpu.example.com/numa}]")
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.35"))
    assert "DRA804" not in {finding.code for finding in report.findings}
    assert "DRA802" in {finding.code for finding in report.findings}


# -- DRA805 --


def test_up_to_1_33_the_configuration_of_a_class_is_for_all_requests() -> None:
    guard = 'device.driver == "gpu.example.com"'
    mixed = claim("a shared\nb whole\nc nic.example.com").replace("exactly: {", "").replace("}\n", "\n")
    mixed = mixed.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1").replace("{name: gpus\n", "{name: gpus}\n")
    text = documents(device_class("shared", guard, config="gpu.example.com"), device_class("whole", guard), NICS)
    text = text.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1") + "---\n" + mixed
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.33"))
    (advice,) = [finding for finding in report.findings if finding.code == "DRA805"]
    assert (advice.severity, advice.path) == ("info", "spec.devices.requests[1].deviceClassName")
    assert not [f for f in lint(load(["-"], stdin=text.encode()), Target.of("1.34")).findings if f.code == "DRA805"]


# -- DRA358 --


def with_attribute(name: str, value: str) -> str:
    return published("node-1", "gpu-0") + f"    attributes: {{resource.kubernetes.io/{name}: {{{value}}}}}\n"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("pcieRoot", 'string: "pci0000:17"', ""),
        ("pcieRoot", 'string: "pci10000:00"', ""),  # behind Intel VMD
        ("pcieRoot", 'string: "0000:17:00.0"', '"0000:17:00.0"'),
        ("pcieRoot", "int: 17", "of the type int"),
        ("pciBusID", 'string: "0000:3b:00.0"', ""),
        ("pciBusID", 'string: "3b:00.0"', '"3b:00.0"'),
        ("pciBusID", 'string: "0000:3B:00.0"', '"0000:3B:00.0"'),
        ("numaNode", "int: 1", ""),
        ("numaNode", 'string: "1"', "of the type string"),
    ],
)
def test_standard_attributes_have_one_form(name: str, value: str, said: str) -> None:
    advice = found(with_attribute(name, value), "DRA358")
    assert len(advice) == bool(said)
    assert all(said in finding.message for finding in advice)


# -- DRA353 --


def test_counters_are_only_looked_up_where_devices_consume_them() -> None:
    text = published("node-1", "gpu-0") + "    consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]\n"
    assert found(text, "DRA353", "1.37")
    assert not found(text, "DRA353", "1.35")
    assert found(text, "DRA353", "1.35", {"DRAPartitionableDevices": True})


@pytest.mark.parametrize(
    ("release", "lines", "code", "said"),
    [
        (
            "1.34",
            "devices: [{name: a, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}]",
            "DRA332",
            "1.34",
        ),
        (
            "1.35",
            "devices: [{name: a}]\n  sharedCounters: [{name: a, counters: {m: {value: 1}}}]",
            "DRA311",
            "two slices",
        ),
    ],
)
def test_where_counters_belong_depends_on_the_release(release: str, lines: str, code: str, said: str) -> None:
    text = published("node-1", "").replace("devices:\n", lines + "\n")
    target = Target.of(release, {"DRAPartitionableDevices": True})
    (finding,) = lint(load(["-"], stdin=text.encode()), target).findings
    assert finding.code == code
    assert said in (finding.help or "")


# -- DRA423 --


@pytest.mark.parametrize("made", [ONE, template(ONE)])
def test_a_claim_is_no_template(made: str) -> None:
    right, wrong = ("a=gpu", "a:gpu") if made is ONE else ("a:gpu", "a=gpu")
    assert not found(documents(made, pod(right)), "DRA423")
    text = documents(made, pod(wrong))
    (advice,) = found(text, "DRA423")
    field = "resourceClaimName" if made is ONE else "resourceClaimTemplateName"
    assert advice.help == f"write {field}: gpu"
    assert advice.fix is not None
    (edit,) = advice.fix.edits
    line = text.splitlines()[edit.position.line - 1]
    mended = line[: edit.position.column - 1] + edit.text + line[edit.position.end_column - 1 :]
    assert mended.strip() == f"- {{name: a, {field}: gpu}}"


# -- DRA511 and DRA706: what releases make of it was seen on their schedulers --


@pytest.mark.parametrize(("release", "said"), [("1.36", "every device"), ("1.37", "taints no device")])
def test_a_taint_rule_without_selector_says_what_the_release_does(release: str, said: str) -> None:
    version = "v1" if release == "1.37" else "v1beta2"
    text = f"apiVersion: resource.k8s.io/{version}\nkind: DeviceTaintRule\nmetadata: {{name: a}}\n"
    (advice,) = found(text + "spec: {taint: {key: a, effect: NoSchedule}}\n", "DRA511", release)
    assert said in advice.message


@pytest.mark.parametrize(("release", "fatal"), [("1.36", False), ("1.37", True)])
def test_a_negative_amount_is_an_error_of_the_scheduler_from_1_37_on(release: str, fatal: bool) -> None:
    text = claim("gpu gpu.example.com {capacity: {requests: {memory: -1Gi}}}")
    (advice,) = found(text, "DRA706", release)
    assert ("capacity value is negative" in advice.message) == fatal


# -- DRA753 --


@pytest.mark.parametrize(
    ("types", "matched"), [(("int: 0", 'string: "0"'), True), (("int: 0", "int: 1"), False), (("int: 0", ""), True)]
)
def test_values_of_different_types_never_match(types: tuple[str, str], matched: bool) -> None:
    devices = []
    for driver, value in zip(("gpu.example.com", "nic.example.com"), types, strict=True):
        text = published("node-1", "a").replace("gpu.example.com", driver)
        devices.append(text + (f"    attributes: {{resource.kubernetes.io/numaNode: {{{value}}}}}\n" if value else ""))
    slices = load(["-"], stdin=documents(*devices).encode()).documents
    classes = {d.name or "": d.value for d in load(["-"], stdin=documents(GPU, NICS).encode()).documents}
    text = claim("gpu gpu.example.com\nnic nic.example.com", ROOT.replace("pcieRoot", "numaNode"))
    inventory = Inventory([document.value for document in slices], classes)
    report = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory)
    assert [finding.code for finding in report.findings] == (["DRA753"] if matched else [])


# -- DRA751 and DRA752 without classes --

NIC_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}]
"""
GPU_SLICE = NIC_SLICE.replace("nic", "gpu").replace("[{name: gpu-0}]", "[DEVICES]")
A100, NAMELESS = "{name: a, attributes: {model: {string: A100}}}", "{name: b}"


@pytest.mark.parametrize(
    ("devices", "expression", "codes"),
    [
        (A100, 'device.attributes["gpu.example.com"].modle == "A100"', ["DRA751"]),
        (A100, 'device.attributes["gpu.example.com"].model == "H100"', ["DRA752"]),
        (f"{A100}, {NAMELESS}", 'device.attributes["gpu.example.com"].model == "H100"', ["DRA752"]),
        (
            f"{A100}, {NAMELESS}",
            'device.attributes["gpu.example.com"].model == "A100"',
            [],
        ),  # the class may leave out b
        (A100, 'device.attributes["other.example.com"].model == "A100"', []),  # of a driver that is not there
        (A100, 'device.driver == "other.example.com"', []),
    ],
)
def test_of_an_unknown_class_is_said_what_is_so_for_all_devices(
    devices: str, expression: str, codes: list[str]
) -> None:
    text = selecting(expression, "our-own")
    slices = load(["-"], stdin=documents(NIC_SLICE, GPU_SLICE.replace("DEVICES", devices)).encode()).documents
    values = [document.value for document in slices]
    report = lint(load(["-"], stdin=text.encode()), Target.of(), devices=Inventory(values, {}))
    assert [(finding.code, finding.severity, finding.confidence) for finding in report.findings] == [
        (code, "warning", "possible") for code in codes
    ]
    known = {"gpu": load(["-"], stdin=GPU.encode()).documents[0].value}
    report = lint(load(["-"], stdin=text.encode()), Target.of(), devices=Inventory(values, known))
    assert [finding.code for finding in report.findings] == ["DRA755"]


def test_classes_are_taken_as_they_were_assumed() -> None:
    text = selecting('device.attributes["gpu.example.com"].model == "A100"', "gpu.example.com")
    slices = load(
        ["-"], stdin=documents(NIC_SLICE, GPU_SLICE.replace("DEVICES", f"{A100}, {NAMELESS}")).encode()
    ).documents
    assumed = {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value}
    inventory = Inventory([document.value for document in slices], {}, assumed=assumed)
    (advice,) = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory).findings
    assert (advice.code, advice.severity, advice.confidence) == ("DRA751", "error", "likely")
    assert "fails on 1 of 2 devices" in advice.message


# -- DRA713 --


def looking(expression: str) -> str:
    return claim("gpu any {selectors: [{cel: {expression: 'EXPRESSION'}}]}").replace("EXPRESSION", expression)


@pytest.mark.parametrize(
    ("lookup", "meant"),
    [
        ('attributes["gpu.nvidia.com"].architcture == "Hopper"', "did you mean architecture?"),
        ('attributes["gpu.nvidia.com"].productname == "H100"', "did you mean productName?"),
        ('attributes["gpu.nvidia.com"].arch == "Hopper"', "did you mean architecture?"),
        ('attributes["dra.net"].ifname == "eth0"', "did you mean ifName?"),
        ('capacity["gpu.nvidia.com"].memroy.isGreaterThan(quantity("1Gi"))', "did you mean memory?"),
        ('attributes["gpu.nvidia.com"].memory == "80Gi"', 'write device.capacity["gpu.nvidia.com"].memory'),
    ],
)
def test_a_misspelt_attribute_of_a_known_driver(lookup: str, meant: str) -> None:
    (advice,) = found(looking(f"device.{lookup}"), "DRA713")
    assert (advice.severity, advice.confidence) == ("warning", "likely")
    assert meant in advice.message


@pytest.mark.parametrize(
    "lookup",
    [
        'attributes["gpu.nvidia.com"].architecture == "Hopper"',
        'attributes["gpu.nvidia.com"].partition3 == 1',  # near four of them
        'attributes["gpu.nvidia.com"].vbiosVersion == "1"',  # may be new
        'attributes["gpu.example.com"].mdoel == "A100"',  # everybody's
        'attributes["gpu.vendor.com"].architcture == "Hopper"',
        'capacity["gpu.nvidia.com"].memorySlice7.isGreaterThan(quantity("0"))',
    ],
)
def test_names_that_may_be_right_are_left_alone(lookup: str) -> None:
    assert not found(looking(f"device.{lookup}"), "DRA713")


def test_a_misspelt_attribute_of_a_constraint() -> None:
    constraint = "constraints: [{matchAttribute: gpu.nvidia.com/productname}]"
    (advice,) = found(claim("gpu any {count: 2}", constraint), "DRA713")
    assert "did you mean gpu.nvidia.com/productName?" in advice.message


def test_published_devices_know_better_than_the_catalogue() -> None:
    text = looking('device.attributes["gpu.nvidia.com"].architcture == "Hopper"')
    odd = GPU_SLICE.replace("gpu.example.com", "gpu.nvidia.com").replace(
        "DEVICES", A100.replace("model", "architcture")
    )
    slices = [document.value for document in load(["-"], stdin=odd.encode()).documents]
    report = lint(load(["-"], stdin=text.encode()), Target.of(), devices=Inventory(slices, {}))
    assert "DRA713" not in {finding.code for finding in report.findings}


def test_a_clean_claim_needs_no_catalogue_of_drivers() -> None:
    program = (
        "import sys\nfrom dractl.lint import lint\nfrom dractl.manifests import load\nfrom dractl.model import Target\n"
        "report = lint(load(['-'], stdin=sys.stdin.buffer.read()), Target.of())\nassert not report.findings\n"
        "print([name for name in sys.modules if name.startswith('dractl.drivers')])"
    )
    text = looking('device.attributes["gpu.nvidia.com"].architecture == "Hopper"')
    shown = subprocess.run([sys.executable, "-c", program], input=text.encode(), capture_output=True, check=True)
    assert shown.stdout == b"[]\n"


# -- DRA701 in slices --


def test_a_misspelt_standard_attribute_of_a_slice_is_said_once() -> None:
    device = "{name: NAME, attributes: {resource.kubernetes.io/pcieroot: {string: pci0000:17}}}"
    both = ", ".join(device.replace("NAME", name) for name in ("a", "b"))
    (advice,) = found(GPU_SLICE.replace("DEVICES", both), "DRA701")
    assert (advice.severity, advice.path) == (
        "warning",
        "spec.devices[0].attributes[resource.kubernetes.io/pcieroot]",
    )
    assert "did you mean resource.kubernetes.io/pcieRoot?" in advice.message
    others = "{name: a, attributes: {resource.kubernetes.io/pageSize: {string: 4k}, pcieroot: {string: a}}}"
    assert not found(GPU_SLICE.replace("DEVICES", others), "DRA701")


# -- what the messages of the API server do not say --


@pytest.mark.parametrize(
    ("release", "expression", "said"),
    [
        ("1.37", 'device.capacity["d.com"].m > quantity("1Gi")', "a.compareTo(b) > 0"),
        ("1.37", 'device.capacity["d.com"].m >= 10', 'a.compareTo(quantity("10Gi")) >= 0'),
        ("1.37", 'device.attributes["d.com"] == "a"', 'device.attributes["gpu.example.com"].model'),
        ("1.37", 'device.attributes["d.com"]', 'device.attributes["gpu.example.com"].model'),
        ("1.37", 'device.capacity["d.com"] == "a"', 'device.capacity["gpu.example.com"].memory'),
        ("1.37", 'driver == "d.com"', "write device.driver"),
        ("1.37", 'device.name == "gpu-0"', "a device has driver, attributes, capacity"),
        ("1.34", "[2, 1].sort() == [1, 2]", "Kubernetes 1.35 and later take it"),
        ("1.35", "device.allowMultipleAllocations", "1.35 takes it where the feature gate DRAConsumableCapacity is on"),
        ("1.35", "[1].includes(1)", "1.36 takes it where the feature gate DRAListTypeAttributes is on"),
        ("1.37", "device.driver = 'd.com'".replace("'", '"'), "=="),
        ("1.37", "device.driver == ", None),
    ],
)
def test_a_selector_that_does_not_compile_is_told_how(release: str, expression: str, said: str | None) -> None:
    text = device_class("gpu.example.com", f"'{expression}'")
    (finding,) = [f for f in lint(load(["-"], stdin=text.encode()), Target.of(release)).findings if f.api]
    assert finding.help is None if said is None else said in (finding.help or "")


def test_a_constraint_with_neither_attribute_is_not_told_that_it_has_both() -> None:
    text = claim("a x\nb x", "constraints: [{requests: [a, b]}]")
    (finding,) = [f for f in lint(load(["-"], stdin=text.encode()), Target.of()).findings if f.api]
    assert "multiple fields are set" in finding.message
    assert (finding.help or "").startswith("the constraint has neither")


def test_the_lower_limit_of_devices_is_explained() -> None:
    plain = published("node-1", " ".join(f"gpu-{number}" for number in range(129)))
    tainted = plain.replace("- name: gpu-5\n", "- name: gpu-5\n    taints: [{key: a, effect: NoSchedule}]\n")
    helps = []
    for text in (plain, tainted):
        (finding,) = [f for f in lint(load(["-"], stdin=text.encode()), Target.of()).findings if f.code == "DRA312"]
        helps.append(finding.help)
    assert helps[0] is None
    assert helps[1] is not None
    assert helps[1].startswith("128 are allowed only where")


def test_everything_that_a_configuration_lacks_is_named_once() -> None:
    text = claim("gpu gpu.nvidia.com", "config: [{opaque: {driver: gpu.nvidia.com, parameters: {sharing: {}}}}]")
    messages = [finding.message for finding in found(text, "DRA711")]
    assert len(messages) == len(set(messages))
    assert {name for name in ("apiVersion", "kind") if any(f'"{name}"' in m for m in messages)} == {
        "apiVersion",
        "kind",
    }


# -- DRA705: seen on a control plane of 1.37.1, where only the toleration with the effect kept the pod --


@pytest.mark.parametrize(
    ("tolerations", "severities"),
    [
        ("{key: a, operator: Exists}", ["info"]),
        ("{key: a, operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists, effect: NoSchedule}", []),
        ("{key: a, operator: Exists}, {key: a, operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists}, {operator: Exists, effect: NoExecute}", []),
        ("{key: a, operator: Exists}, {key: b, operator: Exists, effect: NoExecute}", ["info"]),
        ("{key: a, value: x}, {key: a, value: z, effect: NoExecute}", ["info"]),
        ("{key: a, value: x}, {key: a, value: x, effect: NoExecute}", []),
        ("{key: a, operator: Exists, tolerationSeconds: 60}", ["warning"]),
        ("{key: a, operator: Exists}, {key: b, operator: Exists}", ["info"]),
    ],
)
def test_a_toleration_of_every_effect_does_not_keep_a_pod(tolerations: str, severities: list[str]) -> None:
    text = claim(f"gpu gpu.example.com {{tolerations: [{tolerations}]}}")
    assert [finding.severity for finding in found(text, "DRA705")] == severities


# -- DRA751 and DRA752 --

TYPED = (
    published("node-1", "gpu-0")
    + "    attributes: {model: {string: A100}, version: {version: 1.2.3}, cores: {int: 4}}\n"
)


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        (
            'version == "1.2.3"',
            "DRA751",
            "version is of the type version, such as 1.2.3: compare it by compareTo(semver(",
        ),
        ('cores > "3"', "DRA751", "cores is of the type int, such as 4"),
        ("model", "DRA751", "model is of the type string, such as A100"),
        ('modell == "A100"', "DRA751", "did you mean model?"),
        ('cores == "4"', "DRA752", 'cores: 4 ×1 (of type int, which never equals the string "4")'),
        ("cores == 5", "DRA752", "cores: 4 ×1"),
    ],
)
def test_a_selector_that_meets_another_type_is_told_which(expression: str, code: str, said: str) -> None:
    (slice_,) = load(["-"], stdin=TYPED.encode()).documents
    text = selecting(f'device.attributes["gpu.example.com"].{expression}', "gpu.example.com")
    inventory = Inventory([slice_.value], {"gpu.example.com": load(["-"], stdin=GPU.encode()).documents[0].value})
    (finding,) = lint(load(["-"], stdin=text.encode()), Target.of(), devices=inventory).findings
    assert finding.code == code
    assert (finding.help or "").startswith(said)


# -- what upstream evaluated --


@pytest.mark.conformance
@pytest.mark.parametrize("release", COMPARED)
def test_no_device_satisfies_what_is_said_to_contradict(
    release: str, shared: Path, record_property: pytest.RecordProperty
) -> None:
    """DRA606 on the recorded expressions, two by two: upstream's evaluator let no device pass both."""
    data = shared / "conformance/cel"
    cases = [json.loads(line) for line in (data / "cases.jsonl").read_text("utf-8").splitlines()]
    verdicts = [json.loads(line) for line in (data / f"verdicts-{release}.jsonl").read_text("utf-8").splitlines()]
    run = Run([], Target.of(release))
    compared = []
    for case, verdict in zip(cases, verdicts, strict=True):
        if verdict["admission"] == "ok" and "features" not in case and "==" in case["expression"]:
            results = zip(case["devices"], verdict["results"], strict=True)
            satisfied = {device for device, result in results if result.get("value") is True}
            compared.append((Expression(case["expression"], ()), satisfied))
    subject = Subject(load(["-"], stdin=ONE.encode()).documents[0], "ResourceClaim")
    comparing = [item for item in compared if list(dra606._wanted(run, subject, item[0]))]
    said = 0
    for at, (first, here) in enumerate(comparing):
        for second, there in comparing[at:]:
            if dra606._contradiction(run, [(subject, first), (subject, second)]):
                said += 1
                assert not here & there, (first.text, second.text)
    assert said > (100 if WHOLE else -1)
    record_property("cases", said)
