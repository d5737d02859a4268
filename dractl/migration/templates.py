"""ResourceClaimTemplates: one template for each combination of folder, namespace and shape of
request.
"""

import re
from typing import Any

from msgspec import Struct, field


class ClaimShape(Struct, frozen=True):
    """The devices that a claim requests."""

    name: str
    """The name of the request."""
    device_class: str
    """The name of the DeviceClass."""
    count: int
    """The number of devices."""
    selectors: tuple[str, ...]
    """The CEL expressions of the request."""

    @property
    def spec(self) -> dict[str, Any]:
        """``spec`` of the template, in ``resource.k8s.io/v1``."""
        exactly: dict[str, Any] = {"deviceClassName": self.device_class}
        if self.count > 1:
            exactly["count"] = self.count
        if self.selectors:
            exactly["selectors"] = [{"cel": {"expression": text}} for text in self.selectors]
        return {"spec": {"devices": {"requests": [{"name": self.name, "exactly": exactly}]}}}


class Template(Struct, frozen=True):
    """A template for claims of a shape; ``scope`` is the folder in which it is written."""

    scope: str
    """The folder in which the template is written."""
    namespace: str | None
    """The namespace; None if the file names none."""
    name: str
    """The name."""
    shape: ClaimShape
    """The devices that it requests."""

    @property
    def value(self) -> dict[str, Any]:
        metadata = {"name": self.name} | ({"namespace": self.namespace} if self.namespace else {})
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": metadata,
            "spec": self.shape.spec,
        }


class Templates(Struct):
    """The templates of a run."""

    taken: set[tuple[str | None, str]] = field(default_factory=set)
    """The names in use, by namespace."""
    known: dict[tuple[str, str | None, ClaimShape], Template] = field(default_factory=dict)
    """The templates of the run, by folder, namespace and shape."""
    written: set[Template] = field(default_factory=set)
    """The templates that have already been written to a file."""

    def template_for(self, scope: str, namespace: str | None, shape: ClaimShape) -> Template:
        """Return the template of a shape, which gets its name at the first request. A shape has the
        same name everywhere.
        """
        key = (scope, namespace, shape)
        if key not in self.known:
            alike = [
                template.name for (_, _, other), template in self.known.items() if other == shape
            ]
            name = (
                alike[0]
                if alike and (namespace, alike[0]) not in self.taken
                else self._free(namespace, shape)
            )
            self.known[key] = Template(scope, namespace, name, shape)
        return self.known[key]

    def _free(self, namespace: str | None, shape: ClaimShape) -> str:
        others = {template.name for template in self.known.values()}
        detail = [
            match[1] for text in shape.selectors if (match := re.search(r'"([^"]+)"\Z', text))
        ]
        words = "-".join([shape.name, *([str(shape.count)] if shape.count > 1 else []), *detail])
        base = re.sub(r"[^a-z0-9]+", "-", words.lower())[:50].strip("-")
        number, name = 1, base
        while name in others or (namespace, name) in self.taken:
            number += 1
            name = f"{base}-{number}"
        return name
