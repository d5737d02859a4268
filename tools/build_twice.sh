#!/usr/bin/env bash
# Builds the wheel and the sdist twice, from two copies of the committed tree under different paths and file modes, and
# compares them byte for byte. tools/build_twice.sh [PYTHON [FOLDER]]; FOLDER keeps the first build. Times come from the
# commit, or from SOURCE_DATE_EPOCH.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${1:-python3}")
case $python in /*) ;; *) python=$PWD/$python ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

build() { # build FOLDER UMASK ZONE
  mkdir -p "$work/$1/src"
  git archive HEAD | (umask "$2" && tar -x --no-same-permissions -C "$work/$1/src")
  (umask "$2" && TZ=$3 "$python" -m build --outdir "$work/$1/dist" "$work/$1/src") >"$work/build.log" 2>&1 ||
    { cat "$work/build.log"; exit 1; }
}

build first 022 UTC
build second/with/a/longer/path 077 Pacific/Auckland
first=$(cd "$work/first/dist" && sha256sum ./*)
second=$(cd "$work/second/with/a/longer/path/dist" && sha256sum ./*)
if [ "$first" != "$second" ]; then
  printf 'two builds of one commit differ:\n%s\n%s\n' "$first" "$second"
  exit 1
fi
printf 'two builds are identical:\n%s\n' "$first"
if [ -n "${2:-}" ]; then
  mkdir -p "$2"
  cp "$work"/first/dist/* "$2"
fi
