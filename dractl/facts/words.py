"""The pack that a command line names, determined before any module that reads a pack is
imported.
"""

from collections.abc import Mapping, Sequence


def pack_option(words: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Return the value of ``--facts``, which every subcommand has, or else of DRACTL_FACTS."""
    options = words[: words.index("--")] if "--" in words else words
    for index, word in enumerate(options):
        if word.startswith("--facts="):
            return word.partition("=")[2]
        if word == "--facts":
            return options[index + 1] if index + 1 < len(options) else None
    return None if "--isolated" in options else environment.get("DRACTL_FACTS") or None
