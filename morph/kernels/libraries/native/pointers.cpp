// See pointers.h.
#include "pointers.h"

#include "contexts.h"
#include "machine.h"
#include "memory.h"

#include <cstring>

namespace pointers {
namespace {

enum Attribute {  // CUpointer_attribute
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBuffer = 7,
  kManaged = 8,
  kDevice = 9,
  kShareable = 10,
  kStart = 11,
  kSize = 12,
  kMapped = 13,
};

template <typename Value>
int put(void* answer, Value value) {
  std::memcpy(answer, &value, sizeof value);
  return 0;
}

int put_range(void* answer, int attribute, const void* pointer) {
  const void* start = nullptr;
  size_t bytes = 0;
  if (int code = memory::around(pointer, &start, &bytes)) return code;
  if (attribute == kSize) return put(answer, bytes);
  if (attribute == kBuffer) return put(answer, uint64_t(reinterpret_cast<uintptr_t>(start)));
  return put(answer, start);
}

}  // namespace

int attribute(void* answer, int attribute, const void* pointer) {
  if (!answer || !pointer) return machine::kInvalidValue;
  auto kind = memory::kind(pointer);
  if (kind == memory::kUnregistered) return machine::kInvalidValue;
  int device = kind == memory::kHost ? machine::get_device() : memory::device(pointer);
  switch (attribute) {
    case kContext: return put(answer, contexts::of(device));
    case kMemoryType: return put(answer, unsigned(kind == memory::kHost ? 1 : 2));
    case kDevicePointer: return put(answer, pointer);
    case kHostPointer: return kind == memory::kDevice ? int(machine::kInvalidValue) : put(answer, pointer);
    case kManaged: return put(answer, kind == memory::kManaged);
    case kDevice: return put(answer, device);
    case kShareable: return put(answer, kind != memory::kHost);
    case kMapped: return put(answer, true);
    case kBuffer:
    case kStart:
    case kSize: return put_range(answer, attribute, pointer);
    default: return machine::kNotSupported;
  }
}

// As the driver does, what an attribute cannot say of an address is 0.
int attributes(unsigned count, const int* wanted, void** answers, const void* pointer) {
  if (!wanted || !answers) return machine::kInvalidValue;
  for (unsigned i = 0; i < count; i++) {
    size_t bytes = wanted[i] == kManaged || wanted[i] == kShareable || wanted[i] == kMapped ? 1
                   : wanted[i] == kMemoryType || wanted[i] == kDevice                      ? 4
                                                                                           : 8;
    if (!answers[i]) return machine::kInvalidValue;
    if (attribute(answers[i], wanted[i], pointer)) std::memset(answers[i], 0, bytes);
  }
  return 0;
}

}  // namespace pointers
