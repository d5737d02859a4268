"""``dractl migrate``: device-plugin requests of manifests, converted to claims."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Argument, Exit, Option

from dractl.cli import common, fixing, terminal
from dractl.cli.fixing import FileChange
from dractl.cli.headings import ACTIONS, INPUT, OptionGroup
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.options.release import ReleaseOptions, choose_target
from dractl.cli.options.values import ValuesOptions
from dractl.cli.rendering import Concern, Rendering
from dractl.errors import InputError, UsageError
from dractl.facts import current
from dractl.garbage import pause_collection
from dractl.manifests import FileFilter, Inputs, Skipped, load_readable
from dractl.manifests.content import read_file
from dractl.manifests.files import Entry, list_files
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.naming import name_paths
from dractl.manifests.templates import chart_of
from dractl.manifests.text import decode
from dractl.migration import MigratedFile, Migration, Remark, classes_for
from dractl.migration.rendered_requests import (
    RenderedRequest,
    list_lost_templates,
    list_rendered_requests,
)
from dractl.migration.resources import stand_in_for
from dractl.model import Target
from dractl.model.releases import GATES
from dractl.program import program_name
from dractl.report.objects import to_yaml

if TYPE_CHECKING:
    from dractl.inputs.charts import ValueChoice

FORMATS = ("text", "json", "yaml")
_DOMAINS = (
    b"nvidia.com/", b"amd.com/", b"intel.com/", b"habana.ai/", b"amazonaws.com/", b"amazon.com/",
    b"google.com/tpu", b"sriov", b"rebellions.ai/", b"tenstorrent.com/",
)  # fmt: skip

Paths = Annotated[
    list[str],
    Argument(metavar="PATH...", help="Files, folders; - for standard input.", show_default=False),
]
Write = Annotated[bool, Option("--write", help="Write the files instead of printing what changes.")]
Diff = Annotated[
    bool, Option("--diff", help="Show the changes as a diff; exit with 1 if there are any.")
]
KeepRequests = Annotated[
    bool,
    Option(
        "--keep-requests",
        help="Print DeviceClasses with extendedResourceName; leave the manifests alone.",
    ),
]
Tolerate = Annotated[
    bool,
    Option(
        "--tolerate",
        help=(
            "Add the tolerations that the admission plugin ExtendedResourceToleration adds for"
            " extended resources."
        ),
    ),
]
Exclude = Annotated[
    list[str] | None,
    Option(
        "--exclude",
        metavar="PATTERN",
        help="Skip files, as in .gitignore; repeatable.",
        rich_help_panel=INPUT,
    ),
]
Output = Annotated[str, output_option(FORMATS)]


class _Actions(OptionGroup, frozen=True):
    """Options that choose the output of the conversion."""

    heading: ClassVar[str] = ACTIONS

    write: Write = False
    diff: Diff = False
    keep_requests: KeepRequests = False
    tolerate: Tolerate = False

    def check(self) -> None:
        """Raise UsageError for options that exclude each other."""
        if self.write and self.diff:
            raise UsageError("--write and --diff cannot be combined")
        for name, is_given in (("--write", self.write), ("--diff", self.diff)):
            if is_given and self.keep_requests:
                raise UsageError(
                    f"{name} and --keep-requests cannot be combined",
                    hint="the classes go to standard output",
                )


def command(
    paths: Paths,
    exclude: Exclude = None,
    values: ValuesOptions = ValuesOptions(),
    against: ReleaseOptions = ReleaseOptions(),
    actions: _Actions = _Actions(),
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """Convert device-plugin requests in manifests to ResourceClaimTemplates, and print the
    converted files.

    Node selectors on labels of GPU Feature Discovery become selectors of the request. Charts and
    kustomizations are rendered, if helm and kustomize or kubectl are installed. Requests that
    cannot be converted are reported on standard error, where they are written.

    Exits with 1 if `--diff` shows a change, with 3 if something that asks for devices cannot be
    read or was skipped.

    Examples: `dractl migrate pod.yaml`, `dractl migrate --diff manifests/`, `dractl migrate --write
    manifests/`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    actions.check()
    settings, variables = against.settings()
    target = choose_target(*against.release_and_gates(settings, variables))
    if not target.has("served-by-default"):
        raise UsageError(
            "claims are written as resource.k8s.io/v1, which Kubernetes serves since 1.34"
        )
    stdin = sys.stdin.buffer.read() if "-" in paths else None
    choice = values.choose_values(settings.charts)
    reader = _Reader(sorted(paths), stdin, (*settings.exclude, *(exclude or ())), target, choice)
    with pause_collection():
        inputs = reader.load()
        migration = Migration(inputs.documents, tolerate=actions.tolerate)
        migrated = _migrate_files(inputs, migration)
        rendered = list(list_rendered_requests(inputs.documents, migrated))
    changes, errors = (
        ([], []) if actions.keep_requests else _collect_changes(migrated, inputs.digests, stdin)
    )
    lost = reader.list_lost_templates(inputs, changes, migration.names)
    if actions.write:
        errors += _write(changes, stdin)
    conversion = _Conversion(inputs, migrated, changes, rendered, lost)
    if actions.keep_requests:
        _report_classes(conversion, target, output, printing.output_file)
    else:
        _report_changes(conversion, actions, output, printing.output_file)
    if _report_errors(inputs, errors):
        raise Exit(InputError.exit_code)
    if inputs.undecided or any(
        not item.judged and _mentions_device_plugin(item.file) for item in inputs.skipped
    ):
        raise Exit(InputError.exit_code)
    raise Exit(1 if changes and actions.diff else 0)


