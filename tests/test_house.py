"""The rules of the house: the modules that each package may import, and things that core packages
never do.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.cli.subcommands import SUBCOMMANDS
from tests import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGE = Path(__file__).resolve().parent.parent / "dractl"
ROOMS = sorted(p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists())
CORE = [room for room in ROOMS if room not in ("cli", "report")]
MAY_IMPORT = {
    "facts": set(),
    "model": {"facts"},
    "objects": {"model"},
    "topology": {"model"},
    "manifests": {"model"},
}


def nodes(path: Path) -> tuple[ast.AST, ...]:
    return words.nodes(words.parse(path))


def modules(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


@cache
def imports(path: Path) -> set[str]:
    """Return the dotted names that a module imports, anywhere in its code."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def rooms_imported(path: Path) -> set[str]:
    parts = [name.split(".") for name in imports(path) if name.startswith("dractl.")]
    return {part[1] for part in parts if part[1] in ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_empty(room: str) -> None:
    assert any(path.stat().st_size for path in modules(room))


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_lower_rooms_import_only_rooms_left_of_them(room: str) -> None:
    for path in modules(room):
        assert rooms_imported(path) <= MAY_IMPORT[room] | {room}, path


@pytest.mark.parametrize("room", CORE)
def test_nobody_imports_cli_or_report(room: str) -> None:
    for path in modules(room):
        assert not rooms_imported(path) & {"cli", "report"}, path


@pytest.mark.parametrize("room", CORE)
def test_core_knows_no_terminal(room: str) -> None:
    for path in modules(room):
        roots = {name.partition(".")[0] for name in imports(path)}
        assert not roots & {"typer", "rich", "click"}, path


@pytest.mark.parametrize("room", CORE)
def test_core_neither_prints_nor_reads_the_environment(room: str) -> None:
    for path in modules(room):
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", f"{path}:{node.lineno} prints"
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "os"
            ):
                assert node.attr not in ("environ", "getenv"), (
                    f"{path}:{node.lineno} reads the environment"
                )


@pytest.mark.parametrize("word", ["yaml", "pathlib", "open", "print"])
def test_allocation_knows_no_file_and_no_printing(word: str) -> None:
    for path in modules("allocation"):
        assert word not in {name.partition(".")[0] for name in imports(path)}, path
        calls = {
            n.func.id
            for n in nodes(path)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        assert word not in calls, path


def test_lint_and_explain_never_import_the_hardware_libraries_at_start() -> None:
    for room in ("manifests", "validation", "lint", "allocation", "cel", "model"):
        for path in modules(room):
            roots = {name.partition(".")[0] for name in imports(path)}
            assert not roots & {"pyudev", "pynvml"}, path


def names_in(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def test_explain_is_imported_by_nobody_below_the_command_line() -> None:
    for room in CORE:
        for path in modules(room) if room != "explain" else ():
            assert "explain" not in rooms_imported(path), path


def test_no_message_of_explain_is_edited() -> None:
    """Reasons make each sentence once. Regular expressions only read texts of people and
    servers.
    """
    for path in modules("explain"):
        if path.parent.name != "fixes" and names_in(path) != "dractl.explain.reasons.cross_object":
            assert "re" not in imports(path), path


def test_no_headline_of_explain_is_edited() -> None:
    """A headline is a value that becomes text once. Only a note on an insufficient change quotes
    the headline of another answer.
    """
    for path in modules("explain"):
        for node in nodes(path) if path.name != "search.py" else ():
            edits = isinstance(node, ast.JoinedStr | ast.Subscript)
            edits = edits or (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod)
            )
            for part in ast.walk(node) if edits else ():
                name = (
                    part.id
                    if isinstance(part, ast.Name)
                    else part.attr
                    if isinstance(part, ast.Attribute)
                    else ""
                )
                assert name != "headline", f"{path}:{part.lineno} edits a headline"


def test_no_sentence_of_a_reason_is_edited() -> None:
    """No code cuts or replaces parts of a reason's sentence; a reason has another method for
    another form.
    """
    makers = {"say", "full_sentence", "brief", "sentence"}
    for path in (*modules("explain"), *modules("report")):
        for node in nodes(path):
            edited = node.value if isinstance(node, ast.Subscript | ast.Attribute) else None
            made = (
                isinstance(edited, ast.Call)
                and isinstance(edited.func, ast.Attribute)
                and edited.func.attr in makers
            )
            assert not made, f"{path}:{edited.lineno if edited else 0} edits a sentence"


# The rooms from the ground up: each room imports only rooms before it.
FLOORS = (
    "facts",
    "model",
    "topology",
    "manifests",
    "objects",
    "cel",
    "probes",
    "validation",
    "inputs",
    "drivers",
    "machines",
    "autoscaler",
    "lint",
    "editing",
    "migration",
    "allocation",
    "views",
    "cluster",
    "driver_checks",
    "scheduler",
    "alignment",
    "capacity",
    "simulation",
    "planning",
    "impact",
    "upgrade",
    "explain",
    "report",
    "cli",
)


def test_every_room_has_its_floor() -> None:
    assert set(FLOORS) == set(ROOMS)


@pytest.mark.parametrize("room", FLOORS)
def test_no_import_runs_up(room: str) -> None:
    above = set(FLOORS[FLOORS.index(room) + 1 :])
    for path in modules(room):
        assert not rooms_imported(path) & above, path


def test_nothing_but_cli_and_report_imports_explain() -> None:
    for room in set(ROOMS) - {"explain", "cli", "report"}:
        for path in modules(room):
            assert "explain" not in rooms_imported(path), path


def ours(path: Path, *, types: bool) -> set[str]:
    """Return the modules of dractl that a module imports anywhere; with ``types``, also imports for
    types alone.
    """
    typing_only = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in nodes(path):
        if (
            isinstance(node, ast.ImportFrom)
            and (types or id(node) not in typing_only)
            and (node.module or "").startswith("dractl")
        ):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else str(node.module))
    return found


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize("room", FLOORS)
def test_no_modules_of_a_room_import_each_other_in_a_circle(room: str) -> None:
    """Imports for types count too."""
    known = {module_name(path): path for path in modules(room)}
    left = {name: (ours(path, types=True) & known.keys()) - {name} for name, path in known.items()}
    while left:
        ends = [name for name, targets in left.items() if not targets & left.keys()]
        assert ends, f"a circle among {', '.join(sorted(left))}"
        for name in ends:
            del left[name]


