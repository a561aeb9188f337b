// MORPH_SANITIZE=host keeps device memory from the host. What runs on the host here and on the device in CUDA, as
// thrust's algorithms do, may use it.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <exception>
#include <memory>

namespace morph_cuda {

// Without MORPH_SANITIZE these do nothing, and return the pointer.
void begin_device_access();
void end_device_access();
void* usable_address(const void* pointer);
void* take_pinned(size_t bytes);
void give_back_pinned(void* pointer);
void* pause_checks();  // of the accesses of this thread of the host
void resume_checks(void* paused);
// What thrust and CUB use of device memory, and the stream that they run on; the end throws what was found.
void* begin_algorithm(const char* name, cudaStream_t stream, bool blocks);
void use_in_algorithm(const void* start, size_t bytes, bool writes);
void end_algorithm(void* begun, bool is_unwinding);

class DeviceAccess {
 public:
  DeviceAccess() { begin_device_access(); }
  ~DeviceAccess() { end_device_access(); }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

#ifdef MORPH_CUDA_CHECKED  // the source is compiled for checks

class AlgorithmsAccess {
 public:
  explicit AlgorithmsAccess(const char* name, cudaStream_t stream = nullptr, bool blocks = false)
      : begun_(begin_algorithm(name, stream, blocks)) {}
  ~AlgorithmsAccess() noexcept(false) { end_algorithm(begun_, std::uncaught_exceptions() > before_); }
  void use(const void* start, size_t bytes, bool writes) { use_in_algorithm(start, bytes, writes); }

 private:
  DeviceAccess access_;
  const int before_ = std::uncaught_exceptions();
  void* const begun_;
};

class Unchecked {
 public:
  Unchecked() : paused_(pause_checks()) {}
  ~Unchecked() { resume_checks(paused_); }
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;

 private:
  void* paused_;
};

template <class T>
T* element(T* pointer) { return static_cast<T*>(usable_address(pointer)); }

template <class T>
struct VectorsMemory {
  using value_type = T;
  VectorsMemory() = default;
  template <class U> VectorsMemory(const VectorsMemory<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(take_pinned(n * sizeof(T))); }
  void deallocate(T* pointer, size_t) { give_back_pinned(pointer); }
  template <class U> bool operator==(const VectorsMemory<U>&) const { return true; }
  template <class U> bool operator!=(const VectorsMemory<U>&) const { return false; }
};

#else

struct AlgorithmsAccess {
  explicit AlgorithmsAccess(const char*, cudaStream_t = nullptr, bool = false) {}
  void use(const void*, size_t, bool) {}
};
struct Unchecked {
  Unchecked() {}
};

template <class T>
T* element(T* pointer) { return pointer; }

template <class T>
using VectorsMemory = std::allocator<T>;

#endif

}  // namespace morph_cuda
