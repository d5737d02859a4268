"""NVIDIA GPUs through NVML (pynvml). A GPU that does not respond never hides the others.

Brand and architecture names are the ones that dra-driver-nvidia-gpu publishes
(cmd/gpu-kubelet-plugin/nvlib.go, go-nvlib pkg/nvlib/device).
"""

import math
from collections import Counter
from collections.abc import Callable
from ctypes import byref, c_uint
from itertools import combinations
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.probes.classes import NVIDIA
from dractl.topology.machine import (
    BDF,
    Fabric,
    Gpu,
    Link,
    MigDevice,
    MigProfile,
    Nvidia,
    NvLink,
    Placement,
)

Note = Callable[[str, str], None]


BRANDS = {
    0: "Unknown",
    1: "Quadro",
    2: "Tesla",
    3: "NVS",
    4: "Grid",
    5: "GeForce",
    6: "Titan",
    7: "NvidiaVApps",
    8: "NvidiaVPC",
    9: "NvidiaVCS",
    10: "NvidiaVWS",
    11: "NvidiaCloudGaming",
    12: "QuadroRTX",
    13: "NvidiaRTX",
    14: "Nvidia",
    15: "GeForceRTX",
    16: "TitanRTX",
}
ARCHITECTURES = {
    2: "Kepler",
    3: "Maxwell",
    4: "Pascal",
    5: "Volta",
    6: "Turing",
    7: "Ampere",
    8: "Ada Lovelace",
    9: "Hopper",
    10: "Blackwell",
    13: "Rubin",
    0xFFFFFFFF: "Unknown",
}
ADDRESSING_MODES = {0: "None", 1: "HMM", 2: "ATS"}
LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t under the names of ``nvidia-smi topo -m``; INTERNAL (one board) is nearer
than any switch.
"""
FABRIC_STATES = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}
VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
REMOTES = {0: "gpu", 1: "other", 2: "switch"}
# GPU instance profiles by NVML's enumeration index: the suffix that go-nvlib appends to the
# profile's name.
PROFILE_SUFFIXES = {
    7: "+me",
    8: "+me",
    10: "+gfx",
    11: "+gfx",
    12: "+gfx",
    13: "-me",
    14: "-me",
    15: "+me.all",
    16: "+me.all",
    17: "+gfx",  # 3_SLICE_GFX of nvml.h, which go-nvlib does not know yet
}
# The facts that the driver reads from each GPU, and the errors that the driver tolerates:
# getGpuInfo of kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/nvlib.go. Any other
# error stops the driver.
_TOLERATED = {
    "memory": {"NOT_SUPPORTED"},
    "addressing mode": {"NOT_SUPPORTED"},
    "MIG mode": {"NOT_SUPPORTED"},
    "MIG profiles": {"NOT_SUPPORTED", "INVALID_ARGUMENT"},
    "MIG placements": {"NOT_SUPPORTED", "INVALID_ARGUMENT"},
}
# Likewise for the MIG devices of a GPU: getMigDevices.
_TOLERATED_OF_MIG: dict[str, set[str]] = {
    "number of MIG devices": set(),
    "MIG devices": {"NOT_FOUND", "INVALID_ARGUMENT"},
    "UUID of a MIG device": set(),
    "GPU instance of a MIG device": set(),
    "compute instance of a MIG device": set(),
    "GPU instance": set(),
    "compute instance": set(),
    "profile of a compute instance": set(),
}
# NVML_NVLINK_MAX_LINKS grows (18, 36 in nvidia-ml-py 13): NVML itself refuses the first link beyond
# the last
_MAX_LINKS = 64

# Hints for errors of nvmlInit. Names: nvml.h, nvmlReturn_t.
_INIT_HINTS = {
    "DRIVER_NOT_LOADED": "the NVIDIA kernel driver is not loaded; `modprobe nvidia`, or install it",
    "LIBRARY_NOT_FOUND": (
        "libnvidia-ml.so.1 is not installed or not on the loader's path; it comes with the "
        "NVIDIA driver"
    ),
    "LIB_RM_VERSION_MISMATCH": (
        "the library and the loaded kernel driver have different versions; reload the driver "
        "or reboot"
    ),
    "NO_PERMISSION": (
        "the device nodes /dev/nvidia* are missing or not accessible; run as root, or in a"
        " container that has them"
    ),
}
# Errors of nvmlInit for which the node is the cause, so that the driver has them too; others may be
# specific to this process.
_NODE_ERRORS = ("DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH")


class Listing(Struct, frozen=True):
    """NVML's answer."""

    gpus: tuple[Gpu, ...] = ()
    """The GPUs in NVML's order."""
    driver: Nvidia | None = None
    links: tuple[Link, ...] = ()
    silent: int = 0
    """The number of GPUs without an address."""


