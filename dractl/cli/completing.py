"""The values that Tab offers for options and arguments: lists that dractl knows, and names in the
cluster or in the files of ``-f``.

A source that cannot be read offers nothing and prints no error; dractl gives up on a silent cluster
after ``PATIENCE_SECONDS`` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from dractl.errors import DractlError

if TYPE_CHECKING:
    from dractl.cluster import ClusterState

Candidate = str | tuple[str, str]
"""A value, or a value with its description."""
Offer = Callable[[str], list[Candidate]]
"""Candidates for the word typed so far. typer passes the word, and drops candidates that do not
begin with it, so an offer can ignore it.
"""


PATIENCE_SECONDS = 5.0
"""The seconds that a cluster has to answer. With the start of kubectl and dractl, the shell then
waits for less than 6.
"""


def escape_description(about: str) -> str:
    """Escape a description, so that every shell shows it unchanged.

    typer treats descriptions as markup of rich, and passes them to zsh between apostrophes.
    """
    text = " ".join(about.split())
    if "[" in text or text.endswith("\\"):
        from rich.markup import escape  # takes a tenth of the time of a Tab

        text = escape(text)
    return text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


def offer_words(*values: str) -> Offer:
    """Offer a few words."""

    def offer(incomplete: str) -> list[Candidate]:  # noqa: ARG001
        return list(values)

    return offer


def offer_lazily(values: Callable[[], Iterable[Candidate]]) -> Offer:
    """Offer words that are computed when Tab is pressed."""

    def offer(incomplete: str) -> list[Candidate]:  # noqa: ARG001
        return list(values())

    return offer


def offer_comma_list(values: Callable[[], Iterable[Candidate]]) -> Offer:
    """Offer candidates for the last word of a comma-separated list."""

    def offer(incomplete: str) -> list[Candidate]:
        before, comma, _ = incomplete.rpartition(",")
        start = before + comma
        return [
            start + value if isinstance(value, str) else (start + value[0], value[1])
            for value in values()
        ]

    return offer


def offer_rules(incomplete: str) -> list[Candidate]:
    """Offer codes and names of rules for the last word of a comma-separated list."""
    return offer_comma_list(lambda: _keep_case(rules(), incomplete.rpartition(",")[2]))(incomplete)


def offer_pages(incomplete: str) -> list[Candidate]:
    """Offer the pages of `dractl rule`."""
    return _keep_case(pages(), incomplete)


def _keep_case(candidates: Iterable[Candidate], word: str) -> list[Candidate]:
    """Spell the beginning of candidates as the user typed it, since codes have no case."""
    kept: list[Candidate] = []
    for candidate in candidates:
        name, *about = (candidate,) if isinstance(candidate, str) else candidate
        if name.lower().startswith(word.lower()):
            spelt = word + name[len(word) :]
            kept.append((spelt, about[0]) if about else spelt)
    return kept


def releases() -> list[str]:
    """List Kubernetes' releases, the newest first."""
    from dractl.model.releases import RELEASES

    return list(reversed(RELEASES))


def gates() -> list[str]:
    """List both values of every feature gate of the newest release."""
    from dractl.model.releases import GATES

    return [f"{gate}={value}" for gate in sorted(GATES) for value in ("true", "false")]


def machines() -> list[str]:
    """List the machines and products that ``--hardware`` knows by name."""
    from dractl.machines.names import every
    from dractl.machines.products import products

    return [*every(), *products()]


def machine_patterns() -> list[str]:
    """List the machines and products that ``--hardware`` knows by name, and the words for many."""
    from dractl.machines.patterns import ALL, VENDORS

    return [ALL, *VENDORS, *machines()]


def drivers() -> list[Candidate]:
    """List the supported drivers with their titles."""
    from dractl.drivers import find, names

    return [(name, escape_description(find(name).catalogue.title)) for name in names()]


def driver_equals() -> list[str]:
    """List ``DRIVER=VERSION`` for every supported version."""
    from dractl.drivers import find, names

    return [f"{name}={version}" for name in names() for version in find(name).catalogue.versions]


def rules() -> list[Candidate]:
    """List codes and names of lint's rules, with their first lines."""
    from dractl.lint import registry

    return [
        (word, escape_description(rule.section("")))
        for rule in registry.rules().values()
        for word in (rule.code, rule.name)
    ]


def pages() -> list[Candidate]:
    """List the pages of `dractl rule`: rules, reasons and drivers."""
    from dractl.explain.reasons.registry import REASONS

    reasons = [(code, escape_description(page.title)) for code, page in REASONS.items()]
    return [*rules(), *reasons, *drivers()]


def subcommands() -> list[Candidate]:
    """List the subcommands with their lines of help."""
    from dractl.cli.subcommands import SUBCOMMANDS

    return [(name, escape_description(line)) for name, line in SUBCOMMANDS.items()]


