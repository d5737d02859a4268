/* A libnvidia-ml.so.1 for tests: the ABI that pynvml calls, the answers that the environment asks for.
 *
 *   FAKE_NVML_BUS_IDS       comma-separated PCI addresses of the GPUs, in NVML's order (default: none)
 *   FAKE_NVML_INIT          the nvmlReturn_t of nvmlInitWithFlags (9 driver not loaded, 18 version mismatch, 4 no permission)
 *   FAKE_NVML_LOST          index of a GPU whose handle cannot be had (GPU_IS_LOST)
 *   FAKE_NVML_LOST_LATE     index of a GPU that is lost when its memory is asked for
 *   FAKE_NVML_REFUSE        name of a function that answers FAKE_NVML_REFUSE_WITH (default 3, NOT_SUPPORTED)
 *   FAKE_NVML_MIG           GPU 0's MIG: "off", "on" (two devices), "empty" (on, no device), "pending" (off, on after a reset)
 *   FAKE_NVML_LINKS         NVLinks of each GPU: "switch" or "switch36" (18 or 36 to switches), "mesh" (2 to the next GPU)
 *
 * Compiled with -DOLD_DRIVER it lacks what NVIDIA drivers before R525 lack. Return codes, structures: nvml.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Return;
enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, LOST = 15 };
#define MAX_GPUS 16
#define MIB (1ULL << 20)
#define TOTAL (81559 * MIB)

typedef struct { int index; char bus[32]; } Gpu;
typedef struct { int gpu, instance; } Instance; /* a GPU instance, and the MIG device in it */
static Gpu gpus[MAX_GPUS];
static Instance instances[2] = {{0, 0}, {0, 1}};
static int count;

static const struct { unsigned index, id, slices, sm, ce, dec, jpeg, ofa; unsigned long long mib; int starts[8]; unsigned size; } profiles[] = {
    {0, 19, 1, 16, 1, 1, 1, 0, 9984, {0, 1, 2, 3, 4, 5, 6, -1}, 1},
    {1, 14, 2, 32, 2, 2, 2, 0, 20096, {0, 2, 4, -1}, 2},
    {2, 9, 3, 60, 3, 3, 3, 0, 40448, {0, 4, -1}, 4},
    {3, 5, 4, 64, 4, 4, 4, 0, 40448, {0, -1}, 4},
    {4, 0, 7, 132, 8, 7, 7, 1, 81152, {0, -1}, 8},
    {7, 20, 1, 16, 1, 1, 1, 1, 9984, {0, 1, 2, 3, 4, 5, 6, -1}, 1},
    {9, 15, 1, 26, 1, 1, 1, 0, 20096, {0, 2, 4, 6, -1}, 2},
};
#define PROFILES (sizeof profiles / sizeof *profiles)

static int number(const char *name, int fallback) {
    const char *text = getenv(name);
    return text ? atoi(text) : fallback;
}

static int is(const char *name, const char *value) {
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
}

static Return refused(const char *function) {
    return is("FAKE_NVML_REFUSE", function) ? number("FAKE_NVML_REFUSE_WITH", NOT_SUPPORTED) : OK;
}
#define GUARD() do { Return r = refused(__func__); if (r) return r; } while (0)

Return nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    Return error = number("FAKE_NVML_INIT", OK);
    if (error) return error;
    char *text = strdup(getenv("FAKE_NVML_BUS_IDS") ? getenv("FAKE_NVML_BUS_IDS") : "");
    count = 0;
    for (char *id = strtok(text, ","); id && count < MAX_GPUS; id = strtok(NULL, ",")) {
        gpus[count].index = count;
        snprintf(gpus[count++].bus, sizeof gpus[0].bus, "%s", id);
    }
    free(text);
    return OK;
}
Return nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
Return nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(Return code) {
    switch (code) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}
Return nvmlSystemGetDriverVersion(char *out, unsigned length) { GUARD(); snprintf(out, length, "580.65.06"); return OK; }
Return nvmlSystemGetNVMLVersion(char *out, unsigned length) { GUARD(); snprintf(out, length, "13.580.65.06"); return OK; }
Return nvmlSystemGetCudaDriverVersion(int *out) { GUARD(); *out = 13000; return OK; }

