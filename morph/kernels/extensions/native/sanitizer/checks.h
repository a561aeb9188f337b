// The checks of a launch, as MORPH_SANITIZE asks for them, and of each of its blocks.
#pragma once

#include "../fibres.h"
#include "barriers.h"
#include "bounds.h"
#include "footprint.h"
#include "races.h"
#include "variables.h"
#include "watcher.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace morph_cuda {
class Block;
}

namespace morph_cuda::sanitizer {

constexpr size_t kZone = 64 << 10;  // bytes after a block's shared memory that belong to nothing

class Launch {
 public:
  static std::unique_ptr<Launch> wanted(const void* frame);  // of who launches; null: nothing is checked

  bool checks_memory() const { return checks_memory_; }
  bool checks_init() const { return checks_init_; }
  bool is_argument(uintptr_t address) const { return address - frame_ < kZone; }  // each thread has its copy
  Races* races() const { return races_.get(); }
  void pass_grid();
  void settle();  // what a write left is looked at before the memory is another block's
  Footprint* footprint() const { return footprint_.get(); }
  bool has_found();  // the rest of the blocks need not run
  void end(dim3 block, cudaStream_t stream);  // throws what was found, where no thread of it did

 private:
  bool checks_memory_ = false, checks_init_ = false;
  uintptr_t frame_ = 0;
  std::unique_ptr<Races> races_;
  std::unique_ptr<Footprint> footprint_;
};

// Of the block that runs on one thread of the host.
class Checks final : public Watcher {
 public:
  Checks(Launch& launch, Block& block) : launch_(launch), block_(block) {}

  void begin(int64_t number, int threads, uintptr_t kernel, size_t shared);
  void run_on(const char* stack) { stack_ = reinterpret_cast<uintptr_t>(stack); }  // of a thread of the block
  void use(const Use& use) override;
  void synchronize(const Use& use) override;
  void copy(void* to, const void* from, size_t written, size_t read, const void* site);
  Barriers* barriers() { return launch_.races() ? &barriers_ : nullptr; }
  void pass_barrier();
  void pass_warp(int warp, unsigned lanes);
  void pass(const std::vector<int>& threads);
  void fence() override;

 private:
  bool is_shared(uintptr_t address) const;
  bool is_own(uintptr_t address) const;  // of the thread or of morph
  bool is_on_stack(uintptr_t address) const { return address - stack_ < kStack; }
  bool is_over_dynamic(const Use& use) const;
  const Variable* left_behind(const Use& use) const;  // a variable of shared memory that it goes over the end of
  void forget_shared() const;                          // of the block before
  void check_memory(const Use& use);
  void check_written(const Use& use);
  uintptr_t end_of_shared(uintptr_t address) const;
  [[noreturn]] void refuse(const Use& use, const std::string& where, const char* check = "memory");

  Launch& launch_;
  Block& block_;
  Knowledge knowledge_;
  bool is_begun_ = false;
  uintptr_t dynamic_ = 0, stack_ = 0;
  size_t dynamic_size_ = 0;
  Variables variables_;
  Barriers barriers_;
  Bounds bounds_;
};

}  // namespace morph_cuda::sanitizer
