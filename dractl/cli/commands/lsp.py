"""``dractl lsp``: lint, hovers, completions, definitions and fixes in an editor, over the Language
Server Protocol.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, field
from typer import Option

from dractl import __version__, editing
from dractl.cel_library import why_not
from dractl.cli.commands.lint import cache_folder, select_rules
from dractl.cli.headings import ACTIONS, OUTPUT
from dractl.cli.options.printing import Printing
from dractl.cli.options.release import ReleaseOptions, choose_target
from dractl.cli.rendering import Rendering
from dractl.editing import Range
from dractl.editing.places import split_lines
from dractl.errors import DractlError, Unsupported
from dractl.lint.repository import Repositories
from dractl.lint.store import Store
from dractl.manifests.ignored import make_exclusion

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsprotocol import types
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import TextDocument

    from dractl import editing
    from dractl.lint import Selection
    from dractl.model import Target

UnsafeFixes = Annotated[
    bool,
    Option(
        "--unsafe-fixes",
        help="Also offer fixes that may change the meaning as quick fixes.",
        rich_help_panel=ACTIONS,
    ),
]

Quiet = Annotated[bool, Option("--quiet", "-q", hidden=True, rich_help_panel=OUTPUT)]
Verbose = Annotated[int, Option("--verbose", "-v", count=True, hidden=True, rich_help_panel=OUTPUT)]
Color = Annotated[str, Option("--color", hidden=True, rich_help_panel=OUTPUT)]


def command(
    unsafe_fixes: UnsafeFixes = False,
    against: ReleaseOptions = ReleaseOptions(),
    quiet: Quiet = False,
    verbose: Verbose = 0,  # noqa: ARG001 - what editors pass to every subcommand
    color: Color = "auto",
) -> None:
    """Serve editors over standard input and output, by the Language Server Protocol.

    Shows lint's findings on open manifests, describes fields, classes and attributes, completes
    them in YAML and in CEL, goes to the classes, templates and claims that values name, and offers
    lint's safe fixes. Needs pygls: `pip install 'pygls>=2.0'`.

    Examples: `dractl lsp`, `dractl lsp --kubernetes-version 1.36`
    """
    Printing(quiet=quiet, color=color).apply()

    def editor() -> Editor:
        """Make an editor with the configuration of the working directory."""
        settings, environment = against.settings()
        asked = against.release_and_gates(settings, environment)
        cache = None if against.isolated else cache_folder()
        return Editor(
            choose_target(*asked),
            select_rules(settings, environment),
            settings.exclude,
            assumed=asked[0] is None,
            unsafe=unsafe_fixes,
            repositories=Repositories(
                Store(cache, "index", "1") if cache else None, settings.exclude
            ),
        )

    server = _make_server(editor, follows=against.config is None)
    with open(os.dup(sys.stdout.fileno()), "wb") as output:  # pygls closes it at the end
        server.start_io(stdout=output)


class Editor(Struct):
    """The open texts and the rules that apply to them."""

    target: Target
    """Release and gates whose rules apply."""
    selection: Selection
    """Rules whose findings are shown."""
    exclude: tuple[str, ...]
    """Patterns, as in .gitignore, of files that are not checked."""
    assumed: bool
    """True if neither an option nor a setting names the release."""
    unsafe: bool
    """True if fixes that may change the meaning are offered, too."""
    repositories: Repositories
    """Indexes of the repositories that the files are in."""
    rendering: Rendering = field(default_factory=Rendering)
    """Builds kustomizations."""
    diagnostics: dict[str, tuple[editing.Diagnostic, ...]] = field(default_factory=dict)
    """Diagnostics of the newest version of each text, by its address."""

    def diagnose(self, document: TextDocument) -> tuple[editing.Diagnostic, ...]:
        """Return the diagnostics of a text that was opened or changed."""
        name = _file_name(document.path or document.uri)
        try:
            diagnostics = (
                ()
                if self._excludes(name)
                else editing.diagnostics(
                    document.source,
                    name,
                    self.target,
                    self.selection,
                    assumed=self.assumed,
                    repositories=self.repositories,
                    completed=(
                        (lambda inputs: self.rendering.deliveries(inputs, self.target))
                        if _is_saved(document)
                        else lambda inputs: inputs
                    ),
                )
            )
        except RecursionError:
            start = editing.Range(0, 0, 0, 1)
            diagnostics = (
                editing.Diagnostic(start, "error", "DRA001", "the input is nested too deeply"),
            )
        self.diagnostics[document.uri] = diagnostics
        return diagnostics

    def _excludes(self, name: str) -> bool:
        if not self.exclude:
            return False

        return make_exclusion(self.exclude)(name.lstrip("/"))


def _is_saved(document: TextDocument) -> bool:
    """Return True if a text equals its file, since kustomize reads the file."""
    try:
        return Path(document.path or "").read_bytes().decode("utf-8") == document.source
    except (OSError, ValueError):
        return False


def _file_name(path: str) -> str:
    """Name a file as `dractl lint` in the working directory does, so that patterns of the
    configuration match.
    """
    file = Path(path)
    return file.relative_to(Path.cwd()).as_posix() if file.is_relative_to(Path.cwd()) else str(file)


class _Session:
    """The state that a server keeps between two requests of an editor."""

    def __init__(self, make: Callable[[], Editor]) -> None:
        self.make = make
        self.editor = make()
        self.has_warned = False

    def enter(self, folder: str) -> str | None:
        """Change to the editor's folder and apply its settings; return the error if the settings
        are not usable.
        """
        os.chdir(folder)
        try:
            self.editor = self.make()
        except DractlError as error:
            return "; ".join(filter(None, (str(error), error.hint)))
        return None

    def selector_warning(self) -> str | None:
        """Return the warning that selectors are not checked; None after the first call."""
        reason = why_not()
        if reason is None or self.has_warned:
            return None
        self.has_warned = True
        return f"dractl does not check selectors here: {reason}"


def _make_server(make: Callable[[], Editor], *, follows: bool) -> LanguageServer:
    """Make a server with the settings of the working directory.

    With ``follows``, the server changes to the editor's folder.
    """
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
    except ImportError:
        raise Unsupported(
            "lsp needs pygls 2, which is not installed",
            hint="pip install 'pygls>=2.0' in the environment of dractl",
        ) from None

    server = LanguageServer("dractl", __version__)
    session = _Session(make)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        folder = _folder(params) if follows else None
        message = session.enter(folder) if folder is not None else None
        if message is not None:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

    _serve_diagnostics(server, session)
    _serve_help(server, session)
    _serve_fixes(server, session)
    return server


def _serve_diagnostics(server: LanguageServer, session: _Session) -> None:
    """Publish the diagnostics of a text whenever it is opened or changed."""
    from lsprotocol import types

    def publish(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        shown = [_diagnostic(document, item) for item in session.editor.diagnose(document)]
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, shown, document.version)
        )
        warning = session.selector_warning()
        if warning is not None:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, warning))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def on_open(params: types.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def on_change(params: types.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def on_save(params: types.DidSaveTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def on_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        session.editor.diagnostics.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _serve_help(server: LanguageServer, session: _Session) -> None:
    """Serve hovers, completions and definitions."""
    from lsprotocol import types

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        line, column = _code_point_position(document, params.position)
        help_text = editing.hover(document.source, line, column, session.editor.target)
        if help_text is None:
            return None
        location = _range(document, editing.Range(line, help_text.start, line, help_text.end))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, help_text.text), location)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list("\"'./ "))
    )
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        document = server.workspace.get_text_document(params.text_document.uri)
        line, column = _code_point_position(document, params.position)
        candidates = editing.completions(document.source, line, column, session.editor.target)
        # Editors sort by this text; without it, by label.
        return [
            _completion(document, item, line, column, f"{rank:05}")
            for rank, item in enumerate(candidates)
        ]

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        document = server.workspace.get_text_document(params.text_document.uri)
        line, column = _code_point_position(document, params.position)
        name = _file_name(document.path or document.uri)
        repositories = session.editor.repositories
        return [
            _location(server, document, name, item)
            for item in editing.definitions(document.source, name, line, column, repositories)
        ]


def _location(
    server: LanguageServer, document: TextDocument, name: str, item: editing.Definition
) -> types.Location:
    """Return the place of a definition in the open text, named ``name``, or in another file."""
    from lsprotocol import types

    if item.file == name:
        return types.Location(document.uri, _range(document, item.range))
    uri = Path(item.file).absolute().as_uri()
    return types.Location(uri, _range(server.workspace.get_text_document(uri), item.range))


def _serve_fixes(server: LanguageServer, session: _Session) -> None:
    """Serve the fixes of diagnostics as quick fixes."""
    from lsprotocol import types

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = server.workspace.get_text_document(params.text_document.uri)
        return [
            _action(document, item, item.fix)
            for item in session.editor.diagnostics.get(document.uri, ())
            if item.fix is not None and (item.fix.safe or session.editor.unsafe)
            if _overlap(_range(document, item.range), params.range)
        ]


def _folder(params: types.InitializeParams) -> str | None:
    """Return the first folder that is open in the editor, if it is on this machine."""
    from pygls.uris import to_fs_path

    opened = [folder.uri for folder in params.workspace_folders or ()]
    uri = (*opened, params.root_uri)[0]
    path = to_fs_path(uri) if uri else None
    return path if path and os.path.isdir(path) else None


def _code_point_position(document: TextDocument, position: types.Position) -> tuple[int, int]:
    """Convert an editor's position to line and column in code points."""
    converted = document.position_codec.position_from_client_units(_lines(document), position)
    return converted.line, converted.character


