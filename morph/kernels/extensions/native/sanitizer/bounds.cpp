// See bounds.h.
#include "bounds.h"

#include "../device.h"
#include "../grid.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/util/StringUtil.h>

#include <dlfcn.h>

namespace morph_cuda::sanitizer {
namespace {

constexpr uintptr_t kLive = 1, kFreed = 2;  // location.h of the software device

std::string bytes_of(uintptr_t count) { return c10::str(count, count == 1 ? " byte" : " bytes"); }

// "made at train.py:12". Another thread than the launch's may be waited for by who holds the interpreter.
std::string origin(uintptr_t allocation) {
  std::string lines = is_launching() ? lines_of(reinterpret_cast<const void*>(allocation)) : "";
  return lines.empty() ? "" : ", " + lines;
}

}  // namespace

Bounds::Located Bounds::locate(uintptr_t address) {
  static const auto ask = reinterpret_cast<int64_t (*)(const void*, std::array<uintptr_t, 5>&)>(address_of("locator"));
  std::array<uintptr_t, 5> range{};
  int64_t device = ask(reinterpret_cast<const void*>(address), range);
  return {range[0], range[1], range[2], range[3], device, range[4] == kLive, range[4] == kFreed};
}

const Bounds::Located& Bounds::located(uintptr_t address, size_t bytes) {
  for (const Located& each : recent_)
    if (address >= each.from && address + bytes <= each.to) return each;
  return recent_[replaced_++ % recent_.size()] = locate(address);
}

bool Bounds::has(uintptr_t address, size_t bytes) {
  const Located& at = located(address, bytes);
  return at.device < 0 || (at.is_live && address >= at.start && address + bytes <= at.end);
}

uintptr_t Bounds::end_of(uintptr_t address) {
  const Located& at = located(address, 1);
  return at.device >= 0 && at.is_live ? at.end : 0;
}

// Pinned memory has pages of its own meanwhile. The variables of a program and its libraries are the device's too.
bool Bounds::is_hosts(uintptr_t address) {
  constexpr uintptr_t kPage = 4096;
  Page& page = pages_[address / kPage % pages_.size()];
  if (page.number == address / kPage && !page.is_hosts) return false;  // memory of the host may share a pinned page
  const void* pointer = reinterpret_cast<const void*>(address);
  Dl_info variable;
  bool is_devices = located(address, 1).device >= 0 || at::detail::getCUDAHooks().isPinnedPtr(pointer);
  page = {address / kPage, !is_devices && !dladdr(pointer, &variable)};
  return page.is_hosts;
}

std::string Bounds::described(const Located& at, uintptr_t address) {
  if (!at.is_live && !at.is_freed) return c10::str("in memory of cuda:", at.device, " that nothing has");
  std::string size = bytes_of(at.end - at.start);
  std::string block = c10::str("an allocation of ", size, " on cuda:", at.device, origin(at.start));
  if (at.is_freed) return "in what was " + block;
  if (address < at.end) return c10::str("over the end of ", block);
  if (address == at.end) return c10::str("just after ", block);
  return c10::str(bytes_of(address - at.end), " after ", block);
}

std::string Bounds::place(uintptr_t address) {
  Located at = locate(address);
  return c10::str(bytes_of(address - at.start), " into an allocation of ", bytes_of(at.end - at.start), " on cuda:",
                  at.device, origin(at.start));
}

std::string Bounds::problem(uintptr_t address) { return described(locate(address), address); }

}  // namespace morph_cuda::sanitizer
