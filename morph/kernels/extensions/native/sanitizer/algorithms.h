// An algorithm of thrust or CUB, which runs on the host here and on the device in CUDA: the memory that it uses.
#pragma once

#include "bounds.h"
#include "footprint.h"
#include "watcher.h"

#include <exception>

namespace morph_cuda::sanitizer {

class Algorithm final : public Watcher {
 public:
  Algorithm(const char* name, cudaStream_t stream, bool blocks) : name_(name), stream_(stream), blocks_(blocks) {}

  // What is wrong is told at the end: g++ takes it that what watches throws nothing.
  void use(const Use& use) override;
  void end() const;  // throws what was found

 private:
  void check_memory(const Use& use);
  void check_written(const Use& use);
  void note(const char* check, const char* error, const Use& use, const std::string& where);

  const char* const name_;
  const cudaStream_t stream_;
  const bool blocks_;
  Bounds bounds_;
  Footprint footprint_;
  std::exception_ptr found_;
};

}  // namespace morph_cuda::sanitizer
