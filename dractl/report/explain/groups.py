"""Groups of pods in explain: a few lines in text, and the key ``groups`` in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.explain.answer import plain
from dractl.explain.fleet.groups import Group
from dractl.model.abbreviation import abbreviate
from dractl.report.canvas import Canvas
from dractl.report.explain.marks import NO, UNKNOWN, YES, Mark
from dractl.report.plain import printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.alignment import GangAlignment

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)


def text(groups: Sequence[Group], canvas: Canvas) -> str:
    """Return a paragraph for each group."""
    return canvas.plain("\n\n".join(_paragraph(group, canvas) for group in groups)) + "\n"


def _paragraph(group: Group, canvas: Canvas) -> str:
    """Return the sentences of a group; mark and title are painted after the lines were measured."""
    mark = mark_group(group)
    head = f"{mark.text} {title(group)}:"
    painted = f"{mark.paint(canvas)} {canvas.paint(title(group), '1')}:"
    first, *others = sentences(group)
    lines = (f"{head} {first}", *(f"  {line}" for line in others))
    return "\n".join(_wrap_line(line, canvas) for line in lines).replace(head, painted, 1)


def _wrap_line(line: str, canvas: Canvas) -> str:
    indent = "" if line[:1] != " " else "  "
    return "\n".join(wrap(line, max(canvas.width, 30), indent + "  "))


def title(group: Group) -> str:
    """Return ``kind namespace/name``."""
    kind, _, name = group.name.partition("/")
    return f"{kind.lower()} {printable(name)}"


def mark_group(group: Group) -> Mark:
    """Return a tick if all pods of the group fit, or enough for a gang to start; a question mark if
    that is unknown.
    """
    if group.starts and (group.complete or group.minimum is not None):
        return YES
    return UNKNOWN if group.undecided and not group.waits else NO


def sentences(group: Group) -> list[str]:
    """Return sentences on the number that fits, the consequence for a gang, the obstacle of the
    next pod, and changes after which more would fit.
    """
    return list(_sentences(group))


def _sentences(group: Group) -> Iterator[str]:
    kind = group.name.partition("/")[0]
    reached, unit = (
        group.placed + group.fits,
        "pods" if kind in ("PodGroup", "Workload") else "replicas",
    )
    here = f" ({group.placed} on nodes, {group.fits} more)" if group.placed else ""
    together = f" on nodes with {printable(group.domain)}" if group.domain else ""
    if group.undecided and not reached:
        yield f"whether any of the {group.replicas} {unit} fits{together} is unknown"
    else:
        least = "at least " if group.undecided else ""
        yield f"{least}{reached} of {group.replicas} {unit} fit{together}{here}"
    if group.waits:
        yield printable(group.waits)
    elif group.minimum is not None:
        needs = f"the gang starts with {group.minimum} of them at once"
        yield needs if group.starts or group.undecided else f"{needs}, so none starts"
    if group.across is not None:
        yield from _alignment_sentences(group.across)
    if group.complete:
        return
    why = [printable(reason.brief) for reason in group.reasons[:2]] or [
        group.scheduler_message or "no reason known"
    ]
    verb = "is undecided" if group.undecided else "stops at"
    yield f"the {_ordinal(reached + 1)} ({printable(group.pod)}) {verb}: {why[0]}"
    for other in why[1:]:
        yield f"also: {other}"
    yield from _alternative_sentences(group)


_SHOWN = 6  # maximum number of pods in a list


def _alignment_sentences(alignment: GangAlignment) -> Iterator[str]:
    """Yield the rails and NVLink domains of the pods, as far as they are known."""
    if alignment.same_rails is not None:
        used = [f"{pod} {_rails(numbers)}" for pod, numbers in alignment.rails.items()]
        comparison = (
            "all pods use the same rails"
            if alignment.same_rails
            else "pods use different rails, so traffic crosses them"
        )
        yield f"{comparison}: {_list_some(used)}"
    if alignment.same_clique:
        yield f"all pods are in one NVLink domain: {next(iter(alignment.cliques.values()))}"
    elif alignment.same_clique is False:
        used = [f"{pod} {clique or 'unknown'}" for pod, clique in alignment.cliques.items()]
        yield f"pods are in different NVLink domains: {_list_some(used)}"


def _rails(numbers: tuple[int, ...] | None) -> str:
    return "unknown" if numbers is None else "{" + ", ".join(map(str, numbers)) + "}"


def _list_some(items: Sequence[str]) -> str:
    return printable(abbreviate(items, _SHOWN))


def _alternative_sentences(group: Group) -> Iterator[str]:
    """Yield how many pods fit in another order, with other devices, or with another alternative."""
    reached = group.placed + group.fits
    if group.order:
        yield f"all fit if pods like {', then like '.join(group.order)} are placed in this order"
    elif group.most is not None and group.most >= group.replicas:
        yield (
            f"all {group.replicas} would fit with other devices for them; kube-scheduler takes the"
            " first that fit"
        )
    elif group.most is not None and group.most > reached:
        proof = "no order reaches more" if group.proven else "others may reach more"
        yield f"in the best order {group.most} would fit ({proof})"
    elif group.most is not None and group.proven:
        yield "no other order of placing reaches more"
    for choice in group.choices:
        total = group.placed + choice.fits
        if total > reached:
            number = f"all {total}" if total >= group.replicas else str(total)
            yield (
                f"with alternative {choice.alternative} of request {choice.request} alone {number}"
                " would fit"
            )


def _ordinal(number: int) -> str:
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


def as_json(group: Group) -> dict[str, Any]:
    """Return one group as a plain value."""
    return {
        "name": group.name,
        "replicas": group.replicas,
        "placed": group.placed,
        "fits": group.fits,
        "undecided": group.undecided,
        "minimum": group.minimum,
        "domain": group.domain or None,
        "waits": group.waits or None,
        "pod": group.pod or None,
        "stops": plain(group.reasons),
        "schedulerMessage": group.scheduler_message,
        "most": None if group.most is None else {"fits": group.most, "proven": group.proven},
        **({} if group.across is None else {"across": _alignment_json(group.across)}),
        "order": list(group.order),
        "alternatives": [
            {"request": c.request, "alternative": c.alternative, "fits": group.placed + c.fits}
            for c in group.choices
        ],
    }


def _alignment_json(alignment: GangAlignment) -> dict[str, Any]:
    return {
        "rails": {
            pod: None if numbers is None else list(numbers)
            for pod, numbers in alignment.rails.items()
        },
        "sameRails": alignment.same_rails,
        "cliques": dict(alignment.cliques),
        "sameClique": alignment.same_clique,
    }
