// A kernel's failed assertion is an error of the launch, not the end of the process. Read anew each time, as C asks.
#ifdef __CUDACC__
#include "morph/threads.h"
extern "C" void __assert_fail(const char* what, const char* file, unsigned line, const char* function) noexcept
    __attribute__((__noreturn__));
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#endif
#ifndef static_assert
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
#endif
#else
#include_next <assert.h>
#endif
