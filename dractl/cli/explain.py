"""``dractl explain [KIND/]NAME``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dractl.cli import common, terminal
from dractl.errors import InputError

if TYPE_CHECKING:
    from dractl.explain import ClusterState, Explanation
    from dractl.explain.live import Login
    from dractl.explain.sources import Sources

FORMATS = ("text", "json", "html")


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[[KIND/]NAME | FILE]...",
            help="A pod or claim, KIND/NAME, or a file to read. Nothing: all that is pending.",
        ),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE|DIR|ARCHIVE",
            help="Read objects from here instead of a cluster; repeatable.",
        ),
    ] = None,
    devices: Annotated[
        list[str] | None,
        typer.Option(
            "--devices",
            metavar="FILE|DIR|SNAPSHOT|local|cluster",
            help="The devices to allocate from: slices, a snapshot, this node.",
        ),
    ] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="The namespace of the subjects.")] = None,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Subjects of every namespace.")
    ] = False,
    node: Annotated[str | None, typer.Option("--node", metavar="NAME", help="Answer for this node only.")] = None,
    patch: Annotated[bool, typer.Option("--patch", help="Print the smallest fix as a patch for kubectl.")] = False,
    context: Annotated[str | None, typer.Option("--context", help="The context of the kubeconfig.")] = None,
    kubeconfig: Annotated[str | None, typer.Option("--kubeconfig", metavar="FILE", help="The kubeconfig.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text, json or html.")] = "text",
    output_file: common.OutputFile = None,
    kubernetes_version: common.KubernetesVersion = None,
    feature_gates: common.FeatureGates = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 whatever the answer is.")] = False,
    config: common.Config = None,
    isolated: common.Isolated = False,
    color: Annotated[str, typer.Option("--color", metavar="WHEN", help="auto, always or never.")] = "auto",
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,
) -> int:
    """Why is this claim or pod not allocated, and what would make it fit.

    dractl explain -f dump.yaml pod/train-0    dractl explain claim.yaml --devices local    dractl explain -n ml train-0
    """
    common.settle(color, quiet)
    common.choose("--output", output, FORMATS)
    from dractl.allocation import Features
    from dractl.explain import Explainer, Options, everything, find, worst_first
    from dractl.explain import sources as origins
    from dractl.explain.live import Login
    from dractl.model.releases import NEWEST

    sources = origins.sort_out(names or [], files or [], devices or [])
    where = None if all_namespaces else namespace
    state, where, notes = _read(sources, where, all_namespaces, Login(context, kubeconfig))
    release = kubernetes_version or state.release or NEWEST
    for note in notes:
        terminal.notice(note)
    features = Features.for_release(release, common.parse_gates(feature_gates))
    questions = [q for name in sources.names for q in find(state, name, where)] or everything(state, where)
    if not questions:
        raise InputError(
            "there is nothing to explain: no pending pod and no unallocated claim", hint=_what_is_there(state)
        )
    assumed = kubernetes_version is None and not sources.live
    explainer = Explainer(state, features, Options(release_assumed=assumed, node=node))
    explanations = worst_first(explainer.explain(question) for question in questions)
    listed = len(sources.names) != 1 or len(explanations) != 1
    common.write_report(_render(explanations, output, listed=listed), output_file)
    return 0 if exit_zero or all(e.fits for e in explanations) else 1


def _read(
    sources: Sources, namespace: str | None, everywhere: bool, login: Login
) -> tuple[ClusterState, str | None, tuple[str, ...]]:
    """The objects, the namespace of the question, and what could not be read."""
    from dractl.explain import sources as origins

    stdin = sys.stdin.buffer.read() if "-" in sources.files else None
    state = origins.state_of(sources, namespace=namespace, stdin=stdin)
    if not sources.live:
        return state, namespace, ()
    from dractl.explain import live

    cluster = live.read(login, namespace=namespace)
    where = None if everywhere else namespace or cluster.namespace
    return cluster.state.merged(state), where, cluster.notes


def _what_is_there(state: ClusterState) -> str:
    told = ", ".join(f"{len(state.all(kind))} {kind}" for kind in state.kinds)
    return f"the source has {told}" if told else "the source has no object that explain reads"


def _render(explanations: list[Explanation], output: str, *, listed: bool) -> str:
    if output == "json":
        from dractl.report import explain_json

        return explain_json.render(explanations, listed=listed)
    import time

    from dractl.report import explain_text

    style = explain_text.Style(
        lambda text, ansi: terminal.paint(text, ansi, sys.stdout),
        terminal.use_unicode(sys.stdout),
        min(terminal.width(sys.stdout), 120),
        time.time(),
    )
    return explain_text.render(explanations, style, listed=listed)