def test_no_modules_import_each_other_in_a_circle() -> None:
    imported = {name: ours(path, types=False) - {name} for name, path in MODULES.items()}
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, f"a circle: {' -> '.join((*way[way.index(name) :], name))}"
        if name not in done:
            for other in sorted(imported.get(name, ())):
                walk(other, (*way, name))
            done.add(name)

    for name in sorted(MODULES):
        walk(name, ())


def test_no_regular_expression_edits_a_message_of_explain() -> None:
    for path in modules("explain"):
        for node in nodes(path):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Attribute) and called.attr in ("sub", "subn")), (
                f"{path}:{node.lineno}"
            )


# The modules in which a function may import: for subcommands, lint's rules, CEL's library, drivers
# (whose configuration loads jsonschema), output formats, the live cluster, optional libraries, and
# the libraries that query a live node.
SEAMS = {
    "cli": "subcommand, output formats, live cluster, editor",
    "__main__.py": "the program, once signals are handled",
    "archives.py": "compression.zstd is of Python 3.14",
    "atomic.py": "tempfile, which only a run that writes files needs",
    "capacity/gangs.py": "the placing of copies, which only gangs need",
    "cel/compiler.py": "the words for errors, which most expressions do not need",
    "cel/environment.py": "CEL's library",
    "cel/functions/time.py": "zones are in files, and few selectors have one",
    "inputs/reading.py": "most inputs have no chart and no kustomization",
    "drivers/dranet/filter.py": "CEL's library",
    "explain/fixes/objects.py": "drivers",
    "explain/fixes/settings.py": "drivers",
    "explain/after_scheduling.py": "drivers",
    "explain/explain.py": "fixes, which upgrade does not look for, and alignments",
    "explain/fleet/batch.py": "the placing of copies, which a single subject does not need",
    "explain/fleet/groups.py": "the placing of copies and alignments, which only groups need",
    "explain/fleet/known_machines.py": "machines and drivers, which few clusters name by labels",
    "explain/expected_nodes.py": "the rules of autoscalers, which a cluster without one does not need",
    "facts/refusals.py": "re2, and the names of HTML's characters, which only a message needs",
    "facts/choice.py": "a pack of others is checked, the built-in one is not",
    "facts/pack.py": "zipfile, which the built-in pack does not need",
    "lint/config.py": "tomllib takes 2 % of a start, and most runs have no configuration",
    "lint/hints.py": "CEL's library",
    "lint/model.py": "CEL's library",
    "lint/provisioning.py": "an autoscaler's allocator, which only --for asks",
    "lint/published.py": "CEL's library",
    "lint/rules": "drivers",
    "lint/workers.py": "processes, whose modules take a tenth of a start, and which few inputs need",
    "lint/selection.py": "PyYAML, as in yamltext.py: most files have no comment for dractl",
    "manifests/dumping.py": "PyYAML, as in yamltext.py: most reports dump nothing",
    "manifests/files.py": "archives",
    "manifests/ignored.py": "pathspec loads every backend that is installed, and many folders have no patterns",
    "manifests/yamltext.py": "PyYAML takes a seventh of a start, and most documents are plain",
    "migration/labels.py": "machines, which only the label of a product needs",
    "probes": "libraries and probes of a live node",
    "explain/reasons/limits.py": "drivers",
    "scheduler/cache.py": "CEL's library",
    "validation/selectors.py": "CEL's library",
    "upgrade/placing.py": "the room for copies, which an input without slices does not need",
    "upgrade/upgrade.py": "upgrades of drivers, which few runs ask for",
}


