// See history.h.
#include "memory/history.h"

#include "memory/arena.h"

#include <torch/csrc/profiler/combined_traceback.h>

#include <chrono>
#include <mutex>
#include <string_view>

namespace software {
namespace {

Recording& chosen = *new Recording;
thread_local Context context;
thread_local std::string text;
std::mutex observers_mutex;
std::vector<OutOfMemoryObserver>& observers = *new std::vector<OutOfMemoryObserver>;

int64_t now() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

Context found(const std::map<const void*, Context>& contexts, const void* address) {
  auto at = contexts.find(address);
  return at == contexts.end() ? nullptr : at->second;
}

}  // namespace

const Recording& recording() { return chosen; }
void set_recording(Recording wanted) {
  chosen = std::move(wanted);
  if (chosen.state) ever_recorded = true;
}

void Remembered::gather(bool allocates) {
  if (chosen.frames == Frames::kNone || (!allocates && chosen.frames != Frames::kAll)) return;
  context = torch::CapturedTraceback::gather(true, true, chosen.of_native_code);
}
void Remembered::forget() { context.reset(); }

const Context& remembered() { return context; }
void set_metadata(std::string wanted) { text = std::move(wanted); }
const std::string& metadata() { return text; }

void observe_refused_memory(OutOfMemoryObserver observer) {
  std::lock_guard<std::mutex> lock(observers_mutex);
  observers.push_back(std::move(observer));
}

void tell_of_refused_memory(c10::DeviceIndex index, size_t wanted) {
  std::vector<OutOfMemoryObserver> all;
  {
    std::lock_guard<std::mutex> lock(observers_mutex);
    all = observers;
  }
  auto [free, total] = allocator()->getMemoryInfo(index);
  for (auto& observer : all) observer(index, int64_t(wanted), int64_t(total), int64_t(free));
}

void Arena::forget_history() {
  std::lock_guard lock(lock_);
  events_.clear();
}

std::vector<MemoryEvent> Arena::history() {
  std::lock_guard lock(lock_);
  return {events_.begin(), events_.end()};
}

Context Arena::context_of(const void* block) {
  std::lock_guard lock(lock_);
  return found(contexts_, block);
}

Context Arena::context_of_segment(const void* start) {
  std::lock_guard lock(lock_);
  return found(segment_contexts_, start);
}

void Arena::record(const char* action, const void* address, size_t size, c10::StreamId stream, MempoolId_t pool) {
  const Recording& wanted = recording();
  if (!wanted.state && contexts_.empty() && segment_contexts_.empty()) return;
  std::string_view what = action;
  if (what == "alloc" && remembered()) contexts_[address] = remembered();
  if (what == "free_completed") contexts_.erase(address);
  if (what == "segment_alloc" && remembered()) segment_contexts_[address] = remembered();
  if (what == "segment_free") segment_contexts_.erase(address);
  if (!wanted.events || wanted.skipped.count(action)) return;
  Context frames = wanted.frames >= Frames::kAlloc ? remembered() : nullptr;
  events_.push_back({action, size_t(address), size, stream, pool, now(), std::move(frames), metadata()});
  if (events_.size() > wanted.entries) events_.pop_front();
}

}  // namespace software
