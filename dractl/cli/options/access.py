"""Options for the cluster that kubectl reaches, and for the user who reads it.

A command that rarely reads a cluster imports its options from here, and imports
:mod:`dractl.cluster` only when it reads one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from typer import Option

from dractl.cli import completing
from dractl.cli.headings import INPUT, OptionGroup

if TYPE_CHECKING:
    from dractl.inputs.kubectl import Login

Context = Annotated[
    str | None,
    Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig.",
        autocompletion=completing.contexts,
    ),
]
Kubeconfig = Annotated[str | None, Option("--kubeconfig", metavar="FILE", help="Kubeconfig file.")]
As = Annotated[
    str | None, Option("--as", metavar="USER", help="Read the cluster as this user, like kubectl.")
]
AsGroup = Annotated[
    list[str] | None,
    Option("--as-group", metavar="GROUP", help="Read the cluster as a member of this group."),
]


class KubeconfigOptions(OptionGroup, frozen=True):
    """The cluster that kubectl reaches."""

    heading: ClassVar[str] = INPUT

    context: Context = None
    kubeconfig: Kubeconfig = None


class Access(KubeconfigOptions, frozen=True):
    """The cluster that kubectl reaches, and the user who reads it."""

    user: As = None
    groups: AsGroup = None

    @property
    def login(self) -> Login:
        """Return the login of kubectl."""
        from dractl.inputs.kubectl import Login

        return Login(self.context, self.kubeconfig, self.user, tuple(self.groups or ()))
