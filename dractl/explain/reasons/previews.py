"""Reasons about a release that was not out when dractl's facts were read."""

from dractl.explain.reasons.base import SEE_CLAIM, Cause, Facts, Progress, ReasonPage
from dractl.explain.reasons.phrases import Names, Scope

MAX_SHOWN_NAMES = 2


class NotKnownOfPreview(Cause, frozen=True, kw_only=True):
    """A claim or a class uses names that dractl does not know, and that a release may add before it
    is out.
    """

    page = ReasonPage(
        "not-known-of-preview",
        "a claim or a class uses names that dractl does not know for this release",
        "The release was not out when dractl's facts were read, and a field, a value or a name in a"
        " selector is not in them. Either the release has added it since, and it decides where the"
        " pod fits, or it is a mistake.",
        SEE_CLAIM,
        "Look at the changelog of the release, take newer facts (--facts), or ask for the rules of"
        " a release that is out (--kubernetes-version).",
        Progress.STOPPED,
    )

    names: tuple[str, ...] = ()
    """One sentence for each name, with the object, the field and the preview."""

    def facts(self) -> Facts:
        return {**super().facts(), "found": self.names}

    def sentence(self, names: Names, scope: Scope) -> str:
        more = len(self.names) - MAX_SHOWN_NAMES
        return "; ".join(self.names[:MAX_SHOWN_NAMES]) + (f" (and {more} more)" if more > 0 else "")
