"""Whether selectors can be compiled here.

cel-expr-python and google-re2 have no builds for musl, for Windows on ARM (cel-expr-python), and
for a new Python until they are released for it.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from dractl.errors import Unsupported

_PACKAGES = {
    "cel_expr_python": "cel-expr-python",
    "google.protobuf": "protobuf",
    "re2": "google-re2",
}  # by module
_LIBRARIES = {
    "cel_expr_python.cel": "cel-expr-python",
    "google.protobuf.struct_pb2": "protobuf",
    "re2": "google-re2",
}  # by the module that loads it


class _Loading:
    tried = False
    failure: str | None = None


@cache
def missing() -> tuple[str, ...]:
    """Return the packages that selectors need and that are not installed, by their names on
    PyPI.
    """
    return tuple(package for module, package in _PACKAGES.items() if not _installed(module))


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def why_not() -> str | None:
    """Return the reason why selectors cannot be compiled, as far as known before :func:`load`."""
    *others, last = missing() or ("",)
    if last:
        return f"{', '.join(others)}{' and ' if others else ''}{last} not installed"
    return _Loading.failure


def load() -> str | None:
    """Load the packages, and return the reason why selectors cannot be compiled; None if they can.

    It takes 20 ms. A package that is installed need not load: a wheel for glibc on musl, or a
    container without libstdc++.
    """
    if not _Loading.tried and not missing():
        _Loading.tried = True
        for module, package in _LIBRARIES.items():
            try:
                import_module(module)
            except ImportError as error:
                _Loading.failure = f"{package} cannot be loaded ({error})"
                break
    return why_not()


def require(what: str) -> None:
    """Raises Unsupported if selectors, which ``what`` needs, cannot be compiled."""
    reason = load()
    if reason is not None:
        raise Unsupported(
            f"{what} needs selectors, which cannot be compiled here: {reason}",
            hint=(
                "install dractl on glibc Linux, macOS or Windows on x86-64 with CPython 3.11 to "
                "3.14; discover, render, and lint without selectors run everywhere"
            ),
        )
