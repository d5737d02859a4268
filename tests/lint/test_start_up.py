"""Imports of lint for a plain claim."""

from __future__ import annotations

import subprocess
import sys

from tests.lint.written import claim


def test_the_cel_library_is_not_loaded_for_a_claim_without_selectors() -> None:
    program = (
        "import sys\nfrom dractl.lint import lint\nfrom dractl.manifests import load\nfrom dractl.model import Target\n"
        "report = lint(load(['-'], stdin=sys.stdin.buffer.read()), Target.of())\nassert not report.findings\n"
        "print([name for name in sys.modules if name.startswith(('cel_expr_python', 'google.'))])"
    )
    plain = claim("gpu gpu.example.com").encode()
    done = subprocess.run(
        [sys.executable, "-c", program], input=plain, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "[]"
