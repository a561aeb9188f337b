// One call of an operator: device tensors are viewed as CPU tensors, and the CPU's results become device tensors.
#pragma once

#include "device/activities.h"
#include "device/assertions.h"
#include "device/cublas.h"
#include "device/device.h"
#include "device/faults.h"
#include "memory/memory.h"
#include "memory/unwritten.h"
#include "operators/traits.h"
#include "operators/views.h"
#include "device/order.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/SmallVector.h>

#include <optional>

namespace software {

inline bool on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == settings().type;
}

// Raises the CPU kernel's refusal of a type anew, with the name of CUDA's kernel.
void refuse_in_cudas_words(const std::exception& error);

class Call {
 public:
  // Views stay where they are while there are no more than `tensors`. A call that only `reads` leaves lazy clones shared.
  Call(const char* name, const Traits& traits, size_t tensors, bool reads = false)
      : name_(name), traits_(traits), reads_(reads) {
    pairs_.reserve(tensors);
  }
  ~Call() {
    if (began_) [[unlikely]] tell_profiler();
    for (Pair& pair : pairs_)
      if (pair.device) views_.keep(std::move(pair.host));
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Every argument is examined before the first view is made.
  void consider(const at::Tensor& tensor) {
    if (!on_device(tensor)) return;
    mixed_types_ |= seen_ != at::ScalarType::Undefined && seen_ != tensor.scalar_type();
    seen_ = tensor.scalar_type();
    if (traits_.watches()) note(tensor);
    choose(tensor.device());
  }
  void consider(c10::Device wanted) {
    if (wanted.type() == settings().type) choose(wanted.has_index() ? wanted : software::device(current_device()));
  }
  // Of an operator on lists that changes the first of them, as its name's end says.
  void consider_list(const at::Tensor* first) {
    if (is_ordered_ && writes_list && !written_list_) written_list_ = first;
  }
  bool is_written(const at::Tensor* list) const { return list && list == written_list_; }
  bool writes_list = false;
  // Of the arguments together: refuses what CUDA has no kernel for, and waits where CUDA's does.
  void considered() const {
    if (noted_ != at::ScalarType::Undefined) refuse_noted();
    if (traits_.multiplies) need_cublas(device().index());
    if (traits_.waits) wait();
  }
  // Calls the CPU's kernel, whose complaint about a value is an assertion of CUDA's.
  template <class Function>
  auto asserting(Function function) const -> decltype(function()) {
    try {
      return function();
    } catch (const std::exception& error) {
      refuse_in_cudas_words(error);
      if (traits_.asserts) assert_on_device(error);
      throw;
    }
  }
  bool has_workspace() const { return traits_.has_workspace; }
  c10::Device device() const { return device_.index() >= 0 ? device_ : software::device(current_device()); }

  // The tensor must live as long as the call.
  at::Tensor& to_host(const at::Tensor& tensor, bool written = false);
  at::Tensor element_to_host(const at::Tensor& tensor, bool written = false);  // of a list, whose views are not cached
  bool sparse() const { return sparse_; }

  // The CPU's kernel may have resized its output. Without results nothing follows.
  void write_back(bool has_results = false);
  void to_device(at::ArrayRef<at::Tensor*> results);

 private:
  struct Pair {
    const c10::TensorImpl* device;  // null: a tensor of the host
    at::Tensor host;
    bool written;
  };

  void choose(c10::Device wanted) {
    refuse_if_lost();
    if (device_.index() >= 0 && device_ != wanted && !traits_.takes_host_tensors) mixed(wanted);
    device_ = wanted;
  }
  at::Tensor converted(const at::Tensor& number) const;
  Pair* of_host(const c10::StorageImpl* storage);
  at::Tensor view(const at::Tensor& tensor, bool written);
  Pair* of_device(const c10::StorageImpl* storage);
  void refuse_unless_scalar(const at::Tensor& tensor, bool written) const;
  void note(const at::Tensor& tensor);
  void refuse_noted() const;
  void wait() const;
  void tell_profiler() const;
  void use(const at::Tensor& tensor, bool written) {
    if (is_ordered_) [[unlikely]] add_uses(uses_, tensor, written);
    if (marks_unwritten) [[unlikely]] check_read(name_, tensor, written);
  }
  void queue();
  void spoil(at::ArrayRef<at::Tensor*> fresh);  // by NaN, if a fault happens: a result, or else what it wrote to
  void refuse_generator() const;  // of the device, in a call without tensors of the device
  [[noreturn]] void mixed(c10::Device other) const;
  bool take_over(at::Tensor& host, at::ArrayRef<at::Tensor*> results);
  bool to_device(at::Tensor& host, at::ArrayRef<at::Tensor*> results);  // whether it is no argument's memory

  const char* name_;
  const Traits& traits_;
  const bool reads_;
  const int64_t began_ = is_profiled() ? trace_time() : 0;
  const bool is_ordered_ = is_order_watched();
  Uses uses_;
  const at::Tensor* written_list_ = nullptr;
  Views& views_ = Views::of_this_thread();
  bool sparse_ = false, empty_ = false, mixed_types_ = false;
  at::ScalarType noted_ = at::ScalarType::Undefined, seen_ = at::ScalarType::Undefined;
  c10::Device device_{settings().type, -1};
  c10::SmallVector<Pair, 4> pairs_;
};

// The state while the CPU's kernel runs.
class Running {
 public:
  explicit Running(const Call& call) : taking_(call.device().index()), no_autocast_(c10::autocast_dispatch_keyset) {
    if (call.has_workspace()) peaks_.emplace(call.device().index());
  }

 private:
  TakingFrom taking_;
  c10::impl::ExcludeDispatchKeyGuard no_autocast_;
  std::optional<HoldingPeaks> peaks_;
};

}  // namespace software
