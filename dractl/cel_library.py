"""Whether selectors can be compiled here: cel-expr-python and google-re2 have no builds for musl, for Windows on ARM
(cel-expr-python), and for a new Python until they are released for it."""

from functools import cache
from importlib.util import find_spec

from dractl.errors import Unsupported

_PACKAGES = {
    "cel_expr_python": "cel-expr-python",
    "google.protobuf": "protobuf",
    "re2": "google-re2",
}  # by module


@cache
def missing() -> tuple[str, ...]:
    """The packages needed for compiling and evaluating selectors that are not installed, by their names on PyPI."""
    return tuple(package for module, package in _PACKAGES.items() if not _installed(module))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def why_not() -> str | None:
    """The reason why selectors cannot be compiled; None if they can."""
    *others, last = missing() or ("",)
    return f"{', '.join(others)}{' and ' if others else ''}{last} not installed" if last else None


def require(what: str) -> None:
    """Raises Unsupported if selectors, which ``what`` needs, cannot be compiled."""
    reason = why_not()
    if reason is not None:
        raise Unsupported(
            f"{what} needs CEL: {reason}",
            hint="install dractl on glibc Linux, macOS or Windows on x86-64 with CPython 3.11 to 3.14; "
            "discover, render, and lint without selectors run everywhere",
        )
