"""The rules of lint: what stands in ``rules/``, one file a rule.

What only the API server's answer decides is a page, ``DRA311.md``: a summary, then the headings of :data:`HEADINGS`,
below a head of lines ``key: value``:

- ``name`` and ``severity``;
- ``violations``: the ids of the violations (:class:`dractl.validation.violation.Violation`) that it reports;
- ``rejects``: the kind of object that the server rejects, for pages without "Why is this bad" (:data:`REJECTED`).

An "Example" that is a ``diff`` says "Use instead" too: what differs is marked, and the rest stands there once.

Advice of dractl's own is a module, ``dra722_misspelt_device_class.py``: the page is its docstring, and it has
``SEVERITY``, ``KINDS`` and ``check(run)``, which is called if the run holds an object of one of the kinds; with
``FIELDS`` only if a claim or a class says one of them, with ``FOR`` only if one of these consumers of claims
(:data:`CONSUMERS`) was named. With ``ALONE``, what it says of a claim or a class follows from its spec and from the
classes that it names; it is not asked again about one that reads the same (:mod:`dractl.lint.repeated`). ``UNLESS`` has
the codes of rules that say the same: where one of them has a finding, this rule has none. What is
about one thing alone stands in a folder of that name (:data:`_FOLDERS`), and is imported where there is any; what
loads CEL stands in ``selectors/`` or ``devices/``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

from msgspec import Struct

from dractl.errors import UsageError
from dractl.lint.finding import Severity
from dractl.lint.model import PODS, Found, Run
from dractl.model.nearest import nearest
from dractl.program import program_name
from dractl.validation.kueue import has_mappings
from dractl.validation.roles import ROLES

HEADINGS = (
    "What it does",
    "Why is this bad",
    "How to fix",
    "Seen in",
    "Example",
    "Use instead",
    "Source",
)

REJECTED = {
    "claim": "The API server rejects the claim.",
    "object": "The API server rejects the object.",
    "pod": "The API server rejects the pod, and every workload with such a pod template.",
    "slice": "The API server rejects the slice, so the driver cannot publish its devices.",
    "status": "An API server rejects such a status: it was written by hand, or the dump is truncated.",
    "taint rule": "The API server rejects the rule.",
}
"""Why a violation is bad, by the kind of object that has it."""

CONSUMERS = ("karpenter", "cluster-autoscaler", "kueue")
"""What reads claims besides kube-scheduler, and has limits of its own."""

DOCUMENTATION = ""
"""The address of the documentation site, without a slash at its end; empty until ``tools/set_address.py`` sets it."""

_RULES = Path(__file__).parent / "rules"
_FOLDERS: dict[str, Callable[[Run], bool]] = {
    "": lambda _: True,
    "classes": lambda run: "DeviceClass" in run.kinds,
    "consumers": lambda run: bool(run.consumers),
    "devices": lambda run: run.devices is not None,
    "kueue": lambda run: any(has_mappings(subject.value) for subject in run.of("")),
    "patches": lambda run: bool(run.bases),
    "pods": lambda run: not run.kinds.isdisjoint(PODS),
    "roles": lambda run: not run.kinds.isdisjoint(ROLES),
    "selectors": lambda run: "selectors" in run.fields,
    "slices": lambda run: "ResourceSlice" in run.kinds,
}
"""The folders of rules, and the runs for which their rules are imported."""


class Rule(Struct, frozen=True):
    """A rule: its page as ``written``, the ``violations`` of the API server that it reports, or its own check and
    the runs that the check is for."""

    code: str
    name: str
    severity: Severity
    written: str
    violations: tuple[str, ...] = ()
    check: Callable[[Run], Found] | None = None
    kinds: tuple[str, ...] = ()
    devices: bool = False
    fields: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    alone: bool = False
    unless: tuple[str, ...] = ()
    """Codes that say the same: at a place with one of their findings this rule has none."""

    @property
    def page(self) -> str | None:
        """The address of the rule's page on the documentation site; None if the project has no site."""
        return f"{DOCUMENTATION}/rules/{self.code}/" if DOCUMENTATION else None

    def advice(self, run: Run) -> Found:
        """What its check finds in a run; nothing in one that it is not for."""
        if (
            self.check is not None
            and not run.whole.kinds.isdisjoint(self.kinds)
            and (run.devices is not None or not self.devices)
            and (not self.fields or not run.whole.fields.isdisjoint(self.fields))
            and (not self.consumers or not run.consumers.isdisjoint(self.consumers))
        ):
            yield from self.check(run)

    @property
    def documentation(self) -> str:
        """The page, with an example that is a diff as two: the wrong one, and what to use instead."""
        before, fence, rest = self.written.partition("```diff\n")
        diff, _, after = rest.partition("```\n")
        lines = diff.splitlines(keepends=True)
        wrong, right = (
            "".join(line[1:] or line for line in lines if line[0] != other) for other in "+-"
        )
        return (
            f"{before}```yaml\n{wrong}```\n\n## Use instead\n\n```yaml\n{right}```\n{after}"
            if fence
            else self.written
        )

    @property
    def compares_snapshots(self) -> bool:
        """True if its example is a recording of a driver's slices, which only check-driver reads."""
        return "`check-driver`" in self.section("What it does")

    def section(self, heading: str) -> str:
        """The text below one of :data:`HEADINGS`; with "" the summary above the first."""
        parts = self.documentation.split("\n## ")
        if not heading:
            return parts[0].strip()
        return next(
            (
                text.strip()
                for title, _, text in (p.partition("\n") for p in parts[1:])
                if title == heading
            ),
            "",
        )

    def example(self, heading: str) -> str:
        """The YAML of "Example" or "Use instead"."""
        text = self.section(heading)
        return text.partition("```yaml\n")[2].partition("```")[0]


