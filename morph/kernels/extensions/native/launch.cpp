// Launches of kernels.
#include "morph/launch.h"

#include "block.h"
#include "device.h"
#include "errors.h"
#include "graphs.h"
#include "grid.h"

#include <c10/util/Exception.h>

#include <assert.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace morph_cuda {
namespace {

bool is_valid(dim3 grid, dim3 block, size_t shared) {
  bool grid_fits = grid.x && grid.y && grid.z && grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
  bool block_fits = block.x && block.y && block.z && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  return grid_fits && block_fits && uint64_t(block.x) * block.y * block.z <= 1024 && shared <= most_shared();
}

[[noreturn]] void refuse(dim3 grid, dim3 block, size_t shared) {
  std::string text = c10::str("CUDA error: invalid configuration argument (<<<(", grid.x, ", ", grid.y, ", ", grid.z, "), (",
                              block.x, ", ", block.y, ", ", block.z, "), ", shared, ">>>)");
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, cudaErrorInvalidConfiguration, text);
}

std::mutex launchers_lock;
std::map<void*, Launcher> launchers;

}  // namespace

void run(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const Launched& what, void* closure, void* kernel) {
  TORCH_CHECK(!Block::of_this_thread().is_running(), "a kernel cannot launch another on the software device");
  reported([&] {
    if (!is_valid(grid, block, shared)) refuse(grid, block, shared);
    if (graphs::keeps(stream)) return graphs::keep({grid, block, shared, &what, kernel}, stream, closure);
    if (cudaError_t error = graphs::implicit(stream)) return remembered(error);
    refuse_in_torchs_capture(stream);
    Grid(grid, block, shared, stream, what, closure).run();
    return cudaSuccess;
  });
}

void* remember(void* kernel, Launcher launcher) {
  std::lock_guard<std::mutex> lock(launchers_lock);
  launchers[kernel] = launcher;
  return kernel;
}
cudaError_t launch_by_address(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  Launcher launcher = nullptr;
  {
    std::lock_guard<std::mutex> lock(launchers_lock);
    auto found = launchers.find(kernel);
    if (found != launchers.end()) launcher = found->second;
  }
  return launcher ? launcher(kernel, grid, block, arguments, shared, stream) : cudaErrorInvalidDeviceFunction;
}

void wait_for_block() { Block::of_this_thread().wait_for_block(0, __builtin_return_address(0)); }
void arrive_at(unsigned barrier, unsigned threads, bool waits) {
  Block::of_this_thread().arrive_at(barrier, threads, waits);
}
void wait_at(const void* place) {
  if (Block* block = Block::running()) block->wait_at(place);
}
void wake(const void* place) {
  if (Block* block = Block::running()) block->wake(place);
}
Votes vote(bool value) {
  Block& block = Block::of_this_thread();
  block.wait_for_block(value, __builtin_return_address(0));
  return block.votes();
}
void wait_for_warp(unsigned mask) {
  Block& block = Block::of_this_thread();
  has_read(block.exchange(mask, nullptr, 0, __builtin_return_address(0)));
}
Deposits* exchange(unsigned mask, const void* mine, size_t bytes) {
  return Block::of_this_thread().exchange(mask, mine, bytes, __builtin_return_address(0));
}
void copy_later(void* to, const void* from, size_t size, size_t zeros) {
  Block::of_this_thread().copy_later({to, from, size, std::min(zeros, size), __builtin_return_address(0)});
}
void end_group_of_copies() { Block::of_this_thread().end_group_of_copies(); }
void wait_for_copies(size_t groups_left) { Block::of_this_thread().wait_for_copies(groups_left); }
void has_read(Deposits* deposits) {
  if (!--deposits->readers) Block::of_this_thread().take_back(deposits);
}
unsigned lanes_here(const void* site) { return Block::of_this_thread().lanes_here(site); }
void let_others_on() { Block::of_this_thread().let_others_on(); }
void* dynamic_shared() { return Block::of_this_thread().dynamic_shared(); }

void fail(const char* what, const char* file, unsigned line, const char* function) {
  std::string where = c10::str(file, ":", line, " (", function, "), block [", place.block.x, ",", place.block.y, ",", place.block.z,
                               "], thread [", place.thread.x, ",", place.thread.y, ",", place.thread.z, "]");
  Block& block = Block::of_this_thread();
  if (!block.is_running()) throw std::runtime_error(c10::str(what, " at ", where));
  c10::SourceLocation here{function, file, line};
  block.fail(std::make_exception_ptr(c10::AcceleratorError(here, kAssert, c10::str("CUDA error: ", what, " at ", where))));
}

// As the driver refuses such a launch: with CUDA_ERROR_INVALID_VALUE (TensorComprehensions' pull request 526).
void exceed_bounds(long most, const char* kernel) {
  const morph_index& size = place.block_size;
  std::string text = c10::str("CUDA error: invalid argument (", kernel, " was launched with ", uint64_t(size.x) * size.y * size.z,
                              " threads in a block; its __launch_bounds__ allow ", most, ")");
  c10::SourceLocation here{__func__, __FILE__, __LINE__};
  Block::of_this_thread().fail(std::make_exception_ptr(c10::AcceleratorError(here, cudaErrorInvalidValue, text)));
}

}  // namespace morph_cuda

// What the translation of CUDA sources has in the place of the C library's, which would end the process.
extern "C" [[noreturn]] void morph_cuda_assert_fail(const char* what, const char* file, unsigned line, const char* function) noexcept {
  if (!morph_cuda::Block::of_this_thread().is_running()) __assert_fail(what, file, line, function);
  morph_cuda::fail(("device-side assert triggered: " + std::string(what)).c_str(), file, line, function);
}
