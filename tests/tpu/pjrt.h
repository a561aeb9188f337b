// What the plug-in uses of PJRT's C interface, which only grows at the end (xla/pjrt/c/pjrt_c_api.h, 0.106).

#pragma once

#include <cstddef>
#include <cstdint>

namespace pjrt {

// Each function takes one structure, which begins with its size and a pointer to extensions.
struct Header {
  size_t struct_size;
  void* extensions = nullptr;
};

// Its place among the functions of the interface.
enum Function {
  kDestroyError,
  kErrorMessage,
  kErrorCode,
  kCreateClient = 10,
  kBufferFromHost = 22,
  kMemoryStatistics = 34,
  kNumberOfOutputs = 44,
  kOutputMemories = 47,
  kGetExecutable = 51,
  kExecute = 55,
  kDestroyBuffer = 58,
  kBufferSize = 64,
  kCopyToDevice = 69,
  kCopyToMemory = 92,
  kCompiledMemory = 96,
  kRetrieveBuffer = 104,
  kUninitializedBuffer = 112,
  kErrorPayloads = 132,
  kClearMemoryStatistics = 135,
  kFunctions,
};

using Call = void* (*)(void*);

struct Api {
  size_t struct_size;
  struct Extension* extensions;
  Header version_header;
  int major, minor;
  Call functions[kFunctions];
};

struct Extension {
  size_t struct_size;
  int type;
  Extension* next;
};

constexpr int kHostMemoryAllocator = 23;

struct HostMemory : Header {
  void* client;
  size_t size;
  int numa_node;
  void* memory;
  void (*free)(void* memory, void* argument);
  void* free_argument;
};

struct HostMemoryAllocator : Extension {
  void* (*allocate)(HostMemory*);
};

struct NamedValue : Header {
  const char* name;
  size_t name_size;
  int type;
  int64_t value;
  size_t value_size;
};

constexpr int kInt64 = 1;

struct NewClient : Header {
  const NamedValue* options;
  size_t number_of_options;
};

struct OutputCount : Header {
  void* executable;
  size_t number;
};

struct OutputMemories : OutputCount {
  const char* const* kinds;
  const size_t* kind_sizes;
};

struct LoadedExecutable : Header {
  void* loaded;
  void* executable;
};

struct CompiledMemory : Header {
  void* executable;
  int64_t code, arguments, outputs, aliases, rest[11];
};

struct Execution : Header {
  void* loaded;
  void* options;
  void* const* const* inputs;
  size_t number_of_devices, number_of_inputs;
  void** const* outputs;
};

struct Buffer : Header {
  void* buffer;
  size_t size;
};

struct BufferFromHost : Header {
  void* client;
  const void* data;
  int type;
  const int64_t* sizes;
  size_t dimensions;
  const int64_t* strides;
  size_t number_of_strides;
  int semantics;
  void *device, *memory, *layout, *is_done, *buffer;
};

struct CopiedBuffer : Header {
  void *source, *target, *buffer;
};

struct RetrievedBuffer : Header {
  void* manager;
  int index;
  void* buffer;
};

struct UninitializedBuffer : Header {
  void* client;
  const int64_t* sizes;
  size_t dimensions;
  int type;
  void *layout, *device, *memory, *buffer;
};

struct Figure {
  int64_t value;
  bool is_set;
};

struct MemoryStatistics : Header {
  void* device;
  int64_t in_use;
  Figure peak, allocations, largest, limit, reserved, peak_reserved, reservable, largest_free, pool, peak_pool;
  Figure peak_with_reserved;
};

struct Error : Header {
  void* error;
  union {
    struct {
      const char* text;
      size_t size;
    } message;
    int code;
  };
};

constexpr int kResourceExhausted = 8;

}  // namespace pjrt
