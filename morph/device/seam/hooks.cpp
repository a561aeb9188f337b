// CUDA's hooks (generators, pinned memory, initialisation), forwarded to the target.
//
// torch has one hooks object for the life of the process, so the object stays and its virtual table is exchanged
// for a copy in which some functions are the target's. All others stay torch's own: the versions do not change.
#include "seam.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>
#include <utility>
#include <vector>

namespace seam {
namespace {

using at::CUDAHooksInterface;
using c10::DeviceIndex;

const at::AcceleratorHooksInterface& vendor() { return at::globalContext().getAcceleratorHooksInterface(target()); }

DeviceIndex numbered(DeviceIndex index) {
  return numbered_by_target(c10::Device(c10::DeviceType::CUDA, index)).index();
}

struct VendorHooks : CUDAHooksInterface {
  // As in a torch built without CUDA: one built with it refuses to have XPU as the accelerator.
  bool isBuilt() const override { return false; }
  bool hasCUDA() const override { return false; }
  void init() const override { at::globalContext().lazyInitDevice(target()); }
  bool hasPrimaryContext(DeviceIndex index) const override { return vendor().hasPrimaryContext(index); }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    initialize_target();
    return vendor().getDefaultGenerator(numbered(index));
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    initialize_target();
    return vendor().getNewGenerator(numbered(index));
  }
  DeviceIndex getCurrentDevice() const override {
    return DeviceIndex(numbered_by_cuda(c10::impl::getDeviceGuardImpl(target())->getDevice()));
  }
  at::Device getDeviceFromPtr(void* data) const override { return vendor().getDeviceFromPtr(data); }
  bool isPinnedPtr(const void* data) const override { return vendor().isPinnedPtr(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return vendor().getPinnedMemoryAllocator(); }
};

// In the Itanium ABI the first function that a class adds comes right after those it inherits.
struct LastFunction : CUDAHooksInterface {
  virtual void last() const {}
};

size_t function_count() {
  void (LastFunction::*member)() const = &LastFunction::last;
  uintptr_t offset = 0;
  std::memcpy(&offset, &member, sizeof(offset));
#if defined(__aarch64__) || defined(__arm__)
  return offset / sizeof(void*);
#else
  return (offset - 1) / sizeof(void*);
#endif
}

using Table = void**;
constexpr size_t before = 2;       // the offset to the top and the type information precede the functions
constexpr size_t destructors = 2;  // come first, and stay those of the object

Table& table_of(const void* object) { return *static_cast<Table*>(const_cast<void*>(object)); }

Table patched_table(Table original, Table plain, Table ours) {
  size_t functions = function_count();
  auto* copy = new std::vector<void*>(original - before, original + functions);  // kept: calls may be under way
  for (size_t slot = destructors; slot < functions; ++slot)
    if (ours[slot] != plain[slot]) (*copy)[before + slot] = ours[slot];
  return copy->data() + before;
}

Table original_table = nullptr;

}  // namespace

void engage_hooks() {
  static const CUDAHooksInterface plain;
  static const VendorHooks vendor_hooks;
  static const CUDAHooksInterface& torchs = at::detail::getCUDAHooks();
  original_table = table_of(&torchs);
  static const Table for_vendor = patched_table(original_table, table_of(&plain), table_of(&vendor_hooks));
  table_of(&torchs) = for_vendor;
}

void disengage_hooks() {
  if (original_table != nullptr) table_of(&at::detail::getCUDAHooks()) = std::exchange(original_table, nullptr);
}

}  // namespace seam
