"""What all tests share: an environment that says nothing about colours, widths, locales or settings, and where the
conformance data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What the caller's shell, terminal or CI says to dractl (many set FORCE_COLOR): tests set what they are about.
_FOR_DRACTL = ("COLUMNS", "LANG", "NODE_NAME", "NO_COLOR", "PCIDB_PATH", "PYTHONIOENCODING", "TERM")
_FOR_TESTS = ("DRACTL_FUZZ", "DRACTL_ORACLE_DIR", "DRACTL_SEED", "DRACTL_SHARED")
for _name in set(os.environ) - set(_FOR_TESTS):
    if _name in _FOR_DRACTL or _name.startswith(("CLICOLOR", "DRACTL_", "FORCE_COLOR", "LC_")):
        del os.environ[_name]


def shared_dir() -> Path | None:
    """The folder with conformance data and machines: ``$DRACTL_SHARED``, else ``../shared`` beside the repository."""
    for candidate in (os.environ.get("DRACTL_SHARED"), ROOT.parent / "shared"):
        if candidate and Path(candidate, "conformance").is_dir():
            return Path(candidate)
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    found = shared_dir()
    if found is None:
        pytest.skip("no conformance data: neither $DRACTL_SHARED nor ../shared beside the repository")
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line that says how many recorded verdicts were compared: tests report theirs with
    ``record_property("cases", n)``."""
    if shared_dir() is None:
        terminalreporter.write_line("conformance: SKIPPED, no data")
        return
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.stats.get(outcome, [])]
    cases = sum(n for r in reports for name, n in r.user_properties if name == "cases")
    terminalreporter.write_line(f"conformance: {cases} cases run")
