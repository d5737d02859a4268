#!/usr/bin/env bash
# The README's second command: installs what the tests need (Debian, Ubuntu) and runs them.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # otherwise every dractl that a test starts compiles all its modules

root=$([ "$(id -u)" = 0 ] || echo sudo)
$root apt-get update -qq
$root apt-get install -y -qq python3-venv gcc libc6-dev umockdev pci.ids zsh fish
python3 -m venv .venv
.venv/bin/pip install -q -e '.[dev]'
.venv/bin/python -m pytest -q -n auto
# Once without xdist: its workers have threads of their own, so lint does not fork there.
.venv/bin/python -m pytest -q tests/lint/test_workers.py
