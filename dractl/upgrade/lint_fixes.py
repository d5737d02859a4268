"""Lint's fixes of the manifests that a step of an upgrade breaks."""

from collections.abc import Mapping

from msgspec.structs import replace

from dractl.lint.finding import Finding as LintFinding
from dractl.lint.run import lint
from dractl.manifests import Inputs
from dractl.model import Target
from dractl.program import program_name
from dractl.upgrade.finding import Finding, Plan, Step
from dractl.upgrade.upgrade import gates_of

_RELEASE_STEP = "Kubernetes "

Fixes = Mapping[str, tuple[str, ...]]
"""Titles of fixes, by the name of the object that each changes."""


def add_fixes(plan: Plan, inputs: Inputs, gates: Mapping[str, bool]) -> Plan:
    """Add lint's fixes to the findings that break manifests."""
    steps = tuple(_add_to_step(step, inputs, gates) for step in plan.steps)
    return replace(plan, steps=steps)


def _add_to_step(step: Step, inputs: Inputs, gates: Mapping[str, bool]) -> Step:
    is_broken = any(finding.level == "breaks" for finding in step.findings)
    if not step.step.startswith(_RELEASE_STEP) or not is_broken:
        return step
    release = step.step.removeprefix(_RELEASE_STEP)
    report = lint(inputs, Target.of(release, gates_of(release, gates)))
    fixes: dict[str, dict[str, None]] = {}
    for finding in report.findings:
        if finding.fix is not None and finding.api is not None:
            ref = finding.object
            name = "/".join(filter(None, (ref.kind, ref.namespace, ref.name)))
            fixes.setdefault(name, {})[_title(finding, finding.fix.title, release)] = None
    titles = {name: tuple(texts) for name, texts in fixes.items()}
    return replace(step, findings=tuple(_add_fix(finding, titles) for finding in step.findings))


def _title(finding: LintFinding, title: str, release: str) -> str:
    """Return the title of a fix with the command that applies it."""
    is_safe = finding.fix is not None and finding.fix.safe
    command = f"{program_name()} lint --fix" + ("" if is_safe else " --unsafe-fixes")
    return f"{title} ({command} --kubernetes-version {release} {finding.position.file})"


def _add_fix(finding: Finding, fixes: Fixes) -> Finding:
    titles = list(dict.fromkeys(text for name in finding.objects for text in fixes.get(name, ())))
    is_unfixed = finding.level == "breaks" and finding.fix is None
    return replace(finding, fix="; ".join(titles)) if is_unfixed and titles else finding