class _Reader(Struct, frozen=True):
    """Loads the files, and the objects that are rendered from them."""

    paths: list[str]
    stdin: bytes | None
    exclude: tuple[str, ...]
    target: Target
    values: "ValueChoice | None"
    """The values of charts on the command line and in the configuration."""

    def load(self) -> Inputs:
        """Load the files as they are written, followed by the objects that are made of them."""
        rendering = Rendering(None, self.values, Concern(_names_device_plugin, lambda _: True))
        inputs = load_readable(
            self.paths,
            stdin=self.stdin,
            choice=FileFilter(self.exclude),
            relevant_only=False,
            render=rendering.charts(self.target),
        )
        made = rendering.deliveries(inputs, self.target, self._files)
        return replace(made, skipped=(*made.skipped, *self._list_unrendered(made)))

    def list_lost_templates(
        self, inputs: Inputs, changes: Sequence[FileChange], names: frozenset[str]
    ) -> list[Remark]:
        """List the objects whose kustomization renames the templates of their claims."""
        changed = {change.name: change.after for change in changes}
        if not any(item.is_kustomized and item.file in changed for item in inputs.documents):
            return []
        unread = Inputs((), (), (), 0)
        built = Rendering().deliveries(unread, self.target, self._files, changed)
        return [
            Remark(
                document.locate(("metadata", "name"), key=True),
                f"{document.rendered} renames ResourceClaimTemplate {name}, and not its name in"
                " pods: add a nameReference to its configurations",
            )
            for document, name in list_lost_templates(built.documents, names)
        ]

    @property
    def _files(self) -> list[str]:
        entries = list_files(name_paths(self.paths), self.exclude)
        return [entry.path for entry in entries if isinstance(entry, Entry)]

    def _list_unrendered(self, made: Inputs) -> Iterator[Skipped]:
        """Yield the chart templates that mention device plugins and from which no object is
        rendered.
        """
        templates = [path for path in self._files if chart_of(path) is not None]
        used = {item.file for item in made.documents}
        used |= {item.file for item in made.broken} | {item.file for item in made.skipped}
        for path in templates:
            if path not in used and _mentions_device_plugin(path):
                yield Skipped(path, "the values of the chart make nothing of it")


def _migrate_files(inputs: Inputs, migration: Migration) -> list[MigratedFile]:
    """Convert the files that have device-plugin requests.

    A template without an action is a manifest, since no values change it.
    """
    texts = {
        document.file: document.text
        for document in inputs.documents
        if not document.rendered or (document.origin is not None and "{{" not in document.text)
    }
    return [
        migration.migrate(name, text, str(PurePath(name).parent))
        for name, text in texts.items()
        if any(domain.decode() in text for domain in _DOMAINS)
        or "limits" in text
        or is_kustomization(name)
    ]


