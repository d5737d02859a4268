"""Puts helm into the image: ``python tools/fetch_helm.py FILE``.

Downloads the archive of this machine's architecture, compares its SHA-256, and writes the program.
Helm's project publishes archives only; the Dockerfile copies kubectl and kustomize from images of
their projects.
"""

from __future__ import annotations

import hashlib
import io
import platform
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "v4.3.0"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# As in the notes of the release, and in hack/installers/checksums of argoproj/argo-cd.
CHECKSUMS = {
    "amd64": "86584a54def73570558f66f5111cc53dfed56689637ae32c1201205d494f54fb",
    "arm64": "31c5794dd55c66a51e6b7d2e2ac7a114ae8b1de41ff1d9ba51748ac973b06a08",
}


def address(architecture: str) -> str:
    return f"https://get.helm.sh/helm-{VERSION}-linux-{architecture}.tar.gz"


def unpack(archive: bytes, architecture: str, checksum: str) -> bytes:
    """Return the program in an archive. Raises ValueError if it has another checksum."""
    actual = hashlib.sha256(archive).hexdigest()
    if actual != checksum:
        raise ValueError(f"{address(architecture)} has SHA-256 {actual}, not {checksum}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        program = tar.extractfile(f"linux-{architecture}/helm")
        if program is None:
            raise ValueError(f"{address(architecture)} has no program helm")
        return program.read()


def main(target: Path) -> None:
    architecture = ARCHITECTURES[platform.machine()]
    with urllib.request.urlopen(address(architecture), timeout=60) as answer:
        archive = answer.read()
    target.write_bytes(unpack(archive, architecture, CHECKSUMS[architecture]))
    target.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
