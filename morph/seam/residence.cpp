// The CPU as target: which tensors "cuda" made. Their storage's memory is released through a function of ours.
#include "seam.h"

#include <c10/core/StorageImpl.h>

namespace seam {
namespace {

void release(void* memory) { delete static_cast<at::DataPtr*>(memory); }

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() && tensor.device().is_cpu() &&
         !tensor.unsafeGetTensorImpl()->key_set().has(c10::DispatchKey::Python);
}

}  // namespace

bool is_resident(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.storage().data_ptr().get_deleter() == &release;
}

void make_resident(const at::Tensor& tensor) {
  if (!is_plain(tensor) || is_resident(tensor) || tensor.storage().data() == nullptr) return;
  auto* storage = tensor.storage().unsafeGetStorageImpl();
  void* data = storage->mutable_data();
  auto* memory = new at::DataPtr(storage->set_data_ptr(at::DataPtr()));
  storage->set_data_ptr_noswap({data, memory, &release, c10::Device(c10::DeviceType::CPU)});
}

}  // namespace seam
