"""Manifests: turns bytes into documents whose values can be located."""

from dractl.manifests.documents import Broken, Document, DoubledKey, Inputs, Skipped
from dractl.manifests.load import FileFilter, load, load_readable, read_text
from dractl.manifests.source import Position

__all__ = [
    "Broken",
    "Document",
    "DoubledKey",
    "FileFilter",
    "Inputs",
    "Position",
    "Skipped",
    "load",
    "load_readable",
    "read_text",
]
