// The functions of libcuda about memory.
#pragma once

#include "library.h"
#include "memory.h"

namespace driver {

library::Functions memory_functions();

}  // namespace driver
