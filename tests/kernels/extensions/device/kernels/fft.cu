// cuFFT as a program calls it: each function returns the first status that is not zero.
#include <cufft.h>

namespace {

template <class F>
int planned(cufftResult made, cufftHandle plan, F execute) {
  if (made != CUFFT_SUCCESS) return made;
  int status = cufftSetStream(plan, nullptr) | execute(plan);
  return status | cufftDestroy(plan);
}

}  // namespace

extern "C" {

int lines(int n, int batch, int direction, cufftComplex* in, cufftComplex* out) {
  cufftHandle plan;
  cufftResult made = cufftPlan1d(&plan, n, CUFFT_C2C, batch);
  return planned(made, plan, [&](cufftHandle p) { return cufftExecC2C(p, in, out, direction); });
}
int wide_planes(int nx, int ny, int direction, cufftDoubleComplex* in, cufftDoubleComplex* out) {
  cufftHandle plan;
  cufftResult made = cufftPlan2d(&plan, nx, ny, CUFFT_Z2Z);
  return planned(made, plan, [&](cufftHandle p) { return cufftExecZ2Z(p, in, out, direction); });
}
int there(int nx, int ny, int nz, cufftReal* in, cufftComplex* out) {
  cufftHandle plan;
  cufftResult made = cufftPlan3d(&plan, nx, ny, nz, CUFFT_R2C);
  return planned(made, plan, [&](cufftHandle p) { return cufftExecR2C(p, in, out); });
}
int back(int nx, int ny, int nz, cufftComplex* in, cufftReal* out) {
  cufftHandle plan;
  cufftResult made = cufftPlan3d(&plan, nx, ny, nz, CUFFT_C2R);
  return planned(made, plan, [&](cufftHandle p) { return cufftExecC2R(p, in, out); });
}
// Planes of nx by ny in planes of ex by ey, whose numbers are `stride` apart.
int strided(int nx, int ny, int ex, int ey, int stride, int batch, cufftDoubleReal* in, cufftDoubleComplex* out,
            cufftDoubleReal* again) {
  cufftHandle plan, inverse;
  int n[] = {nx, ny}, whole[] = {ex, ey}, half[] = {nx, ny / 2 + 1};
  int distance = ex * ey * stride, half_distance = nx * (ny / 2 + 1);
  size_t bytes;
  cufftResult made = cufftPlanMany(&plan, 2, n, whole, stride, distance, half, 1, half_distance, CUFFT_D2Z, batch);
  int status = planned(made, plan, [&](cufftHandle p) { return cufftExecD2Z(p, in, out); });
  if (status) return status;
  cufftCreate(&inverse);
  made = cufftMakePlanMany(inverse, 2, n, half, 1, half_distance, whole, stride, distance, CUFFT_Z2D, batch, &bytes);
  return planned(made, inverse, [&](cufftHandle p) { return cufftExecZ2D(p, out, again); });
}
int wrong_type(cufftComplex* data) {
  cufftHandle plan;
  cufftResult made = cufftPlan1d(&plan, 8, CUFFT_Z2Z, 1);
  return planned(made, plan, [&](cufftHandle p) { return cufftExecC2C(p, data, data, CUFFT_FORWARD); });
}
}
