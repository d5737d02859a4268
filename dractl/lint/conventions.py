"""The slices to which the conventions for drivers apply: slices whose driver the reader of the
findings may have written.
"""

from collections.abc import Iterator

from dractl.facts.drivers import names
from dractl.lint.model import Manifest, Run


def list_own_slices(run: Run) -> Iterator[Manifest]:
    """Yield the slices of drivers that may be the reader's own.

    These are slices of the driver that check-driver checks, and of drivers that the facts do not
    know. Users who lint the slices of a released driver cannot change its names. Slices of the
    files that the user names come first, since most rules report a fault once for each driver.
    """
    released = frozenset(names()) - {run.checked_driver}
    slices = run.of("ResourceSlice")
    for subject in sorted(slices, key=lambda each: each.document.file in run.unasked_files):
        if subject.slice.driver not in released:
            yield subject
