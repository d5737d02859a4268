#!/usr/bin/env bash
# Prints plugins/dra.yaml with the repository, the version and the archives' checksums filled in:
# tools/fill_krew.sh OWNER/NAME vVERSION FOLDER, where FOLDER holds kubectl-dra-linux-MACHINE.tar.gz.
set -euo pipefail
repository=$1 version=$2 folder=$3
sum() { sha256sum "$folder/kubectl-dra-linux-$1.tar.gz" | cut -d' ' -f1; }
x86=$(sum x86_64)
arm=$(sum aarch64)
sed -e '/^#/d' -e "s|OWNER/dractl|$repository|g" -e "s|vVERSION|$version|g" -e "s|SHA256-x86_64|$x86|" \
  -e "s|SHA256-aarch64|$arm|" "$(dirname "$0")/../plugins/dra.yaml"
