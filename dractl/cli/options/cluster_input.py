"""Options with which explain, devices and fit choose the objects of a cluster: from kubectl, from
files, or the devices of a machine.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace
from typer import Option

from dractl.allocation import Features
from dractl.allocation.features import MODELLED, schedulable_release
from dractl.cel import require
from dractl.cli import completing, terminal
from dractl.cli.options.access import Access
from dractl.cli.options.release import (
    ReleaseOptions,
    SeenRelease,
    notify_if_newer,
    refuse_newer,
    warn_about_gates,
)
from dractl.cluster import sources as origins
from dractl.cluster.clock import newest_time
from dractl.cluster.gates import GateEvidence, find_shown_gates
from dractl.cluster.kinds import KINDS_BY_WORD, workload_words
from dractl.cluster.origin import Origin
from dractl.garbage import pause_collection
from dractl.model import Target
from dractl.model.releases import NEWEST, caveat, is_newer, release_of
from dractl.objects import slice_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.cluster import ClusterState
    from dractl.cluster.live import Live
    from dractl.cluster.sources import Sources
    from dractl.inputs.charts import ValueChoice

Files = Annotated[
    list[str] | None,
    Option(
        "--filename",
        "-f",
        metavar="FILE|DIR|ARCHIVE",
        help="Read objects from files, not from a cluster.",
    ),
]
Devices = Annotated[
    list[str] | None,
    Option(
        "--devices",
        metavar="FILE|DIR|SNAPSHOT|local|cluster",
        help="Devices to allocate from; `local` means this node's.",
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
    ),
]
AllNamespaces = Annotated[
    bool, Option("--all-namespaces", "-A", help="Subjects of every namespace.")
]


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
    """True if the release is not known, or newer than dractl knows."""
    files: ClusterState | None = None
    """Objects of files that are read beside a live cluster. If the user names no subject, these
    objects are the subjects.
    """
    caveat: str | None = None
    """A caveat about the rules of the release that was seen."""
    context: str = ""
    """The context of the kubeconfig, as kubectl names it."""
    release_from: str = ""
    """The origin of the release; empty if an option names the release."""
    gate_evidence: tuple[GateEvidence, ...] = ()
    """Objects that prove that gates are on although they are off by default."""
    old_release: str = ""
    """The release of the cluster if it is older than every release whose scheduler dractl
    models.
    """

    @property
    def release(self) -> str:
        """Return the release and its origin: ``1.36 (from kubelets)``."""
        return self.release_name + (f" ({self.release_from})" if self.release_from else "")

    @property
    def release_name(self) -> str:
        """Return the release of the cluster, even if dractl answers with the scheduler of another
        release.
        """
        return self.old_release or self.features.release

    @property
    def scheduler_caveats(self) -> tuple[str, ...]:
        """Return the caveats about answers that depend on the scheduler."""
        if not self.old_release:
            return ()
        model = self.features.release
        caveat_text = f"dractl has no scheduler of Kubernetes {self.old_release}: this is what that"
        return (f"{caveat_text} of {model} would do",)

    @property
    def origin(self) -> Origin:
        """Return the origin of the objects."""
        live = self.sources.live
        files = tuple(sorted("<stdin>" if path == "-" else path for path in self.sources.files))
        server = self.state.release or "" if live else ""
        time = self.state.read_at if live else newest_time(self.state)
        return Origin(live, self.context, server, files, time)

    @property
    def live_release_assumed(self) -> bool:
        """Return True if the release of a live cluster is not known, or newer than dractl knows."""
        return self.sources.live and self.release_assumed


class ClusterInput(Struct, frozen=True):
    """The input of a command, and the scope of its question."""

    names: Sequence[str] | None = None
    """Names and files among the arguments."""
    files: Sequence[str] | None = None
    """Files of ``-f``."""
    devices: Sequence[str] | None = None
    """Sources of ``--devices``."""
    namespace: str | None = None
    """The namespace of ``-n``."""
    everywhere: bool = False
    """True if the subjects are in all namespaces."""
    partly: bool = False
    """True if the caller can answer from only the objects that the user is allowed to read."""
    vital: frozenset[str] | None = None
    """Kinds that must be readable in the whole cluster; None for all kinds that devices are
    compared with.
    """
    described: bool = False
    """True if no cluster is queried, since options describe the nodes."""
    file_objects: ClusterState | None = None
    """The objects of the files, if they have been loaded."""
    values: ValueChoice | None = None
    """The user's values for charts among the files."""

    @property
    def namespace_name(self) -> str | None:
        """Return the namespace without the equals sign of ``-n=ml``."""
        return self.namespace.removeprefix("=") if self.namespace else None

    def classify(self) -> Sources:
        """Separate names from files among the arguments. Raises UsageError."""
        names, files, devices = (
            list(words or ()) for words in (self.names, self.files, self.devices)
        )
        sources = origins.classify_arguments(
            expand_kind(names), files, devices, described=self.described
        )
        return replace(sources, values=self.values)


