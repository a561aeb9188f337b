// Code compiled for the CPU, run on device memory: it sees device tensors as CPU tensors on the same
// memory, it allocates device memory, and its results become device tensors without a copy.
#include "module/compiled.h"

#include "device/device.h"
#include "memory/host_view.h"
#include "memory/memory.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <map>
#include <optional>

namespace py = pybind11;

namespace software {
namespace {

using at::Tensor;

void let_go(void* storage) { delete static_cast<c10::Storage*>(storage); }

void* seen_from(c10::Device device, void* memory) { return device.is_cpu() ? usable(memory) : known(memory); }

// Owns the memory, unlike the view of a single operator's call: compiled code may return it, or be its last user.
c10::Storage lasting_view(const c10::Storage& storage, c10::Device device, c10::Allocator* resizes) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), storage.sym_nbytes(),
      c10::DataPtr(seen_from(device, storage.mutable_data()), new c10::Storage(storage), &let_go, device), resizes,
      true));
}

// The storage that this one is an owning view of, if it is one.
const c10::Storage* seen_by(const c10::Storage& storage) {
  const c10::DataPtr& memory = storage.data_ptr();
  return memory.get_deleter() == &let_go ? static_cast<c10::Storage*>(memory.get_context()) : nullptr;
}

Tensor with_storage(const Tensor& tensor, c10::Storage storage, c10::DispatchKey key) {
  auto keys = c10::DispatchKeySet(key);
  if (tensor.is_conj()) keys = keys.add(c10::DispatchKey::Conjugate);
  if (tensor.is_neg()) keys = keys.add(c10::DispatchKey::Negative);
  auto other = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, tensor.dtype());
  other.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sym_sizes(), tensor.sym_strides(),
                                                     tensor.sym_storage_offset());
  return other;
}

Tensor to_host(const Tensor& tensor) {
  if (tensor.device().type() != settings().type) return tensor;
  if (tensor._is_zerotensor()) return at::zeros(tensor.sizes(), tensor.options().device(c10::kCPU));
  const c10::Storage* known = seen_by(tensor.storage());
  bool hosts = known && known->device_type() == c10::kCPU;
  c10::Storage storage =
      hosts ? *known : lasting_view(tensor.storage(), c10::Device(c10::kCPU), c10::GetAllocator(c10::kCPU));
  return with_storage(tensor, std::move(storage), c10::DispatchKey::CPU);
}

// The reverse, for one device; two tensors that share a storage still do.
class Adoption {
 public:
  explicit Adoption(c10::Device device) : device_(device) {}

  // Whether it can be the device's tensor without a copy.
  bool is_memory_of_device(const Tensor& host) const {
    const c10::Storage* known = seen_by(host.storage());
    if (known && known->device() == device_) return true;
    return host.storage().nbytes() == 0 || owner_of(host.storage().data()) == device_.index();
  }

  Tensor to_device(const Tensor& host) {
    if (!host.is_cpu()) return host;
    if (!is_memory_of_device(host)) return copy(host);
    const c10::Storage* known = seen_by(host.storage());
    bool devices = known && known->device() == device_;
    return with_storage(host, devices ? *known : taken(host.storage()), backend_key());
  }

 private:
  c10::Storage taken(const c10::Storage& storage) {
    for (auto& [mine, devices] : taken_)
      if (mine.is_alias_of(storage)) return devices;
    taken_.emplace_back(storage, owner_instead_of(storage));
    return taken_.back().second;
  }

  // It owns its memory as what the allocator gave does, since torch frees the results of graphs by it. The host's
  // storage becomes a view that keeps it.
  c10::Storage owner_instead_of(const c10::Storage& storage) const {
    c10::DataPtr& memory = storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
    if (memory.get_deleter() != &free_device_memory) return lasting_view(storage, device_, allocator());
    void* start = memory.release_context();
    c10::Storage owner(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), storage.sym_nbytes(),
        c10::DataPtr(known(start), known(start), &free_device_memory, device_), allocator(), true));
    memory = c10::DataPtr(start, new c10::Storage(owner), &let_go, c10::Device(c10::kCPU));
    return owner;
  }

  Tensor copy(const Tensor& host) const {
    Tensor dense = host.is_non_overlapping_and_dense() ? host : host.contiguous();
    Tensor result = at::empty_strided(dense.sizes(), dense.strides(), dense.options().device(device_));
    host_view(result).copy_(dense);
    return result;
  }

  c10::Device device_;
  std::vector<std::pair<c10::Storage, c10::Storage>> taken_;
};

Tensor on_host_alone(const Tensor& host) {
  if (!host.is_cpu() || host.numel() == 0) return host;
  return seen_by(host.storage()) || owner_of(host.storage().data()) >= 0 ? host.clone() : host;
}

// The tensor that an object of Python's is, or none. torch/csrc/autograd/python_variable.h takes 3 s more to read.
std::optional<Tensor> tensor_of(py::handle value) {
  py::detail::make_caster<Tensor> caster;
  return caster.load(value, false) ? std::optional(py::detail::cast_op<Tensor>(caster)) : std::nullopt;
}

