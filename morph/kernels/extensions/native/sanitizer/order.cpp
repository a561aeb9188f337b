// See order.h.
#include "order.h"

#include "../device.h"

namespace morph_cuda::sanitizer {

const OrderFunctions& order_functions() {
  static const auto* functions = static_cast<const OrderFunctions*>(address_of("order_functions"));
  return *functions;
}

void note_blocking(cudaStream_t stream) {
  if (is_order_watched()) order_functions().note_blocking(reinterpret_cast<intptr_t>(stream));
}

}  // namespace morph_cuda::sanitizer

namespace morph_cuda {

char* variable(const volatile void* start, size_t bytes) {
  auto* given = const_cast<void*>(start);
  if (sanitizer::is_order_watched()) sanitizer::order_functions().note_device_variable(given, bytes);
  return static_cast<char*>(given);
}

}  // namespace morph_cuda
