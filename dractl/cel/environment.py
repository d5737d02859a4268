"""The environments in which Kubernetes compiles device selectors, by release, mode and gates.

The table of overloads is data (``environments/functions.json``, made by
``tools/make_cel_environments.py``); differences between environments are decided in
:meth:`dractl.cel.declarations.Declarations.for_target`.
"""

from functools import cache

from msgspec.structs import replace

from dractl.cel.declarations import LISTS, Declarations, Mode
from dractl.cel.program import Program
from dractl.cel_library import load
from dractl.model import Target


class Environment:
    """An environment that compiles the selectors of one release, for one use. Get it with
    :func:`environment`.
    """

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self._programs: dict[str, Program] = {}

    def __repr__(self) -> str:
        return f"Environment(1.{self.declarations.release}, {self.declarations.mode})"

    def compile(self, text: str) -> Program:
        """Return the program of one expression. Never raises: errors in the expression are in the
        program.
        """
        program = self._programs.get(text)
        if program is None:
            program = self._programs[text] = self._compile(text)
        return program

    def _compile(self, text: str) -> Program:
        reason = load()
        if reason is not None:  # the expression is not at fault, so it has no issues
            error = f"not checked: {reason}"
            return Program(
                text, self.declarations, "unchecked", error=error, error_type="InternalError"
            )
        # CEL's library is not installed everywhere, and takes 20 ms to load
        from dractl.cel.compiler import compile_program

        return compile_program(text, self.declarations)


@cache
def _environment(declarations: Declarations) -> Environment:
    return Environment(declarations)


@cache
def environment(target: Target, mode: Mode) -> Environment:
    """Return the environment for expressions that are being created or changed (``new``:
    kube-apiserver), or that are evaluated as stored (``stored``: kube-scheduler).
    """
    return _environment(Declarations.for_target(target, mode))


def reading(text: str) -> Program:
    """Return the program of an expression that is only analysed, not judged. It is compiled in the
    stored environment of the newest release, which accepts the most. For verdicts use the
    :func:`environment` of a release.
    """
    return _newest().compile(text)


@cache
def _newest() -> Environment:
    return environment(Target.of(), "stored")


def attribute_environment(target: Target, mode: Mode = "new") -> Environment:
    """Return the environment for derived attributes (1.37): they are scalars or, if list attributes
    are on or the expression is stored, lists of scalars (compile.go isAllowedDerivedAttributeType).
    """
    outputs = {"bool", "int", "string", "google.protobuf.Any", "dyn", "kubernetes.Semver"}
    wanted = "a primitive scalar (string, integer, boolean, semver)"
    if mode == "stored" or target.enabled(LISTS):
        outputs |= {f"list({scalar})" for scalar in outputs}
        wanted += " or a list of these scalars"
    return _environment(
        replace(Declarations.for_target(target, mode), outputs=frozenset(outputs), wanted=wanted)
    )