def _lines(document: TextDocument) -> list[str]:
    return split_lines(document.source)


def _range(document: TextDocument, item: editing.Range) -> types.Range:
    """Convert a range to the units that the editor counts in (UTF-16 unless it says otherwise)."""
    from lsprotocol import types

    start, end = (
        types.Position(item.line, item.column),
        types.Position(item.end_line, item.end_column),
    )
    return document.position_codec.range_to_client_units(_lines(document), types.Range(start, end))


def _diagnostic(document: TextDocument, item: editing.Diagnostic) -> types.Diagnostic:
    from lsprotocol import types

    levels = {
        "error": types.DiagnosticSeverity.Error,
        "warning": types.DiagnosticSeverity.Warning,
        "info": types.DiagnosticSeverity.Information,
    }
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(document.uri, _range(document, place)), message
        )
        for message, place in item.related
    ]
    return types.Diagnostic(
        _range(document, item.range),
        item.message,
        severity=levels[item.level],
        code=item.code,
        code_description=types.CodeDescription(item.page) if item.page else None,
        source="dractl",
        related_information=related or None,
    )


def _completion(
    document: TextDocument, item: editing.Completion, line: int, column: int, sort_text: str
) -> types.CompletionItem:
    from lsprotocol import types

    kinds = {
        "field": types.CompletionItemKind.Field,
        "class": types.CompletionItemKind.Class,
        "driver": types.CompletionItemKind.Module,
        "domain": types.CompletionItemKind.Module,
        "attribute": types.CompletionItemKind.Property,
        "value": types.CompletionItemKind.Value,
    }
    location = _range(document, Range(line, item.start, line, column))
    return types.CompletionItem(
        item.label,
        kind=kinds[item.kind],
        detail=item.detail or None,
        documentation=(
            types.MarkupContent(types.MarkupKind.Markdown, item.about) if item.about else None
        ),
        text_edit=types.TextEdit(location, item.label if item.text is None else item.text),
        sort_text=sort_text,
    )


def _action(
    document: TextDocument, item: editing.Diagnostic, fix: editing.QuickFix
) -> types.CodeAction:
    from lsprotocol import types

    edits = [types.TextEdit(_range(document, edit.range), edit.text) for edit in fix.edits]
    return types.CodeAction(
        fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(document, item)],
        is_preferred=fix.safe,
        edit=types.WorkspaceEdit(changes={document.uri: edits}),
    )


def _overlap(one: types.Range, other: types.Range) -> bool:
    """Return True if two ranges overlap or touch."""

    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
