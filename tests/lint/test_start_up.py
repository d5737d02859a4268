"""What lint imports for a plain claim."""

from __future__ import annotations

import subprocess
import sys

from tests.lint.written import claim


def test_no_rule_is_imported_for_what_a_claim_does_not_say() -> None:
    program = (
        "import sys\nfrom dractl.lint import lint\nfrom dractl.manifests import load\nfrom dractl.model import Target\n"
        "report = lint(load(['-'], stdin=sys.stdin.buffer.read()), Target.of())\nassert not report.findings\n"
        "print([name for name in sys.modules if name.startswith('dractl.lint.rules.')], 'dractl.cel' in sys.modules)"
    )
    plain = claim("gpu gpu.example.com").encode()
    done = subprocess.run([sys.executable, "-c", program], input=plain, capture_output=True, check=True)
    imported = (
        "dra151_claim_without_requests",
        "dra423_misspelt_reference",
        "dra535_duplicate_object",
        "dra722_misspelt_device_class",
    )
    assert done.stdout.decode().strip() == f"{[f'dractl.lint.rules.{name}' for name in imported]} False"
