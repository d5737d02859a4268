"""Rendering of charts and kustomizations for the commands, with the installed programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.lint.relevance import concern
from dractl.lint.store import Store
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.load import names_dra

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dractl.inputs.charts import ChartRenderer, ValueChoice
    from dractl.inputs.memory import Memory
    from dractl.manifests import Document, Inputs
    from dractl.manifests.rendered import Renderer
    from dractl.model import Target


class Concern(Struct, frozen=True):
    """The objects for whose sake charts and kustomizations are rendered."""

    may_be_in: Callable[[bytes], bool]
    """Whether a file with these bytes may have one of the objects."""
    holds: Callable[[Document], bool]
    """Whether a document is one of the objects."""


_CLAIMS = Concern(names_dra, lambda document: concern(document.value) == "claims")
_NO_OVERLAY: Mapping[str, bytes] = MappingProxyType({})


class Rendering:
    """Renders charts and kustomizations in one run of a command, and renders equal content only
    once.

    Its modules are imported for the first chart or kustomization: most inputs have none.
    """

    def __init__(
        self,
        cache: str | None = None,
        choice: ValueChoice | None = None,
        concern: Concern = _CLAIMS,
    ) -> None:
        self._choice = choice
        self._concern = concern
        self._renderers: list[ChartRenderer] = []
        self._store = Store(cache, "rendered", "1") if cache else None
        self._memory: Memory | None = None

    def _deliver(
        self, inputs: Inputs, target: Target, overlay: Mapping[str, bytes]
    ) -> tuple[Inputs, frozenset[str]]:
        """Add the objects that Flux and Argo CD apply; also return the files that they are made
        of.
        """
        if not inputs.appliers:
            return inputs, frozenset()
        from dractl.inputs.charts import ChartRenderer
        from dractl.inputs.gitops import deliver
        from dractl.inputs.kustomizations import KustomizationBuilder
        from dractl.inputs.trees import Overlay

        unwritten = Overlay(overlay)
        charts = ChartRenderer(target, overlay=unwritten, memory=self._remember())
        builder = KustomizationBuilder(overlay=unwritten, memory=self._remember())
        return deliver(inputs, charts.render_release, builder, unwritten, self._concern.may_be_in)

    def _remember(self) -> Memory:
        from dractl.inputs.memory import Memory

        if self._memory is None:
            self._memory = Memory(self._store)
        return self._memory

    def charts(self, target: Target, overlay: Mapping[str, bytes] = _NO_OVERLAY) -> Renderer:
        """Return a function that renders the chart in a folder for a release of Kubernetes.

        ``overlay`` has the contents of files that are not written yet.
        """

        @cache
        def make_renderer() -> ChartRenderer:
            from dractl.inputs.charts import NO_CHOICE, ChartRenderer
            from dractl.inputs.trees import Overlay

            renderer = ChartRenderer(
                target,
                choice=self._choice or NO_CHOICE,
                overlay=Overlay(overlay),
                memory=self._remember(),
                is_ci_rendered=True,
            )
            self._renderers.append(renderer)
            return renderer

        return lambda chart: make_renderer().render(chart)

    @property
    def has_helm(self) -> bool:
        """Return True if helm is installed, or the user expects it by giving values."""
        return self._choice is not None or shutil.which("helm") is not None

    def check_values(self) -> None:
        """Raise UsageError if the command line gave values, and no chart took them."""
        if self._choice is not None and self._choice.named and not self._renderers:
            from dractl.inputs.charts import refuse_values

            refuse_values()

    def deliveries(
        self,
        inputs: Inputs,
        target: Target,
        files: Iterable[str] = (),
        overlay: Mapping[str, bytes] = _NO_OVERLAY,
    ) -> Inputs:
        """Add further objects to an input: those that Flux and Argo CD apply, those of the other
        kustomizations among ``files``, and those of the kustomizations to which the input belongs.
        """
        inputs, delivered = self._deliver(inputs, target, overlay)
        candidates = [
            file
            for file in dict.fromkeys((*files, *inputs.kustomizations))
            if is_kustomization(file) and os.path.abspath(file) not in delivered
        ]
        if not candidates:
            return inputs
        from dractl.inputs.kustomizations import KustomizationBuilder
        from dractl.inputs.trees import Overlay
        from dractl.manifests.built import add_built_objects

        unwritten = Overlay(overlay)
        builder = KustomizationBuilder(overlay=unwritten, memory=self._remember())
        return add_built_objects(
            inputs,
            candidates,
            builder.build,
            self._concern.holds,
            unwritten.get,
            self._concern.may_be_in,
        )
