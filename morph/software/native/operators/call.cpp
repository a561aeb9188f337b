// See call.h.
#include "operators/call.h"

#include "device/assertions.h"
#include "device/clock.h"
#include "device/errors.h"
#include "device/faults.h"
#include "memory/host_view.h"
#include "operators/numbers.h"
#include "operators/sparse.h"

#include <ATen/Context.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>

namespace software {
namespace {

using at::Tensor;

void copy_bytes(const Tensor& target, const Tensor& source) {  // of the same sizes and strides
  if (source.numel() == 0) return;
  int64_t last = 0;
  for (int64_t i = 0; i < source.dim(); i++) last += (source.size(i) - 1) * source.stride(i);
  size_t bytes = size_t(last + 1) * source.element_size();
  std::memcpy(mutable_elements(target), elements(source), bytes);
}

bool is_device_memory(const c10::StorageImpl& storage) {
  return storage.data_ptr().get_deleter() == &free_device_memory;
}

void make_device_memory(c10::StorageImpl& storage, c10::Device target) {
  c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  if (hides_memory()) {
    void* start = known(data.release_context());
    data = c10::DataPtr(start, start, &free_device_memory, target);
  }
  data.unsafe_set_device(target);
  storage.set_allocator(allocator());
}

// Its storage was made smaller.
bool has_lost_memory(const Tensor& tensor) {
  return tensor.numel() && !tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
}

void put_on(c10::TensorImpl* tensor, const c10::Storage& storage) {
  tensor->set_storage_keep_dtype(storage);
  tensor->_change_backend_component_keys(storage.device());
}

Tensor tensor_of(const c10::TensorImpl* impl) {
  return Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(
      const_cast<c10::TensorImpl*>(impl)));
}

// The CPU's kernel has moved it to other memory of the device, or of the host.
void move(const Tensor& mine, const Tensor& host) {
  c10::StorageImpl* from = host.storage().unsafeGetStorageImpl();
  bool taken_over = is_device_memory(*from);
  if (taken_over) {
    make_device_memory(*from, mine.device());
    mine.storage().set_data_ptr_noswap(std::move(from->_mutable_data_ptr_no_checks()));
    mine.storage().set_nbytes(from->nbytes());
  } else {
    mine.resize_(host.sizes());
  }
  mine.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
  if (!taken_over) copy_bytes(mine, host);
}

// A lazy clone that is read and then written: the memory of its view is its own from here on.
void unshare(const Tensor& host, const Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor._is_zerotensor()) return;
  void* data = usable(tensor.storage().mutable_data());
  if (data != host.storage().data()) host.storage().set_data_ptr_noswap({data, c10::Device(c10::kCPU)});
}

void write_back(const Tensor& mine, const Tensor& host) {
  if (mine.layout() != c10::kStrided) return write_back_sparse(mine, host);
  if (mine.is_conj() != host.is_conj()) mine._set_conj(host.is_conj());  // linalg.lu_solve writes a lazy conjugate
  if (host.storage().data() != usable(mine.storage().data())) return move(mine, host);
  if (host.sizes() == mine.sizes() && host.strides() == mine.strides()) return;
  mine.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
}

bool can_be_nan(const Tensor& tensor) {
  bool is_inexact = at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
  return is_inexact && tensor.numel() && tensor.layout() == c10::kStrided && !tensor._is_zerotensor();
}

}  // namespace

Tensor& Call::to_host(const Tensor& tensor, bool written) {
  if (!on_device(tensor)) {
    if (tensor.defined()) refuse_unless_scalar(tensor, written);
    pairs_.push_back({nullptr, converted(tensor), false});
    return pairs_.back().host;
  }
  const c10::TensorImpl* device = tensor.unsafeGetTensorImpl();
  use(tensor, written);
  for (Pair& pair : pairs_)
    if (pair.device == device) {
      if (written && !pair.written) unshare(pair.host, tensor);
      pair.written |= written;
      return pair.host;
    }
  pairs_.push_back({device, view(tensor, written), written});
  return pairs_.back().host;
}

