"""Units for people."""


def show_bytes(count: int) -> str:
    """Return the bytes in the largest fitting binary unit, with four digits: ``80 GiB``, ``79.65
    GiB``, ``512 KiB``.
    """
    for unit, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count} B"
