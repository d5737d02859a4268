"""From documents to findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dractl.lint import registry
from dractl.lint.finding import Report
from dractl.lint.foreign_pods import foreign_pods
from dractl.lint.model import Run, Subject
from dractl.lint.partial import is_patch, stands_alone
from dractl.lint.place import from_advice, from_broken, from_violation
from dractl.lint.placeholders import hides
from dractl.lint.relevance import GROUP, concern, group
from dractl.lint.selection import Selection, select
from dractl.lint.verdict import verdict
from dractl.manifests.embedded import embedded
from dractl.manifests.kustomize import Kustomizations
from dractl.validation.decoding import KUBERNETES_GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dractl.lint.advice import Advice
    from dractl.lint.inventory import Inventory
    from dractl.manifests import Document, Inputs
    from dractl.model import Target
    from dractl.validation.violation import Violation


def lint(
    inputs: Inputs, target: Target, *, config: Selection | None = None, devices: Inventory | None = None
) -> Report:
    """Everything that is wrong with the documents for an API server of ``target``, and what dractl advises.

    ``devices``: the inventory that selectors, constraints and capacities are tried on.
    """
    config = config or Selection()
    found = [from_broken(broken) for broken in inputs.broken]
    namespaces = _namespaces(inputs.documents)
    whole: list[Document] = []
    patches: list[Document] = []
    kustomizations = Kustomizations()
    papers = list(_papers(inputs.documents, kustomizations))
    for paper in papers:
        judged = verdict(paper.document, target, namespaces, matters=paper.matters)
        remarks = judged.remarks
        if paper.foreign:
            remarks += tuple(foreign_pods(paper.document, target))
        found += (from_violation(paper.document, remark, target) for remark in remarks)
        (patches if paper.patch else whole).append(judged.document)
    advice = [
        *_advice(whole, target, devices, config, kustomizations),
        *_advice_on_patches(patches, target, config, kustomizations),
    ]
    found += (from_advice(rule, item) for rule, item in advice if not _hidden(item))
    kept, suppressed = select(found, inputs.documents, config)
    kept.sort(key=lambda f: (f.position.file, f.position.line, f.position.column, f.code))
    return Report(
        tuple(kept),
        target.release,
        files=inputs.files,
        documents=len(papers) + len(inputs.broken),
        suppressed=suppressed,
        skipped=inputs.skipped,
    )


class _Paper(NamedTuple):
    """A document that concerns DRA, and how it is to be read.

    ``patch``: it changes another document. ``foreign``: it is a custom resource. ``values``: it is filled up by a chart
    before the API server sees it. ``resources``: only its extended resources matter.
    """

    document: Document
    patch: bool = False
    foreign: bool = False
    values: bool = False
    resources: bool = False

    def matters(self, violation: Violation) -> bool:
        if self.patch and not stands_alone(violation):
            return False
        if self.values and violation.path[:1] == ("metadata",):
            return False
        return not self.resources or violation.rule in _EXTENDED_RESOURCES


_EXTENDED_RESOURCES = frozenset({"PC-13", "PC-15", "PC-16"})


def _papers(documents: Iterable[Document], kustomizations: Kustomizations) -> Iterator[_Paper]:
    texts: dict[str, bool] = {}
    for document in documents:
        own = group(document.value)
        if own != GROUP:
            if document.file not in texts:
                texts[document.file] = f"{GROUP}/" in document.text
            if texts[document.file]:
                for inside in embedded(document, GROUP):
                    patch = own == "kustomize.config.k8s.io" or is_patch(inside, kustomizations)
                    yield _Paper(inside, patch=patch, values=own != "")
        concerned = concern(document.value)
        if concerned is not None:
            foreign = own not in KUBERNETES_GROUPS
            patch = is_patch(document, kustomizations)
            yield _Paper(document, patch, foreign and not patch, resources=concerned == "resources")


def _namespaces(documents: Iterable[Document]) -> dict[str, Mapping[str, str]]:
    """The labels of the namespaces that are part of the run."""
    found: dict[str, Mapping[str, str]] = {}
    for document in documents:
        if document.kind == "Namespace" and document.api_version == "v1" and document.name:
            metadata = document.value["metadata"]
            labels = metadata.get("labels")
            found[document.name] = labels if isinstance(labels, dict) else {}
    return found


def _advice(
    documents: Sequence[Document],
    target: Target,
    devices: Inventory | None,
    config: Selection,
    kustomizations: Kustomizations,
) -> Iterator[tuple[registry.Rule, Advice]]:
    # Another group's kinds may have the names of ours; what matters there are the pods in it.
    ours = (GROUP, "", "apps", "batch")
    subjects = [Subject(d, (d.kind or "") if group(d.value) in ours else "") for d in documents]
    whole = Run(subjects, target, devices)
    for together in _apart(subjects, kustomizations):
        run = Run(together, target, devices, whole) if len(together) < len(subjects) else whole
        for rule in registry.rules().values():
            if rule.concerns(run) and config.wants(rule.code):
                for advice in rule.check(run):
                    yield rule, advice


def _apart(subjects: Iterable[Subject], kustomizations: Kustomizations) -> list[list[Subject]]:
    """The objects of each kustomization, and of each other folder."""
    found: dict[str, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(kustomizations.home_of(subject.document.file), []).append(subject)
    return list(found.values())


def _advice_on_patches(
    documents: Sequence[Document], target: Target, config: Selection, kustomizations: Kustomizations
) -> Iterator[tuple[registry.Rule, Advice]]:
    """What a patch says in CEL can be judged without what it is applied to."""
    for document in documents:
        for rule, advice in _advice([document], target, None, config, kustomizations):
            if advice.path[-1:] == ("expression",):
                yield rule, advice


def _hidden(advice: Advice) -> bool:
    return hides(advice.subject.document, advice.path, advice.offset, advice.end)
