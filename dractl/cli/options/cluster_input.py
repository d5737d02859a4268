"""The options that name a cluster's objects for explain, devices and fit: kubectl, files, or the
devices of a machine.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from typer import Option

from dractl.allocation import Features
from dractl.cel import require
from dractl.cli import completing, terminal
from dractl.cli.headings import AGAINST, INPUT
from dractl.cli.options.release import (
    ReleaseOptions,
    notify_if_newer,
    refuse_newer,
    warn_about_gates,
)
from dractl.cluster import sources as origins
from dractl.cluster.clock import newest_time
from dractl.cluster.kinds import KINDS_BY_WORD, workload_words
from dractl.cluster.origin import Origin
from dractl.cluster.state import text_at
from dractl.garbage import without_collecting
from dractl.model import Target
from dractl.model.releases import NEWEST, caveat, is_newer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.cluster import ClusterState
    from dractl.cluster.live import Live, Login
    from dractl.cluster.sources import Sources

Files = Annotated[
    list[str] | None,
    Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|ARCHIVE",
        help="Read objects from files, not from a cluster.",
        rich_help_panel=INPUT,
    ),
]
Devices = Annotated[
    list[str] | None,
    Option(
        "--devices",
        metavar="FILE|DIR|SNAPSHOT|local|cluster",
        help="Devices to allocate from; `local` means this node's.",
        rich_help_panel=AGAINST,
    ),
]
Hardware = Annotated[
    list[str] | None,
    Option(
        "--hardware",
        metavar="SPEC[*N],...",
        help=(
            "Described machines as nodes, such as dgx-h100*4,p5.48xlarge*2; without files and"
            " --devices no cluster is asked: these are all the nodes. Repeatable."
        ),
        autocompletion=completing.offer_comma_list(completing.machines),
        rich_help_panel=AGAINST,
    ),
]
Namespace = Annotated[
    str | None,
    Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace of the subjects.",
        autocompletion=completing.namespaces,
        rich_help_panel=INPUT,
    ),
]
AllNamespaces = Annotated[
    bool,
    Option("--all-namespaces", "-A", help="Subjects of every namespace.", rich_help_panel=INPUT),
]
Context = Annotated[
    str | None,
    Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig.",
        autocompletion=completing.contexts,
        rich_help_panel=INPUT,
    ),
]
Kubeconfig = Annotated[
    str | None,
    Option("--kubeconfig", metavar="FILE", help="Kubeconfig file.", rich_help_panel=INPUT),
]
As = Annotated[
    str | None,
    Option(
        "--as",
        metavar="USER",
        help="Read the cluster as this user, like kubectl.",
        rich_help_panel=INPUT,
    ),
]
AsGroup = Annotated[
    list[str] | None,
    Option(
        "--as-group",
        metavar="GROUP",
        help="Read the cluster as a member of this group.",
        rich_help_panel=INPUT,
    ),
]


class Access(Struct, frozen=True):
    """The options that say how kubectl reaches a cluster."""

    context: Context = None
    kubeconfig: Kubeconfig = None
    user: As = None
    groups: AsGroup = None

    @property
    def login(self) -> Login:
        """Return the login of kubectl."""
        from dractl.cluster.kubectl import Login

        return Login(self.context, self.kubeconfig, self.user, tuple(self.groups or ()))


class Cluster(Struct, frozen=True):
    """A cluster's objects, and the scope of the question."""

    state: ClusterState
    """The objects."""
    namespace: str | None
    """The namespace of the subjects, or None for all."""
    kinds: Mapping[str, str]
    """Kinds of the cluster's custom resources, by the words for them."""
    sources: Sources
    """The names and files among the arguments."""
    features: Features
    """Release and gates of the scheduler."""
    release_assumed: bool
    """The release is not known, or newer than dractl knows."""
    files: ClusterState | None = None
    """Objects of files beside those of a live cluster: without names, these are the subjects."""
    caveat: str | None = None
    """A caveat about the rules of the release that was seen."""
    context: str = ""
    """The context of the kubeconfig, as kubectl names it."""
    release_from: str = ""
    """The origin of the release; empty for an option."""

    @property
    def release(self) -> str:
        """Return the release and its origin: ``1.36 (from kubelets)``."""
        return self.features.release + (f" ({self.release_from})" if self.release_from else "")

    @property
    def origin(self) -> Origin:
        """Return the origin of the objects."""
        live = self.sources.live
        files = tuple("<stdin>" if path == "-" else path for path in self.sources.files)
        server = self.state.release or "" if live else ""
        time = self.state.read_at if live else newest_time(self.state)
        return Origin(live, self.context, server, files, time)

    @property
    def live_release_assumed(self) -> bool:
        """Return True if the release of a live cluster is not known, or newer than dractl knows."""
        return self.sources.live and self.release_assumed


