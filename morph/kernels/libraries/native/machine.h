// The software device, by the functions of its interface (morph/software/native/interface.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#define MACHINE(FUNCTION)                                                           \
  FUNCTION(int, use, ())                                                            \
  FUNCTION(int, is_initialized, ())                                                 \
  FUNCTION(int, count, ())                                                          \
  FUNCTION(int, get_device, ())                                                     \
  FUNCTION(int, set_device, (int))                                                  \
  FUNCTION(int, is_used, (int))                                                     \
  FUNCTION(int, synchronize_device, ())                                             \
  FUNCTION(void*, take, (int, size_t))                                              \
  FUNCTION(int, give_back, (void*))                                                 \
  FUNCTION(void, show, (const void*))                                               \
  FUNCTION(void*, usable, (const void*))                                            \
  FUNCTION(int, owner, (const void*))                                               \
  FUNCTION(const char*, segment, (const void*, size_t*))                            \
  FUNCTION(int, place, (const void*, int*, size_t*))                                \
  FUNCTION(void, memory_info, (int, size_t*, size_t*))                              \
  FUNCTION(int, pin, (const void*, size_t))                                         \
  FUNCTION(int, unpin, (const void*))                                               \
  FUNCTION(int, is_pinned, (const void*))                                           \
  FUNCTION(void*, new_stream, (int))                                                \
  FUNCTION(int, free_stream, (const void*))                                         \
  FUNCTION(int, is_stream, (const void*))                                           \
  FUNCTION(int, synchronize_stream, (const void*))                                  \
  FUNCTION(int, query_stream, (const void*))                                        \
  FUNCTION(int, priority_of_stream, (const void*))                                  \
  FUNCTION(int, is_capturing, (const void*))                                        \
  FUNCTION(int, refused_in_capture, ())                                             \
  FUNCTION(int, record_event, (void**, const void*))                                \
  FUNCTION(int, await_event, (const void*, void*))                                  \
  FUNCTION(int, query_event, (void*))                                               \
  FUNCTION(int, synchronize_event, (void*))                                         \
  FUNCTION(void, free_event, (void*))                                               \
  FUNCTION(int, elapsed, (void*, void*, float*))                                    \
  FUNCTION(int64_t, time_of_event, (const void*))                                   \
  FUNCTION(void, set_time_of_event, (void*, int64_t))                               \
  FUNCTION(int, is_order_watched, ())                                               \
  FUNCTION(void, begin_call, (const machine::Call*, const machine::Use*))           \
  FUNCTION(void, end_call, (const machine::Call*, const machine::Use*, size_t))     \
  FUNCTION(void, settle, ()) /* waits for collectives begun; these two ask Python */ \
  FUNCTION(int, reaches, (int, int)) /* whether a device can access another's memory */

namespace machine {

// What MORPH_SANITIZE=sync is told of a copy or a fill (LibraryCall and Use of morph/software/native/device/order.h).
struct Call {
  const char* name;
  intptr_t stream;
  bool blocks;
};
struct Use {
  const char* start;
  size_t bytes;
  bool writes;
};

#define DECLARE(result, name, parameters) extern result(*name) parameters;
MACHINE(DECLARE)
#undef DECLARE

enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kNotInitialized = 3,
  kInvalidPitch = 12,
  kInvalidDirection = 21,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kDeviceUninitialized = 201,
  kUnsupportedLimit = 215,
  kPeerUnsupported = 217,
  kInvalidHandle = 400,
  kNotReady = 600,
  kPeerAlreadyEnabled = 704,
  kPeerNotEnabled = 705,
  kNotSupported = 801,
};

inline bool exists(int index) { return index >= 0 && index < count(); }

}  // namespace machine