def checks(run: Run | None = None) -> tuple[Rule, ...]:
    """The rules that have a check of their own, by code; those that may have something to say about a run."""
    return _checks(
        tuple(folder for folder, concerns in _FOLDERS.items() if run is None or concerns(run))
    )


@cache
def _checks(folders: tuple[str, ...]) -> tuple[Rule, ...]:
    paths = [path for folder in folders for path in (_RULES / folder).glob("dra*.py")]
    return tuple(map(_of_module, sorted(paths, key=lambda path: path.name)))


@cache
def _of_module(path: Path) -> Rule:
    folder = path.parent.relative_to(_RULES).parts
    module = import_module(".".join(("dractl.lint.rules", *folder, path.stem)))
    code, _, called = path.stem.partition("_")
    return Rule(
        code.upper(),
        called.replace("_", "-"),
        module.SEVERITY,
        (module.__doc__ or "").strip(),
        check=module.check,
        kinds=module.KINDS,
        devices="devices" in folder,
        fields=getattr(module, "FIELDS", ("selectors",) if "selectors" in folder else ()),
        consumers=getattr(module, "FOR", ()),
        alone=getattr(module, "ALONE", False),
        unless=getattr(module, "UNLESS", ()),
    )


def _of_page(path: Path) -> Rule:
    _, head, text = path.read_text(encoding="utf-8").split("---\n", 2)
    facts = dict(line.split(": ", 1) for line in head.splitlines())
    violations = tuple(facts["violations"].split(", ")) if "violations" in facts else ()
    if "rejects" in facts:
        summary, does, *others = text.split("\n## ")
        text = "\n## ".join(
            [summary, does, f"Why is this bad\n\n{REJECTED[facts['rejects']]}\n", *others]
        )
    return Rule(
        path.stem, facts["name"], cast("Severity", facts["severity"]), text.strip(), violations
    )


@cache
def _pages() -> dict[str, Rule]:
    return {path.stem: _of_page(path) for path in _RULES.glob("DRA*.md")}


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in order."""
    return {
        rule.code: rule
        for rule in sorted((*checks(), *_pages().values()), key=lambda rule: rule.code)
    }


@cache
def rule_of(code: str) -> Rule:
    """The rule with a code."""
    return _pages().get(code) or _of_module(next(_RULES.rglob(f"{code.lower()}_*.py")))


@cache
def _by_violation() -> dict[str, Rule]:
    return {violation: rule for rule in _pages().values() for violation in rule.violations}


def for_violation(violation: str) -> Rule:
    """The rule that reports a violation of this id; DRA199 if it has no rule of its own."""
    return _by_violation().get(violation) or rule_of("DRA199")


def find(text: str) -> Rule | None:
    """The rule with this code (in any case) or name."""
    wanted = text.strip()
    known = rules()
    return known.get(wanted.upper()) or next(
        (rule for rule in known.values() if rule.name == wanted.lower()), None
    )


def expand(selectors: Iterable[str], what: str) -> frozenset[str]:
    """The codes for codes, names or prefixes of codes (``DRA3``; ``ALL``); UsageError for an unknown one."""
    codes: set[str] = set()
    for selector in filter(None, (text.strip() for text in selectors)):
        upper = selector.upper()
        found = {
            code
            for code in rules()
            if upper == "ALL" or (upper.startswith("DRA") and code.startswith(upper))
        }
        named = find(selector)
        if named:
            found.add(named.code)
        if not found:
            raise UsageError(f"{what}: unknown rule {selector!r}", hint=suggest(selector))
        codes |= found
    return frozenset(codes)


def suggest(text: str, further: Sequence[str] = ()) -> str:
    """A suggestion for an unknown code or name. An unknown code resembles no other: only its beginning means
    something."""
    upper = text.strip().upper()
    series = sorted(code for code in rules() if code.startswith(upper[:4]))
    if upper.startswith("DRA") and upper[3:].isdigit() and series:
        command = f"`{program_name()} rule {upper[:4]}`"
        return f"{upper[:4]} has {series[0]} to {series[-1]}; {command} lists them"
    known = [name for rule in rules().values() for name in (rule.code, rule.name)] + list(further)
    near = nearest(text, known)
    return f"did you mean {near}?" if near else f"`{program_name()} rule` lists every code and name"
