// torch's build for CUDA writes this file; the one for the CPU has none.
#pragma once
#define C10_CUDA_BUILD_SHARED_LIBS