class _Lost(Exception):
    """Reading the GPU showed that it fell off the bus or needs a reset; the argument is the health
    to report.
    """


def probe(note: Note, *, expected: bool) -> Listing:
    """Query NVML. ``expected`` is True if PCI shows NVIDIA GPUs: only then does a missing library
    cause a note.
    """
    try:
        import pynvml
    except ImportError:
        if expected:
            note(
                "nvml",
                "the package nvidia-ml-py is not installed: NVIDIA GPUs are known from PCI alone",
            )
        return Listing()
    try:
        # NVML_INIT_FLAG_NO_GPUS, as in the driver: initialisation must not fail because a GPU is
        # bound to vfio-pci.
        pynvml.nvmlInitWithFlags(1)
    except pynvml.NVMLError as error:
        if expected:
            name = _error_name(pynvml, error)
            note(
                "nvml",
                f"NVML does not start: {_INIT_HINTS.get(name, str(error))}. GPUs are known from PCI"
                " alone",
            )
            if name in _NODE_ERRORS:
                return Listing(driver=Nvidia(failure=name))
        return Listing()
    try:
        return _Session(pynvml, note).answer()
    finally:
        pynvml.nvmlShutdown()


def _error_name(pynvml: Any, error: Any) -> str:
    for name in dir(pynvml):
        if name.startswith("NVML_ERROR_") and getattr(pynvml, name) == error.value:
            return name.removeprefix("NVML_ERROR_")
    return str(error.value)


