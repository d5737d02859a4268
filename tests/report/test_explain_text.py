"""explain for people, on terminals of every width."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_all_waiting, find_subjects, sort_by_severity
from dractl.explain.answer import Fix, Obstacle, Reason, Relief, Subject
from dractl.explain.reasons.headline import Clauses
from dractl.report.canvas import Canvas
from dractl.report.explain import (
    html as explain_html,
    matrix_html,
    opening as explain_opening,
    overview,
    text as explain_text,
)
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

GPU = device_class("gpu.example.com", "device.driver == 'gpu.example.com'")
NOON = 1767268800.0  # 2026-01-01T12:00:00Z


def asked(cluster: list[dict[str, Any]], *names: str) -> list[Explanation]:
    state = state_of(*cluster)
    questions = [q for name in names for q in find_subjects(state, name, None)] or find_all_waiting(
        state, None
    )
    explainer = Explainer(state, Features.for_release("1.37", {}))
    return sort_by_severity(explainer.explain(question) for question in questions)


def shown(
    cluster: list[dict[str, Any]], name: str, width: int = 100, *, every: bool = False
) -> str:
    return explain_text.render(asked(cluster, name), Canvas(width), now=NOON, every=every)


def gpus(where: str, count: int, **attributes: Any) -> dict[str, Any]:
    return slice_of(
        "gpu.example.com", where, *(device(f"gpu-{i}", **attributes) for i in range(count))
    )


def two_nodes() -> list[dict[str, Any]]:
    held = claim(
        "eval-x",
        request("r", "gpu.example.com"),
        status=allocation("b", ("gpu.example.com", "gpu-0"), pod="eval"),
    )
    return [GPU, node("a"), node("b"), gpus("a", 2, model="x"), gpus("b", 4, model="y"), held]


def test_requests_of_several_claims_are_distinguished() -> None:
    both = [claim(n, request("gpu", "gpu.example.com", 3)) for n in ("train-left", "train-right")]
    user = pod(
        "train", *({"name": n, "resourceClaimName": f"train-{n}"} for n in ("left", "right"))
    )
    text = shown([*two_nodes(), *both, user], "train")
    assert "  request left/gpu   3 × gpu.example.com  6 devices on 2 nodes\n" in text
    assert "  request right/gpu  3 × gpu.example.com  6 devices on 2 nodes\n" in text


def test_an_extended_resource_is_called_as_the_pod_has_it() -> None:
    provider = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": "example.com/gpu"}}
    init = {"name": "setup", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    user = pod(
        "train", requests={"cpu": "1", "example.com/gpu": "5"}, spec={"initContainers": [init]}
    )
    text = shown([provider, *two_nodes()[1:], user], "train")
    assert "example.com/gpu: 5 of container main wants 5 devices" in text
    assert "\n  example.com/gpu: 5 of container main\n    5 × gpu.example.com" in text
    assert "container-" not in text
    less = pod("train", requests={"example.com/gpu": "1"})
    text = shown([provider, *two_nodes()[1:], less], "train")
    assert "    example.com/gpu: 1 of container main  gpu.example.com/a/gpu-0\n" in text


def test_the_heading_has_phase_age_claims_and_their_templates() -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "two-gpus", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [request("gpu", "gpu.example.com", 9)]}}},
    }
    user = pod(
        "train",
        {"name": "gpus", "resourceClaimTemplateName": "two-gpus"},
        metadata={"creationTimestamp": "2026-01-01T11:46:00Z"},
    )
    first, second = shown([*two_nodes(), template, user], "train").splitlines()[:2]
    assert first.startswith(
        "pod ml/train  Pending 14m  claim train-gpus (from template two-gpus)  "
    )
    assert first.endswith("Kubernetes 1.37")
    assert second.startswith("✗ ")


def test_numeric_places_are_named() -> None:
    numa = [device(f"gpu-{i}", numa=i) for i in range(2)]
    alike = [{"matchAttribute": "gpu.example.com/numa"}]
    cluster = [GPU, node("a"), slice_of("gpu.example.com", "a", *numa)]
    text = shown(
        [*cluster, claim("c", request("gpu", "gpu.example.com", 2), constraints=alike)], "c"
    )
    assert "    a   numa 0   1 gpu    ← nearest\n    a   numa 1   1 gpu\n" in text


def test_devices_for_another_node_are_counted_with_the_reason() -> None:
    devices = ({**device("gpu-0"), "nodeName": "a"}, {**device("gpu-1"), "nodeName": "b"})
    published = slice_of("gpu.example.com", "a", *devices)
    del published["spec"]["nodeName"]
    published["spec"]["perDeviceNodeSelection"] = True
    wanted = claim("c", request("gpu", "gpu.example.com", 2))
    words = shown([GPU, node("a"), published, wanted], "claim/c").split()
    assert "for this node 1 of 2 (the device is for another node)" in " ".join(words)


def test_holders_are_shown_with_their_pods() -> None:
    text = shown([*two_nodes(), claim("c", request("gpu", "gpu.example.com", 4))], "claim/c")
    assert "(1 held: claim ml/eval-x (pod eval))" in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal_and_none_is_cut(width: int, unicode: bool) -> None:
    selector = {
        "cel": {
            "expression": "device.attributes['gpu.example.com'].modelName == 'a model with a long name'"
        }
    }
    long = "no-such-template-of-a-rather-long-name"
    cluster = [
        *two_nodes(),
        *(
            node(f"ip-10-0-12-{i}.eu-central-1.compute.internal", unschedulable=True)
            for i in range(9)
        ),
        claim("picky", request("accelerator", "gpu.example.com", 1, selectors=[selector])),
        claim("many", request("accelerator", "gpu.example.com", 40)),
        pod("lost", {"name": "gpus", "resourceClaimTemplateName": long}),
    ]
    canvas = Canvas(width, unicode)
    answers = asked(cluster)
    text = explain_text.render(answers, canvas, now=NOON, every=True)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text.replace(", …", "")
    assert unicode or text.isascii()
    assert "\n\n\n" not in text
    inventory = explain_text.render(asked(cluster, "node/b"), canvas, now=NOON)
    assert max(map(len, inventory.splitlines())) <= width
    assert "claim ml/eval-x (pod ml/eval)" in " ".join(inventory.split())
    rows = overview.table(answers, canvas, now=NOON, screen=24)
    assert max(map(len, rows.splitlines())) <= width


def test_a_long_change_is_not_broken_by_the_nodes() -> None:
    title = "driver fpga.example.com publishes 1 device on a node with a long name"
    fixes = (
        Fix("lower count of request gpu", (), nodes=("gpu-a", "gpu-b"), rank=1),
        Fix(title, (), effect="is it installed and running there?", nodes=("gpu-a",), rank=2),
    )
    answer = Explanation(Subject("Pod", "ml", "train"), "unallocatable", "1.37", False, fixes=fixes)
    assert explain_text.render([answer], Canvas(60)).endswith(
        "To make it fit             each verified by a new allocation\n"
        "  1  lower count of request gpu                 gpu-a, gpu-b\n"
        "  2  driver fpga.example.com publishes 1 device on a node\n"
        "     with a long name (is it installed and running there?)\n"
        "                                                gpu-a\n"
    )
    assert explain_text.render([answer], Canvas(100)).endswith(
        "  2  driver fpga.example.com publishes 1 device on a node with a long name (is it installed and\n"
        "     running there?)                                                                    gpu-a\n"
    )


def test_the_table_has_a_line_for_each_subject_worst_first() -> None:
    old = {"metadata": {"creationTimestamp": "2026-01-01T11:46:00Z"}}
    fits = claim("fits", request("gpu", "gpu.example.com"), **old)
    never = claim("never", request("gpu", "gpu.example.com", 9))
    lost = pod("lost", {"name": "gpus", "resourceClaimTemplateName": "none"}, **old)
    answers = asked([*two_nodes(), fits, never, lost])
    head, *lines, blank, summary = overview.table(answers, Canvas(), now=NOON).splitlines()
    assert head.split() == ["SUBJECT", "AGE", "REASON", "WHY"]
    rows = [line for line in lines if not line.startswith("    fix: ")]
    assert [row.split()[1:3] for row in rows] == [
        ["pod", "ml/lost"],
        ["claim", "ml/never"],
        ["claim", "ml/fits"],
    ]
    assert lines[lines.index(rows[1]) + 1] == f"    fix: {answers[1].fixes[0].title}"
    assert rows[0].split()[3:5] == ["14m", "template-missing"]
    why = head.index("WHY")
    assert all(row[why - 2 : why] == "  " and row[why] != " " for row in rows)
    assert rows[1].endswith(" of class gpu.example.com")
    assert rows[2].endswith("fits on a, b")
    assert (blank, summary) == (
        "",
        "3 subjects for Kubernetes 1.37: 1 blocked, 1 unschedulable, 1 fit",
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_message_is_wrapped_in_its_column_and_keeps_its_code(width: int) -> None:
    """The end of a message has the answer, and the code leads to the page about it."""
    lost = pod("lost", {"name": "gpus", "resourceClaimTemplateName": "accelerators-of-trainers"})
    never = claim("never", request("gpu", "gpu.example.com", 9))
    answers = asked([*two_nodes(), never, lost])
    lines = overview.table(answers, Canvas(width), now=NOON, screen=24).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for answer in answers:
        assert answer.reasons[0].code in text
        assert all(word in text for word in answer.reasons[0].brief.split())
    assert "…" not in text


def test_messages_are_cut_only_where_the_table_would_not_fit_on_the_screen() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    long = Reason("not-enough", words, words)
    answers = [
        Explanation(Subject("Pod", "ml", name), "unallocatable", "1.37", False, reasons=(long,))
        for name in "abcdefgh"
    ]
    whole, some, few = (
        overview.table(answers, Canvas(100), screen=screen) for screen in (60, 30, 12)
    )
    assert whole.count("word39") == 8
    assert (some.count("…"), few.count("…")) == (8, 8)
    assert len(few.splitlines()) == 11 < len(some.splitlines()) < 30


def waiting(name: str, fix: Fix, number: int = 1) -> Explanation:
    others = tuple(f"{name}-{i}" for i in range(1, number))
    workload = f"deployment ml/{name}" if others else ""
    subject = Subject("Pod", "ml", name)
    return Explanation(
        subject, "unallocatable", "1.37", False, "no", fixes=(fix,), alike=others, workload=workload
    )


def test_common_fix_of_several_subjects_is_one_line() -> None:
    end, lower = Fix("delete pod ml/x", (), "ends it", relief=Relief(4, 5)), Fix("lower count", ())
    answers = [
        waiting("infer", end, 4),
        waiting("ring", lower),
        waiting("serve", end),
        waiting("two", lower),
    ]
    _, *lines = overview.table(answers, Canvas(unicode=True)).splitlines()
    assert [line.split("  ")[0] for line in lines[:6] if line[:1] == "✗"] == [
        "✗ deploy ml/infer ×4",
        "✗ pod ml/serve",
        "✗ pod ml/ring",
        "✗ pod ml/two",
    ]
    assert lines[2] == "    fix for 4 of 5 pods: delete pod ml/x (ends it)"
    assert lines[5] == "    fix for both: lower count"
    assert len(lines) == 8


def test_fix_for_most_pods_is_reported_even_if_first_for_none() -> None:
    lower, end = (
        Fix("lower count", (), relief=Relief(1, 8)),
        Fix("delete pod ml/x", (), relief=Relief(7, 8)),
    )
    answer = replace(waiting("ring", lower, 8), fixes=(lower, end))
    lines = overview.table([answer, waiting("a", Fix("wait", ()))], Canvas()).splitlines()
    assert lines[2] == "    fix for 1 of 8 pods: lower count"
    assert lines[5] == "    fix for most, 7 of 8 pods: delete pod ml/x"


@pytest.mark.parametrize("screen", [11, 12])
def test_an_empty_line_only_where_the_prompt_stays_on_the_screen(screen: int) -> None:
    answers = [waiting(name, Fix(f"end {name}", ())) for name in "abcd"]
    lines = overview.table(answers, Canvas(80), screen=screen).splitlines()
    assert len(lines) < screen
    assert ("" in lines) is (screen == 12)


def test_fixes_for_few_pods_give_way_where_the_screen_has_no_line_for_each() -> None:
    answers = [
        waiting(name, Fix(f"end {name}", ()), number)
        for name, number in (("a", 1), ("b", 9), ("c", 1), ("d", 4))
    ]
    lines = overview.table(answers, Canvas(80), screen=10).splitlines()
    assert len(lines) == 9  # and the prompt
    assert [line for line in lines if "fix" in line] == [
        "    fix: end b",
        "    fix: end d",
        "2 more fixes: -v shows each subject in full",
    ]
    assert (
        overview.table(answers, Canvas(80), screen=5).count("    fix: ") == 4
    )  # it scrolls anyway


def test_a_fix_for_several_workloads_counts_the_replicas_of_each() -> None:
    answers = [
        waiting("a", Fix("end x", ()), 4),
        waiting("b", Fix("end x", ()), 1),
        waiting("c", Fix("end c", ()), 3),
        waiting("d", Fix("end d", ()), 2),
    ]
    lines = overview.table(answers, Canvas(80), screen=9).splitlines()
    assert [line for line in lines if "fix" in line] == [
        "    fix for both: end x",
        "2 more fixes: -v shows each subject in full",
    ]


def test_the_fix_for_most_pods_stays_on_a_small_screen() -> None:
    """One workload of four pods comes before three pods."""
    several = [waiting(name, Fix("end b", ()), 1) for name in "bcd"]
    answers = [waiting("a", Fix("end a", ()), 4), *several, waiting("e", Fix("end e", ()), 2)]
    lines = overview.table(answers, Canvas(80), screen=10).splitlines()
    assert [line for line in lines if "fix" in line] == [
        "    fix: end a",
        "2 more fixes: -v shows each subject in full",
    ]


def test_reasons_of_a_matrix_have_letters_as_columns_of_a_spreadsheet() -> None:
    names = [matrix_html._letter(number) for number in (0, 25, 26, 51, 52, 701, 702)]
    assert names == ["a", "z", "aa", "az", "ba", "zz", "aaa"]


def test_a_code_without_room_beside_the_subject_is_printed_before_the_message() -> None:
    lost = pod("lost-in-a-namespace", {"name": "gpus", "resourceClaimTemplateName": "none"})
    lines = overview.table(asked([*two_nodes(), lost]), Canvas(40), screen=24).splitlines()
    assert "REASON" not in lines[0]
    assert lines[1].endswith("pod ml/lost-in-a-namespace")
    assert lines[2].startswith("    template-missing: ")
    assert max(map(len, lines)) <= 40


def test_text_of_the_cluster_moves_no_cursor() -> None:
    selector = {"cel": {"expression": "device.attributes['gpu.example.com'].model == 'z'"}}
    cluster = [GPU, node("a"), gpus("a", 2, model="\x1b[2J\x1b[31mgone")]
    text = shown(
        [*cluster, claim("c", request("gpu", "gpu.example.com", 1, selectors=[selector]))], "c"
    )
    assert "\\x1b[31mgone ×2" in text
    assert "\x1b" not in text


def test_pod_only_waiting_for_the_scheduler_has_its_own_mark() -> None:
    """Neither a tick nor a cross: nothing is wrong, and nothing has been placed."""
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes ...",
    }
    user = pod("train", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "u"})
    user["status"] |= {
        "conditions": [{**unscheduled, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    }
    text = shown([*two_nodes(), claim("c", request("gpu", "gpu.example.com", 2)), user], "train")
    assert any(line.startswith("… ") and "would fit" in line for line in text.splitlines()), text


def test_selector_is_quoted_with_a_mark_below_the_false_part() -> None:
    whole = (
        "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'z'"
    )
    asks = request("gpu", "gpu.example.com", 1, selectors=[{"cel": {"expression": whole}}])
    part = "device.attributes['gpu.example.com'].model == 'z'"
    for width in (100, 60):
        lines = shown([*two_nodes(), claim("c", asks)], "claim/c", width).splitlines()
        pairs = pairwise(lines)
        assert (
            "".join(above[at] for above, below in pairs for at, m in enumerate(below) if m == "^")
            == part
        )


def test_a_reason_of_no_node_is_below_the_table_of_nodes() -> None:
    (answer,) = asked([*two_nodes(), claim("c", request("gpu", "gpu.example.com", 4))], "claim/c")
    assert len({node.reasons[0].code for node in answer.nodes}) == 2
    words = "its driver does not run on c"
    silent = Reason(code="driver-absent", message=words, brief=words)
    answer = replace(answer, reasons=(*answer.reasons, silent))
    page = explain_text.render([answer], Canvas(100), now=NOON)
    assert [line for line in page.splitlines() if line.startswith("  also: ")] == [
        f"  also: {words} [driver-absent]"
    ]


def test_a_contrast_is_not_given_as_the_reason() -> None:
    user = pod("train", {"name": "gpu", "resourceClaimName": "c"})
    user["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T09:00:00Z"}
    user["status"] = {"phase": "Pending"}
    wanted = claim("c", request("gpu", "gpu.example.com", 1))
    _, first, second, *_ = shown([*two_nodes(), wanted, user], "train").splitlines()
    assert first.startswith("… fits on ")
    assert first.endswith(",")
    assert second.startswith("  but the scheduler has not tried the pod since it was created at")


def test_last_line_names_the_reason_that_begins_the_answer() -> None:
    held = allocation("gone", ("gpu.example.com", "gpu-0"), pod="other")
    lost = claim("c", request("gpu", "gpu.example.com", 1), status=held)
    user = pod("train", {"name": "gpu", "resourceClaimName": "c"})
    text = shown([*two_nodes(), lost, user], "train")
    assert "✗ claim ml/c is allocated on node gone, which no longer exists" in text
    assert text.splitlines()[-1] == "More about node-lost: dractl rule node-lost"


@pytest.mark.parametrize(
    ("headline", "lines"),
    [
        (
            f"request gpu: device class {'gpu-' * 4}a is not in the input, which has no class",
            ["is not in the input,", "which has no class; 2 things are in the way on a"],
        ),
        ("template a does not exist; did you mean b?", ["mean b? 2 things are in the way on a"]),
        ("template a does not exist", ["does not exist; 2 things are in the way on a"]),
    ],
)
def test_number_of_obstacles_ends_the_sentence(headline: str, lines: list[str]) -> None:
    obstacle = Obstacle("class", "", "a class", "there is none", nodes=("a",))
    explanation = replace(
        asked([GPU, claim("alone", request("gpu", "missing"))])[0],
        headline=headline,
        clauses=Clauses("", "", headline),
        obstacles=(obstacle, obstacle),
    )
    shown = explain_opening.lines(explanation)
    assert len(shown) == len(lines)
    assert all(line.endswith(end) for line, end in zip(shown, lines, strict=True))


def with_selector(expression: str) -> list[dict[str, Any]]:
    """Two nodes, and the claim of a GPU on which an expression is true."""
    asks = request("gpu", "gpu.example.com", 1, selectors=[{"cel": {"expression": expression}}])
    return [*two_nodes(), claim("c", asks)]


def test_a_count_of_no_devices_is_red() -> None:
    answers = asked(with_selector("device.attributes['gpu.example.com'].model == 'z'"), "claim/c")
    text = explain_text.render(answers, Canvas(100, color=True), now=NOON)
    assert "\x1b[31m0 of 6\x1b[0m" in text


def test_counts_stand_below_each_other_behind_the_longest_condition() -> None:
    """The longest condition that is not cut has 48 columns with its indent, all that a terminal of
    72 columns has for it.
    """
    whole = f"model=='{'z' * 35}'"
    cluster = with_selector(f"device.attributes['gpu.example.com'].{whole}")
    lines = shown(cluster, "claim/c", width=72).splitlines()
    (total,) = (line for line in lines if line.startswith("  request gpu  1 "))
    (kept,) = (line for line in lines if line.startswith(f"    {whole}  "))
    assert total.index("6 devices") == kept.index("0 of 6")


def test_page_of_a_claim_that_fits_has_no_table_of_changes() -> None:
    answers = asked([*two_nodes(), claim("c", request("gpu", "gpu.example.com"))], "claim/c")
    refused = asked([*two_nodes(), claim("c", request("gpu", "gpu.example.com", 7))], "claim/c")
    heading = "<h2>To make it fit "
    assert heading not in explain_html.render(answers)
    assert heading in explain_html.render(refused)