def load_cluster(
    names: Sequence[str],
    files: Sequence[str],
    devices: Sequence[str],
    access: Access,
    against: ReleaseOptions,
    *,
    namespace: str | None,
    everywhere: bool,
    partly: bool = False,
    vital: frozenset[str] | None = None,
    described: bool = False,
    file_objects: ClusterState | None = None,
) -> Cluster:
    """Separate names from files among the arguments, load all objects, and determine the release.

    ``partly``: the caller answers from the readable objects. ``vital`` are the kinds that it needs,
    as in :func:`dractl.cluster.live.read`. ``described``: no cluster is asked, since options
    describe its nodes. ``file_objects`` are the objects of the files, if they have been loaded.
    Raises DractlError.
    """
    require("this command")
    namespace = namespace.removeprefix("=") if namespace else None  # -n=ml

    settings, variables = against.settings()
    release, gates = against.release_and_gates(settings, variables)
    sources = origins.classify_arguments(
        expand_kind(list(names)), list(files), list(devices), described=described
    )
    kinds: Mapping[str, str] = {}
    context = ""
    with without_collecting():
        state = file_state = load_files(sources, namespace, release, file_objects)
        scope = None if everywhere else namespace
        if sources.live:
            from dractl.cluster import live

            vital_kinds = live.VITAL if vital is None else vital
            cluster = _read_cluster(
                sources,
                access.login,
                namespace,
                everywhere=everywhere,
                partly=partly,
                vital=vital_kinds,
            )
            state, kinds = (
                cluster.state.merge(_prefer_published_slices(cluster.state, state)),
                cluster.kinds,
            )
            context = cluster.context
            if not (
                everywhere or sources.files
            ):  # the kubeconfig's namespace does not apply to files
                scope = namespace or cluster.namespace
    refuse_newer(release)
    release_seen = release or state.release
    notify_if_newer(release_seen)
    if sources.live and release_seen is None:
        terminal.notice(
            f"the cluster's version cannot be read: the rules of {NEWEST} are used;"
            " --kubernetes-version names another"
        )
    features = Features.for_release(release or state.release or NEWEST, gates)
    warn_about_gates(features.release, gates)
    named_objects = file_state if sources.files and sources.live else None
    release_assumed = release is None and (
        not sources.live or release_seen is None or is_newer(release_seen)
    )
    origin = against.release_from(settings, variables)
    if origin == "default" and release_seen is not None:
        origin = "from the cluster" if sources.live else "from kubelets"
    release_caveat = None if release else caveat(state.release)
    return Cluster(
        state,
        scope,
        kinds,
        sources,
        features,
        release_assumed,
        named_objects,
        release_caveat,
        context,
        origin,
    )


def _read_cluster(
    sources: Sources,
    login: Login,
    namespace: str | None,
    *,
    everywhere: bool,
    partly: bool,
    vital: frozenset[str],
) -> Live:
    """Read the objects with kubectl, and print progress and notices."""
    from dractl.cluster import live

    words = workload_words(sources.names)
    with terminal.progress() as progress:
        cluster = live.read(
            login,
            namespace=namespace,
            everywhere=everywhere,
            partly=partly,
            vital=vital,
            workloads=words,
            progress=progress,
        )
    for note in cluster.notes:
        terminal.notice(note)
    return cluster


def expand_kind(words: list[str]) -> list[str]:
    """Write ``pod NAME NAME``, which kubectl accepts too, as ``pod/NAME pod/NAME``."""
    if (
        len(words) < 2
        or words[0].lower() not in KINDS_BY_WORD
        or any("/" in word for word in words[1:])
    ):
        return words
    return [f"{words[0]}/{word}" for word in words[1:]]


def subject_names(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names among the arguments of a command, which are no files."""
    return origins.classify_arguments(expand_kind(list(arguments)), (), ()).names


def load_files(
    sources: Sources,
    namespace: str | None,
    release: str | None = None,
    file_objects: ClusterState | None = None,
) -> ClusterState:
    """Load the objects of files, and devices that do not come from a cluster."""
    stdin = sys.stdin.buffer.read() if "-" in sources.files else None
    with terminal.progress() as progress:
        if sources.files and file_objects is None:
            progress(f"reading {', '.join(sources.files)}")
        state = file_objects or origins.read_state(sources, namespace=namespace, stdin=stdin)
        for source in sources.devices:
            if source != "cluster":
                progress(f"reading {source}")
                state = _prefer_published_slices(
                    state, _load_devices(source, release or state.release)
                ).merge(state)
    if sources.devices:
        from dractl.cli import virtual_nodes

        virtual_nodes.refuse_undecided(state, Target.of(release or state.release or NEWEST))
    return state


def _prefer_published_slices(published: ClusterState, described: ClusterState) -> ClusterState:
    """Remove the described slices of nodes that have published ones; their hardware remains."""
    nodes = {
        text_at(item, "spec", "nodeName") for item in published.objects("ResourceSlice").values()
    } & set(described.machines)
    if not nodes:
        return described
    slices = described.objects("ResourceSlice").items()
    others = {key: item for key, item in slices if text_at(item, "spec", "nodeName") not in nodes}
    return described.with_kinds({"ResourceSlice": others})


def _load_devices(source: str, release: str | None) -> ClusterState:
    """Load published slices, or render those that the drivers of a machine would publish."""
    from dractl.cli import virtual_nodes

    published = origins.read_published(source) if source != "local" else None
    return (
        published
        if published is not None
        else virtual_nodes.render_snapshot(source, Target.of(release or NEWEST))
    )
