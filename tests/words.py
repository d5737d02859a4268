"""Measures how the names and sentences of a package read: the gate of tests/test_house.py.

Each function yields ``Remark`` values, one for each name or sentence that breaks a rule of docs/wording.md.
"""

from __future__ import annotations

import ast
import gc
import itertools
import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREPOSITIONS = frozenset(
    "about above across after against along among around at before behind below beside besides "
    "between beyond by during for from in inside into near of off on onto out outside over past "
    "since through to toward towards under until up upon with within without".split()
)
ADVERBS = frozenset(
    "again ago alone already also always anew apart away back both either else elsewhere enough "
    "ever everywhere far further here however instead just later least less likely little long "
    "more most much never next none not now often once only otherwise perhaps quite rather same "
    "so some somewhere soon still such than then there thus together too twice very well yet any "
    "all many few several neither nor but or and as if each other others own".split()
)
PRONOUNS = frozenset(
    "it its itself himself that the them these they this those though what whatever when where "
    "wherever which while who whoever whom whose why nobody nothing something everything anything "
    "one".split()
)
IRREGULAR_PARTICIPLES = frozenset(
    "bought bound broken brought chosen come cut dealt done drawn driven eaten fallen felt fought "
    "found frozen given gone got grown had heard held hidden hung kept known laid led left lent "
    "lost made meant met paid run said seen sent shown sold spent spoken stood stuck sworn taken "
    "thought told torn understood won worn written".split()
)
# Nouns and verbs that end like a participle, and participles that Kubernetes and Python use as
# verbs.
NOUNS_AND_VERBS = frozenset(
    "bed binding bred building bring cut embed encoding exceed feed finding heading hundred indeed "
    "king left listing mapping meaning naming need opening padding ping pricing proceed put rating "
    "read reading red rendering reset ring run scheduling seed set setting sharing shed sibling "
    "speed spelling spread spring string substring thing timing training unified warning wing wording".split()
) - {"left"}
# Usual prefixes of Python, if something follows: from_claims, to_json, is_ready, on_error.
PREFIXES = ("from_", "to_", "is_", "has_", "as_", "with_", "on_", "in_", "for_", "not_", "all_", "any_", "next_", "by_")  # fmt: skip
FORBIDDEN_LOCALS = frozenset({"found", "told", "known", "said", "own", "one", "there", "what", "where", "rest"})  # fmt: skip
HEADLESS = re.compile(r"(Those|One that|The same|What|Who|Whoever|Why|How|Where)\b")
BARE_QUANTITY = re.compile(
    r"_?(MOST|LEAST|MORE|FEW|MANY|FIRST|LAST|ENOUGH|HALF|VAIN|GIVEN|ADDED|SAID|TOLD|UNSEEN|ENDS|WIDEST)"
)
# Verbs with which a docstring may begin, in their first form.
VERBS = frozenset(
    "accept add adjust advance align allocate allow annotate answer append apply ask assemble assign "
    "attach attempt bind bound break bring build cache calculate call cancel cap capture carry cast "
    "change check choose classify clean clear close cluster collapse collect combine compare compile "
    "complete compose compute configure confirm connect construct convert copy count cover create "
    "cut deal decide decode deduplicate define delete demand derive describe detect determine "
    "diagnose disable discard discover distinguish divide draw drop emit enable encode end enter "
    "enumerate erase escape estimate evaluate examine exclude expand explain export express extend "
    "extract fetch fill filter find finish fit flatten fold follow forbid format forward free gather "
    "generate get give grade group grow guard guess handle hash hide highlight hold identify ignore "
    "implement import include increment index infer inherit initialize insert inspect install "
    "interpret iterate join judge keep lay leave let lift limit link list load locate look lower "
    "make map mark match measure merge minimize move name narrow negate normalize note number obtain "
    "offer omit open order own pack pad paint pair parse pass pick place plan point predict prefer "
    "prepare print process produce project propose protect prove provide publish put query quote "
    "raise rank rate reach read reapply rebuild record recreate redact reduce refer refuse register "
    "reject release remember remove rename render repair repeat replace replay report represent "
    "require reserve reset resolve restart restore restrict retry return reuse reverse rewrite round "
    "run save say scale scan schedule score search see select send separate serve set settle shift "
    "shorten show shrink signal simulate skip solve sort split stand start state stop store stream "
    "strip subtract suggest sum summarize supply suppress survey swap take tell test tie tokenize trace track "
    "translate trim try turn undo unpack unwrap update use validate verify visit wait walk warn watch "
    "weigh whittle wrap write yield".split()
)


class Remark(Struct, frozen=True):
    """A name or sentence that breaks a rule."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.text}"


@cache
def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a module, which is parsed once for all tests of a process."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    gc.freeze()  # the collector would visit the nodes of all modules again and again
    return tree


@cache
def nodes(module: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, in the order of ``ast.walk``."""
    return tuple(ast.walk(module))


