"""The slices to which the conventions for drivers apply, since their authors may be the ones who
read the findings.
"""

from collections.abc import Iterator

from dractl.facts.drivers import names
from dractl.lint.model import Manifest, Run


def list_own_slices(run: Run) -> Iterator[Manifest]:
    """Yield the slices of drivers that may be the reader's own.

    These drivers are the one that check-driver checks, and drivers that the facts do not know.
    Users who lint the slices of a released driver cannot change its names.
    """
    released = frozenset(names()) - {run.checked_driver}
    for subject in run.of("ResourceSlice"):
        if subject.slice.driver not in released:
            yield subject
