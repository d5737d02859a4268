"""The settings with which Karpenter runs, as its Deployment shows them."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from dractl.model.paths import maps_at, text_at
from dractl.objects import Raw
from dractl.views.workload import Workload

KARPENTER = "karpenter"
"""The autoscaler's name in options and reports."""

_IMAGE = re.compile(
    r"(?:^|/)karpenter/controller(?::v?(?P<version>\d{1,4}\.\d{1,4})[\w.-]{0,40})?(?:@|\Z)"
)
_DRIVER_GATES = {"DRANVIDIAGPU": "gpu.nvidia.com", "DRAEFA": "dra.net"}
"""Feature gates of aws/karpenter-provider-aws v1.15.1 pkg/operator/options/options.go, with the
driver of each; they are off by default.
"""


class KarpenterSettings(Struct, frozen=True):
    """The settings that decide how Karpenter treats claims."""

    version: str
    """The version, such as ``1.15``; "" if the image does not show it."""
    ignores_claims: bool
    """IGNORE_DRA_REQUESTS, which is true by default (karpenter v1.15.0
    pkg/operator/options/options.go).
    """
    drivers: frozenset[str]
    """Drivers whose devices the AWS provider declares."""


def read_karpenter_settings(deployments: Iterable[Raw]) -> KarpenterSettings | None:
    """Return the settings of the Deployment that runs Karpenter; None if there is none."""
    for raw in deployments:
        for container in Workload(raw).template_pod.containers:
            image = _IMAGE.search(text_at(container, "image"))
            if image is not None:
                variables = {
                    text_at(variable, "name"): text_at(variable, "value")
                    for variable in maps_at(container, "env")
                }
                return _settings(image["version"] or "", variables)
    return None


def _settings(version: str, variables: Mapping[str, str]) -> KarpenterSettings:
    gates = {
        name.strip(): value.strip().lower() == "true"
        for name, _, value in (
            setting.partition("=") for setting in variables.get("AWS_FEATURE_GATES", "").split(",")
        )
    }
    return KarpenterSettings(
        version,
        variables.get("IGNORE_DRA_REQUESTS", "true").lower() != "false",
        frozenset(driver for gate, driver in _DRIVER_GATES.items() if gates.get(gate)),
    )
