"""List what a change must pass: ``nox -l`` prints the sessions, ``nox -s lint`` runs one.

``nox --no-venv`` runs a session in the environment that it was started from.
"""

import shutil

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "conformance", "live", "docs", "package"]

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def install(session: nox.Session, extra: str) -> None:
    """Install dractl with an extra, unless the session has no environment of its own."""
    if session.venv_backend != "none":
        session.install("--quiet", "--editable", f".[{extra}]")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with a sample of the recorded verdicts."""
    install(session, "dev")
    session.run("python", "-m", "pytest", "-q", "-n", "auto", *session.posargs)
    # The workers of xdist have threads of their own, so lint does not fork there.
    session.run("python", "-m", "pytest", "-q", "tests/lint/test_workers.py")


@nox.session
def newer_typer(session: nox.Session) -> None:
    """Run the tests of the command line with the typer that pyproject.toml does not allow yet."""
    session.install("--quiet", "--editable", ".[dev]")
    session.install("--quiet", "typer==0.29.*")
    session.run("python", "-m", "pytest", "-q", "tests/cli", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Compare every recorded verdict of real servers, schedulers and drivers."""
    install(session, "dev")
    session.run(
        *("python", "-m", "pytest", "-q", "-n", "auto"),
        *("-m", "conformance and not oracle and not live", *session.posargs),
        success_codes=[
            0,
            5,
        ],  # 5: no test at all, where the recorded data are not beside the checkout
    )


@nox.session
def live(session: nox.Session) -> None:
    """Explain pods of a real control plane; skips, with a reason, where none is built.

    ``nox -s live`` plays all of them (45 minutes on two processors), ``-- --one-in 12`` a sample.
    """
    install(session, "dev")
    # The tests of a module share a control plane; only the situations start one for each worker.
    situations = "tests/live/test_situations.py"
    run = ("python", "-m", "pytest", "-q", "-m", "live", "-n", "auto", *session.posargs)
    session.run(*run, "--dist", "loadfile", f"--ignore={situations}", success_codes=[0, 5])
    session.run(*run, situations, success_codes=[0, 5])


@nox.session
def driver(session: nox.Session) -> None:
    """Check check-driver: released drivers, the mutants of one on a real node, and 20,000 devices.

    What needs the oracles skips, with a reason, where they are not built.
    """
    install(session, "dev")
    tests = ("tests/driver_checks", "tests/cli/test_check_driver.py", "tests/test_determinism.py")
    plugin = ("tests/test_driver_plugin.py", "tests/live/test_driver_mutants.py")
    session.run("python", "-m", "pytest", "-q", "-m", "", *tests, *plugin, *session.posargs)
    page = f"{session.create_tmp()}/benchmarks.md"
    session.run("python", "benchmarks/run.py", "--only", "snapshots", "--output", page)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and types, and that generated files are those that their tools write."""
    install(session, "dev")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", "--strict", "dractl")
    session.run("python", "tools/make_man.py", "--check")
    session.run("python", "tools/make_completions.py", "--check")
    session.run("python", "tools/make_rule_table.py", "--check")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, check every link between its pages, and look for messages in its search."""
    install(session, "docs")
    session.run("python", "tools/make_site.py")
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})
    session.run("python", "tools/check_links.py")
    if shutil.which("node"):
        session.run("node", "tools/check_search.js", external=True)
    else:
        session.warn("the site's search was not asked: there is no node")


@nox.session
def package(session: nox.Session) -> None:
    """Install the wheel into an empty environment, each dependency at its lower bound."""
    install(session, "dev")
    session.run("bash", "tools/check_wheel.sh", "python", external=True)
