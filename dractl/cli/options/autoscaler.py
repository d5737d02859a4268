"""``--for``: the node autoscaler that judges described machines."""

from typing import Annotated

from typer import Option

from dractl.cli import completing
from dractl.errors import UsageError
from dractl.facts.autoscalers import JUDGES, AutoscalerChoice, choose_autoscaler

For = Annotated[
    str | None,
    Option(
        "--for",
        metavar="AUTOSCALER",
        help=(
            "With --hardware, also judge whether this node autoscaler would launch the machine:"
            " karpenter[=VERSION], cluster-autoscaler."
        ),
        autocompletion=completing.offer_words(*JUDGES),
    ),
]


def choose(text: str | None, *, has_machines: bool) -> AutoscalerChoice | None:
    """Return the autoscaler that the option names; None without the option. Raises UsageError."""
    if text is None:
        return None
    if not has_machines:
        raise UsageError(
            "--for judges described machines, and none is named",
            hint="--hardware names them, such as --hardware p5.48xlarge,g6.12xlarge",
        )
    return choose_autoscaler(text)
