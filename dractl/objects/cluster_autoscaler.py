"""Cluster Autoscaler as a container shows it: its version, its provider and its flag for claims."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.objects.values import items, text

CLUSTER_AUTOSCALER = "cluster-autoscaler"
"""The autoscaler's name in options and reports."""

SCALE_UP_REASONS = ("TriggeredScaleUp", "NotTriggerScaleUp")
"""The reasons of the autoscaler's events about pods (kubernetes-sigs/cluster-autoscaler
pkg/processors/status/eventing_scale_up_processor.go).
"""

# Strings that are compiled at their first use, since lint starts faster without them.
_IMAGE = (
    r"(?:^|/)cluster-autoscaler(?:-(?:amd64|arm64|s390x))?"
    r"(?::v?(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,6})?)[\w.+-]{0,60}|:[\w.+-]{1,100})?(?:@|\Z)"
)
# k8s.io/component-base/cli/flag InitFlags: underscores count as dashes.
_CLAIMS_FLAG = (
    r"--?enable[-_]dynamic[-_]resource[-_]allocation(?:=['\"]?(?P<value>\w{1,10}))?(?![-\w])"
)
_PROVIDER_FLAG = r"--?cloud[-_]provider(?:[= ]['\"]?(?P<value>[\w-]{1,60}))?(?![-\w])"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""The values that Go's strconv.ParseBool takes for true."""


class ClusterAutoscaler(Struct, frozen=True):
    """A container of Cluster Autoscaler."""

    version: str
    """The version, such as ``1.36.1``; "" if the image does not show it."""
    provider: str
    """``--cloud-provider``; "" if the flag is not set."""
    handles_claims: bool | None
    """The flag for claims; None if it is not set."""
    argument: tuple[str, int] | None
    """The place of the flag for claims: ``args`` or ``command``, and the index in it."""


def read_cluster_autoscaler(container: Mapping[str, Any]) -> ClusterAutoscaler | None:
    """Return the settings of a container of Cluster Autoscaler; None if it runs a different
    image.
    """
    image = re.search(_IMAGE, text(container.get("image")))
    if image is None:
        return None
    handles_claims, argument, provider = None, None, ""
    for field in ("command", "args"):  # the last occurrence counts
        words = [text(word) for word in items(container.get(field))]
        for number, word in enumerate(words):
            for flag in re.finditer(_CLAIMS_FLAG, word):
                handles_claims = flag["value"] is None or flag["value"] in _TRUE
                argument = (field, number)
            for flag in re.finditer(_PROVIDER_FLAG, word):
                provider = flag["value"] or "".join(words[number + 1 : number + 2])
    return ClusterAutoscaler(image["version"] or "", provider, handles_claims, argument)