def test_functions_import_at_the_seams_only() -> None:
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        functions = words.functions(words.parse(path))
        lines = [
            n.lineno
            for f in functions
            for n in ast.walk(f)
            if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        assert not lines or any(place == seam or place.startswith(f"{seam}/") for seam in SEAMS), (
            f"{place}:{lines}"
        )


def test_values_are_structs() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not imports(path) & {"dataclasses", "dataclasses.dataclass", "typing.NamedTuple"}, (
            path
        )


def test_constants_are_read() -> None:
    """Linters do not report a private name of a module that nothing reads."""
    for path in sorted(PACKAGE.rglob("*.py")):
        set_here = [
            statement
            for statement in words.parse(path).body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
        ]
        names = [node for node in nodes(path) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        written = {
            node.id for one in set_here for node in ast.walk(one) if isinstance(node, ast.Name)
        }
        assert not {
            name for name in written - read if name.startswith("_") and not name.startswith("__")
        }, path


def spelled_texts(path: Path) -> Iterator[ast.AST]:
    """Yield the texts that dractl.cli.subcommands.spell goes through: docstrings, helps and pages."""
    for node in nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ReasonPage":
            yield from ast.walk(node)
        if isinstance(node, ast.keyword) and node.arg == "help" and PACKAGE / "cli" in path.parents:
            yield node.value
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_SEE":
            yield from ast.walk(node.value)


@pytest.mark.parametrize("room", ["", *ROOMS])
def test_commands_in_texts_begin_with_the_name_of_the_program(room: str) -> None:
    """``{program_name()} rule CODE``: under ``kubectl dra`` there may be no program dractl."""
    commands = re.compile(rf"\bdractl (?:{'|'.join(SUBCOMMANDS)})\b")
    for path in modules(room) if room else sorted(PACKAGE.glob("*.py")):
        if path.name == "junit.py":  # the name of the test suite, by which its readers compare runs
            continue
        exempt = {id(node) for node in spelled_texts(path)}
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert id(node) in exempt or not commands.search(node.value), (
                    f"{path}:{node.lineno}"
                )


# Names that may break the rules of docs/wording.md, each with the reason.
EXEMPT_NAMES: dict[str, str] = {
    "at": "Document.at(path) reads as it is spoken, and fifty modules use it",
    "qualified_name": "the API's QualifiedName; of dractl.model, which is public",
    "served_versions": "of dractl.model, which is public",
    "of": "Target.of and others are the library's constructors",
    "enabled": "Target.enabled and Features.enabled are the library's",
    "why_not": "of dractl.cel, which is public",
    "backing_classes": "of dractl.allocation, which is public",
    "delegated_resources": "of dractl.allocation, which is public",
    "extended_resources": "of dractl.allocation, which is public",
}
# Modules with a longer function, or one with more parameters, each with the reason.
EXEMPT_SHAPES: dict[str, str] = {"lint/run.py": "lint is of dractl.lint, which is public"}
MAX_LINES = 60
MAX_PARAMETERS = 8
MIN_VERBS = 0.55


def read_modules() -> list[Path]:
    """Return the modules to which the rules of docs/wording.md apply."""
    return sorted(PACKAGE.rglob("*.py"))


def remarks(rule: Callable[..., Iterator[words.Remark]], *limits: int) -> list[str]:
    return [
        str(remark)
        for path in read_modules()
        for remark in rule(path, words.parse(path), *limits)
        if remark.text.split(" ")[0] not in EXEMPT_NAMES
    ]


@pytest.mark.parametrize(
    "rule",
    [
        words.names,
        words.local_names,
        words.constants,
        words.headless_docstrings,
        words.chained_conditionals,
        words.bare_tuples,
    ],
    ids=lambda rule: rule.__name__,
)
def test_names_and_sentences_are_the_fields(rule: Callable[..., Iterator[words.Remark]]) -> None:
    assert not remarks(rule)


def test_functions_are_short_and_have_few_parameters() -> None:
    shapes = remarks(words.long_functions, MAX_LINES)
    shapes += remarks(words.crowded_signatures, MAX_PARAMETERS)
    modules = {line.partition(":")[0].removeprefix(f"{PACKAGE}/") for line in shapes}
    assert modules == set(EXEMPT_SHAPES), shapes


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    texts: dict[str, list[str]] = defaultdict(list)
    for path in read_modules():
        texts[path.relative_to(PACKAGE).parts[0]] += words.function_docstrings(words.parse(path))
    shares = {
        room: sum(map(words.begins_with_verb, lines)) / len(lines)
        for room, lines in texts.items()
        if lines
    }
    assert not {room: share for room, share in shares.items() if share < MIN_VERBS}


# Reads of objects by path that each room may still have: views has the fields that several rooms read
# (docs/architecture.md). A room that needs fewer lowers its figure.
MAX_PATH_READS = {
    "alignment": 0,
    "capacity": 1,
    "cli": 5,
    "cluster": 7,
    "drivers": 22,
    "explain": 34,
    "impact": 0,
    "lint": 36,
    "machines": 11,
    "manifests": 18,
    "migration": 12,
    "scheduler": 4,
    "simulation": 0,
    "upgrade": 2,
}


@pytest.mark.parametrize("room", MAX_PATH_READS)
def test_objects_are_read_by_views(room: str) -> None:
    reads = [
        str(read)
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for read in words.path_reads(path, words.parse(path))
    ]
    assert len(reads) <= MAX_PATH_READS[room], reads


def test_exempt_names_exist() -> None:
    functions = {f.name for path in read_modules() for f in words.functions(words.parse(path))}
    assert set(EXEMPT_NAMES) <= functions


# -- one way in --------------------------------------------------------------------------------------

READS_FILES = {
    "manifests/files.py": "reads the bytes of manifests for the room of inputs",
    "manifests/content.py": "reads a plain file within bounds for everybody else",
    "manifests/archived.py": "reads the members of archives",
    "lint/config.py": "reads the configuration",
    "lint/store.py": "keeps the cache",
    "lint/registry.py": "reads the pages of rules that ship with dractl",
    "lint/rule_table.py": "reads the table of rules that ships with dractl",
    "machines/described.py": "reads a machine's description",
    "topology/snapshot.py": "reads and writes snapshots of machines",
    "validation/schemas.py": "reads schemas that ship with dractl",
    "facts/pack.py": "reads the pack of facts",
    "cel/native.py": "reads declarations that ship with dractl",
    "probes/root.py": "reads this machine's files",
    "probes/cdi.py": "reads this machine's CDI files",
    "probes/ids.py": "reads this machine's names of PCI devices",
    "report/json_schemas.py": "reads schemas that ship with dractl",
    "atomic.py": "writes files",
    "cli/commands/completion.py": "reads the completions that ship with dractl",
    "cli/commands/lsp.py": "compares an open document with its file; writes to the editor",
    "cli/fixing.py": "reads the bytes of files again that it changes",
    "cli/main.py": "replaces closed standard streams",
    "cli/terminal.py": "closes standard error",
}
"""Modules outside of ``inputs`` that open files or run programs, each with its reason."""


def opens_files(path: Path) -> bool:
    """Return True if a module opens files or runs programs."""
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            return True
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if owner == "subprocess" or node.func.attr in ("read_bytes", "read_text"):
                return True
            if node.func.attr in ("open", "fdopen"):
                return True
    return False


def test_one_room_opens_files_and_runs_programs() -> None:
    outside = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "inputs" and opens_files(path)
    }
    assert outside == set(READS_FILES)


def test_objects_of_files_are_distinguished_in_one_place() -> None:
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "dractl.inputs.copies.choose_copies" in imports(path)
    }
    assert users == {"inputs/reading.py"}
