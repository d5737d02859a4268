"""The rules of lint, one file each in ``rules/``.

A rule that depends only on the API server's answer is a page, ``DRA311.md``: a summary, then the
headings of :data:`HEADINGS`, below a head of lines ``key: value``:

- ``name`` and ``severity``;
- ``violations``: the ids of the violations that it reports
  (:class:`dractl.validation.violation.Violation`);
- ``rejects``: the kind of object that the server rejects, for pages without "Why is this bad"
  (:data:`REJECTED`).

An "Example" that is a ``diff`` serves as "Use instead" too: lines that differ are marked, and all
other lines appear once.

Advice of dractl's own is a module, ``dra722_misspelt_device_class.py``. Its docstring is the page,
and it has these names:

- ``SEVERITY``: the severity of its findings;
- ``KINDS`` and ``check(run)``, which is called if the run has an object of one of the kinds;
- ``FIELDS``: fields; a claim or a class of the run must have one of them;
- ``FOR``: consumers of claims; one of them must be named (:data:`CONSUMERS`);
- ``ALONE``: True if the advice on a claim or a class follows from its spec and from the classes
  that it names; objects with the same content are then judged once (:mod:`dractl.lint.repeated`);
- ``UNLESS``: codes of rules that say the same: where one of them has a finding, this rule has none.

A rule about one kind of thing is in a folder of that name (:data:`_FOLDERS`), which is imported
only where the run has such a thing. A rule that loads CEL is in ``selectors/`` or ``devices/``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
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
LIST_HEADINGS = ("Seen in", "Source")
"""Headings whose text has a line for each item; the text of all other headings consists of
paragraphs.
"""

REJECTED = {
    "claim": "The API server rejects the claim.",
    "object": "The API server rejects the object.",
    "pod": "The API server rejects the pod, and every workload with such a pod template.",
    "slice": "The API server rejects the slice, so the driver cannot publish its devices.",
    "status": (
        "An API server rejects such a status: it was written by hand, or the dump is truncated."
    ),
    "taint rule": "The API server rejects the rule.",
}
"""Sentences on why a violation is bad, by the kind of object that has it."""

CONSUMERS = ("karpenter", "cluster-autoscaler", "kueue")
"""Readers of claims besides kube-scheduler, with limits of their own."""

DOCUMENTATION = ""
"""The address of the documentation site, without a slash at its end; empty until
``tools/set_address.py`` sets it.
"""

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
    """A rule: its page, with the violations that it reports or a check of its own."""

    code: str
    """The code, such as ``DRA311``."""
    name: str
    """The name, such as ``unknown-device-class``."""
    severity: Severity
    """The severity of its findings."""
    written: str
    """The page as it was written."""
    violations: tuple[str, ...] = ()
    """The ids of the API server's violations that it reports."""
    check: Callable[[Run], Found] | None = None
    """The check of the rule itself; None if it reports violations."""
    kinds: tuple[str, ...] = ()
    """The kinds of objects; a run must have at least one of them."""
    devices: bool = False
    """True if it needs devices."""
    fields: tuple[str, ...] = ()
    """Fields of claims and classes, of which a run must have at least one; empty for any run."""
    consumers: tuple[str, ...] = ()
    """Consumers of claims, of which the user must name at least one; empty for any run."""
    alone: bool = False
    """True if its advice on a claim follows from nothing but the claim's spec and classes."""
    unless: tuple[str, ...] = ()
    """Codes of rules about the same fault; this rule reports nothing at a place where one of them
    does.
    """

    @property
    def page(self) -> str | None:
        """The address of the rule's page on the documentation site; None if the project has no
        site.
        """
        return f"{DOCUMENTATION}/rules/{self.code}/" if DOCUMENTATION else None

    def advice(self, run: Run) -> Found:
        """Yield the advice of the rule's check on a run; none if the rule does not apply to the
        run.
        """
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
        """The page, with an example that is a diff split into two: the wrong one, and the right
        one.
        """
        before, fence, remainder = self.written.partition("```diff\n")
        diff, _, after = remainder.partition("```\n")
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
        """True if its example is a recording of a driver's slices; only check-driver reads such
        recordings.
        """
        return "`check-driver`" in self.section("What it does")

    def section(self, heading: str) -> str:
        """Return the text below one of :data:`HEADINGS`; for "" return the summary above the first
        heading, on one line.
        """
        parts = self.documentation.split("\n## ")
        if not heading:
            return " ".join(parts[0].split())
        return next(
            (
                text.strip()
                for title, _, text in (p.partition("\n") for p in parts[1:])
                if title == heading
            ),
            "",
        )

    def example(self, heading: str) -> str:
        """Return the YAML of "Example" or "Use instead"."""
        text = self.section(heading)
        return text.partition("```yaml\n")[2].partition("```")[0]


