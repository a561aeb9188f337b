// One boxed kernel for every operator: it looks at the device's tensors as CPU tensors on the same memory and calls
// the CPU's kernel, so inputs are never copied, and a new result is copied once.
#include "device.h"
#include "host_view.h"
#include "sparse.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <unordered_set>

namespace software {
namespace {

using at::Tensor;
using c10::IValue;

// Operators that take tensors of the host beside the device's, on real devices too: indices and lengths.
const std::unordered_set<std::string>& host_arguments() {
  static const std::unordered_set<std::string> names{
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
      "aten::_unsafe_index_put", "aten::_pad_packed_sequence", "aten::_pack_padded_sequence",
      "aten::_pack_padded_sequence_backward", "aten::_ctc_loss", "aten::_ctc_loss_backward",
      "aten::_copy_from_and_resize", "aten::segment_reduce", "aten::_segment_reduce_backward"};
  return names;
}

bool on_device(const Tensor& tensor) { return tensor.defined() && tensor.device().type() == settings().type; }

void copy_bytes(const Tensor& target, const Tensor& source) {  // of the same sizes and strides
  if (source.numel() == 0) return;
  int64_t last = 0;
  for (int64_t i = 0; i < source.dim(); i++) last += (source.size(i) - 1) * source.stride(i);
  std::memcpy(target.mutable_data_ptr(), source.const_data_ptr(), size_t(last + 1) * source.element_size());
}

// The tensors of one call, seen from both sides.
class Call {
 public:
  explicit Call(const c10::OperatorHandle& op) : op_(op) {}

  Tensor to_host(const Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    if (!on_device(tensor)) {
      refuse_unless_scalar(tensor, written);
      return tensor;
    }
    for (auto& pair : tensors_)
      if (pair.device.is_same(tensor)) return pair.host;
    sparse_ |= tensor.layout() != c10::kStrided;
    Tensor host = tensor.layout() == c10::kStrided ? host_view(tensor, host_storage(tensor)) : sparse_host_view(tensor);
    tensors_.push_back({tensor, host, written});
    return host;
  }

  void choose(c10::Device wanted) {
    if (device_.index() >= 0 && device_ != wanted && !host_arguments().count(op_.schema().name())) mixed(wanted);
    device_ = wanted;
  }
  c10::Device device() const { return device_.index() >= 0 ? device_ : software::device(current_device()); }

  Tensor to_device(const Tensor& host) {
    if (!host.defined() || host.device().type() != c10::kCPU) return host;
    for (auto& pair : tensors_)
      if (pair.host.is_same(host)) return pair.device;
    if (host.layout() != c10::kStrided) return sparse_to_device(host, device());
    for (auto& [storage, owner] : storages_)
      if (storage.is_alias_of(host.storage()))
        return at::as_strided(owner, host.sizes(), host.strides(), host.storage_offset());
    return software::to_device(host, device());
  }

  void run(torch::jit::Stack* stack) const {
    if (sparse_) op_.callBoxed(stack);  // one of the CPU's sparse keys
    else op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }

  // The CPU's kernel may have resized an out= argument.
  void write_back() {
    for (auto& [mine, host, written] : tensors_) {
      if (mine.layout() != c10::kStrided) {
        if (written) write_back_sparse(mine, host);
        continue;
      }
      bool moved = host.storage().data_ptr().get() != mine.storage().data_ptr().get();
      if (!moved && host.sizes() == mine.sizes() && host.strides() == mine.strides()) continue;
      if (host.sizes() != mine.sizes()) mine.resize_(host.sizes());
      mine.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
      if (moved) copy_bytes(mine, host);
    }
  }

 private:
  struct Pair {
    Tensor device, host;
    bool written;
  };

  c10::Storage host_storage(const Tensor& tensor) {
    for (auto& [storage, owner] : storages_)
      if (owner.storage().is_alias_of(tensor.storage())) return storage;
    storages_.emplace_back(host_view(tensor.storage()), tensor);
    return storages_.back().first;
  }

  void refuse_unless_scalar(const Tensor& tensor, bool written) {
    if (tensor.device().type() != c10::kCPU || (tensor.dim() == 0 && !written)) return;
    if (!host_arguments().count(op_.schema().name())) mixed(tensor.device());
  }

  [[noreturn]] void mixed(c10::Device other) {
    C10_THROW_ERROR(Error, c10::str("Expected all tensors to be on the same device, but found at least two devices, ",
                                    device(), " and ", other, "! (when calling ", op_.schema().name(), ")"));
  }

