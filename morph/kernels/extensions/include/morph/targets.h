// <nv/target>: code for the host, or for some GPUs, by which of them is compiled for.
#pragma once

#include "morph/architectures.h"

#ifdef __CUDA_ARCH__
#define NV_IS_HOST 0
#define NV_IS_DEVICE 1
#else
#define NV_IS_HOST 1
#define NV_IS_DEVICE 0
#endif
#define NV_ANY_TARGET 1
#define NV_NO_TARGET 0

#define MORPH_BARE(...) __VA_ARGS__
#define MORPH_JOINED_AS_IS(A, B) A##B
#define MORPH_JOINED(A, B) MORPH_JOINED_AS_IS(A, B)

// The code where the condition, 1 or 0, holds, else the other, which may not be there: each in parentheses.
#define MORPH_IF_1(CODE, ...) MORPH_BARE CODE
#define MORPH_IF_0(CODE, ...) __VA_OPT__(MORPH_BARE __VA_ARGS__)
#define NV_IF_TARGET(CONDITION, ...) MORPH_JOINED(MORPH_IF_, CONDITION)(__VA_ARGS__)
#define NV_IF_ELSE_TARGET(CONDITION, CODE, OTHER) NV_IF_TARGET(CONDITION, CODE, OTHER)

// The code of the first condition that holds, of up to eight.
#define MORPH_CASE_(...)
#define MORPH_CASE_1(CODE, ...) MORPH_BARE CODE
#define MORPH_CASE_0(CODE, ...) __VA_ARGS__
#define MORPH_CASES(CONDITION, CODE, ...) MORPH_JOINED(MORPH_CASE_, CONDITION)(CODE, __VA_ARGS__)
#define MORPH_CASES_1(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, )
#define MORPH_CASES_2(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_1(__VA_ARGS__)))
#define MORPH_CASES_3(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_2(__VA_ARGS__)))
#define MORPH_CASES_4(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_3(__VA_ARGS__)))
#define MORPH_CASES_5(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_4(__VA_ARGS__)))
#define MORPH_CASES_6(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_5(__VA_ARGS__)))
#define MORPH_CASES_7(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_6(__VA_ARGS__)))
#define NV_DISPATCH_TARGET(CONDITION, CODE, ...) MORPH_CASES(CONDITION, CODE, __VA_OPT__(MORPH_CASES_7(__VA_ARGS__)))
