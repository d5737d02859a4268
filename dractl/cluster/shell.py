"""Next steps, and commands that users paste into a shell.

The names in them come from dumps of unknown origin.
"""

import re
import shlex

from msgspec import Struct

_SAFE_NAME = re.compile(r"[A-Za-z0-9_.:@%+=,/][A-Za-z0-9_.:@%+=,/-]*")


def is_safe_name(name: str) -> bool:
    """Return False for a name that a shell would interpret, or that kubectl would take for an
    option.

    No API server accepts such a name: k8s.io/apimachinery pkg/util/validation IsDNS1123Subdomain.
    """
    return _SAFE_NAME.fullmatch(name) is not None


def quote_command(text: str, *words: str) -> str:
    """Replace each ``{}`` of a command by one of ``words``, quoted if a shell needs it.

    The result is "" if kubectl would take a word for an option, or if a word has control
    characters.
    """
    if any(word.startswith("-") or not word.isprintable() for word in words):
        return ""
    return text.format(*map(shlex.quote, words))


def scale_command(kind: str, name: str, namespace: str, replicas: int) -> str:
    """Return the command that sets the number of a workload's pods; "" for an unsafe name."""
    return quote_command(
        "kubectl scale {} -n {} --replicas={}", f"{kind.lower()}/{name}", namespace, str(replicas)
    )


class NextStep(Struct, frozen=True):
    """Something to do or to look at."""

    text: str
    command: str = ""
    """The command for this step; "" if there is none."""
