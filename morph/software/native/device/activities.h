// What torch's profiler is told: the device's kernels and copies, and the host's calls that start or await them.
#pragma once

#include "device/device.h"

#include <atomic>
#include <string>

namespace software {

enum class Activity { kKernel, kCopy, kCall };

inline std::atomic<bool> profiled{false};  // whether a profiler records the device
inline bool is_profiled() { return profiled.load(std::memory_order_relaxed); }

inline thread_local bool in_list_kernel = false;  // what runs now is one kernel on CUDA
void watch_list_operators(bool wanted);           // lists.cpp
inline thread_local bool in_replay = false;  // one call launches all kernels of a graph

// kineto.cpp
int64_t trace_time();                                                       // nanoseconds, as the profiler counts them
void record_work(Activity kind, std::string name, c10::Stream on, int64_t began,
                 size_t bytes = 0);  // and the call that started it
void record_call(const char* name, int64_t began);
bool install_kineto();  // false where torch's profiler takes no activities of others

// Records a copy, from here to the end of the block.
class RecordedCopy {
 public:
  RecordedCopy(const at::Tensor& source, const at::Tensor& target, const char* host = nullptr)
      : source_(source), target_(target), host_(host), began_(is_profiled() ? trace_time() : 0) {}
  ~RecordedCopy() {
    if (began_) [[unlikely]] record();
  }
  RecordedCopy(const RecordedCopy&) = delete;
  RecordedCopy& operator=(const RecordedCopy&) = delete;

 private:
  void record() const;

  const at::Tensor &source_, &target_;
  const char* host_;  // what memory the host's side is on CUDA, if not as here
  const int64_t began_;
};

// Records a call of the runtime, from here to the end of the block.
class RecordedCall {
 public:
  explicit RecordedCall(const char* name) : name_(name), began_(is_profiled() ? trace_time() : 0) {}
  ~RecordedCall() {
    if (began_) [[unlikely]] record_call(name_, began_);
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

 private:
  const char* name_;
  const int64_t began_;
};

}  // namespace software
