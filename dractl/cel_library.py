"""The libraries that compile selectors, and whether they can be used here.

cel-expr-python and google-re2 have no builds for musl, none for Windows on ARM (cel-expr-python),
and at first none for a new version of Python.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from dractl.errors import Unsupported

_PACKAGES = {
    "cel_expr_python": "cel-expr-python",
    "google.protobuf": "protobuf",
    "re2": "google-re2",
}  # the packages, by the module that each provides
_LIBRARIES = {
    "cel_expr_python.cel": "cel-expr-python",
    "google.protobuf.struct_pb2": "protobuf",
}  # by the module that loads it; google-re2 is loaded with the first pattern
_HINT = (
    "install dractl on glibc Linux, macOS or Windows on x86-64 with CPython 3.11 to 3.14; discover,"
    " render, and lint without selectors run everywhere"
)


class _Loading:
    tried = False
    failure: str | None = None


@cache
def absent_packages() -> tuple[str, ...]:
    """Return the packages that selectors need but that are not installed, under their names on
    PyPI.
    """
    return tuple(package for module, package in _PACKAGES.items() if not _is_installed(module))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # even the package that contains it is missing
        return False


def why_not() -> str | None:
    """Return the reason why selectors cannot be compiled, as far as known before :func:`load`."""
    *others, last = absent_packages() or ("",)
    if last:
        return f"{', '.join(others)}{' and ' if others else ''}{last} not installed"
    return _Loading.failure


def load() -> str | None:
    """Load the packages that every selector needs, and return the reason why selectors cannot be
    compiled; None if they can.

    It takes 15 ms. Loading can fail although a package is installed: with a wheel for glibc on
    musl, or in a container without libstdc++.
    """
    if not _Loading.tried and not absent_packages():
        _Loading.tried = True
        for module, package in _LIBRARIES.items():
            try:
                import_module(module)
            except ImportError as error:
                _Loading.failure = f"{package} cannot be loaded ({error})"
                break
    return why_not()


def load_patterns() -> ModuleType:
    """Load google-re2, which takes 6 ms and few selectors need. Raises Unsupported."""
    try:
        return import_module("re2")
    except ImportError as error:
        raise Unsupported(
            "a selector has a regular expression, which cannot be compiled here: google-re2 cannot"
            f" be loaded ({error})",
            hint=_HINT,
        ) from None


def require(feature: str) -> None:
    """Raise Unsupported if selectors cannot be compiled; ``feature`` is the feature that needs
    them.
    """
    reason = load()
    if reason is not None:
        raise Unsupported(
            f"{feature} needs selectors, which cannot be compiled here: {reason}", hint=_HINT
        )
