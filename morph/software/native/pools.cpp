// Which pool memory is taken from: the innermost block that a pool was begun for and that reaches the asking stream.
#include "device.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace software {
namespace {

struct Route {
  c10::DeviceIndex device;
  c10::MempoolId_t pool;
  Reach reach;
  c10::StreamId stream;
  std::thread::id thread;

  bool reaches(c10::DeviceIndex index, c10::StreamId asking) const {
    if (device != index) return false;
    if (reach == Reach::kStream) return asking == stream;
    return reach == Reach::kProcess || thread == std::this_thread::get_id();
  }
};

std::mutex routes_mutex;
std::vector<Route>& routes = *new std::vector<Route>;

}  // namespace

void begin_pool(c10::DeviceIndex index, c10::MempoolId_t pool, Reach reach) {
  index = checked(index);
  hold_pool(index, pool);
  std::lock_guard<std::mutex> lock(routes_mutex);
  routes.push_back({index, pool, reach, current_stream(index).id(), std::this_thread::get_id()});
}

void end_pool(c10::DeviceIndex index, c10::MempoolId_t pool) {
  index = checked(index);
  std::lock_guard<std::mutex> lock(routes_mutex);
  auto last = std::find_if(routes.rbegin(), routes.rend(),
                           [&](const Route& route) { return route.device == index && route.pool == pool; });
  TORCH_CHECK(last != routes.rend(), "no memory is being taken from this pool");
  routes.erase(std::next(last).base());
}

c10::MempoolId_t pool_for(c10::DeviceIndex index, c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(routes_mutex);
  auto found = std::find_if(routes.rbegin(), routes.rend(),
                            [&](const Route& route) { return route.reaches(index, stream); });
  return found == routes.rend() ? c10::MempoolId_t{0, 0} : found->pool;
}

}  // namespace software
