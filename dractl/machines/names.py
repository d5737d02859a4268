"""Machines by name: one YAML file each in the pack of facts, found by its name or an alias."""

from functools import cache

from dractl.facts import hardware


def every() -> tuple[str, ...]:
    """Return the names of all machines, as their makers write them."""
    return hardware.machines()


def aliases(name: str) -> tuple[str, ...]:
    """Return other names of a machine, in lower case."""
    return tuple(alias for alias, of in hardware.machine_aliases().items() if of == name.lower())


@cache
def _by_spelling() -> dict[str, str]:
    """Return the name of each machine by each of its names and aliases, without the characters that
    users leave out or exchange.
    """
    names = {}
    for machine in every():
        for name in (machine.lower(), *aliases(machine)):
            names[_bare(name)] = machine
    return names


def _bare(name: str) -> str:
    """Return a name without separators and common prefixes: ``nd96isrh100v5`` for
    ``Standard_ND96isr_H100_v5`` and ``nd96isr-h100-v5``; ``p5.48xlarge`` for ``ml.p5.48xl``.
    """
    bare = name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")
    bare = bare.removeprefix("standard").removeprefix("ml.")
    return f"{bare}arge" if bare.endswith("xl") and "." in bare else bare


def canonical(name: str) -> str | None:
    """Return a machine's name as in its file, for a name in any case and usual spelling, or an
    alias; None if there is no such machine.
    """
    return _by_spelling().get(_bare(name))


def names_with_prefix(text: str) -> tuple[str, ...]:
    """Return the machines whose names begin with a text: the machines of a family."""
    bare = _bare(text)
    return tuple(
        name for spelling, name in _by_spelling().items() if bare and spelling.startswith(bare)
    )