  const c10::OperatorHandle& op_;
  bool sparse_ = false;
  c10::Device device_{settings().type, -1};
  std::vector<Pair> tensors_;
  std::vector<std::pair<c10::Storage, Tensor>> storages_;  // a CPU view of a storage, a device tensor on it
};

// Random operators draw from the CPU's generator, seeded from the device generator, whose offset then moves on.
class Seeded {
 public:
  Seeded(const std::optional<at::Generator>& wanted, c10::Device device) {
    at::Generator mine = wanted && wanted->defined() ? *wanted : at::globalContext().defaultGenerator(device);
    TORCH_CHECK(mine.device().type() == settings().type, "Expected a '", c10::DeviceTypeName(settings().type, true),
                "' device type for generator but found '", c10::DeviceTypeName(mine.device().type(), true), "'");
    uint64_t seed = next_seed(mine);
    std::lock_guard<std::mutex> lock(host_.mutex());
    saved_ = host_.unsafeGetGeneratorImpl()->get_state();
    host_.set_current_seed(seed);
  }
  ~Seeded() {
    std::lock_guard<std::mutex> lock(host_.mutex());
    host_.unsafeGetGeneratorImpl()->set_state(*saved_);
  }

 private:
  static uint64_t next_seed(at::Generator& generator) {
    std::lock_guard<std::mutex> lock(generator.mutex());
    uint64_t offset = generator.get_offset();
    generator.set_offset(offset + 4);  // a GPU's random kernels move it by multiples of four
    return generator.current_seed() * 0x9E3779B97F4A7C15ull + offset;
  }

  at::Generator host_ = at::detail::getDefaultCPUGenerator();
  c10::intrusive_ptr<c10::TensorImpl> saved_;
};

template <typename Function>
IValue each_tensor(const IValue& value, Function function) {
  if (value.isTensor()) return function(value.toTensor());
  if (value.isTensorList()) {
    c10::List<Tensor> list;
    for (const Tensor& tensor : value.toTensorList()) list.push_back(function(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> list;
    for (std::optional<Tensor> tensor : value.toOptionalTensorList())
      list.push_back(tensor ? std::optional<Tensor>(function(*tensor)) : std::nullopt);
    return list;
  }
  return value;
}

void choose_device(Call& call, at::ArrayRef<IValue> arguments) {
  for (const IValue& value : arguments)
    each_tensor(value, [&](const Tensor& tensor) {
      if (on_device(tensor)) call.choose(tensor.device());
      return tensor;
    });
}

void refuse_without_host_kernel(const c10::OperatorHandle& op) {
  bool ours = op.schema().name().rfind("aten::", 0) == 0;
  for (auto key : {c10::DispatchKey::CPU, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCsrCPU})
    if (ours && op.hasComputedKernelForDispatchKey(key)) return;
  TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(), "' with arguments from the '",
                              c10::DeviceTypeName(settings().type, true),
                              "' backend: the operator has no kernel for this device.");
}

void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  refuse_without_host_kernel(op);
  const auto& arguments = op.schema().arguments();
  size_t first = stack->size() - arguments.size();
  Call call(op);
  std::optional<at::Generator> generator;
  choose_device(call, at::ArrayRef<IValue>(*stack).slice(first));
  for (size_t i = 0; i < arguments.size(); i++) {
    IValue& value = (*stack)[first + i];
    bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    if (value.isDevice() && value.toDevice().type() == settings().type) {
      call.choose(value.toDevice().has_index() ? value.toDevice() : device(current_device()));
      value = c10::Device(c10::kCPU);
    } else if (value.isGenerator()) {
      generator = value.toGenerator();
      value = IValue();
    } else {
      value = each_tensor(value, [&](const Tensor& tensor) { return call.to_host(tensor, written); });
    }
  }
  {
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    std::optional<Seeded> seeded;
    if (generator || op.hasTag(at::Tag::nondeterministic_seeded)) seeded.emplace(generator, call.device());
    call.run(stack);
  }
  call.write_back();
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); i++)
    (*stack)[i] = each_tensor((*stack)[i], [&](const Tensor& tensor) { return call.to_device(tensor); });
}

}  // namespace

Tensor to_device(const Tensor& host, c10::Device target) {
  if (!host.defined()) return host;
  auto options = host.options().device(target).pinned_memory(false);
  if (host._is_zerotensor()) return at::zeros(host.sizes(), options);  // it has no memory
  Tensor source = host.is_non_overlapping_and_dense() ? host : host.contiguous();
  Tensor result = at::empty_strided(source.sizes(), source.strides(), options);
  copy_bytes(result, source);
  return result;
}

namespace {

// torch's own kernels for other backends go by way of out= variants, which warn of resizing where the CPU does not.
void prefer_host_kernels() {
  auto& dispatcher = c10::Dispatcher::singleton();
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::CPU)) {
    auto op = dispatcher.findSchema(name);
    bool own = op && op->hasKernelForDispatchKey(backend_key());
    bool composed = op && op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    if (!op || own || composed || name.getNamespace() != "aten") continue;
    library->impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

}  // namespace

void install_fallback() {
  for (auto key : {backend_key(), sparse_key(false), sparse_key(true)}) {
    auto* library = new torch::Library(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
  prefer_host_kernels();
}

}  // namespace software
