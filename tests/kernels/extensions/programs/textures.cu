// What is wrong with textures and surfaces: told by calls as numbers, and of kernels with the line.
#include <cstdio>

__global__ void misuse(int which, cudaTextureObject_t texture, cudaSurfaceObject_t surface, float* out) {
  if (which == 0) out[0] = tex1D<float>(0, 1);
  if (which == 1) out[1] = tex2D<int>(texture, 1, 1);
  if (which == 2) out[2] = tex2D<float2>(texture, 1, 1).y;
  if (which == 3) out[3] = tex2DLayered<float>(texture, 1, 1, 0);
  if (which == 4) out[4] = tex2Dgather<float4>(texture, 1, 1).x;
  if (which == 5) out[5] = surf2Dread<float>(surface, 32, 0);
  if (which == 6) surf2Dwrite(1.f, surface, 2, 0, cudaBoundaryModeZero);
  if (which >= 7) out[7] = tex2D<float>(texture, 1, 1);
}
__global__ void past(cudaTextureObject_t texture, float* out) { *out = tex1Dfetch<float>(texture, 12); }
void say(cudaError_t error) { std::printf("%s\n", cudaGetErrorName(error)); }

int main(int count, char**) {
  float* out;
  cudaArray_t array, plain;
  cudaTextureObject_t texture, other;
  cudaSurfaceObject_t surface;
  cudaMalloc(&out, 40);
  auto format = cudaCreateChannelDesc<float>(), whole = cudaCreateChannelDesc<int>();
  auto wide = cudaCreateChannelDesc<double>();
  cudaMallocArray(&array, &format, 8, 4, cudaArraySurfaceLoadStore), cudaMallocArray(&plain, &whole, 8, 4);
  cudaTextureDesc how = {}, linear = {};
  linear.filterMode = cudaFilterModeLinear;
  cudaResourceDesc resource = {}, integers = {}, line = {};
  resource.res.array.array = array, integers.res.array.array = plain;
  line.resType = cudaResourceTypeLinear, line.res.linear = {out, format, 80};
  if (count > 1) {  // longer than the memory
    cudaCreateTextureObject(&texture, &line, &how, nullptr);
    past<<<1, 1>>>(texture, out);
    return cudaDeviceSynchronize();
  }
  cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaCreateSurfaceObject(&surface, &resource);
  say(cudaCreateTextureObject(&other, &integers, &linear, nullptr)), say(cudaCreateSurfaceObject(&other, &integers));
  say(cudaMallocArray(&plain, &wide, 8)), say(cudaMallocArray(&plain, &format, 8, 4, cudaArraySparse));
  line.res.linear.devPtr = out + 1, integers.resType = cudaResourceTypeMipmappedArray;
  say(cudaCreateTextureObject(&other, &line, &how, nullptr));
  say(cudaCreateTextureObject(&other, &integers, &how, nullptr));
  for (int which = 0; which < 9; which++) {
    if (which == 7) cudaFreeArray(array);
    if (which == 8) cudaDestroyTextureObject(texture);
    misuse<<<1, 1>>>(which, texture, surface, out);
    say(cudaDeviceSynchronize()), cudaDeviceReset();
  }
}
