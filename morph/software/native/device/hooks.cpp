// Generators, and the hooks by which torch gets them, the device's memory and the current device.
#include "device/captures.h"
#include "device/clock.h"
#include "memory/hidden.h"
#include "memory/pinned.h"

#include <ATen/Context.h>
#include <ATen/Utils.h>
#include <ATen/core/Generator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

namespace software {
namespace {

using c10::DeviceIndex;

// Seed and offset, as on a GPU; in sixteen bytes they are the state. Generators may share one.
struct State {
  uint64_t seed = c10::default_rng_seed_val, offset = 0;
};

struct Generator final : c10::GeneratorImpl {
  explicit Generator(DeviceIndex index, std::shared_ptr<State> state = std::make_shared<State>())
      : GeneratorImpl(software::device(index), c10::DispatchKeySet(backend_key())), state_(std::move(state)) {}

  void set_current_seed(uint64_t seed) override {
    if (!is_captured()) *state_ = {seed, 0};
    else TORCH_CHECK(seed == state_->seed, torchs_name(), "GeneratorImpl::set_current_seed can be called during stream capture "
                     "only if new seed is the same as the original seed.");
  }
  void set_offset(uint64_t offset) override {
    refuse_captured("set_offset");
    TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
    state_->offset = offset;
  }
  uint64_t get_offset() const override {
    refuse_captured("get_offset");
    return state_->offset;
  }
  uint64_t current_seed() const override { return state_->seed; }
  uint64_t seed() override {
    refuse_captured("seed");
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state_->seed;
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor state = at::detail::empty_cpu({sizeof(State)}, at::kByte);
    std::memcpy(state.mutable_data_ptr(), state_.get(), sizeof(State));
    return state.getIntrusivePtr();
  }
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    size_t size = size_t(state.numel());  // an older state is the seed alone
    TORCH_CHECK(size == sizeof(State) || size == sizeof(uint64_t), "RNG state is wrong size");
    State given;
    std::memcpy(&given, state.data(), size);
    set_current_seed(given.seed);
    state_->offset = given.offset;
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override {
    auto* mine = dynamic_cast<Generator*>(other.get());
    TORCH_CHECK(mine, "Expected a ", settings().title, " Generator");
    state_ = mine->state_;
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<Generator>(device().index(), state_);
  }
  size_t state() const { return size_t(state_.get()); }
  Generator* clone_impl() const override {
    return new Generator(device().index(), std::make_shared<State>(*state_));
  }

 private:
  static std::string torchs_name() { return settings().type == c10::DeviceType::CUDA ? "CUDA" : settings().title; }
  // A capture takes operators with a mode that is not active within one, where it draws as ever.
  bool is_captured() const {
    return c10::impl::TorchDispatchModeTLS::any_modes_set() && is_capturing(current_stream(software::current_device()));
  }
  void refuse_captured(const char* function) const {
    const char* status = " Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive";
    TORCH_CHECK(!is_captured(), "Cannot call ", torchs_name(), "GeneratorImpl::", function, " during ", torchs_name(),
                " graph capture. If you need this call to be captured, please file an issue.",
                settings().type == c10::DeviceType::CUDA ? status : "");
  }

  std::shared_ptr<State> state_;
};

std::vector<at::Generator> fresh_generators() {
  std::vector<at::Generator> all;
  for (DeviceIndex i = 0; i < settings().count; i++) {
    all.push_back(at::make_generator<Generator>(i));
    all.back().seed();
  }
  return all;
}

// The hooks that torch calls for every device type.
template <typename Interface>
struct Hooks : Interface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return settings().count > 0; }
  bool hasPrimaryContext(DeviceIndex index) const override { return has_context(index); }
  void init() const override {}

  DeviceIndex deviceCount() const override { return settings().count; }
  void setCurrentDevice(DeviceIndex index) const override { set_current_device(index); }
  DeviceIndex getCurrentDevice() const override { return current_device(); }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    DeviceIndex previous = current_device();
    set_current_device(index);
    return previous;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override { return exchangeDevice(index); }

  const at::Generator& getDefaultGenerator(DeviceIndex index) const override {
    static std::vector<at::Generator>& all = *new std::vector<at::Generator>(fresh_generators());
    return all.at(size_t(checked(index)));
  }
  at::Generator getNewGenerator(DeviceIndex index) const override {
    return at::make_generator<Generator>(index);  // as CUDA's: of every device without an index, or of none
  }

