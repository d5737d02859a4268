"""The environments in which Kubernetes compiles device selectors, by release, mode and gates.

The declarations follow k8s.io/dynamic-resource-allocation/cel/compile.go and
k8s.io/apiserver/pkg/cel/environment/base.go. The table of overloads is data (``environments/functions.json``, made by
``tools/make_cel_environments.py``); differences between environments are decided in :meth:`Declarations.of`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from dractl.records import NamedTuple

if TYPE_CHECKING:
    from dractl.cel.program import Program
    from dractl.model import Target

Mode = Literal["new", "stored"]

CONSUMABLE = "DRAConsumableCapacity"
LISTS = "DRAListTypeAttributes"


class Declarations(NamedTuple):
    """Declarations of one environment, in addition to the table that all share.

    ``release`` is the minor version as a number (1.36 is 36); ``lists`` the extension library of that name; ``shared``
    the field ``device.allowMultipleAllocations``; ``two_variables`` and ``formats`` the macros and functions of these
    names; ``dynamic`` whether an attribute is ``dyn`` instead of ``any``; ``outputs`` and ``wanted`` the types that a
    selector may have; ``list_values`` whether devices may have list attributes.
    """

    release: int
    mode: Mode
    lists: bool
    shared: bool
    dynamic: bool
    includes: str | None
    outputs: frozenset[str]
    wanted: str
    list_values: bool
    two_variables: bool
    formats: bool
    left_out: frozenset[str]

    @classmethod
    def of(cls, target: Target, mode: Mode) -> Declarations:
        release = int(target.release.split(".")[1])
        stored = mode == "stored"
        # New expressions see features introduced up to the release before (DefaultCompatibilityVersion), stored ones
        # everything.
        introduced = release if stored else release - 1
        listed = release >= 36 and target.enabled(LISTS)
        dynamic = listed or (release >= 37 and stored)
        includes = None
        if release >= 36 and (stored or listed):
            includes = "dra_includes_dyn_dyn" if release == 36 else "list_includes_dyn_dyn"
        if release >= 37:
            outputs = {"bool", "wrapper(bool)", "dyn" if dynamic else "google.protobuf.Any"}
        else:
            outputs = {"bool", "google.protobuf.Any"} | ({"dyn"} if listed else set())
        left_out = {"dra_includes_dyn_dyn", "list_includes_dyn_dyn"} - {includes}
        if release >= 37:
            left_out.add("int64_to_duration")
        if introduced < 33:
            left_out |= {"string_bool_to_semver", "is_semver_string_bool"}
        return cls(
            release=release,
            mode=mode,
            lists=introduced >= 34,
            shared=release >= 34 and (stored or target.enabled(CONSUMABLE)),
            dynamic=dynamic,
            includes=includes,
            outputs=frozenset(outputs),
            wanted="bool or the unknown type",
            list_values=release >= 37 or listed,
            two_variables=introduced >= 32,
            formats=introduced >= 31,
            left_out=frozenset(filter(None, left_out)),
        )

    def configuration(self, generic: str) -> str:
        """The YAML of ``NewEnvConfigFromYaml``."""
        extensions = ["{name: bindings}", "{name: optional}"]
        if self.two_variables:
            extensions.append("{name: two-var-comprehensions}")
        if self.lists:
            extensions.append("{name: lists, version: 2}")
        attribute = "dyn" if self.dynamic else "any"
        lines = [
            "name: kubernetes",
            # Nothing else of the built-in overloads: cel-go's are in the table. This one belongs to the extension
            # "optional".
            'stdlib: {include_functions: [{name: "_[_]"}]}',
            f"extensions: [{', '.join(extensions)}]",
            "variables:",
            "- {name: device, type_name: kubernetes.DRADevice}",
            "- {name: device.driver, type_name: string}",
            f"- {{name: device.attributes, type_name: map, params: [{_NESTED.format(attribute)}]}}",
            f"- {{name: device.capacity, type_name: map, params: [{_NESTED.format('kubernetes.Quantity')}]}}",
        ]
        if self.shared:
            lines.append("- {name: device.allowMultipleAllocations, type_name: bool}")
        # Types that cel-cpp does not have as values. The first two are not types, which cel-go notices late.
        lines += [
            f"- {{name: {name}, type_name: type, params: [{{type_name: {name}}}]}}"
            for name in ("duration", "timestamp", "net.IP", "net.CIDR")
        ]
        lines += ["functions:", generic]
        if self.lists:
            from dractl.cel.rewrite import FLATTEN

            lines += [f'- name: "{FLATTEN}"', "  overloads:", f"  - {_FLATTEN}"]
        return "\n".join(lines)


_ANY = "{type_name: A, is_type_param: true}"
_FLATTEN = (
    f"{{id: list_flatten, target: {{type_name: list, params: [{{type_name: list, params: [{_ANY}]}}]}}, args: [], "
    f"return: {{type_name: list, params: [{_ANY}]}}}}"
)
_NESTED = "{{type_name: string}}, {{type_name: map, params: [{{type_name: string}}, {{type_name: {}}}]}}"


class Environment:
    """An environment that compiles the selectors of one release, for one use. Get it with :func:`environment`."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self._programs: dict[str, Program] = {}
        self._compiler: Any = None

    def __repr__(self) -> str:
        return f"Environment(1.{self.declarations.release}, {self.declarations.mode})"

    def compile(self, text: str) -> Program:
        """The program of one expression. Never raises: errors in the expression are in the program."""
        program = self._programs.get(text)
        if program is None:
            from dractl.cel.compiler import compile_program, unchecked
            from dractl.cel_library import why_not

            reason = why_not()
            if reason is None:
                program = compile_program(text, self.declarations, self.native)
            else:
                program = unchecked(text, self.declarations, reason)
            self._programs[text] = program
        return program

    @property
    def native(self) -> Any:
        """The environment of cel-expr-python, made when the first expression is compiled."""
        if self._compiler is None:
            from dractl.cel.native import make

            self._compiler = make(self.declarations)
        return self._compiler


@cache
def _environment(declarations: Declarations) -> Environment:
    return Environment(declarations)


@cache
def environment(target: Target, mode: Mode) -> Environment:
    """The environment for expressions being created or changed (``new``: kube-apiserver), or used as stored
    (``stored``: kube-scheduler)."""
    return _environment(Declarations.of(target, mode))


def reading(text: str) -> Program:
    """The program of an expression, compiled for reading only: in the stored environment of the newest release, which
    accepts most. For verdicts use the :func:`environment` of a release."""
    return _newest().compile(text)


@cache
def _newest() -> Environment:
    from dractl.model import Target

    return environment(Target.of(), "stored")


def attribute_environment(target: Target, mode: Mode = "new") -> Environment:
    """The environment for derived attributes (1.37): they are scalars or, if list attributes are on or the expression
    is a stored one, lists of one (compile.go isAllowedDerivedAttributeType)."""
    outputs = {"bool", "int", "string", "google.protobuf.Any", "dyn", "kubernetes.Semver"}
    wanted = "a primitive scalar (string, integer, boolean, semver)"
    if mode == "stored" or target.enabled(LISTS):
        outputs |= {f"list({scalar})" for scalar in outputs}
        wanted += " or a list of these scalars"
    return _environment(Declarations.of(target, mode)._replace(outputs=frozenset(outputs), wanted=wanted))