Return nvmlDeviceGetCount_v2(unsigned *out) { GUARD(); *out = count; return OK; }
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    GUARD();
    if (index >= (unsigned)count) return INVALID;
    if ((int)index == number("FAKE_NVML_LOST", -1)) return LOST;
    *out = &gpus[index];
    return OK;
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char busId[32]; } PciInfo;
Return nvmlDeviceGetPciInfo_v3(Gpu *gpu, PciInfo *out) {
    GUARD();
    unsigned domain, bus, device;
    if (sscanf(gpu->bus, "%x:%x:%x", &domain, &bus, &device) != 3) return INVALID;
    memset(out, 0, sizeof *out);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", domain, bus, device);
    out->domain = domain, out->bus = bus, out->device = device, out->id = 0x233010de;
    return OK;
}
Return nvmlDeviceGetName(Gpu *gpu, char *out, unsigned length) { (void)gpu; GUARD(); snprintf(out, length, "NVIDIA H100 80GB HBM3"); return OK; }
Return nvmlDeviceGetUUID(void *device, char *out, unsigned length) {
    GUARD();
    for (int i = 0; i < 2; i++)
        if (device == &instances[i]) { snprintf(out, length, "MIG-00000000-0000-0000-0000-00000000000%d", i); return OK; }
    snprintf(out, length, "GPU-00000000-0000-0000-0000-0000000000%02d", ((Gpu *)device)->index);
    return OK;
}
/* The kernel numbers device files in another order than NVML its indices. */
Return nvmlDeviceGetMinorNumber(Gpu *gpu, unsigned *out) { GUARD(); *out = count - 1 - gpu->index; return OK; }
Return nvmlDeviceGetBrand(Gpu *gpu, unsigned *out) { (void)gpu; GUARD(); *out = number("FAKE_NVML_BRAND", 14); return OK; }
Return nvmlDeviceGetArchitecture(Gpu *gpu, unsigned *out) { (void)gpu; GUARD(); *out = number("FAKE_NVML_ARCHITECTURE", 9); return OK; }
Return nvmlDeviceGetCudaComputeCapability(Gpu *gpu, int *major, int *minor) { (void)gpu; GUARD(); *major = 9, *minor = 0; return OK; }
typedef struct { unsigned long long total, free, used; } Memory;
Return nvmlDeviceGetMemoryInfo(Gpu *gpu, Memory *out) {
    GUARD();
    if (gpu->index == number("FAKE_NVML_LOST_LATE", -1)) return LOST;
    out->total = TOTAL, out->free = TOTAL, out->used = 0;
    return OK;
}
Return nvmlDeviceGetEccMode(Gpu *gpu, unsigned *current, unsigned *pending) { (void)gpu; GUARD(); *current = *pending = 1; return OK; }
Return nvmlDeviceGetModuleId(Gpu *gpu, unsigned *out) { GUARD(); *out = gpu->index + 1; return OK; }
Return nvmlDeviceGetTopologyCommonAncestor(Gpu *a, Gpu *b, unsigned *out) {
    GUARD();
    *out = a->index / 2 == b->index / 2 ? 10 : 50; /* SYS also within a NUMA node, as some hosts say */
    return OK;
}

#ifndef OLD_DRIVER
typedef struct { unsigned version, value; } AddressingMode;
Return nvmlDeviceGetAddressingMode(Gpu *gpu, AddressingMode *out) { (void)gpu; GUARD(); out->value = 1; return OK; }
Return nvmlDeviceGetVirtualizationMode(Gpu *gpu, unsigned *out) {
    (void)gpu;
    GUARD();
    *out = number("FAKE_NVML_VIRTUALIZATION", 0);
    return OK;
}
Return nvmlDeviceGetNumaNodeId(Gpu *gpu, unsigned *out) {
    (void)gpu;
    GUARD();
    if (!getenv("FAKE_NVML_MEMORY_NODE")) return NOT_SUPPORTED;
    *out = number("FAKE_NVML_MEMORY_NODE", 0);
    return OK;
}
typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique, state, mask; unsigned char summary; } Fabric;
Return nvmlDeviceGetGpuFabricInfoV(Gpu *gpu, Fabric *out) {
    (void)gpu;
    GUARD();
    if (!is("FAKE_NVML_LINKS", "switch")) return NOT_SUPPORTED;
    for (int i = 0; i < 16; i++) out->cluster[i] = 0xa0 + i;
    out->status = 0, out->clique = 7, out->state = 3;
    return OK;
}
#endif

/* NVLink */
static unsigned switch_links(void) {
    return is("FAKE_NVML_LINKS", "switch") ? 18 : is("FAKE_NVML_LINKS", "switch36") ? 36 : 0;
}
Return nvmlDeviceGetNvLinkState(Gpu *gpu, unsigned link, unsigned *out) {
    (void)gpu;
    GUARD();
    unsigned links = is("FAKE_NVML_LINKS", "mesh") ? 4 : switch_links();
    if (link >= links) return links ? INVALID : NOT_SUPPORTED;
    *out = 1;
    return OK;
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Gpu *gpu, unsigned link, unsigned *out) {
    (void)gpu, (void)link;
    GUARD();
    *out = switch_links() ? 2 : 0;
    return OK;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu *gpu, unsigned link, PciInfo *out) {
    GUARD();
    if (switch_links()) return NOT_SUPPORTED;
    int other = (link < 2 ? gpu->index + 1 : gpu->index + count - 1) % count; /* two to the next, two to the one before */
    return nvmlDeviceGetPciInfo_v3(&gpus[other], out);
}

