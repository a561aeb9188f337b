// What the C++ of every kernel includes.
#pragma once
#include "atomics.h"
#include "diagnostics.h"
#include "launch.h"
#include "mathematics.h"
#include "products.h"
