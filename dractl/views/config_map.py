"""ConfigMaps."""

from collections.abc import Mapping

from dractl.model.paths import map_at
from dractl.views.base import View


class ConfigMap(View):
    """A ConfigMap."""

    @property
    def texts(self) -> Mapping[str, str]:
        """``data``, without values that are not strings."""
        data = map_at(self.raw, "data")
        return {key: text for key, text in data.items() if isinstance(text, str)}
