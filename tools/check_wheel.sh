#!/usr/bin/env bash
# The wheel holds all that dractl needs: built, installed into an empty environment outside the checkout, and the README's
# lint and explain run there, with every dependency at its lower bound (the tests run with the newest).
set -euo pipefail
python=${1:-python3} # with build and venv
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m build --wheel --outdir "$work/dist" "$root" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$python" -m venv "$work/venv"
"$python" "$root/tools/lower_bounds.py" >"$work/constraints.txt"
"$work/venv/bin/pip" install --quiet --constraint "$work/constraints.txt" "$work"/dist/*.whl
cp -r "$root/examples" "$work/examples"
cd "$work"

expect() { # expect STATUS TEXT COMMAND...: the command ends with that status and prints that text
  local status=$1 text=$2 code=0
  shift 2
  "$@" >out 2>&1 || code=$?
  if [ "$code" != "$status" ] || ! grep -qF -- "$text" out; then
    echo "wheel: '$*' ended with $code (expected $status) and printed:"
    cat out
    exit 1
  fi
}

expect 0 dractl venv/bin/dractl --version
expect 1 "resource.kubernetes.io/pcieRoot" venv/bin/dractl lint examples/lint
expect 1 "pci0000:" venv/bin/dractl explain examples/explain
expect 0 "kubectl dra" grep -r "kubectl dra" venv/share/man/man1/dractl.1
expect 0 "SYNOPSIS" grep SYNOPSIS venv/share/man/man1/dractl-lint.1
expect 0 _DRACTL_COMPLETE venv/bin/dractl completion bash
echo "wheel: installs at the lower bounds and runs outside the checkout"
