// torch's generator for CUDA, as its headers declare it: seed and offset are those of the software device's generator.
//
// at::Generator::get<CUDAGeneratorImpl>() gives a program the device's own generator by this type, so nothing here reads a
// member that is not GeneratorImpl's: the virtual functions are the device's.
#include "../device.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/PhiloxUtils.cuh>

namespace at {
namespace {

c10::GeneratorImpl& of_the_device(CUDAGeneratorImpl* generator) { return *generator; }

uint64_t advanced(c10::GeneratorImpl& generator, uint64_t increment) {
  uint64_t before = generator.get_offset();
  generator.set_offset(before + (increment + 3) / 4 * 4);  // in whole rounds of Philox
  return before;
}

}  // namespace

c10::DeviceType CUDAGeneratorImpl::device_type() { return c10::DeviceType::CUDA; }

PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
  c10::GeneratorImpl& generator = of_the_device(this);
  morph_cuda::refuse_in_capture(nullptr);  // outside of an operator a graph would repeat this seed
  return {generator.current_seed(), advanced(generator, increment)};
}
std::pair<uint64_t, uint64_t> CUDAGeneratorImpl::philox_engine_inputs(uint64_t increment) {
  PhiloxCudaState state = philox_cuda_state(increment);
  return {state.seed_.val, state.offset_.val};
}
void CUDAGeneratorImpl::set_philox_offset_per_thread(uint64_t offset) {
  TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4");
  of_the_device(this).set_offset(offset);
}
uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const {
  return static_cast<const c10::GeneratorImpl*>(this)->get_offset();
}

namespace cuda::detail {

const Generator& getDefaultCUDAGenerator(DeviceIndex index) {
  if (index < 0) index = morph_cuda::device().getDevice().index();
  return globalContext().defaultGenerator(Device(DeviceType::CUDA, index));
}
Generator createCUDAGenerator(DeviceIndex index) {
  if (index < 0) index = morph_cuda::device().getDevice().index();
  return globalContext().getAcceleratorHooksInterface(DeviceType::CUDA).getNewGenerator(index);
}

}  // namespace cuda::detail

namespace cuda::philox {

void unpack_cudnn_wrapper(PhiloxCudaState state, int64_t* seed, int64_t* offset, cudaStream_t) {
  auto [the_seed, the_offset] = unpack(state);
  *seed = int64_t(the_seed), *offset = int64_t(the_offset);
}

}  // namespace cuda::philox
}  // namespace at
