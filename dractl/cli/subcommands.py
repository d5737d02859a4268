"""The subcommands: the help of each, and its function, which is ``command`` in the module of its
name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_type_hints

from typer.models import OptionInfo

from dractl.cli.headings import OptionGroup
from dractl.program import DRACTL, program_name

# In the order of the work: see a node, render it, check manifests, explain what is stuck.
SUBCOMMANDS = {
    "discover": "Show what is in this node and how it is wired.",
    "render": "Print the ResourceSlices (and DeviceClasses) that drivers would publish for it.",
    "lint": "Check manifests for errors.",
    "explain": "Explain why a claim or pod is not allocated, and what would make it fit.",
    "devices": "List devices, who holds them, and what needs cleaning up.",
    "fit": "Count how many more copies fit, where, and what is stranded.",
    "plan": "Find the fewest running pods that have to move so that a pod or workload fits.",
    "impact": "Show which pods a change affects: a taint, a drain, the restart of a driver.",
    "migrate": "Convert device-plugin requests in manifests to claims.",
    "upgrade": "Show what an upgrade of Kubernetes or a driver breaks or changes, step by step.",
    "check-driver": "Check a DRA driver before its release: slices, chart, behavior.",
    "cel": "Check a device selector: verdict, type, cost, and its result on devices.",
    "lsp": "Serve findings, hovers, completions and fixes to an editor (Language Server Protocol).",
    "facts": "List known drivers and hardware, and drivers that run in a newer version.",
    "rule": "Describe a lint rule, a reason or a driver's attributes.",
    "schema": "Print the JSON Schema of a report, of the configuration or of an API kind.",
    "completion": "Print the completion script of a shell.",
    "version": "Print the version; with -v the releases known.",
    "help": "Show the help of a subcommand.",
}


_COMMAND = rf"\bdractl(?=\s(?:{'|'.join(SUBCOMMANDS)})\b)"


def spell_program(text: str) -> str:
    """Return a page or help of dractl with its commands as the user types them.

    Constant texts say ``dractl``, which is replaced here; a text that a function composes has the
    right name already.
    """
    name = program_name()
    return text if name == DRACTL else re.sub(_COMMAND, name, text)


def function(name: str) -> Callable[..., Any]:
    """Return the function of a subcommand, as typer reads it.

    A parameter that is an OptionGroup, such as ``against``, stands for its fields, each of which is
    an option.
    """
    command: Callable[..., Any] = import_module(
        f"dractl.cli.commands.{name.replace('-', '_')}"
    ).command
    parameters: list[Parameter] = []
    group_types: dict[str, type[OptionGroup]] = {}
    for parameter in signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, OptionGroup):
            group_types[parameter.name] = kind
            parameters += _list_options(kind)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        groups = {
            n: kind(**{f: values.pop(f) for f in kind.__struct_fields__})
            for n, kind in group_types.items()
        }
        command(**values, **groups)

    run.__doc__ = command.__doc__
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _list_options(group: type[OptionGroup]) -> Iterator[Parameter]:
    """Yield the options of a group, under its heading unless they name another."""
    hints = get_type_hints(group, include_extras=True)
    # msgspec.structs.fields would evaluate the annotations once more.
    for name, default in zip(group.__struct_fields__, group.__struct_defaults__, strict=True):
        kind, option = get_args(hints[name])
        if isinstance(option, OptionInfo) and option.rich_help_panel is None:
            option = copy(option)
            option.rich_help_panel = group.heading
        yield Parameter(
            name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
        )


def add_options(command: Callable[..., Any], options: Sequence[Parameter]) -> Callable[..., Any]:
    """Return ``command`` with further ``options``, which typer parses but does not pass to the
    function.

    typer makes the options itself: the constructor of its own classes changes from release to
    release.
    """
    full_signature = signature(command, eval_str=True)

    def run(**arguments: Any) -> None:
        command(**{name: arguments[name] for name in full_signature.parameters})

    run.__doc__ = command.__doc__
    run.__signature__ = full_signature.replace(  # type: ignore[attr-defined]
        parameters=[*full_signature.parameters.values(), *options]
    )
    return run
