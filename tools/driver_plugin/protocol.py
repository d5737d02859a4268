"""The services that a kubelet calls: registration, DRA plug-in, and health.

The messages are declared here, since code that protoc generates runs only with the same major
version of protobuf.

Sources: k8s.io/kubelet pkg/apis/pluginregistration/v1/api.proto, pkg/apis/dra/v1/api.proto,
pkg/apis/dra-health/v1/api.proto (v0.37).
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_REGISTRATION = {
    "InfoRequest": "",
    "PluginInfo": "string type=1 string name=2 string endpoint=3 string* supported_versions=4",
    "RegistrationStatus": "bool plugin_registered=1 string error=2",
    "RegistrationStatusResponse": "",
}
# A map is, on the wire, a repeated message of key and value.
_PLUGIN = {
    "Claim": "string namespace=1 string uid=2 string name=3",
    "Claims": "Claim* claims=1",
    "Device": "string* request_names=1 string pool_name=2 string device_name=3"
    " string* cdi_device_ids=4 string share_id=5",
    "Prepared": "Device* devices=1 string error=2",
    "PreparedEntry": "string key=1 Prepared value=2",
    "PrepareResponse": "PreparedEntry* claims=1",
    "Unprepared": "string error=1",
    "UnpreparedEntry": "string key=1 Unprepared value=2",
    "UnprepareResponse": "UnpreparedEntry* claims=1",
}
_HEALTH = {
    "WatchRequest": "",
    "Identifier": "string pool_name=1 string device_name=2",
    "DeviceHealth": "Identifier device=1 int32 health=2 int64 last_updated_time=3"
    " int64 health_check_timeout_seconds=4 string message=5",
    "WatchResponse": "DeviceHealth* devices=1",
}
_FIELD = re.compile(r"(\w+)(\*?) (\w+)=(\d+)")
_SCALARS = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
}


def _declare(package: str, messages: Mapping[str, str]) -> dict[str, Any]:
    """Return the classes of messages."""
    pool = DescriptorPool()
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, text in messages.items():
        message = file.message_type.add(name=name)
        for kind, star, field_name, number in _FIELD.findall(text):
            field = message.field.add(
                name=field_name,
                number=int(number),
                label=FieldDescriptorProto.LABEL_REPEATED
                if star
                else FieldDescriptorProto.LABEL_OPTIONAL,
            )
            if kind in _SCALARS:
                field.type = _SCALARS[kind]
            else:
                field.type = FieldDescriptorProto.TYPE_MESSAGE
                field.type_name = f".{package}.{kind}"
    pool.Add(file)
    return {
        name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages
    }


REGISTRATION = _declare("registration", _REGISTRATION)
PLUGIN = _declare("plugin", _PLUGIN)
HEALTH = _declare("health", _HEALTH)

PLUGIN_SERVICES = {
    "v1.DRAPlugin": "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    "v1beta1.DRAPlugin": "v1beta1.DRAPlugin",
}
"""The versions that a driver announces, each with the service that the kubelet then calls; the
newest first.
"""
HEALTH_SERVICES = {
    "v1.DRAResourceHealth": "v1.DRAResourceHealth",
    "v1alpha1.DRAResourceHealth": "v1alpha1.DRAResourceHealth",
}


class CallError(Exception):
    """A call that failed, with the words of the driver or of gRPC."""

    def __init__(self, message: str, *, is_timeout: bool = False) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout


@contextmanager
def connect(socket: str) -> Iterator[grpc.Channel]:
    """Connect to a socket. A call on the channel raises CallError."""
    channel = grpc.insecure_channel(
        f"unix://{socket}", options=[("grpc.max_receive_message_length", 16 * 1024 * 1024)]
    )
    try:
        yield channel
    finally:
        channel.close()


def call(channel: grpc.Channel, method: str, request: Any, response: Any, seconds: float) -> Any:
    """Call a method and return its answer. Raises CallError."""
    stub = channel.unary_unary(
        method,
        request_serializer=lambda one: one.SerializeToString(),
        response_deserializer=response.FromString,
    )
    try:
        return stub(request, timeout=seconds)
    except grpc.RpcError as error:
        is_timeout = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        raise CallError(f"{error.code().name}: {error.details()}", is_timeout=is_timeout) from error


def watch_health(channel: grpc.Channel, service: str, seconds: float) -> Iterator[Any]:
    """Yield the reports of a health stream until it ends or the time is over. Raises CallError."""
    stub = channel.unary_stream(
        f"/{service}/NodeWatchResources",
        request_serializer=lambda one: one.SerializeToString(),
        response_deserializer=HEALTH["WatchResponse"].FromString,
    )
    try:
        yield from stub(HEALTH["WatchRequest"](), timeout=seconds)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise CallError(f"{error.code().name}: {error.details()}") from error


def make_claims(claims: Sequence[Mapping[str, str]]) -> Any:
    """Return the request for claims, each with namespace, name and uid."""
    message = PLUGIN["Claims"]()
    for claim in claims:
        message.claims.add(**claim)
    return message