class _Session:
    def __init__(self, pynvml: Any, note: Note) -> None:
        self._nvml = pynvml
        self._note = note
        self._missing: Counter[str] = Counter()
        # The errors of NVML about the current GPU, by fact
        self._errors: dict[str, set[str]] = {}

    def answer(self) -> Listing:
        nvml = self._nvml
        driver = Nvidia(
            driver_version=self._ask("nvml", "driver version", nvml.nvmlSystemGetDriverVersion),
            cuda_driver_version=self._cuda(),
            nvml_version=self._ask("nvml", "NVML version", nvml.nvmlSystemGetNVMLVersion),
        )
        gpus: list[Gpu] = []
        handles: dict[str, Any] = {}
        silent = 0
        for index in range(self._ask("nvml", "number of GPUs", nvml.nvmlDeviceGetCount) or 0):
            gpu, handle = self._gpu(index)
            if gpu is None:
                silent += 1
                continue
            gpus.append(gpu)
            if gpu.bdf is not None and gpu.health == "ok":
                handles[gpu.bdf] = handle
        links = (*self._levels(handles), *nvlinks(gpus))
        for fact, count in sorted(self._missing.items()):
            self._note(
                "nvml",
                f"{fact}: this NVIDIA driver's library has no such function"
                + (f" ({count} GPUs)" if count > 1 else ""),
            )
        return Listing(tuple(gpus), replace(driver, unreachable=silent), links, silent)

    def _ask(
        self,
        about: str,
        what: str,
        function: Callable[..., Any],
        *arguments: Any,
        optional: bool = False,
    ) -> Any:
        """Return a fact, or None with a note. An ``optional`` fact is missing on many GPUs:
        NOT_SUPPORTED is then a valid result.
        """
        nvml = self._nvml
        try:
            return function(*arguments)
        except nvml.NVMLError as error:
            name = _error_name(nvml, error)
            if name in ("GPU_IS_LOST", "RESET_REQUIRED"):
                raise _Lost("lost" if name == "GPU_IS_LOST" else "reset-required") from error
            if name == "FUNCTION_NOT_FOUND":
                self._missing[what] += 1
                return None
            self._errors.setdefault(what, set()).add(name)
            if not (optional and name in ("NOT_SUPPORTED", "NOT_FOUND", "INVALID_ARGUMENT")):
                self._note(about, f"{what} unknown: NVML answers {name} ({error})")
            return None
        except (UnicodeDecodeError, ValueError) as error:
            self._note(about, f"{what} unknown: NVML's answer cannot be read ({error})")
            return None

    def _cuda(self) -> str | None:
        version = self._ask(
            "nvml", "CUDA driver version", self._nvml.nvmlSystemGetCudaDriverVersion
        )
        return None if version is None else f"{version // 1000}.{version % 1000 // 10}"

    def _gpu(self, index: int) -> tuple[Gpu | None, Any]:
        nvml, about = self._nvml, f"NVML GPU {index}"
        try:
            handle = self._ask(about, "handle", nvml.nvmlDeviceGetHandleByIndex, index)
            info = (
                None
                if handle is None
                else self._ask(about, "PCI address", nvml.nvmlDeviceGetPciInfo_v3, handle)
            )
        except _Lost as lost:
            self._note(about, _explain_loss(str(lost)))
            return None, None
        bdf = None if info is None else _bdf(info.busId)
        if handle is None or bdf is None:
            return None, None
        gpu = Gpu(bdf=bdf, vendor=NVIDIA, source="nvml", partial=True, index=index)
        try:
            return self._facts(gpu, handle), handle
        except _Lost as lost:
            self._note(bdf or about, _explain_loss(str(lost)))
            return replace(gpu, health=str(lost)), handle

    def _facts(self, gpu: Gpu, handle: Any) -> Gpu:
        nvml, about = self._nvml, gpu.bdf or f"NVML GPU {gpu.index}"
        self._errors.clear()

        def ask(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
            return self._ask(about, what, function, handle, *arguments)

        def maybe(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
            return self._ask(about, what, function, handle, *arguments, optional=True)

        memory = maybe("memory", nvml.nvmlDeviceGetMemoryInfo)
        if memory is None:
            self._note(
                about,
                "NVML reports no memory size (GPUs that share host memory have none): drivers"
                " publish no capacity",
            )
        brand = ask("brand", nvml.nvmlDeviceGetBrand)
        architecture = ask("architecture", nvml.nvmlDeviceGetArchitecture)
        capability = ask("CUDA compute capability", nvml.nvmlDeviceGetCudaComputeCapability)
        mode = maybe("addressing mode", nvml.nvmlDeviceGetAddressingMode)
        mig = maybe("MIG mode", nvml.nvmlDeviceGetMigMode)
        ecc = maybe("ECC mode", nvml.nvmlDeviceGetEccMode)
        node = maybe("NUMA node of its memory", nvml.nvmlDeviceGetNumaNodeId)
        uuid = ask("UUID", nvml.nvmlDeviceGetUUID)
        name = ask("name", nvml.nvmlDeviceGetName)
        minor = ask("minor number", nvml.nvmlDeviceGetMinorNumber)
        total = None if memory is None else int(memory.total)
        gpu = replace(gpu, **self._mig_facts(about, handle, mig, total))
        return replace(
            gpu,
            partial=uuid is None or name is None or minor is None,
            health="ok",
            minor=minor,
            uuid=uuid,
            name=name,
            brand=None if brand is None else self._name_value(about, "brand", BRANDS, brand),
            architecture=(
                None
                if architecture is None
                else self._name_value(about, "architecture", ARCHITECTURES, architecture)
            ),
            cuda_compute_capability=(
                None if capability is None else f"{capability[0]}.{capability[1]}"
            ),
            memory_bytes=total,
            addressing_mode=None if mode is None else ADDRESSING_MODES.get(mode),
            memory_numa_node=node if node is not None and node >= 0 else None,
            module_id=self._module(maybe),
            ecc=None if ecc is None else bool(ecc[0]),
            driver_version=None,
            virtualization=self._virtualization(maybe),
            nvlinks=self._nvlinks(about, handle),
            fabric=self._fabric(about, handle),
            refused=self._first_refusal(_TOLERATED),
            mig_refused=self._first_refusal(_TOLERATED_OF_MIG),
        )

    def _mig_facts(self, about: str, handle: Any, mig: Any, total: int | None) -> dict[str, Any]:
        """Return the fields of a GPU about MIG; ``mig`` is NVML's current and pending mode."""
        current = None if mig is None else bool(mig[0])
        pending = None if mig is None else bool(mig[1])
        if current != pending:
            self._note(
                about,
                f"MIG mode is {_switch_word(current)} and becomes {_switch_word(pending)} when the"
                " GPU is reset",
            )
        profiles = self._profiles(about, handle, total) if mig is not None and total else {}
        devices = self._mig_devices(about, handle, profiles) if current else ()
        if current and not devices:
            self._note(
                about,
                "MIG mode is on and there are no MIG devices: nothing can be allocated from"
                " this GPU",
            )
        ordered = sorted(profiles.values(), key=lambda p: (p.slices, p.memory_bytes or 0, p.name))
        return {
            "mig_mode": current,
            "mig_mode_pending": pending,
            "mig_profiles": tuple(ordered),
            "mig_devices": devices,
        }

    def _first_refusal(self, tolerated: dict[str, set[str]]) -> str | None:
        """Return the first fact of ``tolerated`` (errors by fact) for which NVML returned an error
        that is not among the fact's errors, and that error; None if there is none.
        """
        for fact, errors in tolerated.items():
            for error in sorted(self._errors.get(fact, set()) - errors):
                return f"{fact} ({error})"
        return None

    def _virtualization(self, maybe: Callable[..., Any]) -> str | None:
        mode = maybe("virtualization mode", self._nvml.nvmlDeviceGetVirtualizationMode)
        return "unknown" if "virtualization mode" in self._errors else VIRTUALIZATION.get(mode)

    def _module(self, maybe: Callable[..., Any]) -> int | None:
        number = c_uint()
        # pynvml's default argument is one object for all calls, so pass a new one.
        answer = maybe("module id", self._nvml.nvmlDeviceGetModuleId, number)
        return None if answer is None else int(number.value)

    def _name_value(self, about: str, what: str, table: dict[int, str], value: int) -> str | None:
        if value not in table:
            self._note(
                about, f"{what} {value} is newer than dractl: the driver may refuse this GPU too"
            )
        return table.get(value)

    def _profiles(self, about: str, handle: Any, total: int) -> dict[int, MigProfile]:
        """Return the GPU instance profiles by id."""
        nvml = self._nvml
        profiles: dict[int, MigProfile] = {}
        for index in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
            info = self._ask(
                about,
                "MIG profiles",
                nvml.nvmlDeviceGetGpuInstanceProfileInfo,
                handle,
                index,
                optional=True,
            )
            if info is None:
                continue
            profiles[info.id] = MigProfile(
                id=info.id,
                name=profile_name(info.sliceCount, info.memorySizeMB, total)
                + PROFILE_SUFFIXES.get(index, ""),
                slices=info.sliceCount,
                memory_bytes=info.memorySizeMB << 20,
                multiprocessors=info.multiprocessorCount,
                copy_engines=info.copyEngineCount,
                decoders=info.decoderCount,
                encoders=info.encoderCount,
                jpeg_engines=info.jpegCount,
                ofa_engines=info.ofaCount,
                placements=self._placements(about, handle, info.id),
            )
        return profiles

    def _placements(self, about: str, handle: Any, profile: int) -> tuple[Placement, ...]:
        nvml = self._nvml
        count = c_uint(0)
        ask = nvml.nvmlDeviceGetGpuInstancePossiblePlacements
        if (
            self._ask(
                about, "MIG placements", ask, handle, profile, None, byref(count), optional=True
            )
            is None
        ):
            return ()
        slots = (nvml.c_nvmlGpuInstancePlacement_t * min(count.value, 64))()
        count.value = len(slots)
        if (
            not slots
            or self._ask(about, "MIG placements", ask, handle, profile, slots, byref(count)) is None
        ):
            return ()
        return tuple(
            sorted(
                (Placement(s.start, s.size) for s in slots[: count.value]), key=lambda p: p.start
            )
        )

    def _mig_devices(
        self, about: str, handle: Any, profiles: dict[int, MigProfile]
    ) -> tuple[MigDevice, ...]:
        nvml = self._nvml
        devices = []
        for index in range(
            self._ask(about, "number of MIG devices", nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
            or 0
        ):
            child = self._ask(
                about,
                "MIG devices",
                nvml.nvmlDeviceGetMigDeviceHandleByIndex,
                handle,
                index,
                optional=True,
            )
            if child is None:
                continue
            uuid = self._ask(about, "UUID of a MIG device", nvml.nvmlDeviceGetUUID, child)
            gi = self._ask(
                about, "GPU instance of a MIG device", nvml.nvmlDeviceGetGpuInstanceId, child
            )
            ci = self._ask(
                about,
                "compute instance of a MIG device",
                nvml.nvmlDeviceGetComputeInstanceId,
                child,
            )
            if uuid is None or gi is None or ci is None:
                continue
            instance = self._ask(
                about, "GPU instance", nvml.nvmlDeviceGetGpuInstanceById, handle, gi
            )
            info = (
                None
                if instance is None
                else self._ask(about, "GPU instance", nvml.nvmlGpuInstanceGetInfo, instance)
            )
            if info is None:
                continue
            profile = profiles.get(info.profileId)
            devices.append(
                MigDevice(
                    uuid=uuid,
                    profile=profile.name if profile else None,
                    profile_id=info.profileId,
                    placement=Placement(info.placement.start, info.placement.size),
                    gpu_instance=gi,
                    compute_instance=ci,
                    index=index,
                    compute_slices=self._compute_slices(about, instance, ci),
                )
            )
        return tuple(devices)

    def _compute_slices(self, about: str, instance: Any, number: int) -> int | None:
        """Return the number of slices of a compute instance, from the profile with the same profile
        id.
        """
        nvml = self._nvml
        compute = self._ask(
            about, "compute instance", _compute_instance, nvml, instance, number, optional=True
        )
        if compute is None:
            return None
        for profile in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            ask = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo
            info = self._ask(
                about, "compute instance profiles", ask, instance, profile, 0, 1, optional=True
            )
            if info is not None and info.id == compute.profileId:
                return int(info.sliceCount)
        self._errors.setdefault("profile of a compute instance", set()).add("NOT_FOUND")
        return None

    def _nvlinks(self, about: str, handle: Any) -> tuple[NvLink, ...]:
        nvml = self._nvml
        links = []
        for link in range(_MAX_LINKS):
            state = self._ask(
                about, "NVLink state", nvml.nvmlDeviceGetNvLinkState, handle, link, optional=True
            )
            if state is None:
                # GPUs without NVLink refuse the first link; GPUs with fewer links refuse the first
                # one beyond their last
                break
            remote = bdf = None
            if state:
                far = self._ask(
                    about,
                    "NVLink remote",
                    nvml.nvmlDeviceGetNvLinkRemoteDeviceType,
                    handle,
                    link,
                    optional=True,
                )
                remote = None if far is None else REMOTES.get(far, "other")
                info = self._ask(
                    about,
                    "NVLink remote address",
                    nvml.nvmlDeviceGetNvLinkRemotePciInfo,
                    handle,
                    link,
                    optional=True,
                )
                bdf = None if info is None else _bdf(info.busId)
            links.append(NvLink(link=link, active=bool(state), remote=remote, remote_bdf=bdf))
        return tuple(links)

    def _fabric(self, about: str, handle: Any) -> Fabric | None:
        nvml = self._nvml
        info = nvml.c_nvmlGpuFabricInfo_v3_t()
        ask = nvml.nvmlDeviceGetGpuFabricInfoV
        if self._ask(about, "NVLink fabric", ask, handle, byref(info), optional=True) is None:
            return None
        state = FABRIC_STATES.get(info.state, str(info.state))
        if state != "completed":
            return None if state == "not-supported" else Fabric(state)
        digits = bytes(info.clusterUuid).hex()
        if info.status != nvml.NVML_SUCCESS or not digits.strip("0"):
            # Go-nvlib IsFabricAttached: HGX boards are registered with a cluster UUID of zeros
            return Fabric(state)
        cluster = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return Fabric(state, cluster, int(info.cliqueId))

    def _levels(self, handles: dict[str, Any]) -> list[Link]:
        nvml = self._nvml
        links = []
        for a, b in combinations(handles, 2):
            try:
                answer = self._ask(
                    a,
                    f"distance to {b}",
                    nvml.nvmlDeviceGetTopologyCommonAncestor,
                    handles[a],
                    handles[b],
                )
            except _Lost:
                continue
            if answer in LEVELS:
                links.append(Link(a, b, "pcie", level=LEVELS[answer]))
        return links


def _compute_instance(nvml: Any, instance: Any, number: int) -> Any:
    return nvml.nvmlComputeInstanceGetInfo_v2(
        nvml.nvmlGpuInstanceGetComputeInstanceById(instance, number)
    )


def nvlinks(gpus: list[Gpu]) -> tuple[Link, ...]:
    """Return the number of NVLinks between each two GPUs: the links that end at the other GPU or,
    for two GPUs on switches, the smaller of their numbers of links to switches.
    """
    direct: Counter[frozenset[str]] = Counter()
    to_switch: Counter[str] = Counter()
    for gpu in gpus:
        for link in gpu.nvlinks:
            if not link.active or gpu.bdf is None:
                continue
            if link.remote == "switch":
                to_switch[gpu.bdf] += 1
            elif link.remote == "gpu" and link.remote_bdf and link.remote_bdf > gpu.bdf:
                direct[frozenset((gpu.bdf, link.remote_bdf))] += 1
    links = [Link(min(pair), max(pair), "nvlink", count=count) for pair, count in direct.items()]
    for a, b in combinations(sorted(to_switch), 2):
        links.append(Link(a, b, "nvlink", count=min(to_switch[a], to_switch[b])))
    return tuple(sorted(links, key=lambda x: (x.a, x.b)))


def profile_name(slices: int, memory_mib: int, total_bytes: int) -> str:
    """Return go-nvlib's name of a GPU instance profile (pkg/nvlib/device/mig_profile.go), such as
    ``1g.5gb``; memory is counted in eighths of the GPU's memory.
    """
    eighths = math.ceil((memory_mib << 20) / total_bytes * 8) / 8
    gigabytes = -(-total_bytes // (1 << 30))
    return f"{slices}g.{math.floor(eighths * gigabytes + 0.5)}gb"


def _bdf(bus_id: bytes | str) -> str | None:
    """Return NVML's ``00000000:1A:00.0`` as sysfs writes it, with a domain of four digits unless it
    needs more.
    """
    text = (
        (bus_id.decode("ascii", "replace") if isinstance(bus_id, bytes) else bus_id)
        .strip("\0 ")
        .lower()
    )
    domain, colon, bus_and_function = text.partition(":")
    if not colon:
        return None
    short = f"{domain.lstrip('0'):0>4}:{bus_and_function}"
    return short if BDF.match(short) else None


def _switch_word(mode: bool | None) -> str:
    return "on" if mode else "off"


def _explain_loss(health: str) -> str:
    if health == "lost":
        return (
            "the GPU has fallen off the bus (GPU_IS_LOST); the driver publishes nothing until it is"
            " back: reboot, or check the hardware"
        )
    return "the GPU needs a reset (RESET_REQUIRED): `nvidia-smi --gpu-reset`, or reboot"