def _collect_changes(
    migrated: list[MigratedFile], digests: Mapping[str, str], stdin: bytes | None
) -> tuple[list[FileChange], list[InputError]]:
    """Return the changes, and the errors of files that cannot be changed."""
    changes: list[FileChange] = []
    errors: list[InputError] = []
    for item in migrated:
        if item.after == item.before:
            continue
        try:
            before = fixing.read_content(
                item.name, digests, None if stdin is None else ("<stdin>", stdin)
            )
        except InputError as error:
            errors.append(error)
            continue
        # The comparison fails for members of archives, for other encodings, and for dumps, whose
        # logs were cut out.
        if before is not None and fixing.encode(item.before, before) == before:
            changes.append(
                fixing.FileChange(item.name, before, fixing.encode(item.after, before), 1)
            )
    return changes, errors


def _write(changes: list[FileChange], stdin: bytes | None) -> list[InputError]:
    if stdin is not None:
        sys.stdout.buffer.write(
            next((change.after for change in changes if change.name == "<stdin>"), stdin)
        )
        sys.stdout.flush()
    return fixing.write(
        [change for change in changes if change.name != "<stdin>"], None, lambda _: "written"
    )


class _Conversion(Struct, frozen=True):
    """The conversion of manifests."""

    inputs: Inputs
    """The manifests."""
    files: list[MigratedFile]
    """Files that may have requests for devices."""
    changes: list[FileChange]
    """Changes of files."""
    rendered: list[RenderedRequest]
    """Requests of rendered objects."""
    lost: list[Remark]
    """Remarks on templates that are renamed where the manifests are built."""

    @property
    def resources(self) -> frozenset[str]:
        """Return the resources of device plugins that containers request."""
        rendered = frozenset(
            request.resource for request in self.rendered if stand_in_for(request.resource)
        )
        return rendered.union(*(file.resources for file in self.files))

    @property
    def remarks(self) -> list[Remark]:
        """Return the remarks about requests that cannot be converted."""
        written = [remark for file in self.files for remark in file.remarks]
        made = (request.remark for request in self.rendered if request.remark is not None)
        return [*written, *made, *self.lost]

    @property
    def diffs(self) -> dict[str, str]:
        """Return the diffs by the names of their files."""
        return {change.name: fixing.diff(change) for change in self.changes}

    @property
    def skipped(self) -> list[Skipped]:
        """Return the skipped files that mention a device plugin's resources."""
        return [
            item
            for item in self.inputs.skipped
            if not item.unread and (os.path.isdir(item.file) or _mentions_device_plugin(item.file))
        ]


def _report_changes(
    conversion: _Conversion, actions: _Actions, output: str, file: Path | None
) -> None:
    """Print the changes, and notices of what was not converted and of the steps on a cluster."""
    resources = conversion.resources
    notes = _migration_steps(resources) if conversion.changes else ()
    if common.base_format(output) == "json":
        _write_json(conversion, conversion.remarks, (), notes, output, file)
        return
    terminal.write_utf8()
    if actions.diff:
        diffs = conversion.diffs.values()
        painted = map(fixing.paint_diff, diffs) if file is None else diffs
        common.write_report("".join(painted), file)
    elif not actions.write:
        common.write_report(_join_files(conversion.changes), file)
    _print_notices(conversion, conversion.remarks, notes)


def _join_files(changes: Sequence[FileChange]) -> str:
    """Return the converted files as one text. If there are several, a comment names each, as in the
    output of helm.
    """
    texts = {change.name: decode(change.after) for change in changes}
    if len(texts) == 1:
        return "".join(texts.values())
    return "".join(
        f"---\n# Source: {' '.join(name.splitlines())}\n{text.rstrip()}\n"
        for name, text in texts.items()
    )


def _report_classes(
    conversion: _Conversion, target: Target, output: str, file: Path | None
) -> None:
    """Print the DeviceClasses with which the requests of manifests can stay as they are."""
    classes, notes = classes_for(conversion.resources, target)
    if common.base_format(output) == "json":
        _write_json(conversion, (), classes, notes, output, file)
        return
    terminal.write_utf8()
    header = f"# extendedResourceName: feature gate DRAExtendedResource, {_gate_stages()}\n"
    common.write_report(header + to_yaml(classes) if classes else "", file)
    _print_notices(conversion, (), notes)


