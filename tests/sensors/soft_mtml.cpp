// A library in the place of Moore Threads' libmtml, with two GPUs, on which the real pymtml runs.
// What it leaves out, pymtml takes for a function that the driver's release lacks.
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 4;
constexpr int kCount = 2;

struct Device {
    unsigned index;
};
Device devices[kCount] = {{0}, {1}};

struct PciInfo {  // c_mtmlPciInfo_t
    char sbdf[32];
    unsigned segment, bus, device, pci_device_id, pci_subsystem_id, bus_width;
    float max_speed, speed;
    unsigned max_width, width, max_generation, generation;
    int reserved[6];
};

struct CodecUse {  // c_mtmlCodecUtil_t
    unsigned use, period, encoder, decoder;
    int reserved[2];
};

int put(char* place, unsigned size, const char* text) {
    std::snprintf(place, size, "%s", text);
    return kSuccess;
}

template <class Number>
int put(Number* place, Number value) {
    *place = value;
    return kSuccess;
}

}  // namespace

extern "C" {

int mtmlLibraryInit(void** library) { return put<void*>(library, devices); }
int mtmlLibraryShutDown(void*) { return kSuccess; }
int mtmlLibraryCountDevice(void*, unsigned* count) { return put<unsigned>(count, kCount); }
int mtmlLibraryInitDeviceByIndex(void*, unsigned index, void** device) { return put<void*>(device, &devices[index]); }
int mtmlLibraryInitSystem(void*, void** system) { return put<void*>(system, devices); }
int mtmlSystemGetDriverVersion(void*, char* text, unsigned size) { return put(text, size, "3.0.1"); }

int mtmlDeviceGetName(Device*, char* text, unsigned size) { return put(text, size, "MTT S4000"); }
int mtmlDeviceGetUUID(Device* device, char* text, unsigned size) {
    return put(text, size, device->index ? "8d1c6b1e-0000-4000-8000-000000000001" : "8d1c6b1e-0000-4000-8000-000000000000");
}
int mtmlDeviceGetSerialNumber(Device*, unsigned size, char* text) { return put(text, size, "S4K0001"); }
int mtmlDeviceGetVbiosVersion(Device*, char* text, unsigned size) { return put(text, size, "3.4.3"); }
int mtmlDeviceGetPciInfo(Device* device, PciInfo* info) {
    std::memset(info, 0, sizeof *info);
    std::snprintf(info->sbdf, sizeof info->sbdf, "0000:%02x:00.0", 0x3a + device->index);
    info->pci_device_id = 0x03271ed5;
    info->max_width = 16;
    info->width = 8;
    info->max_generation = 5;
    info->generation = 4;
    return kSuccess;
}
int mtmlDeviceGetPowerUsage(Device* device, unsigned* power) { return put<unsigned>(power, 95300 + device->index); }
int mtmlDeviceCountFan(Device*, unsigned* count) { return put<unsigned>(count, 0); }
int mtmlDeviceCountGpuCores(Device*, unsigned* count) { return put<unsigned>(count, 8192); }

int mtmlDeviceInitGpu(Device* device, void** part) { return put<void*>(part, device); }
int mtmlDeviceFreeGpu(void*) { return kSuccess; }
int mtmlDeviceInitMemory(Device* device, void** part) { return put<void*>(part, device); }
int mtmlDeviceFreeMemory(void*) { return kSuccess; }
int mtmlDeviceInitVpu(Device* device, void** part) { return put<void*>(part, device); }
int mtmlDeviceFreeVpu(void*) { return kSuccess; }

int mtmlGpuGetUtilization(void*, unsigned* percent) { return put<unsigned>(percent, 73); }
int mtmlGpuGetTemperature(void*, unsigned* degrees) { return put<unsigned>(degrees, 51); }
int mtmlGpuGetClock(void*, unsigned* clock) { return put<unsigned>(clock, 1500); }
int mtmlGpuGetMaxClock(void*, unsigned* clock) { return put<unsigned>(clock, 1750); }
int mtmlMemoryGetTotal(void*, uint64_t* bytes) { return put<uint64_t>(bytes, uint64_t{48} << 30); }
int mtmlMemoryGetUsed(void*, uint64_t* bytes) { return put<uint64_t>(bytes, uint64_t{5} << 30); }
int mtmlMemoryGetUtilization(void*, unsigned* percent) { return put<unsigned>(percent, 10); }
int mtmlMemoryGetEccMode(void*, unsigned* current, unsigned* pending) { return *current = *pending = 1, kSuccess; }
int mtmlMemoryGetClock(void*, unsigned* clock) { return put<unsigned>(clock, 8000); }
int mtmlMemoryGetBusWidth(void*, unsigned* bits) { return put<unsigned>(bits, 384); }
int mtmlVpuGetUtilization(void*, CodecUse* use) {
    *use = {4, 1000, 1, 3, {0, 0}};
    return kSuccess;
}
int mtmlVpuGetClock(void*, unsigned*) { return kNotSupported; }
}
