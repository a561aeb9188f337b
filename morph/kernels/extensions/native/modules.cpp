// Launches of the kernels of modules, which are asked for by numbers and answered with an error's number and text.
#include "morph/modules.h"

#include "device.h"

#include <c10/util/Exception.h>

#include <exception>
#include <string>

using namespace morph_cuda;

namespace {

thread_local std::string problem;

int failed(int code, const c10::Error& error) { return problem = error.what_without_backtrace(), code; }

cudaError_t fits_at_once(const Kernel& kernel, dim3 grid, dim3 block, size_t shared) {
  int device = 0, multiprocessors = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.address, int(block.x * block.y * block.z), shared);
  bool fits = uint64_t(grid.x) * grid.y * grid.z <= uint64_t(blocks) * uint64_t(multiprocessors);
  return fits ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

}  // namespace

extern "C" int morph_launch(const Kernel* kernel, const unsigned* grid, const unsigned* block, size_t shared, cudaStream_t stream,
                            void** arguments, int cooperative, const char** words) {
  dim3 blocks(grid[0], grid[1], grid[2]), threads(block[0], block[1], block[2]);
  problem.clear();
  auto launch = [&]() -> int {
    try {
      void* address = const_cast<void*>(kernel->address);
      if (!cooperative) return kernel->launcher(address, blocks, threads, arguments, shared, stream);
      if (int code = fits_at_once(*kernel, blocks, threads, shared)) return code;
      Cooperative all;
      return kernel->launcher(address, blocks, threads, arguments, shared, stream);
    } catch (const c10::AcceleratorError& error) {
      return failed(error.get_error_code(), error);
    } catch (const c10::Error& error) {
      return failed(cudaErrorInvalidValue, error);
    } catch (const std::exception& error) {
      return problem = error.what(), int(cudaErrorInvalidValue);
    }
  };
  int code = launch();
  *words = problem.c_str();
  return code;
}
