"""Phrases about devices for sentences: the places that they share, and how many a request wants."""

from collections.abc import Mapping
from typing import Final

PLACES: Final[Mapping[str | None, str]] = {"pcieRoot": "PCIe root", "numaNode": "NUMA node"}
"""The words for standard attributes whose values are places with devices."""

_ARTICLES: Final[Mapping[str, str]] = {
    "cpu": "a",
    "dpu": "a",
    "fpga": "an",
    "gpu": "a",
    "hca": "an",
    "nic": "a",
    "npu": "an",
    "tpu": "a",
    "vf": "a",
}
"""The articles of acronyms for hardware, by which people name requests."""


def count_devices(number: int, request: str, adjective: str = "") -> str:
    """Return ``2 free GPUs`` or ``a NIC`` for requests gpu and nic, whose names say what they want,
    and ``2 devices of request trainer`` for any other name.
    """
    noun = name_devices(number, request)
    if noun is None:
        noun = f"{'device' if number == 1 else 'devices'} of request {request}"
    article = "a" if adjective else _ARTICLES.get(noun.lower(), "a")
    return " ".join(filter(None, (article if number == 1 else str(number), adjective, noun)))


def name_devices(number: int, word: str) -> str | None:
    """Return ``GPU`` or ``GPUs`` for the word gpu; None for a word that is no acronym."""
    singular = word.lower().removesuffix("s")
    if singular not in _ARTICLES:
        return None
    return singular.upper() if number == 1 else f"{singular.upper()}s"
