#!/bin/sh
# Writes the digests of the base images into the Dockerfile (or the file named), as the registry gives them:
# python:3.13-slim-trixie becomes python:3.13-slim-trixie@sha256:... Changes nothing unless every registry answers.
set -eu
file=${1:-$(dirname "$0")/../Dockerfile}
new=$(mktemp)
trap 'rm -f "$new"' EXIT
cp "$file" "$new"
for image in $(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$file" | sort -u); do
    tag=${image%@*}
    digest=$(docker buildx imagetools inspect "$tag" --format '{{.Manifest.Digest}}')
    case $digest in
        sha256:????????????????????????????????????????????????????????????????) ;;
        *) echo "pin_images: no digest of $tag: $digest" >&2; exit 1 ;;
    esac
    sed -i "s|^FROM $image\( .*\)\{0,1\}\$|FROM $tag@$digest\1|" "$new"
    echo "$tag@$digest"
done
cat "$new" > "$file"
