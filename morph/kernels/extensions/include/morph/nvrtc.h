// Kernels that a program compiles while it runs: what libnvrtc serves (../../../libraries).
#pragma once

#include <cstddef>
#include <string>
#include <typeinfo>

#include <cxxabi.h>
#include <stdlib.h>

#include "morph/enumerators.h"

typedef struct _nvrtcProgram* nvrtcProgram;

extern "C" {
const char* nvrtcGetErrorString(nvrtcResult result);
nvrtcResult nvrtcVersion(int* major, int* minor);
nvrtcResult nvrtcGetNumSupportedArchs(int* count);
nvrtcResult nvrtcGetSupportedArchs(int* all);
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names);
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program);
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options);
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* text);
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image);
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes);
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* text);
nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* expression);
nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* expression, const char** name);
}

namespace morph_cuda {
template <class T>
struct NamedType {};
}  // namespace morph_cuda

template <class T>
nvrtcResult nvrtcGetTypeName(std::string* name) {
  char* found = abi::__cxa_demangle(typeid(morph_cuda::NamedType<T>).name(), nullptr, nullptr, nullptr);
  if (!found) return NVRTC_ERROR_INTERNAL_ERROR;
  std::string whole = found;  // morph_cuda::NamedType<T>, which keeps T's const and its reference
  free(found);
  size_t first = whole.find('<') + 1;
  *name = whole.substr(first, whole.rfind('>') - first);
  return NVRTC_SUCCESS;
}
