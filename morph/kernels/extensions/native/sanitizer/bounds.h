// Whether an access of a kernel lies in an allocation of device memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace morph_cuda::sanitizer {

// During a launch, for one thread of the host: no memory is freed meanwhile.
class Bounds {
 public:
  bool has(uintptr_t address, size_t bytes);  // or they are not the device's
  uintptr_t end_of(uintptr_t address);  // of the allocation of device memory; 0: there is none
  bool is_hosts(uintptr_t address);  // memory that a device cannot use
  static bool is_devices(uintptr_t address) { return locate(address).device >= 0; }
  static std::string problem(uintptr_t address);  // with an access that does not lie in one
  static std::string place(uintptr_t address);    // in an allocation

 private:
  struct Located {  // `from` to `to` is the memory of which the rest holds
    uintptr_t from = 0, to = 0, start = 0, end = 0;
    int64_t device = -1;
    bool is_live = false, is_freed = false;
  };
  static Located locate(uintptr_t address);
  static std::string described(const Located& at, uintptr_t address);
  const Located& located(uintptr_t address, size_t bytes);

  struct Page {
    uintptr_t number = 0;
    bool is_hosts = false;
  };

  std::array<Located, 8> recent_;  // a kernel has few arrays
  std::array<Page, 64> pages_;
  size_t replaced_ = 0;
};

}  // namespace morph_cuda::sanitizer
