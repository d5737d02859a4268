"""The attributes that Kubernetes itself defines, and misspellings of them."""

import re
from difflib import SequenceMatcher
from typing import Final

from dractl.model.nearest import nearest

STANDARD_DOMAIN: Final = "resource.kubernetes.io"
STANDARD: Final = ("pcieRoot", "pciBusID", "numaNode")
"""The names (k8s.io/dynamic-resource-allocation/deviceattribute; for numaNode, KEP-6072)."""

_STANDARD_PARTS = re.compile("kube|k8s|netes|resou")


def qualify(name: object) -> str | None:
    """Return the standard attribute that a name without domain was probably meant to be; None for a
    name that resembles none.
    """
    near = nearest(name, STANDARD) if isinstance(name, str) and "/" not in name else None
    return f"{STANDARD_DOMAIN}/{near}" if near else None


def guess_standard(domain: str, name: str) -> str | None:
    """Return the standard attribute that a name was certainly or probably meant to be.

    Return None if the name is standard already, or belongs to another domain.
    """
    if (domain == STANDARD_DOMAIN and name in STANDARD) or not _STANDARD_PARTS.search(
        domain.lower()
    ):
        return None
    if domain == STANDARD_DOMAIN:
        near = nearest(name, STANDARD)
        return f"{domain}/{near}" if near else None
    is_similar = SequenceMatcher(None, domain.lower()[:80], STANDARD_DOMAIN).ratio() > 0.85
    if not (
        is_similar
        or domain.lower()
        in ("resource.k8s.io", "kubernetes.io", "k8s.io", "resources.kubernetes.io")
    ):
        return None
    near = nearest(name, STANDARD, alike=0.8)
    return f"{STANDARD_DOMAIN}/{near}" if near else None
