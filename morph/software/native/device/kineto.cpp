// The device as a plug-in of Kineto, torch's profiler: the activities that CUPTI records of a GPU. Releases of torch
// whose headers lack fmt, which Kineto's include, profile by the events of profiler.cpp.
#include "device/activities.h"

#if __has_include(<fmt/format.h>) && __has_include(<kineto/libkineto.h>)
#define FMT_HEADER_ONLY
#include <kineto/libkineto.h>
#endif

#include "memory/memory.h"
#include "operators/fallback.h"

#include <chrono>
#include <mutex>
#include <set>

namespace software {
namespace {

// A call of the runtime alone, or with the work on a stream that it started.
struct ProfiledEvent {
  Activity kind;
  std::string name;
  c10::Stream stream;
  int64_t began, ended;
  uint64_t caller, range;  // correlations of the operator, and of the record_function around it; 0: none
  int32_t thread;
  bool replayed;
  size_t bytes;  // of a copy
};

std::mutex profiled_events_mutex;
std::vector<ProfiledEvent>& profiled_events = *new std::vector<ProfiledEvent>;
thread_local std::vector<uint64_t> calling_operators, open_ranges;

}  // namespace

// What CUDA copies by a kernel instead.
static bool is_changed(const at::Tensor& source, const at::Tensor& target) {
  if (source.is_cpu() || target.is_cpu()) return false;
  bool laid_out_alike = source.is_contiguous() ? target.is_contiguous()
                                               : source.strides() == target.strides() && source.is_non_overlapping_and_dense();
  return source.dtype() != target.dtype() || source.sizes() != target.sizes() || !laid_out_alike ||
         source.is_conj() != target.is_conj() || source.is_neg() != target.is_neg();
}

// As CUPTI names it: "Memcpy DtoH (Device -> Pageable)".
void RecordedCopy::record() const {
  if (is_changed(source_, target_))
    return record_work(Activity::kKernel, "morph::kernel<copy_>", current_stream(target_.device().index()), began_);
  auto is_host = [](const at::Tensor& tensor) { return tensor.device().is_cpu(); };
  auto memory = [&](const at::Tensor& tensor) {
    return !is_host(tensor) ? "Device" : host_ ? host_ : is_pinned(tensor.storage().data()) ? "Pinned" : "Pageable";
  };
  std::string name = c10::str("Memcpy ", is_host(source_) ? "H" : "D", "to", is_host(target_) ? "H" : "D", " (",
                              memory(source_), " -> ", memory(target_), ")");
  c10::DeviceIndex index = (is_host(target_) ? source_ : target_).device().index();
  record_work(Activity::kCopy, std::move(name), current_stream(index), began_, target_.nbytes());
}

int64_t trace_time() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

#ifdef FMT_HEADER_ONLY

namespace {

using libkineto::ActivityType;

void keep_event(ProfiledEvent event) {
  if (in_list_kernel || (in_replay && event.kind == Activity::kCall)) return;
  event.replayed = in_replay;
  event.ended = trace_time();
  event.caller = calling_operators.empty() ? 0 : calling_operators.back();
  event.range = open_ranges.empty() ? 0 : open_ranges.back();
  event.thread = libkineto::systemThreadId();
  std::lock_guard<std::mutex> lock(profiled_events_mutex);
  profiled_events.push_back(std::move(event));
}

const char* starter(Activity kind) { return kind == Activity::kKernel ? "cudaLaunchKernel" : "cudaMemcpyAsync"; }

// Turns the events of one recording into Kineto's activities.
class KinetoSession final : public libkineto::IActivityProfilerSession {
 public:
  KinetoSession(bool with_work, bool with_waits) : with_work_(with_work), with_waits_(with_waits) {}
  void start() override {
    std::lock_guard<std::mutex> lock(profiled_events_mutex);
    profiled_events.clear();
    profiled = true;
    watch_list_operators(true);
  }
  void stop() override {
    profiled = false;
    watch_list_operators(false);
    std::lock_guard<std::mutex> lock(profiled_events_mutex);
    recorded_.swap(profiled_events);
  }
  std::vector<std::string> errors() override { return {}; }
  void processTrace(libkineto::ActivityLogger&) override {}
  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, int64_t from,
                    int64_t to) override {
    buffer_->span = libkineto::TraceSpan(from, to, "morph");
    for (const ProfiledEvent& event : recorded_) {
      const libkineto::ITraceActivity* caller = event.caller ? linked(int32_t(event.caller)) : nullptr;
      next_ = ++last_;
      if (!event.replayed) describe_call(event, caller);
      if (event.kind == Activity::kCall) {
        if (with_waits_) describe_wait(event, caller);
        continue;
      }
      if (!with_work_) continue;
      describe_work(event, caller);
      if (event.range) extend_range(event);
    }
    for (const auto& [place, range] : ranges_)
      if (const libkineto::ITraceActivity* opened = linked(int32_t(range.range))) describe_range(range, opened);
    for (auto& activity : buffer_->activities) activity->log(logger);
  }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    std::set<std::pair<int64_t, int64_t>> streams;
    for (const ProfiledEvent& event : recorded_)
      if (event.kind != Activity::kCall) streams.emplace(event.stream.device_index(), event.stream.id());
    std::vector<libkineto::ResourceInfo> all;
    for (auto [device, stream] : streams) all.push_back({stream, stream, device, "stream " + std::to_string(stream)});
    return all;
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }
  void pushCorrelationId(uint64_t id) override { calling_operators.push_back(id); }
  void popCorrelationId() override { pop(calling_operators); }
  void pushUserCorrelationId(uint64_t id) override { open_ranges.push_back(id); }
  void popUserCorrelationId() override { pop(open_ranges); }

