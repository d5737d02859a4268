"""The program that builds kustomizations here, and the mark of tests that need it."""

from __future__ import annotations

import shutil

import pytest

PROGRAM = shutil.which("kustomize") or shutil.which("kubectl")
NEEDS_PROGRAM = pytest.mark.skipif(
    PROGRAM is None, reason="neither kustomize nor kubectl is installed here"
)
