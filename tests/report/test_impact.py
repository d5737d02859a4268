"""Reports of impact: what a person reads, and names from strangers in them."""

from __future__ import annotations

from dractl.cluster.shell import NextStep
from dractl.impact import DeviceChange, DeviceState, Impact, PendingPod, PodImpact
from dractl.report.canvas import Canvas
from dractl.report.impact import html, text

HELD = DeviceState("held")
IMPACT = Impact(
    ("drain Node/gpu-1",),
    devices=(DeviceChange("gpu.example.com/gpu-1/gpu-0", "gpu-1", HELD, DeviceState("free")),),
    pods=(
        PodImpact(("ml", "a"), "blocked", "PodDisruptionBudget ml/guard needs 1"),
        PodImpact(("ml", "b"), "evicted", "Deployment serve creates it again", 0, "gpu-2"),
        PodImpact(("ml", "c"), "evicted", "Deployment serve creates it again", 0, "gpu-2"),
        PodImpact(("ml", "d"), "evicted", "Job x creates it again", 25),
    ),
    pending=(PendingPod("ml/d", None, None, replaces=True), PendingPod("ml/p", "gpu-1", None)),
    steps=(NextStep("cordon gpu-1", "kubectl cordon gpu-1"),),
    notes=("something else",),
)


def test_the_whole_text() -> None:
    assert (
        text.render(IMPACT, Canvas(width=80), "1.37")
        == """\
drain Node/gpu-1: pods: 1 blocked, 3 evicted (2 with another place)
  Kubernetes 1.37

Blocked (1)
  ml/a: PodDisruptionBudget ml/guard needs 1

Evicted (3)
  ml/b, ml/c at once: Deployment serve creates it again
    → its new pods go to gpu-2
  ml/d in 25 s: Job x creates it again

Waiting for a node afterwards (2)
  the pod that replaces ml/d: no node fits
  ml/p: no node fits any more; without the change gpu-1 would

Devices (1)
  gpu-1: gpu-0: held → free

Steps
  1. cordon gpu-1
     kubectl cordon gpu-1

Notes
  something else
"""
    )


def test_names_from_strangers_are_harmless() -> None:
    name = 'x"<b>\n\x1b[31m'
    strange = Impact(
        (f"drain Node/{name}",),
        devices=(DeviceChange(name, name, None, DeviceState("free", (name,))),),
        pods=(PodImpact((name, name), "evicted", name, None, name),),
        pending=(PendingPod(name, name, name),),
        steps=(NextStep(name, name),),
        notes=(name,),
    )
    page = html.render(strange, name)
    assert "<b>" not in page
    report = text.render(strange, Canvas(unicode=False), name)
    assert "\x1b" not in report
    assert report.isascii()


def test_page_has_no_empty_columns_and_shows_commands_as_code() -> None:
    pod = PodImpact(("ml", "a"), "kept", "no taint", None, None)
    page = html.render(Impact(("rule",), pods=(pod,), notes=("run `kubectl get <x>`",)), "1.37")
    assert "ends after" not in page
    assert "node of the new pod" not in page
    assert "<li>run <code>kubectl get &lt;x&gt;</code></li>" in page
