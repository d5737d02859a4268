"""What known drivers publish in any of their versions: names by domain, attributes apart from capacities.

Made by tools/make_docs.py from the catalogues of dractl/drivers; not to be edited.
"""

from __future__ import annotations

# ruff: noqa: E501
# fmt: off
PUBLISHED: dict[str, dict[str, tuple[str, ...]]] = {
    "gpu.nvidia.com": {"attributes": ("addressingMode", "architecture", "brand", "cudaComputeCapability", "cudaDriverVersion", "deviceID", "driverVersion", "gpuModuleID", "index", "iommuFDEnabled", "minor", "numa", "parentIndex", "parentUUID", "partition1", "partition2", "partition4", "partition8", "pcieBusID", "productName", "profile", "type", "uuid", "vendorID"), "capacity": ("addressableMemory", "copyEngines", "decoders", "encoders", "jpegEngines", "memory", "memorySlice0", "memorySlice1", "memorySlice2", "memorySlice3", "memorySlice4", "memorySlice5", "memorySlice6", "memorySlice7", "multiprocessors", "ofaEngines", "shares")},
    "compute-domain.nvidia.com": {"attributes": ("id", "type"), "capacity": ()},
    "gpu.amd.com": {"attributes": ("cardIndex", "deviceID", "driverSrcVersion", "driverVersion", "driverVersionFull", "family", "numaNode", "partitionProfile", "pciAddr", "productName", "renderIndex", "type"), "capacity": ("computeUnits", "memory", "simdUnits")},
    "gpu.intel.com": {"attributes": ("driver", "family", "health", "model", "pciAddress", "pciId", "pciRoot", "sriov", "type"), "capacity": ("memory", "millicores")},
    "dra.net": {"attributes": ("alias", "ebpf", "encapsulation", "ifName", "ipv4", "ipv6", "isSriovVf", "mac", "mtu", "numaNode", "pciAddress", "pciDevice", "pciSubsystem", "pciVendor", "rdma", "rdmaDevice", "sriov", "sriovVfs", "state", "tcFilterNames", "tcxProgramNames", "type", "virtual"), "capacity": ()},
    "dra.cpu": {"attributes": ("cacheL3ID", "coreID", "coreType", "cpuID", "numCPUs", "numaNodeID", "smtEnabled", "socketID"), "capacity": ("cpu",)},
    "sriovnetwork.k8snetworkplumbingwg.io": {"attributes": ("EswitchMode", "PFName", "deviceID", "linkType", "pciAddress", "pfDeviceID", "pfPciAddress", "rdmaCapable", "resourceName", "vendor", "vfID"), "capacity": ()},
    "dra.memory": {"attributes": (), "capacity": ("size",)},
    "dra.nvme": {"attributes": ("firmwareRev", "model", "numaNode", "serial", "transport"), "capacity": ("size",)},
}
# fmt: on
