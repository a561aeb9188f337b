// Memory of the device, pinned memory, and memory of other processes. Functions return codes of CUDA's runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memory {

int allocate(void** pointer, size_t bytes);
int allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height);
int allocate_managed(void** pointer, size_t bytes);
int free(void* pointer);
int free_all();  // what was taken on the current device
int allocate_pinned(void** pointer, size_t bytes, unsigned flags);
int free_pinned(void* pointer);
int pin(void* pointer, size_t bytes);
int unpin(void* pointer);

// Whether the process has memory at the address; a number that stands for nothing is no reason to crash.
bool is_mapped(const void* pointer);

enum Kind { kUnregistered, kHost, kDevice, kManaged };
Kind kind(const void* pointer);
int device(const void* pointer);  // -2 for memory that the device does not know
int around(const void* pointer, const void** start, size_t* bytes);
unsigned flags(const void* pointer);  // those that pinned memory was allocated with

// Whether the bytes lie in one block, where the block is known.
bool fits(const void* pointer, size_t bytes);

struct Handle { char bytes[64]; };
int share(Handle* handle, const void* pointer);
int open(void** pointer, const Handle& handle);
int close(void* pointer);

}  // namespace memory
