"""The slices to which the conventions for drivers apply: slices whose driver the reader of the
findings may have written.
"""

from collections.abc import Iterator

from dractl.facts.drivers import names
from dractl.lint.model import Manifest, Run


def list_own_slices(run: Run) -> Iterator[Manifest]:
    """Yield the slices of drivers that may be the reader's own.

    These are slices of the driver that check-driver checks, and of drivers that the facts do not
    know. Users who lint the slices of a released driver cannot change its names.
    """
    released = frozenset(names()) - {run.checked_driver}
    for subject in run.of("ResourceSlice"):
        if subject.slice.driver not in released:
            yield subject