def schemas() -> list[str]:
    """List the schemas that `dractl schema` prints."""
    from dractl.report.json_schemas import names

    return list(names())


def contexts(context: typer.Context, incomplete: str) -> list[str]:  # noqa: ARG001
    """List the contexts of the kubeconfig."""
    return _query_kubectl(context, "config", "get-contexts", "-o", "name", everywhere=True)


def namespaces(context: typer.Context, incomplete: str) -> list[str]:  # noqa: ARG001
    """List the namespaces of pods, claims and templates in the files of ``-f``, else in the
    cluster.
    """
    files = _files(context)
    if files:
        kinds = ("Pod", "ResourceClaim", "ResourceClaimTemplate", "Deployment")
        return sorted(
            {
                namespace
                for kind in kinds
                for namespace, _ in _load_files(files).objects(kind)
                if namespace
            }
        )
    return _strip_kinds(_query_kubectl(context, "get", "namespaces", "-o", "name", everywhere=True))


def nodes(context: typer.Context, incomplete: str) -> list[str]:  # noqa: ARG001
    """List the nodes in the files of ``-f``, else the nodes of the cluster."""
    files = _files(context)
    if files:
        return sorted(name for _, name in _load_files(files).objects("Node"))
    return _strip_kinds(_query_kubectl(context, "get", "nodes", "-o", "name", everywhere=True))


def impact_subjects(context: typer.Context, incomplete: str) -> list[str]:
    """List nodes as node/NAME, and supported drivers as driver/NAME."""
    words = [f"node/{name}" for name in nodes(context, incomplete)]
    from dractl.drivers import names

    return [*words, *(f"driver/{name}" for name in names())]


_SHORT_KINDS = {
    "Pod": "pod",
    "ResourceClaim": "claim",
    "ResourceClaimTemplate": "template",
    "Deployment": "deploy",
}


def subjects(context: typer.Context, incomplete: str) -> list[str]:
    """List pods by name, and pods, claims, templates and Deployments as KIND/NAME, in the namespace
    of ``-n``.

    They come from the files of ``-f``, else from the cluster.
    """
    files, namespace_filter = _files(context), context.params.get("namespace")
    if files:
        state = _load_files(files)
        objects = [
            (short, name)
            for kind, short in _SHORT_KINDS.items()
            for namespace, name in state.objects(kind)
            if namespace_filter in (None, namespace)
        ]
    else:
        lines = _query_kubectl(
            context, "get", "pods,resourceclaims,resourceclaimtemplates,deployments", "-o", "name"
        )
        words = {kind.lower(): short for kind, short in _SHORT_KINDS.items()}
        pairs = [line.partition("/") for line in lines]
        objects = [
            (words[kind.partition(".")[0]], name)
            for kind, _, name in pairs
            if kind.partition(".")[0] in words
        ]
    addresses = [f"{kind}/{name}" for kind, name in objects]
    return (
        addresses
        if "/" in incomplete
        else [*(name for kind, name in objects if kind == "pod"), *addresses]
    )


def removable_objects(context: typer.Context, incomplete: str) -> list[str]:
    """List pods, claims, Deployments, nodes and namespaces as KIND/NAME."""
    addresses = subjects(context, "/")
    return [
        *(address for address in addresses if not address.startswith("template/")),
        *(f"node/{name}" for name in nodes(context, incomplete)),
        *(f"ns/{name}" for name in namespaces(context, incomplete)),
    ]


def _files(context: typer.Context) -> list[str]:
    return list(context.params.get("files") or ())


def _load_files(files: list[str]) -> ClusterState:
    """Load the objects of files; there are none if they cannot be read."""
    from dractl.cluster.sources import Sources, from_objects, read_state

    try:
        return read_state(Sources((), tuple(files)), namespace=None)
    except DractlError:
        return from_objects(())


def _query_kubectl(context: typer.Context, *command: str, everywhere: bool = False) -> list[str]:
    """Return the lines that kubectl prints, or none if it fails."""
    from dractl.inputs.kubectl import Login, run

    parameters = context.params
    login = Login(
        parameters.get("context"),
        parameters.get("kubeconfig"),
        parameters.get("user"),
        tuple(parameters.get("groups") or ()),
    )
    scope: tuple[str, ...] = ()
    if not everywhere:
        namespace = parameters.get("namespace")
        if namespace:
            scope = ("-n", namespace)
        elif parameters.get("all_namespaces"):
            scope = ("-A",)
    try:
        (result,) = run(login, [*command, *scope], timeout_seconds=PATIENCE_SECONDS)
    except DractlError:
        return []
    return result.output.decode(errors="replace").split()


def _strip_kinds(lines: list[str]) -> list[str]:
    return [line.rpartition("/")[2] for line in lines]
