"""Fixtures that all tests share: an environment without colours, widths, locales and settings, and
the location of the conformance data.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rendered_nodes import hyperv, mi300x, plx, rendered  # noqa: F401  (fixtures)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent

# Variables by which the caller's shell, terminal or CI would change dractl's output (many set
# FORCE_COLOR).
_FOR_DRACTL = ("COLUMNS", "LANG", "NODE_NAME", "NO_COLOR", "PCIDB_PATH", "PYTHONIOENCODING", "TERM")
_FOR_TESTS = ("DRACTL_FUZZ", "DRACTL_ORACLE_DIR", "DRACTL_SEED", "DRACTL_SHARED")
for _name in set(os.environ) - set(_FOR_TESTS):
    if _name in _FOR_DRACTL or _name.startswith(("CLICOLOR", "DRACTL_", "FORCE_COLOR", "LC_")):
        del os.environ[_name]


SAMPLE_DIR = ROOT / "tests" / "data" / "recorded"


def whole_dir() -> Path | None:
    """Return the folder with all recorded data, machines and oracles: ``$DRACTL_SHARED``, else
    ``../shared`` beside the repository. ``DRACTL_SHARED=tests/data/recorded`` selects the sample.
    """
    named = os.environ.get("DRACTL_SHARED")
    found = Path(named) if named else ROOT.parent / "shared"
    return found if (found / "conformance").is_dir() and found.resolve() != SAMPLE_DIR else None


def shared_dir() -> Path:
    """Return the folder of recorded verdicts: of all verdicts if they are here, else of the sample
    that every checkout has.
    """
    return whole_dir() or SAMPLE_DIR


WHOLE = whole_dir() is not None
SAMPLE = 20 if WHOLE else 1
"""The default run compares every 20th recorded verdict, or the whole sample of the checkout."""


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give tests a cache of their own. The programs of the oracles are still found in the user's
    cache.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(
            "DRACTL_ORACLE_DIR", os.environ.get("DRACTL_ORACLE_DIR", str(cache / "dractl-oracle"))
        )
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    return shared_dir()


@pytest.fixture(scope="session")
def whole() -> Path:
    """Return the folder of all data: machines, the servers' OpenAPI, oracles."""
    found = whole_dir()
    if found is None:
        pytest.skip(
            "only a sample of the recorded data: neither $DRACTL_SHARED nor ../shared beside the repository"
        )
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-in",
        type=int,
        default=1,
        metavar="N",
        help="play one in N of each module's tests on a control plane (-m live)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all but every N-th live test of each module, where N is the value of
    ``--one-in``.
    """
    step = config.getoption("--one-in")
    positions: Counter[Path] = Counter()
    chosen, others = [], []
    for item in items:
        position = positions[item.path]
        positions[item.path] += 1
        sampled = not item.get_closest_marker("live") or position % step == 0
        (chosen if sampled else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many recorded verdicts were compared. Tests report their number with
    ``record_property("cases", n)``.
    """
    reports = [
        r for outcome in ("passed", "failed") for r in terminalreporter.stats.get(outcome, [])
    ]
    cases = sum(n for r in reports for name, n in r.user_properties if name == "cases")
    source = "" if whole_dir() else " (of the sample in tests/data; the whole is not here)"
    terminalreporter.write_line(f"conformance: {cases} cases run{source}")
