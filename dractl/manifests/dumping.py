"""Objects as YAML that the API server decodes to the same values."""

from functools import cache
from typing import Any

from dractl.manifests.resolve import plain


def dump(value: Any) -> str:
    """Return a value as a YAML document in block style, its keys in their order."""
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1000)
    return text


@cache
def _dumper() -> Any:
    """Return a dumper that quotes strings that the API server would read as another type.

    PyYAML writes ``1e50`` and ``n`` without quotes, which sigs.k8s.io/yaml reads as a number and a
    boolean.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, value: str) -> Any:
        style = None if isinstance(plain(value), str) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
