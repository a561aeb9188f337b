// The memory of a device that XLA's plug-in for the CPU does not count: bytes of its buffers, a limit, pinned memory.

#pragma once

#include "pjrt.h"

// Puts its own functions into the interface in place of those that make, free and count buffers.
void count_memory(pjrt::Api& api);