def _write_json(
    conversion: _Conversion,
    remarks: Sequence[Remark],
    classes: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    output: str,
    file: Path | None,
) -> None:
    report = {
        "schema": "dractl/migrate/v1",
        "facts": current().to_json(),
        "files": [{"file": name, "diff": text} for name, text in conversion.diffs.items()],
        "remarks": [
            {
                "file": remark.position.file,
                "line": remark.position.line,
                "column": remark.position.column,
                "message": remark.message,
            }
            for remark in remarks
        ],
        "skipped": [
            {"file": item.file, "why": item.why, "hint": item.hint} for item in conversion.skipped
        ],
        "classes": list(classes),
        "notes": list(notes),
    }
    common.write_output(json.dumps(report, indent=2, ensure_ascii=False), output, file)


def _print_notices(
    conversion: _Conversion, remarks: Sequence[Remark], notes: Sequence[str]
) -> None:
    inputs, skipped = conversion.inputs, conversion.skipped
    for item in skipped:
        hint = (item.hint or "").replace(f"{program_name()} lint -", f"{program_name()} migrate -")
        is_kustomization_folder = os.path.isdir(item.file)
        if is_kustomization_folder:
            hint = "its files are converted as they are"
        effect = "" if is_kustomization_folder or item.judged else "unchanged, "
        terminal.notice(f"{item.file}: {effect}{item.why}" + (f"; {hint}" if hint else ""))
    for remark in remarks:
        terminal.notice(str(remark))
    for note in notes:
        terminal.notice(note)
    if conversion.resources or remarks or inputs.unread or inputs.broken:
        return
    if not inputs.skipped:
        terminal.notice("nothing to convert: no container requests a resource of a device plugin")
    elif not skipped:
        first, *others = inputs.skipped
        more = f" and {len(others)} more" if others else ""
        terminal.notice(
            f"nothing found in what could be read; {first.file}{more}: skipped, {first.why}"
        )


_ORDER = (
    "steps: 1. install {drivers} with {classes}; 2. node by node: drain, stop the device plugin,"
    " start the driver (a device has one owner); 3. apply the templates, then the workloads; 4."
    " remove the plugin"
)
_ROLLBACK = (
    "rollback: restore the manifests; once no claim is allocated, replace the driver with the"
    " plugin, node by node"
)


def _migration_steps(resources: Iterable[str]) -> tuple[str, ...]:
    """Return the steps on a cluster in order, and how to roll back."""
    device_requests = [
        devices for name in sorted(resources) if (devices := stand_in_for(name)) is not None
    ]
    drivers = dict.fromkeys(devices.driver for devices in device_requests)
    classes = dict.fromkeys(devices.device_class for devices in device_requests)
    noun = "class" if len(classes) == 1 else "classes"
    return (
        _ORDER.format(drivers=", ".join(drivers), classes=f"{noun} {', '.join(classes)}"),
        _ROLLBACK,
    )


def _gate_stages() -> str:
    return ", ".join(
        f"{s.release} {s.stage} ({'on' if s.default else 'off'} by default)"
        for s in GATES["DRAExtendedResource"]
    )


def _mentions_device_plugin(name: str) -> bool:
    """Return True if a file mentions the domain of a device plugin's resources."""
    return _names_device_plugin(read_file(name) or b"")


def _names_device_plugin(data: bytes) -> bool:
    return any(domain in data for domain in _DOMAINS)


def _report_errors(inputs: Inputs, errors: list[InputError]) -> bool:
    """Report files that could not be read or changed; return True if there are any."""
    for item in inputs.broken:
        terminal.print_error(
            f"{item.file}:{item.position.line}:{item.position.column}: {item.message}",
            hint=item.hint,
        )
    terminal.print_unread(inputs.unread)
    for error in errors:
        terminal.print_error(str(error), hint=error.hint)
    return bool(inputs.broken or inputs.unread or errors)
