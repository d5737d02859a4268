"""Options for the Kubernetes release whose rules apply."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typer import Option

from dractl.cli import completing, terminal
from dractl.cli.common import environment, error_origin, load_configuration, origin
from dractl.cli.headings import AGAINST, TOOLS, OptionGroup
from dractl.errors import UsageError
from dractl.inputs.kubelets import find_kubelet_release
from dractl.lint.config import Config as Configuration
from dractl.model import Target
from dractl.model.releases import (
    NEWEST,
    RELEASES,
    caveat,
    find_release,
    gate_remarks,
    is_newer,
    parse_gates,
    release_of,
)

if TYPE_CHECKING:
    from dractl.cluster import ClusterState

Config = Annotated[
    Path | None,
    Option(
        "--config", metavar="FILE", help="Use only this configuration file.", rich_help_panel=TOOLS
    ),
]
Isolated = Annotated[
    bool,
    Option(
        "--isolated",
        help="Ignore configuration files and DRACTL_* variables.",
        rich_help_panel=TOOLS,
    ),
]
KubernetesVersion = Annotated[
    str | None,
    Option(
        "--kubernetes-version",
        metavar="1.NN",
        help="Kubernetes release whose behavior applies.",
        autocompletion=completing.offer_comma_list(completing.releases),
    ),
]
FeatureGates = Annotated[
    str | None,
    Option(
        "--feature-gates",
        metavar="NAME=BOOL,...",
        help="Feature gates that differ from the release's defaults.",
        autocompletion=completing.offer_comma_list(completing.gates),
    ),
]


class _Choices:
    newest = False


def assume_newest(value: bool) -> None:
    """Apply ``--assume-newest`` to this run."""
    _Choices.newest = value


class ReleaseOptions(OptionGroup, frozen=True):
    """The release and the gates that apply. The configuration file and variables provide
    those that are not given.
    """

    heading: ClassVar[str] = AGAINST

    kubernetes_version: KubernetesVersion = None
    feature_gates: FeatureGates = None
    config: Config = None
    isolated: Isolated = False

    def settings(self) -> tuple[Configuration, dict[str, str]]:
        """Load the configuration file, and the ``DRACTL_*`` variables without their prefix."""
        return load_configuration(self.config, self.isolated), environment(self.isolated)

    def release_and_gates(
        self, settings: Configuration, variables: Mapping[str, str]
    ) -> tuple[str | None, dict[str, bool]]:
        """Return the release, or None if nobody named it, and gates that differ from its defaults.

        Options take precedence over variables, and variables over the file.
        """
        release = (
            self.kubernetes_version
            or variables.get("KUBERNETES_VERSION")
            or settings.kubernetes_version
        )
        if release and not self.kubernetes_version:
            with error_origin(origin("--kubernetes-version", None, variables, settings)):
                release_of(release)
        with error_origin(origin("--feature-gates", self.feature_gates, variables, settings)):
            switched = parse_gates(self.feature_gates or variables.get("FEATURE_GATES", ""))
        return release, {**settings.feature_gates, **switched}

    def release_from(self, settings: Configuration, variables: Mapping[str, str]) -> str:
        """Return the origin of the release: empty if the option names it, else the variable, the
        file, or ``default``.
        """
        if self.kubernetes_version:
            return ""
        if variables.get("KUBERNETES_VERSION"):
            return "DRACTL_KUBERNETES_VERSION"
        return settings.file.name if settings.kubernetes_version and settings.file else "default"


class GateOptions(OptionGroup, frozen=True):
    """Options for the gates that apply, in a command that has its own release options."""

    heading: ClassVar[str] = AGAINST

    feature_gates: FeatureGates = None
    config: Config = None
    isolated: Isolated = False

    def parse_gates(self) -> dict[str, bool]:
        """Return the gates that differ from a release's defaults. Raises UsageError."""
        options = ReleaseOptions(None, self.feature_gates, self.config, self.isolated)
        _, gates = options.release_and_gates(*options.settings())
        return gates


def choose_target(release: str | None, gates: dict[str, bool]) -> Target:
    """Return the target of ``--kubernetes-version`` and ``--feature-gates``.

    Raises UsageError for a release newer than dractl knows, unless ``--assume-newest`` is given.
    """
    refuse_newer(release)
    notify_if_newer(release)
    chosen = Target.of(release or NEWEST, gates)
    warn_about_gates(chosen.release, gates)
    return chosen


class SeenRelease(Struct, frozen=True):
    """A release that the input shows."""

    name: str
    """The release, such as ``1.36``, or the version, such as ``1.36.2``."""
    live: bool = False
    """True if the API server names it, False if kubelets in files do."""

    @property
    def origin(self) -> str:
        """Return the origin of the release: ``from kubelets``."""
        return "from the cluster" if self.live else "from kubelets"


def find_known_release(
    paths: Iterable[str], others: Iterable[SeenRelease] = ()
) -> SeenRelease | None:
    """Return the release of the cluster that a dump among ``paths`` shows, else the first of the
    others; None if there is none, or if it is older than dractl knows.

    A release newer than dractl knows counts as the newest known one, and a notice says so.
    """
    in_files = find_kubelet_release(paths)
    seen = SeenRelease(in_files) if in_files else next(iter(others), None)
    if seen is None:
        return None
    notify_if_newer(seen.name)
    release = RELEASES[-1] if is_newer(seen.name) else find_release(seen.name)
    return replace(seen, name=release) if release is not None else None


def list_releases(published: "Mapping[str, ClusterState | None]") -> list[SeenRelease]:
    """Return the releases of the clusters and dumps among the sources of ``--devices``."""
    return [
        SeenRelease(state.release, live=source == "cluster")
        for source, state in published.items()
        if state is not None and state.release is not None
    ]


def warn_about_gates(release: str, gates: Mapping[str, bool]) -> None:
    """Warn of gates that are unknown in a preview, or not in it yet."""
    for remark in gate_remarks(release, gates):
        terminal.warn(remark)


def refuse_newer(release: str | None) -> None:
    """Raise UsageError for a requested release that is newer than dractl knows, unless with
    ``--assume-newest``.
    """
    if release and is_newer(release) and not _Choices.newest:
        raise UsageError(
            f"Kubernetes {release} is newer than dractl knows",
            hint=f"newest known release: {RELEASES[-1]}; --assume-newest applies its rules",
        )


def notify_if_newer(release: str | None) -> None:
    """Print a notice if the rules of another release than the requested one apply."""
    if remark := caveat(release):
        terminal.notice(remark)
