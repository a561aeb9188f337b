// See captures.h.
#include "device/captures.h"

#include "device/errors.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace software {

struct Capture {
  Queue first;
  std::map<Queue, std::map<Queue, size_t>> before;  // for each stream, how much work of each it comes after
  CaptureMode mode = CaptureMode::kGlobal;
  bool broken_off = false;
};

namespace {

using Work = std::map<Queue, size_t>;
using Found = std::shared_ptr<Capture>;

std::mutex capture_mutex;
std::vector<Found>& captures = *new std::vector<Found>;
std::atomic<bool> any{false};
thread_local Found own;

Found holder(Queue of) {
  for (const Found& each : captures)
    if (each->before.count(of)) return each;
  return nullptr;
}

[[noreturn]] void fail(Capture& capture, int32_t code, const std::string& detail = "") {
  capture.broken_off = true;
  refuse(code, detail);
}

void add(Work& to, const Work& more) {
  for (auto [stream, amount] : more) to[stream] = std::max(to[stream], amount);
}

bool covers(const Work& whole, const Work& part) {
  return std::all_of(part.begin(), part.end(), [&](const auto& each) {
    auto found = whole.find(each.first);
    return found != whole.end() && found->second >= each.second;
  });
}

bool are_joined(const Capture& capture) {
  const Work& end = capture.before.at(capture.first);
  return std::all_of(capture.before.begin(), capture.before.end(),
                     [&](const auto& each) { return covers(end, each.second); });
}

}  // namespace

void begin_capture(c10::Stream first, CaptureMode mode) {
  std::lock_guard lock(capture_mutex);
  own = std::make_shared<Capture>();
  own->mode = mode;
  own->first = queue(first);
  own->before[own->first];
  captures.push_back(own);
  any = true;
}

void end_capture() {
  std::lock_guard lock(capture_mutex);
  Found ended = std::exchange(own, nullptr);
  if (!ended) return;
  captures.erase(std::find(captures.begin(), captures.end(), ended));
  any = !captures.empty();
  if (ended->broken_off) refuse(kCaptureInvalidated);
  if (!are_joined(*ended)) refuse(kCaptureUnjoined);
}

bool is_any_capturing() { return any.load(std::memory_order_relaxed); }
bool is_capturing() { return own != nullptr; }

bool is_capturing(c10::Stream stream) {
  if (!any) return false;
  std::lock_guard lock(capture_mutex);
  return holder(queue(stream)) != nullptr;
}

bool are_captured_together(c10::Stream one, c10::Stream other) {
  std::lock_guard lock(capture_mutex);
  Found capture = holder(queue(one));
  return capture && capture->before.count(queue(other));
}

void note_captured_work(c10::Stream stream) {
  std::lock_guard lock(capture_mutex);
  Found capture = holder(queue(stream));
  if (!capture) return;
  if (capture->broken_off) refuse(kCaptureInvalidated);
  capture->before[queue(stream)][queue(stream)]++;
}

Mark mark_on(c10::Stream stream) {
  if (!any) return {};
  std::lock_guard lock(capture_mutex);
  Found capture = holder(queue(stream));
  return capture ? Mark{capture, capture->before[queue(stream)]} : Mark{};
}

void come_after(c10::Stream stream, const Mark& mark) {
  if (!any) return;
  std::lock_guard lock(capture_mutex);
  Found capture = holder(queue(stream));
  bool goes_on = std::find(captures.begin(), captures.end(), mark.capture) != captures.end();
  if (capture && !goes_on) fail(*capture, kCaptureIsolation);
  if (!goes_on) return;
  if (capture && capture != mark.capture) fail(*capture, kCaptureMerge);
  if (!stream.id() && !capture && settings().type == c10::DeviceType::CUDA) fail(*mark.capture, kCaptureImplicit);
  add(mark.capture->before[queue(stream)], mark.before);
}

void refuse_in_capture(const std::string& detail) {
  if (!any) return;
  std::lock_guard lock(capture_mutex);
  Found capture = own ? own : holder(queue(current_stream(current_device())));
  if (capture) fail(*capture, kCaptureUnsupported, detail);
}

template <class Forbids>
static bool break_off_where(Forbids forbids) {
  if (!any) return false;
  std::lock_guard lock(capture_mutex);
  bool forbidden = false;
  for (const Found& each : captures)
    if (forbids(*each)) forbidden = each->broken_off = true;
  return forbidden;
}

bool break_off_unsafe() {
  return break_off_where([](const Capture& each) {
    return each.mode == CaptureMode::kGlobal || (&each == own.get() && each.mode == CaptureMode::kThreadLocal);
  });
}

void refuse_unsafe_call() {
  if (break_off_unsafe()) refuse(kCaptureUnsupported);
}

void refuse_waiting_for(c10::DeviceIndex index) {
  if (break_off_where([index](const Capture& each) { return each.first.first == index; })) refuse(kCaptureUnsupported);
}

void refuse_if_captured(c10::Stream stream) {
  if (!any) return;
  std::lock_guard lock(capture_mutex);
  if (Found capture = holder(queue(stream))) fail(*capture, kCaptureUnsupported);
}

void refuse_if_captured(const Mark& mark) {
  if (mark.capture) fail(*mark.capture, kCapturedEvent);
}

}  // namespace software
