// Device memory that the host cannot use: MORPH_SANITIZE=host. At the addresses that programs know nothing can be read
// or written; the device's operators work on the same pages at other addresses.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace software {

struct Segment;

constexpr std::ptrdiff_t kHidden = std::ptrdiff_t(1) << 44;  // how far an operator's address lies below the program's

// Null: nothing is hidden. The library of collectives gets it from the device's.
inline void* (*usable_address)(void* pointer) = nullptr;
inline bool hides_memory() { return usable_address; }
void hide_memory();  // before the first device is used
void* known_address(void* pointer);

// Of device memory the address for operators, and the one that programs know. Other addresses are returned unchanged.
inline void* usable(const void* pointer) {
  auto* given = const_cast<void*>(pointer);
  return hides_memory() ? usable_address(given) : given;
}
inline void* known(void* pointer) { return hides_memory() ? known_address(pointer) : pointer; }

void map_hidden(Segment& segment, int file);
void unmap_hidden(Segment& segment);
void show(Segment& segment);  // managed memory: the host uses it as the device does

// While kernels and libraries run that use the addresses that programs know.
void begin_device_access();
void end_device_access();
bool device_works();  // between them

class DeviceAccess {
 public:
  DeviceAccess() {
    if (hides_memory()) begin_device_access();
  }
  ~DeviceAccess() {
    if (hides_memory()) end_device_access();
  }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// What the host has used last, when it did.
struct HostAccess {
  const void* address = nullptr;
  int64_t device = -1;
  uintptr_t start = 0, end = 0;  // of the allocation
  bool is_live = false;          // whether it is one
  std::shared_ptr<c10::GatheredContext> taken;
};
const HostAccess& host_access();

// Of a fault. Whether it is device memory, which can be used now. If no device works, the program is told later.
bool open_hidden(const void* address);

// For the libraries that run kernels, by its address.
struct DeviceFunctions {
  void (*begin_access)();
  void (*end_access)();
  bool (*open_page)(const void* address);
  void* (*usable)(const void* pointer);
  void* (*take_managed)(size_t bytes);  // null: none is left
  int32_t (*pin)(const void* pointer, size_t bytes);
  int32_t (*unpin)(const void* pointer);
  void (*note_found)(const char* check, const std::string& text);
  void (*mark_unwritten)(void* start, size_t bytes);
  bool (*is_unwritten)(const void* start, size_t bytes);
  void (*take_lines_from)(const char* (*of_program)());
};
const DeviceFunctions& device_functions();

}  // namespace software