 private:
  using Place = std::tuple<uint64_t, int64_t, int64_t>;  // a range on a stream

  static void pop(std::vector<uint64_t>& stack) {
    if (!stack.empty()) stack.pop_back();
  }
  void extend_range(const ProfiledEvent& event) {
    Place place(event.range, event.stream.device_index(), event.stream.id());
    auto [found, is_new] = ranges_.emplace(place, event);
    if (!is_new) found->second.ended = std::max(found->second.ended, event.ended);
  }
  libkineto::GenericTraceActivity& add(ActivityType type, const std::string& name, const ProfiledEvent& event,
                                       const libkineto::ITraceActivity* caller) {
    buffer_->emplace_activity(buffer_->span, type, name);
    libkineto::GenericTraceActivity& added = *buffer_->activities.back();
    added.startTime = event.began;
    added.endTime = event.ended;
    added.id = next_;
    added.linked = caller;
    added.threadId = event.thread;
    added.flow.id = uint32_t(next_);
    added.flow.type = event.kind == Activity::kCall ? 0 : libkineto::kLinkAsyncCpuGpu;
    added.addMetadata("correlation", next_);
    if (event.caller) added.addMetadata("External id", event.caller);
    return added;
  }
  void describe_call(const ProfiledEvent& event, const libkineto::ITraceActivity* caller) {
    std::string name = event.kind == Activity::kCall ? event.name : starter(event.kind);
    auto& call = add(ActivityType::CUDA_RUNTIME, name, event, caller);
    call.device = libkineto::processId();
    call.resource = event.thread;
    call.flow.start = 1;
  }
  void describe_work(const ProfiledEvent& event, const libkineto::ITraceActivity* caller) {
    bool kernel = event.kind == Activity::kKernel;
    auto& work = add(kernel ? ActivityType::CONCURRENT_KERNEL : ActivityType::GPU_MEMCPY, event.name, event, caller);
    work.device = event.stream.device_index();
    work.resource = int32_t(event.stream.id());
    work.addMetadata("device", work.device);
    work.addMetadata("stream", work.resource);
    if (!kernel) work.addMetadata("bytes", event.bytes);
  }

  // As CUPTI's records of synchronization, which enable_cuda_sync_events of torch's profiler asks for.
  void describe_wait(const ProfiledEvent& event, const libkineto::ITraceActivity* caller) {
    static const std::map<std::string, const char*> names{{"cudaDeviceSynchronize", "Context Sync"},
                                                          {"cudaStreamSynchronize", "Stream Sync"},
                                                          {"cudaEventSynchronize", "Event Sync"},
                                                          {"cudaStreamWaitEvent", "Stream Wait Event"}};
    auto found = names.find(event.name);
    if (found == names.end()) return;
    bool whole = event.name == "cudaDeviceSynchronize";
    auto& wait = add(ActivityType::CUDA_SYNC, found->second, event, caller);
    wait.device = event.stream.device_index();
    wait.resource = whole ? -1 : int32_t(event.stream.id());
  }

  // What a record_function started, as Kineto shows it above a GPU's kernels.
  void describe_range(const ProfiledEvent& range, const libkineto::ITraceActivity* opened) {
    next_ = ++last_;
    auto& shown = add(ActivityType::GPU_USER_ANNOTATION, opened->name(), range, opened);
    shown.device = range.stream.device_index();
    shown.resource = int32_t(range.stream.id());
    shown.flow.type = 0;
  }

  const bool with_work_, with_waits_;
  std::vector<ProfiledEvent> recorded_;
  std::map<Place, ProfiledEvent> ranges_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
  // torch's profiler tells operators and calls apart by their numbers alone, those of several recordings too
  static inline std::atomic<int32_t> last_{1 << 30};
  int32_t next_ = 0;
};

class KinetoProfiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return types_; }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& wanted,
                                                                 const libkineto::Config&) override {
    // a profile of the host alone has the calls of the runtime
    bool with_work = wanted.count(ActivityType::CONCURRENT_KERNEL) > 0;
    if (!with_work && !wanted.count(ActivityType::CUDA_RUNTIME)) return nullptr;
    return std::make_unique<KinetoSession>(with_work, wanted.count(ActivityType::CUDA_SYNC) > 0);
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t, const std::set<ActivityType>& wanted,
                                                                 const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  const std::string name_ = "morph";
  const std::set<ActivityType> types_{ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                      ActivityType::GPU_USER_ANNOTATION, ActivityType::CUDA_RUNTIME,
                                      ActivityType::CUDA_SYNC};
};

}  // namespace

void record_work(Activity kind, std::string name, c10::Stream on, int64_t began, size_t bytes) {
  keep_event({kind, std::move(name), on, began, 0, 0, 0, 0, false, bytes});
}
void record_call(const char* name, int64_t began) {
  keep_event({Activity::kCall, name, current_stream(current_device()), began, 0, 0, 0, 0, false, 0});
}
bool install_kineto() {
  // a build for CUDA asks NVIDIA's CUPTI for the same activities
  if (settings().type != c10::DeviceType::CUDA || is_displaced()) return false;
  libkineto::api().registerProfilerFactory([] { return std::make_unique<KinetoProfiler>(); });
  return true;
}

#else

void record_work(Activity, std::string, c10::Stream, int64_t, size_t) {}
void record_call(const char*, int64_t) {}
bool install_kineto() { return false; }

#endif

}  // namespace software
