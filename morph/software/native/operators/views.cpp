// See views.h.
#include "operators/views.h"

#include "memory/hidden.h"

#include <c10/core/InferenceMode.h>

namespace software {
namespace {

using at::Tensor;

thread_local Views views;

template <class Slot>
bool holds_object(const Slot& slot) {
  if constexpr (requires { slot.load_pyobj(); }) return slot.load_pyobj();
  else return slot._unchecked_untagged_pyobj();  // before torch 2.10
}

bool is_plain(const Tensor& tensor) {
  return !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor() &&
         !tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

bool is_unchanged(const Tensor& view) {
  const c10::TensorImpl* tensor = view.unsafeGetTensorImpl();
  const c10::Storage& storage = tensor->unsafe_storage();
  bool alone = view.use_count() == 1 && view.weak_use_count() == 1 && storage.use_count() == 1;
  return alone && !tensor->autograd_meta() && !holds_object(*tensor->pyobj_slot()) && is_plain(view) &&
         storage.data_ptr().get_deleter() == &c10::detail::deleteNothing;  // the kernel has not resized it
}

}  // namespace

Views& Views::of_this_thread() { return views; }

Tensor Views::again(const Tensor& tensor, bool reads) {
  if (count_ - 1 >= kMost || !is_plain(tensor)) return {};
  Tensor view = std::move(views_[--count_]);
  c10::TensorImpl* raw = view.unsafeGetTensorImpl();
  if (raw->is_inference() != c10::InferenceMode::is_enabled()) return {};
  c10::StorageImpl* storage = raw->unsafe_storage().unsafeGetStorageImpl();
  const c10::Storage& own = tensor.storage();
  const void* data = reads ? own.data() : own.mutable_data();
  storage->set_data_ptr_noswap({usable(data), c10::Device(c10::kCPU)});
  storage->set_nbytes(tensor.storage().nbytes());
  if (raw->dtype() != tensor.dtype()) raw->set_storage_and_dtype(raw->storage(), tensor.dtype());
  if (view.sizes() == tensor.sizes() && view.strides() == tensor.strides())
    raw->set_storage_offset(tensor.storage_offset());
  else
    raw->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return view;
}

void Views::keep(Tensor&& view) {
  if (count_ < kMost && is_unchanged(view)) views_[count_++] = std::move(view);
}

}  // namespace software
