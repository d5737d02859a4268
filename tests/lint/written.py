"""YAML of objects that tests of lint need, and what lint finds in it."""

from __future__ import annotations

from textwrap import indent

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target

API = "apiVersion: resource.k8s.io/v1\n"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def found(
    text: str, code: str, release: str = "1.37", gates: dict[str, bool] | None = None
) -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release, gates or {}))
    assert not [finding for finding in report.findings if finding.api]
    return [finding for finding in report.findings if finding.code == code]


def marked(finding: Finding) -> str:
    """The text of the input that a finding underlines, if it is on one line."""
    position = finding.position
    assert position.line == position.end_line
    return finding.excerpt[position.column - 1 : position.end_column - 1]


def claim(requests: str, rest: str = "", name: str = "gpus") -> str:
    """Requests are ``name class`` or ``name class {fields}``, one a line."""
    text = (
        API + f"kind: ResourceClaim\nmetadata: {{name: {name}}}\nspec:\n  devices:\n    requests:\n"
    )
    for line in requests.strip().splitlines():
        called, of_class, fields = [*line.split(None, 2), "{}"][:3]
        fields = ", ".join(
            part for part in (f"deviceClassName: {of_class}", fields.strip()[1:-1]) if part
        )
        text += f"    - name: {called}\n      exactly: {{{fields}}}\n"
    return text + indent(rest, "    ") + ("\n" if rest else "")


def template(text: str) -> str:
    head, _, spec = text.partition("spec:\n")
    return (
        head.replace("ResourceClaim", "ResourceClaimTemplate")
        + "spec:\n  spec:\n"
        + indent(spec, "  ")
    )


def device_class(name: str, *expressions: str, config: str = "") -> str:
    text = API + f"kind: DeviceClass\nmetadata: {{name: {name}}}\nspec:\n  selectors:\n"
    text += "".join(f"  - cel:\n      expression: {expression}\n" for expression in expressions)
    return text + (
        f"  config:\n  - opaque: {{driver: {config}, parameters: {{a: b}}}}\n" if config else ""
    )


def pod(*claims: str, kind: str = "Pod", spec: str = "") -> str:
    """Claims are ``name=claim`` or ``name:template``."""
    listed = ""
    for text in claims:
        separator, field = (
            ("=", "resourceClaimName") if "=" in text else (":", "resourceClaimTemplateName")
        )
        name, _, referenced = text.partition(separator)
        listed += f"  - {{name: {name}, {field}: {referenced}}}\n"
    uses = ", ".join(f"{{name: {text.replace('=', ':').partition(':')[0]}}}" for text in claims)
    body = f"spec:\n  resourceClaims:\n{listed}  containers:\n  - {{name: c, image: x, resources: {{claims: [{uses}]}}}}\n"
    if kind == "Pod":
        return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n" + body
    head = f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec:\n"
    labels = "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
    return head + indent(spec, "  ") + labels + indent(body, "    ")


def published(
    node: str, devices: str, pool: str = "gpus", count: int = 1, generation: int = 1, name: str = ""
) -> str:
    where = f"  nodeName: {node}\n" if node else "  allNodes: true\n"
    listed = "".join(f"  - name: {device}\n" for device in devices.split())
    return (
        f"{API}kind: ResourceSlice\nmetadata: {{name: {name or node or 'all'}-slice}}\n"
        "spec:\n  driver: gpu.example.com\n"
        f"  pool: {{name: {pool}, generation: {generation}, resourceSliceCount: {count}}}\n{where}  devices:\n{listed}"
    )


ROOT = "constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]"


ONE = claim("gpu gpu.example.com", ROOT, "gpu")


A100 = "{name: a, attributes: {model: {string: A100}}}"
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"


GPU = device_class("gpu.example.com", 'device.driver == "gpu.example.com"')


NICS = device_class("nic.example.com", 'device.driver == "nic.example.com"')


def selecting(expression: str, of_class: str = "any") -> str:
    return (
        claim("gpu CLASS {selectors: [{cel: {expression: EXPRESSION}}]}")
        .replace("CLASS", of_class)
        .replace("EXPRESSION", "'" + expression + "'")
    )


NIC_SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}]
"""


GPU_SLICE = NIC_SLICE.replace("nic", "gpu").replace("[{name: gpu-0}]", "[DEVICES]")
