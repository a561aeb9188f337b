// CUDA's hooks (generators, pinned memory, initialisation) answered by the target.
//
// torch hands out one hooks object for the life of the process, so the object stays and its virtual table is exchanged
// for a copy in which the target answers some functions. What is not asked of the target keeps torch's own answer:
// hasCUDA() and the versions stay what they are.
#include "seam.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <cstring>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace seam {
namespace {

using at::CUDAHooksInterface;
using c10::DeviceIndex;

const at::AcceleratorHooksInterface& vendor() { return at::globalContext().getAcceleratorHooksInterface(target()); }

struct VendorHooks : CUDAHooksInterface {
  void init() const override { at::globalContext().lazyInitDevice(target()); }
  bool hasPrimaryContext(DeviceIndex index) const override { return vendor().hasPrimaryContext(index); }
  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    initialize_target();
    return vendor().getDefaultGenerator(index);
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    initialize_target();
    return vendor().getNewGenerator(index);
  }
  at::Device getDeviceFromPtr(void* data) const override { return vendor().getDeviceFromPtr(data); }
  bool isPinnedPtr(const void* data) const override { return vendor().isPinnedPtr(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return vendor().getPinnedMemoryAllocator(); }
};

// Host memory that remembers having been asked for as pinned.
struct PinnedAllocator final : at::Allocator {
  std::mutex mutex;
  std::unordered_set<const void*> pinned;

  static PinnedAllocator& instance() {
    static auto* allocator = new PinnedAllocator;
    return *allocator;
  }
  static void release(void* context) {
    auto* memory = static_cast<at::DataPtr*>(context);
    std::lock_guard<std::mutex> lock(instance().mutex);
    instance().pinned.erase(memory->get());
    delete memory;
  }
  at::DataPtr allocate(size_t bytes) override {
    auto* memory = new at::DataPtr(c10::GetAllocator(c10::DeviceType::CPU)->allocate(bytes));
    std::lock_guard<std::mutex> lock(mutex);
    pinned.insert(memory->get());
    return {memory->get(), memory, &release, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }
  bool contains(const void* data) {
    std::lock_guard<std::mutex> lock(mutex);
    return pinned.count(data) != 0;
  }
};

// The CPU as CUDA's device: torch's accelerator is then CUDA, which is the CPU.
struct HostHooks : CUDAHooksInterface {
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return false; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(DeviceIndex index) const override { translate({c10::DeviceType::CUDA, index}); }
  DeviceIndex exchangeDevice(DeviceIndex index) const override { return setCurrentDevice(index), 0; }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override { return exchangeDevice(index); }
  const at::Generator& getDefaultGenerator(DeviceIndex) const override { return at::detail::getDefaultCPUGenerator(); }
  at::Generator getNewGenerator(DeviceIndex) const override { return at::detail::createCPUGenerator(); }
  at::Device getDeviceFromPtr(void*) const override { return c10::DeviceType::CPU; }
  bool isPinnedPtr(const void* data) const override { return PinnedAllocator::instance().contains(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &PinnedAllocator::instance(); }
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
  static const HostHooks host_hooks;
  static const CUDAHooksInterface& torchs = at::detail::getCUDAHooks();
  original_table = table_of(&torchs);
  static const Table for_vendor = patched_table(original_table, table_of(&plain), table_of(&vendor_hooks));
  static const Table for_host = patched_table(original_table, table_of(&plain), table_of(&host_hooks));
  table_of(&torchs) = on_host() ? for_host : for_vendor;
}

void disengage_hooks() {
  if (original_table != nullptr) table_of(&at::detail::getCUDAHooks()) = std::exchange(original_table, nullptr);
}

}  // namespace seam
