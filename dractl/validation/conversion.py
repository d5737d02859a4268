"""Paths of v1 translated to documents written for an older version."""

from typing import Any

from dractl.validation.violation import Path


def source_path(path: Path, value: dict[str, Any]) -> Path:
    """Return the path in the document as written."""
    version = str(value.get("apiVersion", "")).rpartition("/")[2]
    return (
        _older_path(path, value.get("kind"), version)
        if version in ("v1beta1", "v1alpha3")
        else path
    )


def _older_path(path: Path, kind: Any, version: str) -> Path:
    """Return a path in an older version: v1beta1 has requests without ``exactly`` and devices with
    ``basic``; v1alpha3 also has capacities without ``value``.
    """
    if (
        kind == "ResourceSlice"
        and path[:2] == ("spec", "devices")
        and len(path) > 3
        and path[3] != "name"
    ):
        path = (*path[:3], "basic", *path[3:])
        if version == "v1alpha3" and path[4:5] == ("capacity",) and path[6:7] == ("value",):
            path = path[:6]
        return path
    if kind in ("ResourceClaim", "ResourceClaimTemplate") and "exactly" in path[:6]:
        at = path.index("exactly")
        return path[:at] + path[at + 1 :]
    return path
