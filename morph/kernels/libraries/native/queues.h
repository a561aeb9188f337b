// Streams and events, by the handles that torch.cuda gives them. Functions return codes of CUDA's runtime.
#pragma once

#include "memory.h"

namespace queues {

using Callback = void (*)(void* stream, int status, void* data);

int new_stream(void** stream, unsigned flags, int priority);
int free_stream(void* stream);
unsigned stream_flags(const void* stream);
int wait_for_stream(const void* stream);
int wait_for_device();

int new_event(void** event, unsigned flags);
int free_event(void* event);
int record(void* event, void* stream);
int elapsed(float* milliseconds, void* from, void* to);
int wait_for_event(void* event);
int share(memory::Handle* handle, void* event);
int open(void** event, const memory::Handle& handle);

}  // namespace queues
