"""Builds kustomizations with kustomize or kubectl, on a copy of the files that they refer to.

kustomize reads files only in and below the folder of a kustomization, but it reads folders
anywhere. dractl allows neither files nor folders outside the repository of the kustomization. A
kustomization that makes kustomize fetch files or run plug-ins is refused before kustomize starts
(:mod:`dractl.manifests.kustomize`).
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from dractl.inputs.memory import Memory, key_of
from dractl.inputs.programs import LIMITS, Limits, identify, run
from dractl.inputs.trees import (
    NO_OVERLAY,
    FileTree,
    NotRenderable,
    Overlay,
    TreeReader,
    find_repository,
)
from dractl.manifests.kustomize import NAMES, decode_kustomization
from dractl.manifests.rendered import Rendered

_PROGRAMS = (("kustomize", "build"), ("kubectl", "kustomize"))
_MAX_PATH = 4096


class KustomizationBuilder:
    """Builds the kustomizations of one run."""

    def __init__(
        self,
        *,
        overlay: Overlay = NO_OVERLAY,
        memory: Memory | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._overlay = overlay
        self._memory = memory or Memory()
        self._limits = limits

    def build(
        self,
        folder: str,
        settings: Mapping[str, Any] = MappingProxyType({}),
        components: Sequence[str] = (),
    ) -> Rendered:
        """Build the kustomization in a folder; an annotation of each object names its file.

        A GitOps controller adds ``settings`` (fields of a kustomization) and ``components``
        (folders) to a build. Both are put into another kustomization, which includes the folder's.
        """
        commands = (
            (program, subcommand)
            for name, subcommand in _PROGRAMS
            if (program := shutil.which(name)) is not None
        )
        command = next(commands, None)
        if command is None:
            return Rendered(None, "neither kustomize nor kubectl is installed")
        try:
            tree = read_kustomization(folder, self._overlay, components)
        except NotRenderable as error:
            return Rendered(None, error.why)
        program, subcommand = command
        name = os.path.basename(tree.root)
        if not name:
            return Rendered(None, "it is at the root of the file system")
        base = os.path.dirname(tree.root)
        names = [
            os.path.relpath(os.path.realpath(path), base).replace(os.sep, "/")
            for path in (folder, *components)
        ]
        outermost = _compose_outermost(names, settings)
        key = key_of([identify(program), subcommand.encode(), outermost, *tree.parts()])
        output = self._memory.get(key)
        if output is not None:
            return Rendered(output, base=base)
        with TemporaryDirectory(prefix="dractl-") as made:
            scratch = os.path.realpath(made)
            work = os.path.join(scratch, "work")
            tree.write(os.path.join(work, name))
            with open(os.path.join(work, "kustomization.yaml"), "xb") as file:
                file.write(outermost)
            home = os.path.join(scratch, "home")
            os.mkdir(home)
            end = run([program, subcommand, work], home, self._limits)
            problem = end.problem and end.problem.replace(os.path.join(work, name), tree.root)
        if end.output is not None:
            self._memory.put(key, end.output)
        return Rendered(end.output, problem, base=base)


def _compose_outermost(names: Sequence[str], settings: Mapping[str, Any]) -> bytes:
    """Return a kustomization that lists the paths in ``names``: another kustomization and
    components. The returned kustomization annotates each object with its file.
    """
    start, *components = names
    fields = {name: value for name, value in settings.items() if value}
    value = {"buildMetadata": ["originAnnotations"], "resources": [start], **fields}
    return json.dumps({**value, "components": components} if components else value).encode()


def read_kustomization(folder: str, overlay: Overlay, components: Sequence[str] = ()) -> FileTree:
    """Read a kustomization with all files and kustomizations that its texts name, and with
    additional components.

    Raises NotRenderable if it refers to anything outside its repository. Outside of any repository
    this is allowed, since no pull request can have added the reference.
    """
    walk = _Walk(TreeReader(find_repository(folder), overlay))
    for path in (folder, *components):
        walk.visit(path)
    root = os.path.commonpath(walk.folders | {os.path.dirname(path) for path in walk.files})
    return FileTree(
        root,
        {os.path.relpath(path, root): content for path, content in walk.files.items()},
        {
            os.path.relpath(link, root): os.path.relpath(target, root)
            for link, target in walk.links.items()
            if os.path.commonpath([link, root]) == root
        },
    )


class _Walk:
    """The files and folders that a kustomization consists of, by absolute path."""

    def __init__(self, reader: TreeReader) -> None:
        self._reader = reader
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = set()
        self.links: dict[str, str] = {}

    def visit(self, folder: str) -> None:
        """Read the kustomization in a folder, and the files that it names."""
        self._reader.check(folder)
        real = os.path.realpath(folder)
        if real in self.folders:
            return
        self.folders.add(real)
        for path in (os.path.join(real, name) for name in NAMES):
            if os.path.isfile(path):
                self._add(path)
                value = decode_kustomization(path, self.files[path])
                for text in _texts(value):
                    self._follow(real, text)

    def _follow(self, folder: str, text: str) -> None:
        """Read the file or the kustomization that a text names; other texts are ignored."""
        for name in dict.fromkeys((text, text.partition("=")[2])):  # a generator's KEY=FILE
            if not name or "\n" in name or "\0" in name or len(name) > _MAX_PATH:
                continue
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(path):
                self._add(path)
            elif any(os.path.isfile(os.path.join(path, inside)) for inside in NAMES):
                real = os.path.realpath(path)
                if real != path:
                    self.links[path] = real
                self.visit(path)

    def _add(self, path: str) -> None:
        if path not in self.files:
            self.files[path] = self._reader.read(path)


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in a value."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, str):
            yield node
