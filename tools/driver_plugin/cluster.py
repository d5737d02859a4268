"""The API server in which the claims are made."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

_GROUP = "/apis/resource.k8s.io/v1"


class ApiError(Exception):
    """The API server refused a request, or cannot be reached."""


class Cluster:
    """An API server, reached as the kubeconfig says: with a token or a client certificate."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        contexts = {one["name"]: one["context"] for one in content["contexts"]}
        context = contexts[content["current-context"]]
        cluster = next(
            one["cluster"] for one in content["clusters"] if one["name"] == context["cluster"]
        )
        self._user = next(one["user"] for one in content["users"] if one["name"] == context["user"])
        self._server = cluster["server"].rstrip("/")
        self._tls = _make_tls(cluster, self._user)
        self.namespace = namespace
        self._created: set[str] = set()

    def request(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Any:
        """Send a request and return the decoded answer. Raises ApiError."""
        headers = {"Content-Type": kind, "Accept": "application/json"}
        if self._user.get("token"):
            headers["Authorization"] = f"Bearer {self._user['token']}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._server + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._tls, timeout=30) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            message = error.read().decode(errors="replace")
            raise ApiError(f"{method} {path}: {error.code} {message[:400]}") from error
        except (OSError, ValueError) as error:
            raise ApiError(f"{method} {path}: {error}") from error

    def list_slices(self, driver: str, node: str) -> list[dict[str, Any]]:
        """Return the slices of a driver on a node, by name."""
        items = self.request("GET", f"{_GROUP}/resourceslices")["items"]
        slices = [
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **one}
            for one in items
            if one["spec"]["driver"] == driver and one["spec"].get("nodeName", node) == node
        ]
        return sorted(slices, key=lambda one: one["metadata"]["name"])

    def create_claim(
        self, name: str, results: list[dict[str, Any]], config: list[dict[str, Any]] | None = None
    ) -> dict[str, str]:
        """Create an allocated claim and return its namespace, name and uid. Raises ApiError."""
        requests = list(dict.fromkeys(result["request"] for result in results))
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": one, "exactly": {"deviceClassName": "driver-plugin-check"}}
                        for one in requests
                    ],
                    "config": [{"opaque": one["opaque"]} for one in config or ()],
                }
            },
        }
        self.delete_claim(name)
        path = f"{_GROUP}/namespaces/{self.namespace}/resourceclaims"
        created = self.request("POST", path, claim)
        self._created.add(name)
        allocation = {"devices": {"results": results}}
        if config:
            allocation["devices"]["config"] = [{"source": "FromClaim", **one} for one in config]
        created["status"] = {"allocation": allocation}
        self.request("PUT", f"{path}/{name}/status", created)
        return {"namespace": self.namespace, "name": name, "uid": created["metadata"]["uid"]}

    def delete_claims(self) -> None:
        """Delete all claims that were created."""
        for name in sorted(self._created):
            self.delete_claim(name)

    def delete_claim(self, name: str) -> None:
        """Delete a claim; one that is not there is no error.

        Without a scheduler it has no finalizer.
        """
        path = f"{_GROUP}/namespaces/{self.namespace}/resourceclaims/{name}"
        try:
            self.request("DELETE", path)
        except ApiError as error:
            if ": 404 " not in str(error):
                raise


def _make_tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    """Return the TLS settings of a kubeconfig."""
    authority = _read(cluster, "certificate-authority")
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _read(user, "client-certificate"), _read(user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _read(entry: dict[str, Any], name: str) -> bytes:
    """Return the content of a file that a kubeconfig names or contains; empty if there is none."""
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"])
    return Path(entry[name]).read_bytes() if entry.get(name) else b""
