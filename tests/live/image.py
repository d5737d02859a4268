"""The image of ``Dockerfile`` as an OCI archive, without a registry: the Python, the shell and the packages of this
machine stand for those of its base image.

``python -m tests.live.image NAME OUT.tar``
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from tests.conftest import ROOT

HOME = "/opt/dractl"
_PYTHON = f"python{sysconfig.get_python_version()}"
_PACKAGES = f"{HOME}/lib/{_PYTHON}/site-packages"
# Of the standard library nothing that dractl cannot import.
_LEFT_OUT = re.compile(
    r"/(?:__pycache__|test|tests|idlelib|ensurepip|tkinter|site-packages|config-[^/]*)(?:/|$)"
)


def instructions(stage: int = -1) -> dict[str, str]:
    """The instructions of a stage of the Dockerfile, those that stand alone."""
    text = (ROOT / "Dockerfile").read_text().split("\nFROM ")[stage]
    return dict(re.findall(r"^(ENV|USER|CMD|RUN|COPY) (.*)$", text, re.MULTILINE))


def _needs(name: str) -> set[str]:
    """A distribution and those that it needs on this machine."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        try:
            wanted = importlib.metadata.distribution(name).requires or []
        except importlib.metadata.PackageNotFoundError:
            continue  # for another Python or system
        if name not in found:
            found.add(name)
            waiting += [
                match[0]
                for r in wanted
                if "extra ==" not in r and (match := re.match(r"[\w.-]+", r))
            ]
    return found


def _packages(folder: Path) -> None:
    """The first stage: dractl's own wheel and what it needs, in ``folder``."""
    quiet = {"check": True, "capture_output": True}
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder / "wheel"),
        str(ROOT),
    ]
    subprocess.run(build, **quiet)  # type: ignore[call-overload]
    (wheel,) = (folder / "wheel").iterdir()
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder / "packages"),
    ]
    subprocess.run([*install, str(wheel)], **quiet)  # type: ignore[call-overload]
    for name in _needs("dractl") - {"dractl"}:
        for file in importlib.metadata.distribution(name).files or ():
            if not file.is_absolute() and ".." not in file.parts and file.suffix != ".pyc":
                target = folder / "packages" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.locate(), target)


def _libraries(programs: list[Path]) -> set[str]:
    """The shared libraries that programs and libraries need, and pyudev's."""
    text = subprocess.run(
        ["ldd", *map(str, programs)], check=False, capture_output=True, text=True
    ).stdout
    cache = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    return {
        *re.findall(r"(/[^\s:]+) \(0x", text),
        *re.findall(r"=> (\S*/libudev\.so\.1)$", cache, re.MULTILINE),
    }


def root_file_system() -> bytes:
    """The layer, a tar: the interpreter at its own path, a virtual environment in /opt/dractl, ``sh`` and ``sleep``."""
    out = io.BytesIO()
    base = Path(sys.base_prefix)
    with tempfile.TemporaryDirectory() as name, tarfile.open(fileobj=out, mode="w") as tar:
        folder = Path(name)
        _packages(folder)

        def write(path: str, text: str) -> None:
            info = tarfile.TarInfo(path.lstrip("/"))
            info.size, info.mode = len(text.encode()), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))

        programs = [base / "bin" / _PYTHON, *(Path(shutil.which(n) or n) for n in ("sh", "sleep"))]
        libraries = [*(base / "lib" / _PYTHON).rglob("*.so"), *(folder / "packages").rglob("*.so*")]
        for path in {*map(str, programs), *_libraries([*programs, *libraries])}:
            tar.add(Path(path).resolve(), path.lstrip("/"))
        standard = base / "lib" / _PYTHON
        tar.add(
            standard,
            str(standard).lstrip("/"),
            filter=lambda i: None if _LEFT_OUT.search(i.name) else i,
        )
        tar.add(folder / "packages", _PACKAGES.lstrip("/"))
        write(f"{HOME}/pyvenv.cfg", f"home = {base}/bin\n")
        write(
            f"{HOME}/bin/dractl", f"#!{HOME}/bin/python\nfrom dractl.__main__ import run\nrun()\n"
        )
        link = tarfile.TarInfo(f"{HOME}/bin/python".lstrip("/"))
        link.type, link.linkname = tarfile.SYMTYPE, str(base / "bin" / _PYTHON)
        tar.addfile(link)
        scratch = tarfile.TarInfo("tmp")  # as the base image has it: anybody may write there
        scratch.type, scratch.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(scratch)
        if (ids := Path("/usr/share/misc/pci.ids")).exists():
            tar.add(ids.resolve(), str(ids).lstrip("/"))
    return out.getvalue()


def programs_file_system(*names: str) -> bytes:
    """A layer, a tar: programs of this machine, and the libraries that they need."""
    programs = [Path(shutil.which(name) or name) for name in names]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in {*map(str, programs), *_libraries(programs)}:
            tar.add(Path(path).resolve(), path.lstrip("/"))
    return out.getvalue()


def archive(name: str, layer: bytes) -> bytes:
    """An OCI image layout of one image with one layer, configured as the Dockerfile says, as a tar."""
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, kind: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        media = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    def value(what: object) -> bytes:
        return json.dumps(what).encode()

    said = instructions()
    path = said["ENV"].replace(
        "$PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    )
    packed = blob(layer, "layer.v1.tar")
    run = {"User": said["USER"], "Env": [path], "Cmd": json.loads(said["CMD"])}
    files = {"type": "layers", "diff_ids": [packed["digest"]]}
    config = blob(
        value({"architecture": "amd64", "os": "linux", "config": run, "rootfs": files}),
        "config.v1+json",
    )
    manifest = blob(
        value({"schemaVersion": 2, "config": config, "layers": [packed]}), "manifest.v1+json"
    )
    index = {
        "schemaVersion": 2,
        "manifests": [{**manifest, "annotations": {"io.containerd.image.name": name}}],
    }
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        contents = {
            "oci-layout": value({"imageLayoutVersion": "1.0.0"}),
            "index.json": value(index),
            **blobs,
        }
        for where, data in contents.items():
            info = tarfile.TarInfo(where)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(archive(sys.argv[1], root_file_system()))