/* MIG */
Return nvmlDeviceGetMigMode(Gpu *gpu, unsigned *current, unsigned *pending) {
    GUARD();
    if (!getenv("FAKE_NVML_MIG")) return NOT_SUPPORTED;
    int on = gpu->index == 0 && (is("FAKE_NVML_MIG", "on") || is("FAKE_NVML_MIG", "empty"));
    *current = on, *pending = on || (gpu->index == 0 && is("FAKE_NVML_MIG", "pending"));
    return OK;
}
typedef struct {
    unsigned version, id, p2p, slices, instances, sm, ce, dec, enc, jpeg, ofa;
    unsigned long long mib;
    char name[96];
} ProfileInfo;
Return nvmlDeviceGetGpuInstanceProfileInfoV(Gpu *gpu, unsigned index, ProfileInfo *out) {
    (void)gpu;
    GUARD();
    for (unsigned i = 0; i < PROFILES; i++)
        if (profiles[i].index == index) {
            out->id = profiles[i].id, out->slices = profiles[i].slices, out->sm = profiles[i].sm, out->ce = profiles[i].ce;
            out->dec = profiles[i].dec, out->enc = 0, out->jpeg = profiles[i].jpeg, out->ofa = profiles[i].ofa, out->mib = profiles[i].mib;
            out->name[0] = 0;
            return OK;
        }
    return NOT_SUPPORTED;
}
typedef struct { unsigned start, size; } Placement;
Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(Gpu *gpu, unsigned id, Placement *out, unsigned *n) {
    (void)gpu;
    GUARD();
    for (unsigned i = 0; i < PROFILES; i++)
        if (profiles[i].id == id) {
            unsigned found = 0;
            for (const int *start = profiles[i].starts; *start >= 0; start++, found++)
                if (out) out[found].start = *start, out[found].size = profiles[i].size;
            *n = found;
            return OK;
        }
    return INVALID;
}
Return nvmlDeviceGetMaxMigDeviceCount(Gpu *gpu, unsigned *out) { (void)gpu; GUARD(); *out = 7; return OK; }
Return nvmlDeviceGetMigDeviceHandleByIndex(Gpu *gpu, unsigned index, void **out) {
    (void)gpu;
    GUARD();
    if (!is("FAKE_NVML_MIG", "on") || index >= 2) return NOT_FOUND;
    *out = &instances[index];
    return OK;
}
Return nvmlDeviceGetGpuInstanceId(Instance *device, unsigned *out) { GUARD(); *out = device->instance + 1; return OK; }
Return nvmlDeviceGetComputeInstanceId(Instance *device, unsigned *out) { (void)device; GUARD(); *out = 0; return OK; }
Return nvmlDeviceGetGpuInstanceById(Gpu *gpu, unsigned id, void **out) { (void)gpu; GUARD(); *out = &instances[id - 1]; return OK; }
typedef struct { void *device; unsigned id, profile; Placement placement; } InstanceInfo;
Return nvmlGpuInstanceGetInfo(Instance *instance, InstanceInfo *out) {
    GUARD();
    out->device = &gpus[0], out->id = instance->instance + 1;
    if (instance->instance == 0) out->profile = 9, out->placement = (Placement){0, 4};
    else out->profile = 19, out->placement = (Placement){4, 1};
    return OK;
}
/* The compute instance of a GPU instance has all slices of it: profile 2 has three, profile 0 one. */
Return nvmlGpuInstanceGetComputeInstanceById(Instance *instance, unsigned id, void **out) {
    GUARD();
    if (id) return NOT_FOUND;
    *out = instance;
    return OK;
}
typedef struct { void *device, *instance; unsigned id, profile; Placement placement; } ComputeInfo;
Return nvmlComputeInstanceGetInfo_v2(Instance *compute, ComputeInfo *out) {
    GUARD();
    out->device = &gpus[0], out->instance = compute, out->id = 0;
    out->profile = compute->instance == 0 ? 2 : 0, out->placement = (Placement){0, compute->instance == 0 ? 3 : 1};
    return OK;
}
typedef struct { unsigned id, slices, instances, sm, ce, dec, enc, jpeg, ofa; } ComputeProfileInfo;
Return nvmlGpuInstanceGetComputeInstanceProfileInfo(Instance *instance, unsigned profile, unsigned engines, ComputeProfileInfo *out) {
    (void)instance, (void)engines;
    GUARD();
    if (profile > 2) return NOT_SUPPORTED;
    *out = (ComputeProfileInfo){.id = profile, .slices = profile + 1, .instances = 1};
    return OK;
}
