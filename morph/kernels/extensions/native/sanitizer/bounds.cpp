// See bounds.h.
#include "bounds.h"

#include "../device.h"
#include "../grid.h"

#include <c10/util/StringUtil.h>

#include <array>

namespace morph_cuda::sanitizer {
namespace {

// Where an address lies: `from` to `to` is the memory of which the same holds.
struct Located {
  uintptr_t from = 0, to = 0, start = 0, end = 0;
  int64_t device = -1;
  bool is_live = false;
};

Located locate(uintptr_t address) {
  static const auto ask = reinterpret_cast<int64_t (*)(const void*, std::array<uintptr_t, 5>&)>(locator());
  std::array<uintptr_t, 5> range{};
  int64_t device = ask(reinterpret_cast<const void*>(address), range);
  return {range[0], range[1], range[2], range[3], device, bool(range[4])};
}

thread_local std::array<Located, 64> recent;

std::string bytes_of(uintptr_t count) { return c10::str(count, count == 1 ? " byte" : " bytes"); }

std::string described(const Located& at, uintptr_t address) {
  bool may_ask = at.is_live && is_launching();  // another thread may be waited for by who holds the interpreter
  std::string line = may_ask ? origin_of(reinterpret_cast<const void*>(at.start)) : "";
  std::string block = c10::str("an allocation of ", bytes_of(at.end - at.start), " on cuda:", at.device, line.empty() ? "" : ", made at ", line);
  if (!at.is_live) return c10::str("in memory of cuda:", at.device, " that nothing has");
  if (address < at.end) return c10::str("over the end of ", block);
  if (address == at.end) return c10::str("just after ", block);
  return c10::str(bytes_of(address - at.end), " after ", block);
}

}  // namespace

std::string problem_of(uintptr_t address, size_t bytes) {
  Located& at = recent[(address >> 9) & 63];
  if (address < at.from || address + bytes > at.to) at = locate(address);
  bool is_fine = at.device < 0 || (at.is_live && address >= at.start && address + bytes <= at.end);
  return is_fine ? "" : described(at, address);
}

void forget_bounds() { recent = {}; }

}  // namespace morph_cuda::sanitizer
