"""Several processes: the same report, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint, many, size, workers
from dractl.lint.findings import Terms
from dractl.manifests import load_readable
from dractl.manifests.files import list_files
from dractl.model import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

forks = pytest.mark.skipif(
    not workers.can_fork(), reason="forks only on Linux, in a process of one thread"
)
TARGET = Target.of()
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: {kind}
metadata: {{name: {name}, namespace: {namespace}}}
spec:
{spec}
"""
SPEC = "devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: {cls}, count: {count}}}}}]}}"


def claim(name: str, namespace: str = "a", cls: str = "gpu", count: int = 1) -> str:
    return CLAIM.format(
        kind="ResourceClaim",
        name=name,
        namespace=namespace,
        spec="  " + SPEC.format(cls=cls, count=count),
    )


def template(name: str, namespace: str = "a") -> str:
    spec = "  spec:\n    " + SPEC.format(cls="gpu", count=1)
    return CLAIM.format(kind="ResourceClaimTemplate", name=name, namespace=namespace, spec=spec)


def pod(name: str, namespace: str, entry: str) -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n"
        f"  resourceClaims: [{{name: gpu, {entry}}}]\n"
        "  containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]\n"
    )


@forks
def test_batches_end_at_the_folder_making_them_most_alike(tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / f"team-{number}"
        folder.mkdir()
        (folder / "claim.yaml").write_bytes(b"#" * (size.REPAYS_A_PROCESS // 2 - (number == 0)))
    entries = list(list_files([str(tmp_path)], []))
    assert [len(share) for share in many._split(entries, 2)] == [4, 4]
    assert [len(share) for share in many._split(entries, 3)] == [3, 2, 3]
    assert [len(share) for share in many._split(entries, 100)] == [
        2
    ] * 4  # a share repays a process


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Folders whose objects name each other, with faults, ignores, a kustomization and what cannot be read."""
    files = {
        "classes/gpu.yaml": "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec:\n"
        "  selectors:\n  - cel: {expression: 'device.driver == \"gpu.nvidia.com\"'}\n",
        "claims/admin.yaml": claim("admin").replace("count: 1", "adminAccess: true"),
        "claims/count.yaml": claim("count", count=0),
        "claims/ignored.yaml": claim("ignored", count=0).replace(
            "spec:", "spec:  # dractl: ignore[DRA116]"
        )
        + "# dractl: ignore[DRA101] nothing\n",
        "claims/old.yaml": claim("old").replace("k8s.io/v1\n", "k8s.io/v1alpha9\n"),
        "claims/two.yaml": claim("twice")
        + "---\n"
        + claim("twice", cls="gpus")
        + "---\n"
        + claim("x", count=-1),
        "kust/kustomization.yaml": "resources: [one/pod.yaml, two/template.yaml]\n",
        "kust/one/pod.yaml": pod("p", "a", "resourceClaimTemplateName: trane"),
        "kust/two/template.yaml": template("train"),
        "names/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
        "pods/elsewhere.yaml": pod("q", "b", "resourceClaimName: count"),
        "pods/kind.yaml": pod("r", "a", "resourceClaimName: train"),
        "pods/unused.yaml": pod("s", "a", "resourceClaimName: admin").replace(
            "claims: [{name: gpu}]", ""
        ),
        "zz/broken.yaml": "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n  a: b\n",
        "zz/template.yaml": "{{ if x }}\n" + claim("t"),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "zz/gone.yaml").symlink_to("nowhere")
    return tmp_path


@forks
@pytest.mark.parametrize(
    ("processes", "kustomized", "more"), [(2, False, 1), (3, False, 2), (8, False, 4), (8, True, 0)]
)
def test_the_report_does_not_depend_on_the_number_of_processes(
    tree: Path, processes: int, kustomized: bool, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process judges whole folders, or everything if files of several folders make one kustomization."""
    if not kustomized:
        (tree / "kust/kustomization.yaml").unlink()
        (tree / "kust/two/template.yaml").rename(tree / "classes/template.yaml")
        (tree / "kust/one/pod.yaml").rename(tree / "zz/pod.yaml")
    monkeypatch.setattr(many, "REPAYS_A_PROCESS", 1)
    started: list[int] = []
    pool = futures.ProcessPoolExecutor
    monkeypatch.setattr(
        futures,
        "ProcessPoolExecutor",
        lambda count, *rest: started.append(count) or pool(count, *rest),
    )
    one = lint(load_readable([str(tree)]), TARGET)
    assert len({finding.code for finding in one.findings}) >= 6
    entries = list(list_files([str(tree)], ()))
    steps: list[str] = []
    report = many.lint_listed(
        entries, Terms(TARGET), named=True, processes=processes, announce=steps.append
    )
    assert report == one
    assert sum(started) == more
    assert set(steps) == {f"linting {len(entries)} files"}  # and not in the children


def test_little_work_and_charts_are_for_one_process(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not size.is_large(list(list_files([str(tree)], ())))
    monkeypatch.setattr(size, "REPAYS_A_PROCESS", 1)
    assert size.is_large(list(list_files([str(tree)], ())))
    (tree / "templates").mkdir()
    (tree / "templates" / "claim.yaml").write_text(claim("in-a-chart"))
    (tree / "Chart.yaml").write_text("name: x\n")
    assert not size.is_large(list(list_files([str(tree)], ())))


@forks
def test_each_process_goes_on_with_its_own_value() -> None:
    def work(letter: str) -> Iterator[tuple[int, str]]:  # a local function is not sent
        text = yield os.getpid(), letter * 100_000
        yield os.getpid(), letter + text

    with workers.Team(work, "abc") as team:
        first, second = team.ask(), team.ask(["x", "y", "z"])
    assert [text for _, text in first] == [letter * 100_000 for letter in "abc"]
    assert [text for _, text in second] == ["ax", "by", "cz"]
    assert [pid for pid, _ in first] == [pid for pid, _ in second]
    assert first[0][0] == os.getpid()
    assert len({pid for pid, _ in first}) == 3


@forks
def test_exception_of_a_worker_is_raised_by_the_parent() -> None:
    def work(number: int) -> Iterator[int]:
        if number:
            raise LookupError(f"task {number}")
        yield number

    with pytest.raises(LookupError, match="task 2"), workers.Team(work, [0, 2]) as team:
        team.ask()


@forks
def test_dead_worker_is_an_error_and_leaves_no_other_behind(tmp_path: Path) -> None:
    def work(number: int) -> Iterator[int]:
        (tmp_path / str(os.getpid())).touch()
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        yield number

    died = pytest.raises(workers.WorkerDied, match="a worker process died")
    with died as caught, workers.Team(work, [0, 1, 2]) as team:
        team.ask()
    assert caught.value.exit_code == 3
    others = {int(path.name) for path in tmp_path.iterdir()} - {os.getpid()}
    assert others
    assert not any(Path(f"/proc/{pid}").exists() for pid in others)


@forks
def test_a_process_with_threads_does_not_fork() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not workers.can_fork()
    finally:
        ended.set()
        thread.join()


linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are forked on Linux only"
)


@linux
def test_the_command_line_reports_the_same_with_any_number_of_jobs(tree: Path) -> None:
    for path in tree.rglob("*.yaml"):
        if path.is_file() and not path.is_symlink():
            path.write_text(path.read_text() + "# padding\n" * 12_000)
    reports = [
        subprocess.run(
            [
                sys.executable,
                "-m",
                "dractl",
                "lint",
                "--isolated",
                "-o",
                "json",
                "-j",
                jobs,
                str(tree),
            ],
            capture_output=True,
            check=False,
        )
        for jobs in ("1", "3")
    ]
    assert reports[0].stdout == reports[1].stdout
    assert [done.returncode for done in reports] == [1, 1]
    assert reports[0].stderr == reports[1].stderr


@pytest.mark.parametrize(
    ("number", "to_all", "code"), [(signal.SIGINT, True, 130), (signal.SIGKILL, False, -9)]
)
@linux
def test_workers_end_with_their_parent(
    tmp_path: Path, number: int, to_all: bool, code: int
) -> None:
    """Interrupted from the terminal, which tells all of them, or killed alone."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = (
        "import signal\nfrom dractl.lint.workers import Team\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background process ignores it
        "def read(path): yield open(path).read()\n"
        "try:\n with Team(read, ['/dev/null', path, path]) as team: team.ask()\n"
        "except KeyboardInterrupt: raise SystemExit(130)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", f"path = {str(fifo)!r}\n{program}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    signal.alarm(60)  # should nobody read
    writer = os.open(fifo, os.O_WRONLY)  # waits for a child that reads it
    signal.alarm(0)
    (os.killpg if to_all else os.kill)(process.pid, number)
    out, error = process.communicate(timeout=60)  # until no child has the pipes open
    assert (process.returncode, out, error) == (code, b"", b"")
    os.close(writer)
