// Streams and events, by the handles that torch.cuda gives them. Functions return codes of CUDA's runtime.
#pragma once

#include "memory.h"

namespace queues {

using Callback = void (*)(void* stream, int status, void* data);

bool is_stream(const void* stream);
bool is_event(const void* event);

// Writes what a question about a stream is answered with.
template <typename Value>
int answer(const void* stream, Value* place, Value value) {
  if (!place) return 1;              // cudaErrorInvalidValue
  if (!is_stream(stream)) return 400;  // cudaErrorInvalidResourceHandle
  *place = value;
  return 0;
}

int new_stream(void** stream, unsigned flags, int priority);
int free_stream(void* stream);
unsigned stream_flags(const void* stream);
int wait_for_stream(const void* stream);
int wait_for_device();
int query_stream(const void* stream);
int call(void* stream, void (*function)(void*), void* data);
int call_back(void* stream, Callback function, void* data);

int new_event(void** event, unsigned flags);
int free_event(void* event);
int record(void* event, void* stream);
int elapsed(float* milliseconds, void* from, void* to);
int wait_for_event(void* event);
int query_event(void* event);
int await_event(const void* stream, void* event);
int share(memory::Handle* handle, void* event);
int open(void** event, const memory::Handle& handle);

}  // namespace queues
