// CUDA's runtime, and in a source for nvcc what the language itself has.
#pragma once

#include "morph/arrays.h"
#include "morph/runtime.h"

#ifdef __cplusplus
#include "morph/driver.h"
#include "morph/graphs.h"
#include "morph/math.h"
#include "morph/pools.h"
#ifdef __CUDACC__
#include "morph/atomics.h"
#include "morph/launch.h"
#include "morph/shared.h"
#include "morph/textures.h"
#include "morph/threads.h"
#endif
#endif
