// A call of CUDA's runtime or of another of its libraries: the memory that it uses, for MORPH_SANITIZE=memory, sync.
#pragma once

#include "order.h"
#include "watcher.h"

namespace morph_cuda::sanitizer {

inline bool are_calls_checked() {
  static const bool any = is_memory_checked() || is_order_watched() || is_memory_hidden();
  return any;
}

class Call {
 public:
  Call(const char* name, cudaStream_t stream, bool blocks = true);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  static Call* of_this_thread() { return are_calls_checked() ? current_of_thread() : nullptr; }

  // Before it is used. They throw where it does not lie in an allocation, or another stream's copy uses it.
  void use(const void* start, size_t bytes, bool writes);
  void use(const at::Tensor& memory, const void* start, size_t bytes, bool writes);  // the bytes from end to end
  bool is_refused() const { return is_refused_; }
  void end();  // throws where other work need not be over that uses the memory

 private:
  static Call* current_of_thread();
  void check(const Piece& piece);
  [[noreturn]] void refuse(const Piece& piece);

  const LibraryCall call_;
  bool is_refused_ = false;
  Pieces pieces_;
  Call* const outer_;
};

}  // namespace morph_cuda::sanitizer