@cache
def functions(module: ast.Module) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """Return the functions and methods of a module, nested ones included."""
    return tuple(
        node for node in nodes(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def acts(name: str) -> bool:
    """Return True unless the name is, or begins with, a participle, preposition, adverb or pronoun."""
    bare = name.strip("_")
    if any(bare.startswith(prefix) and len(bare) > len(prefix) for prefix in PREFIXES):
        return True
    word = bare.split("_")[0].lower()
    if word in PREPOSITIONS | ADVERBS | PRONOUNS:
        return False
    if word in NOUNS_AND_VERBS:
        return True
    participle = re.fullmatch(r"[a-z]{2,}ed|[a-z]{3,}ing", word) is not None
    return not participle and word not in IRREGULAR_PARTICIPLES


def names(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the functions whose name says neither what they do nor what they return."""
    for function in functions(module):
        public = function.name.startswith("__") or is_property(function)
        if not public and not acts(function.name):
            yield Remark(path, function.lineno, function.name)


def assigned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the local names that a function assigns."""
    targets: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign | ast.For | ast.NamedExpr):
            targets.append(node.target)
    return {part.id for t in targets for part in ast.walk(t) if isinstance(part, ast.Name)}


def local_names(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the functions that assign a name such as found, told or rest."""
    for function in functions(module):
        if words := assigned(function) & FORBIDDEN_LOCALS:
            yield Remark(
                path, function.lineno, f"{function.name} assigns {', '.join(sorted(words))}"
            )


def constants(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the module's constants whose name is a quantity without a noun, such as MOST."""
    for node in module.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and BARE_QUANTITY.fullmatch(target.id):
                yield Remark(path, node.lineno, target.id)


def headless_docstrings(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the docstrings that begin with a relative clause whose noun is elsewhere.

    The strings below fields and constants count, too.
    """
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node)
            if text and HEADLESS.match(text):
                yield Remark(path, getattr(node, "lineno", 1), text.splitlines()[0])
        if isinstance(node, ast.ClassDef | ast.Module):
            for field, comment in itertools.pairwise(node.body):
                text = field_string(field, comment)
                if HEADLESS.match(text):
                    yield Remark(path, comment.lineno, text.splitlines()[0])


def field_string(field: ast.stmt, comment: ast.stmt) -> str:
    """Return the string below a field or a constant; empty if the statement is none."""
    if not isinstance(field, ast.AnnAssign | ast.Assign) or not isinstance(comment, ast.Expr):
        return ""
    value = comment.value
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def begins_with_verb(text: str) -> bool:
    word = re.split(r"\W+", text.strip(), maxsplit=1)[0].lower()
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word)}
    return bool(stems & VERBS)


def function_docstrings(module: ast.Module) -> list[str]:
    """Return the docstrings of functions that are no properties."""
    texts = [ast.get_docstring(f) for f in functions(module) if not is_property(f)]
    return [text for text in texts if text]


def chained_conditionals(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the conditional expressions inside conditional expressions."""
    for node in nodes(module):
        if isinstance(node, ast.IfExp) and any(
            isinstance(part, ast.IfExp) for part in (node.body, node.orelse)
        ):
            yield Remark(path, node.lineno, "a conditional expression inside another")


def bare_tuples(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the functions that return a tuple of three or more things without names."""
    for function in functions(module):
        match function.returns:
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
                if len(parts) >= 3 and not any(_is_ellipsis(part) for part in parts):
                    yield Remark(path, function.lineno, f"{function.name} returns a bare tuple")


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def long_functions(path: Path, module: ast.Module, limit: int) -> Iterator[Remark]:
    """Yield the functions of more lines than the limit."""
    for function in functions(module):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > limit:
            yield Remark(path, function.lineno, f"{function.name} has {length} lines")


def crowded_signatures(path: Path, module: ast.Module, limit: int) -> Iterator[Remark]:
    """Yield the functions with more parameters than the limit, without self and cls."""
    for function in functions(module):
        arguments = function.args
        parameters = [
            argument.arg
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if argument.arg not in ("self", "cls")
        ]
        if len(parameters) > limit:
            yield Remark(path, function.lineno, f"{function.name} has {len(parameters)} parameters")


PATH_READERS = frozenset({"at", "text_at", "map_at", "maps_at", "list_at", "integer_at"})


def path_reads(path: Path, module: ast.Module) -> Iterator[Remark]:
    """Yield the reads of an object by path: ``text_at(pod, "spec", "nodeName")``, ``.get("spec", {}).get("nodeName")``
    and ``pod["spec"]["nodeName"]``.
    """
    for node in nodes(module):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                name in PATH_READERS
            ):
                yield Remark(path, node.lineno, ast.unparse(node))
            case ast.Call(
                func=ast.Attribute(attr="get", value=ast.Call(func=ast.Attribute(attr="get")))
            ):
                yield Remark(path, node.lineno, ast.unparse(node))
            case ast.Subscript(
                slice=ast.Constant(value=str()),
                value=ast.Subscript(slice=ast.Constant(value=str())),
            ):
                yield Remark(path, node.lineno, ast.unparse(node))