  at::Device getDeviceFromPtr(void* pointer) const override {
    DeviceIndex owner = owner_of(pointer);
    bool is_mapped = settings().type == c10::DeviceType::CUDA && is_pinned(pointer);  // every device sees it
    if (owner < 0 && is_mapped) owner = current_device();
    TORCH_CHECK(owner >= 0, "The specified pointer resides on host memory and is not registered with any ",
                settings().title, " device.");
    return device(owner);
  }
  bool isPinnedPtr(const void* pointer) const override { return is_pinned(pointer); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
};

struct PrivateUse1Hooks final : Hooks<at::PrivateUse1HooksInterface> {
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

struct XPUHooks final : Hooks<at::XPUHooksInterface> {
  bool hasXPU() const override { return true; }
  std::string showConfig() const override { return "the software device"; }
  int32_t getGlobalIdxFromDevice(const c10::Device& which) const override { return which.index(); }
  DeviceIndex getNumGPUs() const override { return settings().count; }
  DeviceIndex current_device() const override { return software::current_device(); }
  void deviceSynchronize(DeviceIndex index) const override { wait_for_device(checked(index)); }
};

struct CUDAHooks final : Hooks<at::CUDAHooksInterface> {
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool hasROCM() const override { return settings().title == "HIP"; }
  std::string showConfig() const override { return "the software device"; }
  bool hasCuSOLVER() const override { return !hasROCM(); }  // a program may say that it prefers it
  bool hasCuBLASLt() const override { return true; }
  int getNumGPUs() const override { return settings().count; }
  DeviceIndex current_device() const override { return software::current_device(); }
  void deviceSynchronize(DeviceIndex index) const override { wait_for_device(checked(index)); }
  c10::Allocator* getCUDADeviceAllocator() const override { return allocator(); }
  int64_t cuFFTGetPlanCacheMaxSize(DeviceIndex index) const override { return plans().at(size_t(checked(index))); }
  void cuFFTSetPlanCacheMaxSize(DeviceIndex index, int64_t size) const override {
    TORCH_CHECK(size >= 0, "cuFFT plan cache size must be non-negative, but got ", size);
    plans().at(size_t(checked(index))) = size;
  }
  int64_t cuFFTGetPlanCacheSize(DeviceIndex) const override { return 0; }  // no plan is made
  void cuFFTClearPlanCache(DeviceIndex) const override {}

 private:
  static std::vector<int64_t>& plans() {
    static auto& all = *new std::vector<int64_t>(size_t(settings().count), 4096);
    return all;
  }
};

// torch creates each object at its first use, before this library is loaded, and keeps it. It has only a virtual
// table, which is replaced while the device is engaged.
struct VirtualTable {
  void* object;
  void* torchs;
  void* ours;

  void put(void* table) const { std::memcpy(object, &table, sizeof table); }
};
std::vector<VirtualTable> exchanged;

template <typename Ours, typename Interface>
void exchange(const Interface& torchs) {
  static_assert(sizeof(Ours) == sizeof(void*) && sizeof(Interface) == sizeof(void*));
  static const Ours ours;
  VirtualTable& added = exchanged.emplace_back();
  added.object = const_cast<Interface*>(&torchs);
  std::memcpy(&added.torchs, &torchs, sizeof(void*));
  std::memcpy(&added.ours, &ours, sizeof(void*));
}

}  // namespace

void resize_storage(const c10::Storage& storage, size_t bytes) {
  OnDevice on(storage.device().index());
  c10::DataPtr fresh = allocator()->allocate(bytes);
  size_t kept = storage.data() ? std::min(bytes, storage.nbytes()) : 0;
  if (kept) std::memcpy(usable(fresh.get()), usable(storage.data()), kept);
  storage.set_data_ptr_noswap(std::move(fresh));
  storage.set_nbytes(bytes);
}

size_t generator_state(const at::Generator& generator) {
  auto* ours = dynamic_cast<Generator*>(generator.unsafeGetGeneratorImpl());
  return ours ? ours->state() : 0;
}

void install_hooks() {
  switch (settings().type) {
    case c10::DeviceType::XPU:
      exchange<XPUHooks>(at::detail::getXPUHooks());
      // as in a torch built for Intel: one that is built for CUDA refuses to have both
      exchange<at::CUDAHooksInterface>(at::detail::getCUDAHooks());
      break;
    case c10::DeviceType::CUDA: exchange<CUDAHooks>(at::detail::getCUDAHooks()); break;
    default: at::RegisterPrivateUse1HooksInterface(new PrivateUse1Hooks);
  }
  engage_hooks();
}

void engage_hooks() {
  for (const VirtualTable& each : exchanged) each.put(each.ours);
}
void disengage_hooks() {
  for (const VirtualTable& each : exchanged) each.put(each.torchs);
}

}  // namespace software
