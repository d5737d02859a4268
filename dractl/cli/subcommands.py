"""The subcommands: their help, and their function, which is the ``command`` of the module of that name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

# In the order of the work: see a node, render it, check manifests, explain what is stuck.
SUBCOMMANDS = {
    "discover": "Show what is in this node and how it is wired.",
    "render": "Print the ResourceSlices (and DeviceClasses) that drivers would publish for it.",
    "lint": "Check manifests for errors.",
    "explain": "Explain why a claim or pod is not allocated, and what would make it fit.",
    "devices": "List devices, who holds them, and what needs cleaning up.",
    "fit": "Count how many more copies fit, where, and what is stranded.",
    "migrate": "Convert device-plugin requests in manifests to claims.",
    "upgrade": "Tell what another release or driver version breaks or changes, at which step.",
    "cel": "Check a device selector: verdict, type, cost, and its result on devices.",
    "lsp": "Serve findings, hovers, completions and fixes to an editor (Language Server Protocol).",
    "facts": "List what is known of drivers and hardware, and what runs that is newer.",
    "rule": "Describe a lint rule, a reason or a driver's attributes.",
    "schema": "Print the JSON Schema of a report, of the configuration or of an API kind.",
    "completion": "Print the completion script of a shell.",
    "version": "Print the version; with -v the releases known.",
    "help": "Show the help of a subcommand.",
}


def function(name: str) -> Callable[..., Any]:
    """The function of a subcommand."""
    command: Callable[..., Any] = import_module(f"dractl.cli.{name}").command
    return command