// The CPU's kernel converts a number of the program's in memory of the device, unless it has the tensors' type. In half
// precision it has to read the number itself.
Tensor Call::converted(const Tensor& number) const {
  bool is_number = number.defined() && number.unsafeGetTensorImpl()->is_wrapped_number();
  if (!is_number || mixed_types_) return number;
  TakingFrom host(-1);
  return number_as(number, seen_);
}

Tensor Call::element_to_host(const Tensor& tensor, bool written) {
  if (!on_device(tensor)) {
    if (tensor.defined()) refuse_unless_scalar(tensor, false);
    return tensor;
  }
  use(tensor, written);
  return view(tensor, !reads_);
}

Tensor Call::view(const Tensor& tensor, bool written) {
  sparse_ |= tensor.layout() != c10::kStrided;
  if (tensor.layout() != c10::kStrided) return sparse_host_view(tensor);
  if (tensor._is_zerotensor()) return at::_efficientzerotensor(tensor.sizes(), tensor.options().device(c10::kCPU));
  if (!written && has_lost_memory(tensor)) lose_context(kIllegalAddress);
  if (Pair* other = of_device(tensor.storage().unsafeGetStorageImpl())) {
    if (written) unshare(other->host, tensor);
    return host_view(tensor, other->host.storage());
  }
  Tensor again = views_.again(tensor, !written);
  if (again.defined()) return again;
  return host_view(tensor, written ? host_view(tensor.storage()) : readable_host_view(tensor.storage()));
}

void Call::write_back(bool has_results) {
  for (auto& [device, host, written] : pairs_)
    if (written) software::write_back(tensor_of(device), host);
  queue();
  if (may_happen(Fault::kResult) && !has_results) [[unlikely]] spoil({});
}

void Call::spoil(at::ArrayRef<Tensor*> fresh) {
  std::vector<Tensor> all;
  for (Tensor* each : fresh) all.push_back(*each);
  for (auto& [device, host, written] : pairs_)
    if (written) all.push_back(tensor_of(device));
  auto found = std::find_if(all.begin(), all.end(), can_be_nan);
  if (found == all.end() || !does_happen(Fault::kResult, device().index(), name_)) return;
  host_view(*found).as_strided({}, {}).fill_(std::numeric_limits<double>::quiet_NaN());
}

void Call::queue() {
  if (!is_ordered_ || uses_.empty()) [[likely]] return;
  const char* name = std::strncmp(name_, "aten::", 6) ? name_ : name_ + 6;
  queue_work(name, current_stream(device().index()), std::exchange(uses_, {}));
}

void Call::to_device(at::ArrayRef<Tensor*> results) {
  c10::SmallVector<Tensor*, 4> fresh;
  const bool may_spoil = may_happen(Fault::kResult);
  for (Tensor* result : results)
    if (result->defined() && result->is_cpu() && to_device(*result, results)) {
      if (is_ordered_) [[unlikely]] add_uses(uses_, *result, true);
      if (may_spoil) [[unlikely]] fresh.push_back(result);
    }
  queue();
  if (may_spoil) [[unlikely]] spoil(fresh);
}

bool Call::to_device(Tensor& host, at::ArrayRef<Tensor*> results) {
  TORCH_CHECK_NOT_IMPLEMENTED(host.layout() != c10::kMkldnn, "Could not run '", name_, "' with arguments from the '",
                              c10::DeviceTypeName(settings().type, true), "' backend: its result is the CPU's own.");
  for (Pair& pair : pairs_)
    if (pair.device && pair.host.is_same(host)) {
      host = tensor_of(pair.device);
      return false;
    }
  if (is_ordered_ && host.has_storage() && of_host(host.storage().unsafeGetStorageImpl())) {
    take_over(host, results);
    return false;
  }
  if (host.layout() != c10::kStrided) host = sparse_to_device(host, device());
  else if (!take_over(host, results)) host = software::to_device(host, device());
  return true;
}

