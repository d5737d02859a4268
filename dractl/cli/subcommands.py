"""The subcommands: what help says of each, and its function, which is the ``command`` of the module of that name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# In the order of the work: see a node, render it, check manifests, explain what is stuck.
SUBCOMMANDS = {
    "discover": "What is in this node, and how is it wired.",
    "render": "The ResourceSlices (and DeviceClasses) that drivers would publish for it.",
    "lint": "What is wrong in these manifests.",
    "explain": "Why is this claim or pod not allocated, and what would make it fit.",
    "devices": "What the cluster has, who holds it, and what has to be cleaned up.",
    "fit": "How many more copies of this fit, where, and what is stranded.",
    "migrate": "Device-plugin requests in these manifests, turned into claims.",
    "cel": "What a device selector means: verdict, type, cost, and its result on devices.",
    "lsp": "Findings, hovers, completions and fixes in an editor (Language Server Protocol).",
    "rule": "What a lint rule, a reason or a driver's attributes mean.",
    "completion": "The completion script of a shell.",
}


def function(name: str) -> Callable[..., Any]:
    """The function of a subcommand."""
    command: Callable[..., Any] = import_module(f"dractl.cli.{name}").command
    return command
