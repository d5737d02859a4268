"""The OpenMetrics text format, version 1.0."""

from collections.abc import Iterable, Iterator, Mapping

Sample = tuple[Mapping[str, str], int | str]
"""The labels of a sample, and its value."""


def gauge(name: str, description: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of a metric."""
    yield f"# TYPE {name} gauge"
    yield f"# HELP {name} {description}"
    for labels, value in samples:
        yield f"{name}{_format_labels(labels)} {value}"


def render(*metrics: Iterable[str]) -> str:
    """Return the text of the lines of metrics."""
    return "\n".join([*(line for lines in metrics for line in lines), "# EOF"]) + "\n"


def _format_labels(labels: Mapping[str, str]) -> str:
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
