"""DeviceClass."""

from dractl.model.apitype import APIType
from dractl.model.claims import DeviceSelector, OpaqueDeviceConfiguration
from dractl.model.meta import ObjectMeta


class DeviceClassConfiguration(APIType, frozen=True):
    """Parameters for the setup of every device of a class; parameters of claims are applied after
    them.
    """

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(APIType, frozen=True):
    """A class without selectors matches every device."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(APIType, frozen=True):
    """A set of devices under a name, which an administrator defines and to which requests refer.
    Cluster-scoped.
    """

    metadata: ObjectMeta
    spec: DeviceClassSpec
