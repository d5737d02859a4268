"""The rules of lint. One file in ``rules/`` is one rule; :mod:`dractl.lint.index` lists them, so that none is imported
before it is needed.

A rule file ``dra116_count_not_positive.py`` gives the code and the name; it holds a docstring (a summary, then the
headings of :data:`HEADINGS`), ``SEVERITY`` and either

- ``SERVER``: the ids of the violations (:class:`dractl.validation.violation.Violation`) that it reports, or
- ``KINDS`` and ``check(run)``: advice of dractl's own, asked for if the run holds an object of one of the kinds; with
  ``DEVICES = True`` only if it has devices to try it on, with ``FIELDS`` only if a claim or a class says one of them,
  with ``FOR`` only if one of these consumers of claims (:data:`CONSUMERS`) was named.

After adding one, run ``python tools/make_docs.py``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from dractl.errors import UsageError
from dractl.lint.index import INDEX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dractl.lint.advice import Advice
    from dractl.lint.finding import Severity
    from dractl.lint.model import Run

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead", "Source")


CONSUMERS = ("karpenter", "cluster-autoscaler", "kueue")
"""What reads claims besides kube-scheduler, and has limits of its own."""


class Rule(NamedTuple):
    """A row of the index of rules."""

    code: str
    name: str
    severity: Severity
    server: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    devices: bool = False
    fields: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return f"dractl.lint.rules.{self.code.lower()}_{self.name.replace('-', '_')}"

    @property
    def page(self) -> str | None:
        """The address of the rule's page on the documentation site; None if the project has no site."""
        site = documentation_site()
        return f"{site}/rules/{self.code}/" if site else None

    @property
    def documentation(self) -> str:
        """The rule file's docstring."""
        import inspect

        return inspect.getdoc(import_module(self.module)) or ""

    def concerns(self, run: Run) -> bool:
        """True if its check can find anything in a run; other rules are not imported."""
        return (
            not run.kinds.isdisjoint(self.kinds)
            and (run.devices is not None or not self.devices)
            and (not self.fields or not run.fields.isdisjoint(self.fields))
            and (not self.consumers or not run.consumers.isdisjoint(self.consumers))
        )

    @property
    def check(self) -> Callable[[Run], Iterator[Advice]]:
        return cast("Callable[[Run], Iterator[Advice]]", import_module(self.module).check)

    def section(self, heading: str) -> str:
        """The text below one of :data:`HEADINGS`; with "" the summary above the first."""
        parts = self.documentation.split("\n## ")
        if not heading:
            return parts[0].strip()
        return next((text.strip() for title, _, text in (p.partition("\n") for p in parts[1:]) if title == heading), "")

    def example(self, heading: str) -> str:
        """The YAML of "Example" or "Use instead"."""
        text = self.section(heading)
        return text.partition("```yaml\n")[2].partition("```")[0]


@cache
def documentation_site() -> str | None:
    """The base address of the documentation, without a trailing slash: ``Documentation`` of the project's URLs in
    pyproject.toml, from the installed package's metadata. None if there is none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("dractl").get_all("Project-URL") or ()
    except PackageNotFoundError:
        return None
    sites = (url.partition(", ")[2] for url in urls if url.startswith("Documentation, "))
    return next((site.rstrip("/") for site in sites), None)


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in order."""
    found = (Rule(*row) for row in INDEX)  # type: ignore[arg-type]
    return {rule.code: rule for rule in found}


@cache
def _by_violation() -> dict[str, Rule]:
    return {violation: rule for rule in rules().values() for violation in rule.server}


def for_violation(violation: str) -> Rule:
    """The rule that reports a violation of this id; DRA199 if it has no rule of its own."""
    return _by_violation().get(violation) or rules()["DRA199"]


def find(text: str) -> Rule | None:
    """The rule with this code (in any case) or name."""
    wanted = text.strip()
    known = rules()
    return known.get(wanted.upper()) or next((rule for rule in known.values() if rule.name == wanted.lower()), None)


def expand(selectors: Iterable[str], what: str) -> frozenset[str]:
    """The codes for codes, names or prefixes of codes (``DRA3``; ``ALL``); UsageError for an unknown one."""
    codes: set[str] = set()
    for selector in filter(None, (text.strip() for text in selectors)):
        upper = selector.upper()
        found = {code for code in rules() if upper == "ALL" or (upper.startswith("DRA") and code.startswith(upper))}
        named = find(selector)
        if named:
            found.add(named.code)
        if not found:
            raise UsageError(f"{what}: unknown rule {selector!r}", hint=suggest(selector))
        codes |= found
    return frozenset(codes)


def suggest(text: str, further: Sequence[str] = ()) -> str:
    """A suggestion for an unknown code or name."""
    from dractl.model.nearest import nearest

    known = [name for rule in rules().values() for name in (rule.code, rule.name)] + list(further)
    near = nearest(text, known)
    return f"did you mean {near}?" if near else "`dractl rule` lists every code and name"