def checks(run: Run | None = None) -> tuple[Rule, ...]:
    """Return the rules with a check of their own that may find something in a run, by code."""
    return _checks(
        tuple(folder for folder, concerns in _FOLDERS.items() if run is None or concerns(run))
    )


@cache
def _checks(folders: tuple[str, ...]) -> tuple[Rule, ...]:
    paths = [path for folder in folders for path in (_RULES / folder).glob("dra*.py")]
    return tuple(map(_read_module, sorted(paths, key=lambda path: path.name)))


@cache
def _read_module(path: Path) -> Rule:
    folder = path.parent.relative_to(_RULES).parts
    module = import_module(".".join(("dractl.lint.rules", *folder, path.stem)))
    code, _, rule_name = path.stem.partition("_")
    return Rule(
        code.upper(),
        rule_name.replace("_", "-"),
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


def _read_page(path: Path) -> Rule:
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
    return {path.stem: _read_page(path) for path in _RULES.glob("DRA*.md")}


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its code, in order."""
    return {
        rule.code: rule
        for rule in sorted((*checks(), *_pages().values()), key=lambda rule: rule.code)
    }


@cache
def rule_of(code: str) -> Rule:
    """Return the rule with a code."""
    return _pages().get(code) or _read_module(next(_RULES.rglob(f"{code.lower()}_*.py")))


@cache
def _by_violation() -> dict[str, Rule]:
    return {violation: rule for rule in _pages().values() for violation in rule.violations}


def for_violation(violation: str) -> Rule:
    """Return the rule that reports a violation of this id; DRA199 if it has no rule of its own."""
    return _by_violation().get(violation) or rule_of("DRA199")


def find(text: str) -> Rule | None:
    """Return the rule with this code (in any case) or name."""
    name = text.strip()
    rules_by_code = rules()
    return rules_by_code.get(name.upper()) or next(
        (rule for rule in rules_by_code.values() if rule.name == name.lower()), None
    )


def expand(selectors: Iterable[str], origin: str) -> frozenset[str]:
    """Return the codes for codes, names or prefixes of codes (``DRA3``; ``ALL``). Raises UsageError
    for an unknown one.
    """
    codes: set[str] = set()
    for selector in filter(None, (text.strip() for text in selectors)):
        codes_of_selector = _find_codes(selector)
        if not codes_of_selector:
            raise UsageError(f"{origin}: unknown rule {selector!r}", hint=suggest(selector))
        codes |= codes_of_selector
    return frozenset(codes)


@lru_cache(256)  # ignore comments name the same few rules
def _find_codes(selector: str) -> frozenset[str]:
    """Return the codes for a code, a name or a prefix of codes; none if it is unknown."""
    upper = selector.upper()
    codes = {
        code
        for code in rules()
        if upper == "ALL" or (upper.startswith("DRA") and code.startswith(upper))
    }
    rule = find(selector)
    return frozenset(codes | {rule.code} if rule else codes)


def suggest(text: str, further: Sequence[str] = ()) -> str:
    """Suggest a rule for an unknown code or name.

    Codes that look alike are unrelated, so for an unknown code only its beginning is used.
    """
    upper = text.strip().upper()
    series = sorted(code for code in rules() if code.startswith(upper[:4]))
    if upper.startswith("DRA") and upper[3:].isdigit() and series:
        command = f"`{program_name()} rule {upper[:4]}`"
        return f"{upper[:4]} has {series[0]} to {series[-1]}; {command} lists them"
    names = [name for rule in rules().values() for name in (rule.code, rule.name)] + list(further)
    near = nearest(text, names)
    return f"did you mean {near}?" if near else f"`{program_name()} rule` lists every code and name"
