"""The declarations of an environment, by release, mode and gates.

Sources: k8s.io/dynamic-resource-allocation/cel/compile.go,
k8s.io/apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dractl.cel.rewrite import FLATTEN
from dractl.model import Target

Mode = Literal["new", "stored"]

CONSUMABLE = "DRAConsumableCapacity"
LISTS = "DRAListTypeAttributes"


class Declarations(Struct, frozen=True):
    """Declarations of one environment, in addition to the table that all share."""

    release: int
    """The minor version as a number (1.36 is 36)."""
    mode: Mode
    lists: bool
    """True if the environment has the extension library for lists."""
    shared: bool
    """True if the environment has the field ``device.allowMultipleAllocations``."""
    dynamic: bool
    """True if an attribute is ``dyn`` instead of ``any``."""
    includes: str | None
    """The overload of ``includes``; None if the environment does not have the function."""
    outputs: frozenset[str]
    """The types that a selector may have."""
    wanted: str
    """The names of these types in the error for a selector of another type."""
    list_values: bool
    """True if devices may have list attributes."""
    two_variables: bool
    """True if the environment has the macros with two variables."""
    formats: bool
    """True if the environment has the functions for named formats."""
    left_out: frozenset[str]
    """Overloads of the table that this environment does not have."""

    @classmethod
    def for_target(cls, target: Target, mode: Mode) -> Declarations:
        release = int(target.release.split(".")[1])
        stored = mode == "stored"
        # New expressions may use features that were introduced up to the release before
        # (DefaultCompatibilityVersion), and stored expressions may use all.
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
        """Return the YAML of ``NewEnvConfigFromYaml``."""
        extensions = ["{name: bindings}", "{name: optional}"]
        if self.two_variables:
            extensions.append("{name: two-var-comprehensions}")
        if self.lists:
            extensions.append("{name: lists, version: 2}")
        attribute = "dyn" if self.dynamic else "any"
        lines = [
            "name: kubernetes",
            # This built-in overload belongs to the extension "optional". No other one is included,
            # since the table has the overloads of cel-go.
            'stdlib: {include_functions: [{name: "_[_]"}]}',
            f"extensions: [{', '.join(extensions)}]",
            "variables:",
            "- {name: device, type_name: kubernetes.DRADevice}",
            "- {name: device.driver, type_name: string}",
            f"- {{name: device.attributes, type_name: map, params: [{_NESTED.format(attribute)}]}}",
            (
                "- {name: device.capacity, type_name: map, params:"
                f" [{_NESTED.format('kubernetes.Quantity')}]}}"
            ),
        ]
        if self.shared:
            lines.append("- {name: device.allowMultipleAllocations, type_name: bool}")
        # The names of types that cel-cpp does not declare as values, for expressions such as
        # ``type(x) == net.IP``. CEL has no types called duration and timestamp, but cel-go notices
        # that only when it makes the program (``fold`` in checks.py), so they are declared as well.
        lines += [
            f"- {{name: {name}, type_name: type, params: [{{type_name: {name}}}]}}"
            for name in ("duration", "timestamp", "net.IP", "net.CIDR")
        ]
        lines += ["functions:", generic]
        if self.lists:
            lines += [f'- name: "{FLATTEN}"', "  overloads:", f"  - {_FLATTEN}"]
        return "\n".join(lines)


_ANY = "{type_name: A, is_type_param: true}"
_FLATTEN = (
    "{id: list_flatten, target: {type_name: list, params: [{type_name: list, params:"
    f" [{_ANY}]}}]}}, args: [], return: {{type_name: list, params: [{_ANY}]}}}}"
)
_NESTED = (
    "{{type_name: string}}, {{type_name: map, params: [{{type_name: string}}, {{type_name: {}}}]}}"
)