template <typename Function>
py::object each_tensor(py::handle value, const Function& function) {
  if (auto tensor = tensor_of(value)) return py::cast(Tensor(function(*tensor)));
  if (PyList_CheckExact(value.ptr()) || PyTuple_CheckExact(value.ptr())) {
    py::list items;
    for (py::handle item : value) items.append(each_tensor(item, function));
    return PyTuple_CheckExact(value.ptr()) ? py::object(py::tuple(items)) : py::object(items);
  }
  return py::reinterpret_borrow<py::object>(value);
}

// A function of CPU tensors called with the device's.
class CompiledCode {
 public:
  // For each output: the index of its device, or -1 for the host, and which input it may be, or -1.
  CompiledCode(py::object code, int index, std::vector<int> devices, std::vector<int> returned)
      : code_(std::move(code)), index_(index), devices_(std::move(devices)), returned_(std::move(returned)) {}

  py::list call(const py::list& inputs) const {
    py::list hosts = to_hosts(inputs), outputs;
    std::vector<Kept> kept = kept_inputs(inputs, hosts);
    inputs.attr("clear")();  // the code frees what it has used
    py::object results = run(std::move(hosts));
    std::map<int, Adoption> adoptions;
    for (py::handle value : results) {
      size_t i = outputs.size();
      outputs.append(kept.at(i).host.is(value) ? kept[i].input : output(value, devices_.at(i), adoptions));
    }
    return outputs;
  }

  // The same with tensors of the host, which the code returns too.
  py::object run(py::list hosts) const {
    OnDevice on{c10::DeviceIndex(index_)};
    TakingFrom taking{c10::DeviceIndex(index_)};
    return code_(std::move(hosts));
  }

 private:
  struct Kept {
    py::object input, host;
  };

  // Autograd compares saved tensors with inputs by identity. The code may return a copy instead.
  std::vector<Kept> kept_inputs(const py::list& inputs, const py::list& hosts) const {
    std::vector<Kept> kept(returned_.size());
    for (size_t i = 0; i < returned_.size(); i++)
      if (returned_[i] >= 0) kept[i] = {inputs[size_t(returned_[i])], hosts[size_t(returned_[i])]};
    return kept;
  }

  static py::list to_hosts(const py::list& values) {
    py::list hosts;
    for (py::handle value : values) {
      auto tensor = tensor_of(value);
      hosts.append(tensor ? py::cast(to_host(*tensor)) : py::reinterpret_borrow<py::object>(value));
    }
    return hosts;
  }

  static py::object output(py::handle value, int index, std::map<int, Adoption>& adoptions) {
    if (index < 0) return each_tensor(value, on_host_alone);
    Adoption& adoption = adoptions.try_emplace(index, device(c10::DeviceIndex(index))).first->second;
    return each_tensor(value, [&](const Tensor& tensor) { return adoption.to_device(tensor); });
  }

  py::object code_;
  int index_;
  std::vector<int> devices_, returned_;
};

// Calls of compiled code to the device: its CPU tensors become device tensors, and the results CPU tensors again.
class Excursion {
 public:
  explicit Excursion(int index) : adoption_(device(c10::DeviceIndex(index))) {}

  Tensor to_device(const Tensor& host) {
    Tensor mine = adoption_.to_device(host);
    (adoption_.is_memory_of_device(host) ? shared_ : copied_).emplace_back(host, mine);
    return mine;
  }

  // The code expects new memory.
  Tensor to_fresh_host(const Tensor& mine) {
    for (auto& [host, shared] : shared_)
      if (mine.has_storage() && mine.storage().is_alias_of(shared.storage())) return to_host(mine.clone());
    return to_host(mine);
  }

  void write_back() {
    for (auto& [host, mine] : copied_) host.copy_(host_view(mine));
  }

 private:
  Adoption adoption_;
  std::vector<std::pair<Tensor, Tensor>> shared_, copied_;
};

py::object call_on_device(const py::object& function, const py::tuple& arguments, const py::dict& options, int index,
                          const std::vector<int>& host, bool fresh) {
  TakingFrom nothing(-1);
  Excursion excursion(index);
  auto adopt = [&](const Tensor& tensor) { return tensor.is_cpu() ? excursion.to_device(tensor) : tensor; };
  py::list positional;
  for (size_t i = 0; i < arguments.size(); i++) {
    bool stays = std::find(host.begin(), host.end(), int(i)) != host.end();
    positional.append(stays ? py::object(arguments[i]) : each_tensor(arguments[i], adopt));
  }
  py::dict named;
  for (auto& [name, value] : options) named[name] = each_tensor(value, adopt);
  py::object results = function(*positional, **named);
  if (!fresh) excursion.write_back();
  return each_tensor(results, [&](const Tensor& mine) { return fresh ? excursion.to_fresh_host(mine) : to_host(mine); });
}

}  // namespace

void bind_compiled_code(py::module_& module) {
  module.def("host_tensor", [](py::handle tensor) { return each_tensor(tensor, to_host); });
  module.def("device_tensor", [](py::handle tensor, int index) {
    Adoption adoption(device(c10::DeviceIndex(index)));
    return each_tensor(tensor, [&](const Tensor& host) { return adoption.to_device(host); });
  });
  module.def("call_on_device", &call_on_device);
  py::class_<CompiledCode>(module, "CompiledCode")
      .def(py::init<py::object, int, std::vector<int>, std::vector<int>>())
      .def("__call__", &CompiledCode::call)
      .def("run", &CompiledCode::run);
}

}  // namespace software