def load_cluster(request: ClusterInput, access: Access, against: ReleaseOptions) -> Cluster:
    """Load all objects of an input, and determine the release. Raises DractlError."""
    require("this command")
    settings, variables = against.settings()
    release, gates = against.release_and_gates(settings, variables)
    sources = request.classify()
    with pause_collection():
        objects = _load_objects(request, sources, access, release)
    release_seen = release or objects.state.release
    _remark_on_release(sources, release, release_seen)
    release_read = release_of(release_seen or NEWEST)
    scheduler_release = schedulable_release(release_seen or NEWEST)
    defaults = Target.of(scheduler_release)
    shown_gates = find_shown_gates(objects.state, defaults.release, defaults.gates)
    features = Features.for_release(scheduler_release, shown_gates.override(gates))
    warn_about_gates(features.release, gates)
    origin = against.release_from(settings, variables)
    if origin == "default" and release_seen is not None:
        origin = SeenRelease(release_seen, sources.live).origin
    return Cluster(
        objects.state,
        objects.scope,
        objects.kinds,
        sources,
        features,
        release_assumed=release is None
        and (not sources.live or release_seen is None or is_newer(release_seen)),
        files=objects.files if sources.files and sources.live else None,
        caveat=None if release else caveat(objects.state.release),
        context=objects.context,
        release_from=origin,
        gate_evidence=tuple(
            proof for gate, proof in shown_gates.evidence.items() if gate not in gates
        ),
        old_release="" if release_read in MODELLED else release_read,
    )


class _LoadedObjects(Struct, frozen=True):
    """The objects of an input, and the scope of the subjects among them."""

    state: ClusterState
    """All objects."""
    files: ClusterState
    """The objects that do not come from a cluster."""
    scope: str | None
    """The namespace of the subjects, or None for all."""
    kinds: Mapping[str, str] = {}
    """Kinds of the cluster's custom resources, by the words for them."""
    context: str = ""
    """The context of the kubeconfig, as kubectl names it."""


def _load_objects(
    request: ClusterInput, sources: Sources, access: Access, release: str | None
) -> _LoadedObjects:
    """Load the objects of files, and of the cluster if the sources have one."""
    namespace = request.namespace_name
    state = load_files(sources, namespace, release, request.file_objects)
    scope = None if request.everywhere else namespace
    if not sources.live:
        return _LoadedObjects(state, state, scope)
    cluster = _read_cluster(request, sources, access)
    if not (request.everywhere or sources.files):
        # The kubeconfig's namespace does not apply to files.
        scope = namespace or cluster.namespace
    merged = cluster.state.merge(_prefer_published_slices(cluster.state, state))
    return _LoadedObjects(merged, state, scope, cluster.kinds, cluster.context)


def _read_cluster(request: ClusterInput, sources: Sources, access: Access) -> Live:
    """Read the objects with kubectl, and print progress and notices."""
    from dractl.cluster import live

    with terminal.progress() as progress:
        cluster = live.read(
            access.login,
            namespace=request.namespace_name,
            everywhere=request.everywhere,
            partly=request.partly,
            vital=live.VITAL if request.vital is None else request.vital,
            workloads=workload_words(sources.names),
            progress=progress,
        )
    for note in cluster.notes:
        terminal.notice(note)
    return cluster


def _remark_on_release(sources: Sources, release: str | None, release_seen: str | None) -> None:
    """Print notices about a release that is not known.

    Raises UsageError for a ``release`` that was named and is newer than dractl knows.
    """
    refuse_newer(release)
    notify_if_newer(release_seen)
    if sources.live and release_seen is None:
        terminal.notice(
            f"the cluster's version cannot be read: the rules of {NEWEST} are used;"
            " --kubernetes-version names another"
        )


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
    """Return the arguments of a command that are names, not files."""
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
    for row in state.coverage.unrendered if file_objects is None else ():
        terminal.notice(f"{row.resource}: {row.reason}")
    if sources.devices:
        from dractl.cluster.snapshot_gaps import refuse_undecided

        refuse_undecided(state, Target.of(release or state.release or NEWEST))
    return state


def _prefer_published_slices(published: ClusterState, described: ClusterState) -> ClusterState:
    """Remove the described slices of nodes that have published slices; the nodes keep their
    hardware.
    """
    nodes = {slice_of(item).node for item in published.objects("ResourceSlice").values()} & set(
        described.machines
    )
    if not nodes:
        return described
    slices = described.objects("ResourceSlice").items()
    others = {key: item for key, item in slices if slice_of(item).node not in nodes}
    return described.with_kinds({"ResourceSlice": others})


def _load_devices(source: str, release: str | None) -> ClusterState:
    """Load published slices, or render the slices that the drivers of a machine would publish."""
    from dractl.cli.options.device_sources import render_snapshot

    published = origins.read_published(source) if source != "local" else None
    return (
        published
        if published is not None
        else render_snapshot(source, Target.of(release or NEWEST))
    )
