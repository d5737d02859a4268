"""The release of the cluster behind a dump, taken from the kubelets of its nodes."""

import os
import re
from collections.abc import Iterable

_KUBELET_VERSION = rb'"?kubeletVersion"?\s*:\s*["\']?v?([0-9]{1,3})\.([0-9]{1,3})\.'
MAX_DUMP_BYTES = 256 * 1024 * 1024


def find_kubelet_release(paths: Iterable[str]) -> str | None:
    """Return the highest release of the kubelets in the named files, such as ``1.36``.

    Only named files count, not folders: a dump is one file, while a folder of manifests may be for
    several clusters. None if no file has a node whose status a kubelet has filled in.
    """
    versions: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.isfile(path) or os.path.getsize(path) > MAX_DUMP_BYTES:
            continue
        try:
            with open(path, "rb") as file:
                numbers = re.findall(_KUBELET_VERSION, file.read())
        except OSError:
            continue  # the reason is reported when the file is read
        versions.update((int(major), int(minor)) for major, minor in numbers)
    return "{}.{}".format(*max(versions)) if versions else None
