// A subset of thrust, on the host: the algorithms run when they are called.
#pragma once

#include <iostream>  // which programs take from it

#include "morph/complex.h"
#include "morph/thrust_algorithms.h"
#include "morph/thrust_functional.h"
#include "morph/thrust_iterators.h"
#include "morph/thrust_outputs.h"
#include "morph/thrust_random.h"
#include "morph/thrust_traits.h"
#include "morph/thrust_vectors.h"
