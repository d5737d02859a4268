#!/usr/bin/env bash
# Installs a wheel into an empty environment and runs the README's main job: tools/try_wheel.sh WHEEL [PYTHON]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${2:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cp -r "$root/examples" "$work/examples"
cd "$work"

expect() { # expect STATUS TEXT COMMAND...: the command ends with that status and prints that text
  local status=$1 text=$2 code=0
  shift 2
  "$@" >out 2>&1 || code=$?
  if [ "$code" != "$status" ] || ! grep -qF -- "$text" out; then
    printf "'%s' ended with %s (expected %s) and printed:\n" "$*" "$code" "$status"
    cat out
    exit 1
  fi
}

expect 1 "resource.kubernetes.io/pcieRoot" venv/bin/dractl lint examples/lint
expect 1 "pci0000:" venv/bin/dractl explain examples/explain
expect 0 "gpu-0" venv/bin/dractl discover --from examples/discover/node.json
expect 0 "kind: ResourceSlice" venv/bin/dractl render --hardware 2xH100,1xnic --driver gpu.nvidia.com
"$work/venv/bin/python" -c 'import platform; print("the wheel runs on Python", platform.python_version(), platform.machine())'
