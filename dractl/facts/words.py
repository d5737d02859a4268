"""The pack that a command line names, found before anything is imported that reads one."""

from collections.abc import Mapping, Sequence


def named(words: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Return the value of ``--facts``, which every subcommand has, else of DRACTL_FACTS."""
    own = words[: words.index("--")] if "--" in words else words
    for index, word in enumerate(own):
        if word.startswith("--facts="):
            return word.partition("=")[2]
        if word == "--facts":
            return own[index + 1] if index + 1 < len(own) else None
    return None if "--isolated" in own else environment.get("DRACTL_FACTS") or None
