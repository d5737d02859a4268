#!/usr/bin/env bash
# One file that runs dractl where only Python 3.11 or newer is installed, without pip and without a network:
# tools/make_zipapp.sh WHEEL FILE [PYTHON [MACHINE]]. It holds the compiled modules for CPython 3.11 to 3.14 on Linux with
# glibc 2.28 or newer; MACHINE is x86_64 or aarch64. It unpacks itself to ~/.shiv, or to SHIV_ROOT, at the first run.
set -euo pipefail
wheel=$(realpath "$1")
file=$2
python=${3:-python3}
machine=${4:-$(uname -m)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "shiv==1.0.8"
# The compiled modules of each Python have names of their own, so that one folder holds those of all.
for version in 3.11 3.12 3.13 3.14; do
  platforms=()
  for tag in manylinux_2_28 manylinux_2_27 manylinux_2_26 manylinux_2_17 manylinux2014; do
    platforms+=(--platform "${tag}_$machine")
  done
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --only-binary=:all: \
    --implementation cp --python-version "$version" "${platforms[@]}" --target "$work/$version" "$wheel"
  cp -r "$work/$version/." "$work/site/" 2>/dev/null || cp -r "$work/$version" "$work/site"
done
rm -rf "$work/site/bin"
"$work/venv/bin/shiv" --site-packages "$work/site" --entry-point dractl.cli.main:run --python "/usr/bin/env python3" \
  --compressed --reproducible --output-file "$file"
chmod 755 "$file"
