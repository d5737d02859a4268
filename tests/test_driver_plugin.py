"""Tests of the tool that calls a driver's plug-in: CDI files, and drivers that never do what the
tool waits for.
"""

from __future__ import annotations

import json
import sys
import textwrap
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tools.driver_plugin import cdi

if TYPE_CHECKING:
    from pathlib import Path

    from tools.driver_plugin.process import Driver

ID = "gpu.example.com/device=gpu-0"


def write(folder: Path, name: str, **content: object) -> None:
    (folder / name).write_text(
        json.dumps({"cdiVersion": "0.6.0", "kind": "gpu.example.com/device", **content})
    )


def device(**edits: object) -> dict[str, object]:
    return {"name": "gpu-0", "containerEdits": edits}


def test_a_device_with_edits_is_resolved(tmp_path: Path) -> None:
    write(tmp_path, "a.json", devices=[device(env=["A=1"])])
    (tmp_path / "notes.txt").write_text("{")
    assert cdi.find_faults([ID], tmp_path) == []
    assert cdi.find_faults([], tmp_path) == []


@pytest.mark.parametrize(
    ("identifier", "fault"),
    [
        ("gpu.example.com/device=gpu-1", "no file in"),
        ("other.example.com/device=gpu-0", "no file in"),
        ("gpu-0", "is no CDI device"),
        ("gpu.example.com/device=", "is no CDI device"),
    ],
)
def test_undefined_device_is_a_fault(tmp_path: Path, identifier: str, fault: str) -> None:
    write(tmp_path, "a.json", devices=[device(env=["A=1"])])
    (found,) = cdi.find_faults([identifier], tmp_path)
    assert fault in found


def test_edits_refused_by_a_runtime_are_faults(tmp_path: Path) -> None:
    write(tmp_path, "a.json", devices=[device()])
    assert cdi.find_faults([ID], tmp_path) == [
        f"{ID} has empty containerEdits, which a runtime refuses"
    ]


def test_missing_paths_are_faults(tmp_path: Path) -> None:
    nodes, mounts = [{"path": "/dev/nothing-0"}], [{"hostPath": "/nothing", "containerPath": "/x"}]
    write(tmp_path, "a.json", devices=[device(deviceNodes=nodes, mounts=mounts)])
    faults = cdi.find_faults([ID], tmp_path)
    assert ["/dev/nothing-0" in fault for fault in faults] == [True, False]
    assert "/nothing" in faults[1]


def test_a_device_in_two_files_is_a_conflict(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(tmp_path, name, devices=[device(env=["A=1"])])
    assert "2 files define" in cdi.find_faults([ID], tmp_path)[0]


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"kind": "a/b"}'])
def test_invalid_cdi_file_is_a_fault(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert any("a.json" in fault for fault in cdi.find_faults([ID], tmp_path))


def test_files_still_defining_a_claim_are_listed(tmp_path: Path) -> None:
    write(tmp_path, "claims.json", devices=[device(env=["A=1"])])
    write(tmp_path, "c-uid.json", devices=[])
    assert cdi.mentions("c-uid", [ID], tmp_path) == ["c-uid.json", "claims.json"]
    assert cdi.mentions("other", [], tmp_path) == []


@pytest.mark.parametrize(("defined_before", "is_left"), [({"a.com/gpu=all"}, False), (set(), True)])
def test_device_for_all_claims_may_stay_after_unprepare(
    tmp_path: Path, defined_before: set[str], is_left: bool
) -> None:
    """The example driver answers with a device of its own for the claim, and with one for all."""
    pytest.importorskip("grpc", reason="grpcio is not installed")
    from tools.driver_plugin.checks import FailureError, Session, check_unprepare

    class Answered(Session):
        def devices(self, count: int) -> list[dict[str, str]]:
            return [{"device": f"gpu-{number}"} for number in range(count)]

        def claim(self, name: str, *devices: dict[str, str], **options: Any) -> dict[str, str]:
            return {"name": name, "uid": "c-uid"}

        def prepare_one(self, claim: dict[str, str]) -> Any:
            prepared = SimpleNamespace(cdi_device_ids=["a.com/gpu=all", "a.com/gpu=c-uid-gpu-0"])
            return SimpleNamespace(devices=[prepared])

        def unprepare_one(self, claim: dict[str, str]) -> None:
            assert claim["uid"] == "c-uid"

    common = {"cdiVersion": "0.5.0", "kind": "a.com/gpu", "devices": [{"name": "all"}]}
    (tmp_path / "common.json").write_text(json.dumps(common))
    assert cdi.list_devices(tmp_path) == {"a.com/gpu=all"}
    session = Answered(cast("Any", None), cast("Any", None), "node-1", tmp_path, 1.0)
    session.standing_devices = frozenset(defined_before)
    if is_left:
        with pytest.raises(FailureError, match=r"common.json still defines devices"):
            check_unprepare(session)
    else:
        check_unprepare(session)


# A program that creates the entry named by its argument in the registry, and waits.
PROGRAM = textwrap.dedent(
    """
    import os, signal, socket, sys
    what, path = sys.argv[1:]
    os.chdir(os.path.dirname(path))
    if what == "file":
        open(path, "w").close()
    elif what != "nothing":
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.basename(path))
        server.listen()
        while what == "garbage":
            connection, _ = server.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request" + bytes(2) * 512)
            connection.close()
    signal.pause()
    """
)


def driver_of(tmp_path: Path, *command: str) -> Driver:
    """Return a driver of the tool; skips where grpcio is not installed."""
    pytest.importorskip("grpc", reason="grpcio is not installed")
    from tools.driver_plugin.process import Driver

    return Driver(command, tmp_path, tmp_path / "log", 1.0)


@pytest.mark.parametrize("what", ["nothing", "file", "silence", "garbage"])
def test_driver_without_registration_fails(tmp_path: Path, what: str) -> None:
    registry = tmp_path / "plugins_registry"
    driver = driver_of(tmp_path, sys.executable, "-c", PROGRAM, what, str(registry / "x-reg.sock"))
    try:
        with pytest.raises(Exception, match="no plug-in answers in"):
            driver.start()
        assert driver.is_running
    finally:
        driver.kill()
    assert not driver.is_running


def test_dying_driver_is_reported_with_its_last_words(tmp_path: Path) -> None:
    driver = driver_of(tmp_path, sys.executable, "-c", "raise SystemExit('no license')")
    with pytest.raises(Exception, match="ended by itself; it wrote: no license"):
        driver.start()


def test_unstoppable_driver_is_killed(tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"
    driver = driver_of(tmp_path, sys.executable, "-c", program)
    from tools.driver_plugin.process import DriverError, wait_until

    with pytest.raises(DriverError):
        driver.start()
    assert wait_until(lambda: driver.last_words() == "ready", 10)
    assert driver.stop() is False
    assert not driver.is_running


def test_a_missing_program(tmp_path: Path) -> None:
    driver = driver_of(tmp_path, str(tmp_path / "missing"))
    with pytest.raises(Exception, match="cannot be started"):
        driver.start()
