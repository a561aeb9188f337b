// The device's record of what waits for what (morph/software/native/device/order.h), for MORPH_SANITIZE=sync.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace morph_cuda::sanitizer {

struct Piece {  // of memory; what the device calls a Use
  const char* start;
  size_t bytes;
  bool writes;
  bool is_atomic = false;
};
using Pieces = std::vector<Piece>;

struct LibraryCall {
  const char* name;
  intptr_t stream;
  bool blocks;
};

struct OrderFunctions {
  void (*launch)(const std::string& name, intptr_t stream, const Pieces& pieces);
  void (*note_blocking)(intptr_t stream);
  void (*prepare)(const LibraryCall& call, const Piece& piece);
  void (*queue)(const LibraryCall& call, const Piece* pieces, size_t count);
  void (*add)(Pieces& all, const at::Tensor& tensor, bool writes);
  void (*note_device_variable)(const void* start, size_t bytes);
};
const OrderFunctions& order_functions();

bool is_order_watched();  // MORPH_SANITIZE=sync
// Of a stream that is made without cudaStreamNonBlocking: it and the default stream wait for each other.
void note_blocking(cudaStream_t stream);

}  // namespace morph_cuda::sanitizer
