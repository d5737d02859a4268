"""The report on a driver: lint's findings in its slices, and inconsistencies between inputs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.driver_checks.history import compare_snapshots, encode_content
from dractl.driver_checks.installation import Objects, check_installation
from dractl.driver_checks.limits import find_exceeded_limits
from dractl.driver_checks.operation import check_operation
from dractl.driver_checks.parameters import check_parameters
from dractl.driver_checks.remark import Remark
from dractl.driver_checks.snapshots import Publication, Snapshot
from dractl.lint import registry
from dractl.lint.finding import Report
from dractl.lint.findings import Terms, judge_document
from dractl.lint.ignores import ignores
from dractl.lint.model import Circumstances, Manifest, Run, manifest
from dractl.lint.place import Located, from_advice
from dractl.lint.reading import readings
from dractl.lint.run import Judgement, report_of
from dractl.manifests import Document, Skipped
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.source import Source
from dractl.model import Target

_INCOMPLETE = "DRA352"


class Subject(Struct, frozen=True):
    """A driver, as far as the input shows it."""

    publication: Publication
    """The snapshots of the driver."""
    beside: tuple[Document, ...] = ()
    """The driver's DeviceClasses, and other objects with claims for its devices."""
    installation: Objects | None = None
    """The objects in the driver's chart."""
    cluster: Objects | None = None
    """The objects of a cluster in which the driver runs."""
    files: int = 0
    """The number of files that were read."""
    skipped: tuple[Skipped, ...] = ()
    """The files that were not rendered."""


def report_on_driver(subject: Subject, terms: Terms) -> Report:
    """Return the findings on a driver."""
    placed = [
        *map(_drop_fix, _judge_snapshots(subject, terms)),
        *(
            from_advice(registry.rule_of(remark.code), remark.advice)
            for remark in _list_remarks(subject, terms.target)
            if terms.config.wants(remark.code)
        ),
    ]
    documents = list(_list_documents(subject))
    texts = {(one.file, id(one.text)): one.text for one in documents}
    commented = [Source(file, text) for (file, _), text in texts.items() if ignores(text)]
    judgement = Judgement(placed, commented, len(documents), subject.files, subject.skipped, {})
    return report_of([judgement], terms)


def _list_documents(subject: Subject) -> Iterable[Document]:
    """Return the documents of a driver, each once."""
    objects = (subject.installation, subject.cluster)
    documents = (
        *(one.document for snapshot in subject.publication.snapshots for one in snapshot.slices),
        *subject.beside,
        *(one.document for each in objects if each is not None for one in each.manifests),
    )
    return {id(document): document for document in documents}.values()


def _list_remarks(subject: Subject, target: Target) -> Iterator[Remark]:
    """Yield the remarks on faults that lint does not check."""
    driver = subject.publication.driver
    yield from compare_snapshots(subject.publication.snapshots)
    for objects in (subject.installation, subject.cluster):
        if objects is not None:
            yield from check_installation(objects, driver, target)
    if subject.installation is not None:
        installed = {id(one.document) for one in subject.installation.manifests}
        others = [manifest(one) for one in subject.beside if id(one) not in installed]
        yield from check_parameters(subject.installation, others, driver)
    if subject.cluster is not None:
        yield from check_operation(subject.cluster, driver, target)


def _judge_snapshots(subject: Subject, terms: Terms) -> Iterator[Located]:
    """Yield lint's findings in each snapshot.

    If a finding occurs in several snapshots, it is reported for the newest one. Of a recording,
    only the last state is judged, since the driver had not finished its writes in earlier states.
    """
    # Without a snapshot, the driver's classes are still judged.
    snapshots = subject.publication.snapshots or (Snapshot("", ()),)
    chosen = [
        snapshot
        for snapshot, later in zip(snapshots, (*snapshots[1:], None), strict=True)
        if not (snapshot.is_recorded and later is not None and later.name == snapshot.name)
    ]
    reported: set[tuple[str, str]] = set()
    contents: Counter[bytes] | None = None
    for snapshot in reversed(chosen):
        later, contents = contents, Counter(map(encode_content, snapshot.slices))
        if later == contents:
            continue  # the later snapshot is equal, and therefore has the same findings
        placed = _judge(snapshot, subject.beside, subject.publication.driver, terms)
        keys = [(item.finding.code, item.finding.message) for item in placed]
        yield from (item for item, key in zip(placed, keys, strict=True) if key not in reported)
        reported.update(keys)


def _judge(
    snapshot: Snapshot, beside: Sequence[Document], driver: str, terms: Terms
) -> list[Located]:
    """Return lint's findings in the slices of a snapshot, and in the classes read with them."""
    documents = [*(one.document for one in snapshot.slices), *beside]
    readable = list(readings(documents, Kustomizations()))
    placed = [item for one in readable for item in judge_document(one, terms, {})[0]]
    placed += find_exceeded_limits([one.document for one in readable], terms.target)
    placed += _advise([one.subject for one in readable], driver, terms)
    return placed


def _advise(subjects: Sequence[Manifest], driver: str, terms: Terms) -> Iterator[Located]:
    """Yield dractl's own advice on objects that belong together."""
    others = Run(subjects, terms.target)
    circumstances = Circumstances(checked_driver=driver)
    run = Run(subjects, terms.target, terms.devices, others, circumstances=circumstances)
    for rule in registry.checks(run):
        if terms.config.wants(rule.code):
            for advice in rule.advice(run):
                located = from_advice(rule, advice)
                yield _make_certain(located) if rule.code == _INCOMPLETE else located


def _drop_fix(located: Located) -> Located:
    """Return a finding without its fix: the driver writes the slices, so nobody edits the file."""
    return replace(located, finding=replace(located.finding, fix=None))


def _make_certain(located: Located) -> Located:
    """Return a finding about an incomplete pool as an error: a snapshot has all slices."""
    return replace(
        located, finding=replace(located.finding, severity="error", confidence="certain")
    )
