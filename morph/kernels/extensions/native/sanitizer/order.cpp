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
