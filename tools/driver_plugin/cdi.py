"""Reads CDI files as a container runtime does.

The format is in SPEC.md of tags.cncf.io/container-device-interface.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

_ID = re.compile(r"([A-Za-z][\w.-]*[\w])/([A-Za-z][\w-]*[\w])=([A-Za-z0-9][\w.:-]*)")
_MAX_BYTES = 1 << 20


def find_faults(ids: list[str], folder: Path) -> list[str]:
    """Return the faults that keep a container runtime from resolving device ids."""
    files, faults = read_files(folder)
    for device_id in ids:
        match = _ID.fullmatch(device_id)
        if match is None:
            faults.append(f"{device_id} is no CDI device: VENDOR/CLASS=NAME is")
            continue
        kind, name = f"{match[1]}/{match[2]}", match[3]
        devices = [
            (content, device)
            for content in files.values()
            if content.get("kind") == kind
            for device in content.get("devices") or ()
            if isinstance(device, dict) and device.get("name") == name
        ]
        if not devices:
            faults.append(f"no file in {folder} defines {device_id}")
        elif len(devices) > 1:
            faults.append(
                f"{len(devices)} files define {device_id}: a runtime resolves none of them"
            )
        else:
            faults += _find_faults_of_device(device_id, *devices[0])
    return faults


def mentions(uid: str, ids: list[str], folder: Path) -> list[str]:
    """Return the files that still define devices of a claim, by its UID or its device ids."""
    files, _ = read_files(folder)
    names = {device_id.partition("=")[2] for device_id in ids}
    return sorted(
        name
        for name, content in files.items()
        if uid in name
        or any(
            isinstance(device, dict) and device.get("name") in names
            for device in content.get("devices") or ()
        )
    )


def list_devices(folder: Path) -> frozenset[str]:
    """Return the ids of the devices that CDI files define, ``VENDOR/CLASS=NAME``."""
    files, _ = read_files(folder)
    return frozenset(
        f"{content['kind']}={device.get('name')}"
        for content in files.values()
        for device in content.get("devices") or ()
        if isinstance(device, dict)
    )


def read_files(folder: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the CDI files of a folder by name, and the faults of files that are not valid CDI
    files.
    """
    files: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        if path.suffix not in (".json", ".yaml") or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")[:_MAX_BYTES]
            content = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError) as error:
            faults.append(f"{path.name} cannot be read: {str(error).splitlines()[0]}")
            continue
        if (
            not isinstance(content, dict)
            or not content.get("cdiVersion")
            or not content.get("kind")
        ):
            faults.append(f"{path.name} has no cdiVersion or no kind")
            continue
        files[path.name] = content
    return files, faults


def _find_faults_of_device(name: str, content: dict[str, Any], device: dict[str, Any]) -> list[str]:
    edits = device.get("containerEdits")
    if not isinstance(edits, dict) or not any(edits.values()):
        return [f"{name} has empty containerEdits, which a runtime refuses"]
    faults = []
    for edit in (edits, content.get("containerEdits") or {}):
        for node in edit.get("deviceNodes") or ():
            path = node.get("hostPath") or node.get("path") or ""
            if not Path(path).exists():
                faults.append(f"{name} has device node {path}, which is not on this machine")
        faults += [
            f"{name} mounts {mount.get('hostPath')}, which is not on this machine"
            for mount in edit.get("mounts") or ()
            if not Path(mount.get("hostPath") or "").exists()
        ]
    return faults
