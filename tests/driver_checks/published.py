"""YAML of slices, and what check-driver finds in snapshots of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.driver_checks.installation import Objects
from dractl.driver_checks.judgement import Subject, report_on_driver
from dractl.driver_checks.snapshots import read_publication
from dractl.lint.findings import Terms
from dractl.manifests import load
from dractl.model import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.lint import Finding
    from dractl.manifests import Document


def documents(text: str, name: str = "<stdin>") -> Sequence[Document]:
    """Return the documents of a text."""
    return load(["-"], stdin=text.encode(), stdin_name=name, relevant_only=False).documents


def check(
    *texts: str,
    driver: str | None = None,
    chart: str = "",
    cluster: str = "",
    now: float | None = None,
    gates: dict[str, bool] | None = None,
) -> list[Finding]:
    """Return the findings on a driver of which each text is a snapshot."""
    sources = [
        (f"{index}.yaml", documents(text, f"{index}.yaml")) for index, text in enumerate(texts)
    ]
    objects = documents(cluster, "cluster.yaml") if cluster else ()
    if cluster:
        sources = [("cluster.yaml", objects)]
    subject = Subject(
        read_publication(sources, driver),
        installation=Objects.from_documents(documents(chart, "chart.yaml")) if chart else None,
        cluster=Objects.from_documents(objects, now) if cluster else None,
    )
    return list(report_on_driver(subject, Terms(Target.of(overrides=gates or {}))).findings)


def codes(*texts: str, **options: object) -> set[str]:
    """Return the codes of the findings."""
    return {finding.code for finding in check(*texts, **options)}  # type: ignore[arg-type]


def resource_slice(
    devices: str,
    *,
    name: str = "node-1-gpu",
    pool: str = "node-1",
    generation: int = 1,
    count: int = 1,
    node: str = "node-1",
    metadata: str = "",
    driver: str = "gpu.example.com",
) -> str:
    """Return a slice; ``devices`` has a device a line: ``NAME {attributes}``."""
    listed = ""
    for line in devices.strip().splitlines():
        device, _, attributes = line.strip().partition(" ")
        listed += f"  - {{name: {device}, attributes: {attributes or '{}'}}}\n"
    return (
        "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"
        f"metadata: {{name: {name}{', ' + metadata if metadata else ''}}}\nspec:\n"
        f"  driver: {driver}\n  nodeName: {node}\n"
        f"  pool: {{name: {pool}, generation: {generation}, resourceSliceCount: {count}}}\n"
        f"  devices:\n{listed}"
    )
