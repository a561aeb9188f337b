// Chooses the memory pool: that of the innermost `use_mem_pool` block that applies to the stream.
#include "device/captures.h"

#include <ATen/ops/_neg_view.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace software {
namespace {

struct Route {
  c10::DeviceIndex device;
  MempoolId_t pool;
  Reach reach;
  c10::StreamId stream;
  std::thread::id thread;

  c10::Stream on(c10::StreamId id) const { return c10::Stream(c10::Stream::UNSAFE, software::device(device), id); }
  bool reaches(c10::DeviceIndex index, c10::StreamId asking) const {
    if (device != index) return false;
    switch (reach) {
      case Reach::kStream: return asking == stream;
      case Reach::kThread: return thread == std::this_thread::get_id();
      case Reach::kCapture: return are_captured_together(on(stream), on(asking));
      default: return true;
    }
  }
};

std::mutex routes_mutex;
std::vector<Route>& routes = *new std::vector<Route>;

}  // namespace

void begin_pool(c10::DeviceIndex index, MempoolId_t pool, Reach reach) {
  index = checked(index);
  hold_pool(index, pool);
  std::lock_guard<std::mutex> lock(routes_mutex);
  auto is_same = [&](const Route& route) { return route.device == index && route.pool == pool; };
  bool again = settings().type == c10::DeviceType::CUDA && std::any_of(routes.begin(), routes.end(), is_same);
  TORCH_CHECK(!again, "beginAllocateToPool: already recording to mempool_id");
  routes.push_back({index, pool, reach, current_stream(index).id(), std::this_thread::get_id()});
  any_routes = true;
}

void end_pool(c10::DeviceIndex index, MempoolId_t pool) {
  index = checked(index);
  std::lock_guard<std::mutex> lock(routes_mutex);
  auto last = std::find_if(routes.rbegin(), routes.rend(),
                           [&](const Route& route) { return route.device == index && route.pool == pool; });
  TORCH_CHECK(last != routes.rend(), "no memory is being taken from this pool");
  routes.erase(std::next(last).base());
  any_routes = !routes.empty();
}

MempoolId_t routed_pool(c10::DeviceIndex index, c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(routes_mutex);
  auto found = std::find_if(routes.rbegin(), routes.rend(),
                            [&](const Route& route) { return route.reaches(index, stream); });
  return found == routes.rend() ? MempoolId_t{0, 0} : found->pool;
}

at::Tensor borrow(const at::Tensor& tensor, MempoolId_t pool) {
  bool dense = tensor.layout() == c10::kStrided && tensor.has_storage() && !tensor.unsafeGetTensorImpl()->is_python_dispatch();
  if (!dense || !tensor.storage().data() || pool_of(tensor.storage().data()) != pool) return tensor;
  c10::DataPtr memory(tensor.storage().mutable_data(), tensor.device());
  c10::Storage storage(c10::Storage::use_byte_size_t(), tensor.storage().nbytes(), std::move(memory));
  at::Tensor borrowed = at::empty({0}, tensor.options());
  borrowed.set_(storage, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  if (tensor.is_conj()) borrowed = borrowed.conj();
  if (tensor.is_neg()) borrowed = borrowed._neg_view();
  return borrowed;
}

}  // namespace software