// The result's memory is already the device's and unshared: neither a copy nor a new tensor is needed.
bool Call::take_over(Tensor& host, at::ArrayRef<Tensor*> results) {
  c10::TensorImpl* tensor = host.unsafeGetTensorImpl();
  if (!tensor->has_storage() || tensor->is_python_dispatch() || host._is_zerotensor()) return false;
  c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (Pair* argument = of_host(storage)) {
    if (host.use_count() > 1) host = Tensor(tensor->shallow_copy_and_detach(c10::VariableVersion(0), true));
    put_on(host.unsafeGetTensorImpl(), argument->device->storage());
    return true;
  }
  if (host.use_count() > 1 || !is_device_memory(*storage)) return false;
  if (storage->device().is_cpu()) {
    if (tensor->storage().use_count() > 1) {
      auto shares = [&](Tensor* each) {
        return each->defined() && each->has_storage() && each->storage().unsafeGetStorageImpl() == storage;
      };
      if (tensor->storage().use_count() > size_t(std::count_if(results.begin(), results.end(), shares))) return false;
    }
    make_device_memory(*storage, device());
  }
  put_on(tensor, tensor->storage());
  return true;
}

Call::Pair* Call::of_host(const c10::StorageImpl* storage) {
  for (Pair& pair : pairs_)
    if (pair.device && pair.host.has_storage() && pair.host.storage().unsafeGetStorageImpl() == storage) return &pair;
  return nullptr;
}

Call::Pair* Call::of_device(const c10::StorageImpl* storage) {
  for (Pair& pair : pairs_)
    if (pair.device && pair.device->has_storage() && pair.device->storage().unsafeGetStorageImpl() == storage) return &pair;
  return nullptr;
}

void Call::refuse_unless_scalar(const Tensor& tensor, bool written) const {
  bool is_one = tensor.dim() == 0 || (tensor.numel() == 1 && traits_.takes_host_element);
  bool is_number = is_one && !written && !traits_.refuses_host_numbers;
  if (tensor.device().type() != c10::kCPU || is_number || traits_.takes_host_tensors) return;
  refuse_generator();
  mixed(tensor.device());
}

// CUDA has other kernels for sparse tensors.
void Call::note(const Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || !traits_.watches(seen_)) return;
  noted_ = seen_;
  empty_ |= tensor.numel() == 0;
}

void Call::refuse_noted() const {
  // CUDA's kernels ask for the type when they start, after the alert and after they compare their arguments' types.
  bool starts = !empty_ && !mixed_types_;
  if (traits_.is_unordered(noted_)) at::globalContext().alertNotDeterministic(traits_.kernel);
  if (starts && traits_.refuses(noted_)) refuse_type(name_, noted_);
}

void Call::wait() const {
  if (device_.index() >= 0) wait_for_copy(device_.index());
}

// Where an operator ends with an error, no kernel was started.
void Call::tell_profiler() const {
  if (std::uncaught_exceptions()) return;
  std::string_view name(name_);
  name = name.substr(name.rfind(':') + 1);
  bool multiplies = name.size() >= 2 && name.substr(name.size() - 2) == "mm";  // addmm, bmm, _scaled_mm: cuBLAS's gemm
  std::string kernel = c10::str("morph::", multiplies ? "gemm_kernel<" : "kernel<", name, ">");
  record_work(Activity::kKernel, std::move(kernel), current_stream(device().index()), began_);
}

void Call::refuse_generator() const {
  std::string type = c10::DeviceTypeName(settings().type, true);
  TORCH_CHECK(device_.index() >= 0, "Expected a 'cpu' device type for generator but found '", type, "'");
}

void Call::mixed(c10::Device other) const {
  C10_THROW_ERROR(Error, c10::str("Expected all tensors to be on the same device, but found at least two devices, ",
                                  device(), " and ", other, "! (when calling ", name_, ")"));
}

Tensor to_device(const Tensor& host, c10::Device target) {
  if (!host.defined()) return host;
  auto options = host.options().device(target).pinned_memory(false);
  if (host._is_zerotensor()) return at::zeros(host.sizes(), options);  // it has no memory
  Tensor source = host.is_non_overlapping_and_dense() ? host : host.contiguous();
  Tensor result = at::empty_strided(source.sizes(), source.strides(), options);
  copy_bytes(result, source);
  return result;
}

}  // namespace software
