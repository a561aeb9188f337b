// A subset of CUB: the collectives of a block and of a warp, and those of the device.
#pragma once

#include "morph/cub_allocator.h"
#include "morph/cub_block.h"
#include "morph/cub_device.h"
#include "morph/cub_exchange.h"
#include "morph/cub_histogram.h"
#include "morph/cub_raking.h"
#include "morph/cub_runs.h"
#include "morph/cub_scan.h"
#include "morph/cub_segments.h"
#include "morph/cub_sort.h"
#include "morph/cub_traits.h"
