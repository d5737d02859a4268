"""Files with CustomResourceDefinitions, which are large and seldom needed."""

from msgspec import Struct

from dractl.manifests.content import read_file
from dractl.manifests.source import Source
from dractl.manifests.text import decode


class DefinitionFile(Struct, frozen=True):
    """A file with CustomResourceDefinitions that name fields of DRA; it is not parsed until a
    schema is needed.
    """

    name: str
    text: str | None = None
    """The text; None for a file on disk, which is read again, since a repository may have hundreds
    of MiB of them.
    """

    def read(self) -> Source:
        """Return the file's source; empty if the file is gone by now."""
        text = decode(read_file(self.name) or b"") if self.text is None else self.text
        return Source(self.name, text)
