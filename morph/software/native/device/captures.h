// Captures into graphs: each begins on one stream, and a stream that waits for an event of it joins.
#pragma once

#include "device/device.h"

#include <map>
#include <memory>

namespace software {

using Queue = std::pair<c10::DeviceIndex, c10::StreamId>;
inline Queue queue(c10::Stream stream) { return {stream.device_index(), stream.id()}; }

struct Capture;

// Where in a capture an event was recorded: after how much work of each stream.
struct Mark {
  std::shared_ptr<Capture> capture;  // null: in none
  std::map<Queue, size_t> before;
};

// What is forbidden meanwhile beside waiting for the capture: calls that may wait for it, in all threads, in its own, in
// none.
enum class CaptureMode { kGlobal, kThreadLocal, kRelaxed };
void begin_capture(c10::Stream first, CaptureMode mode);  // by this thread
void end_capture();                     // raises where the capture failed, or a stream is not joined
bool is_any_capturing();
bool is_capturing();                      // whether this thread began a capture
bool is_capturing(c10::Stream stream);
bool are_captured_together(c10::Stream one, c10::Stream other);
void note_captured_work(c10::Stream stream);

Mark mark_on(c10::Stream stream);
void come_after(c10::Stream stream, const Mark& mark);

// Each fails the capture, which cannot contain this.
void refuse_in_capture(const std::string& detail = "");  // that of this thread, or of its current stream
void refuse_unsafe_call();                               // those whose mode forbids it
bool break_off_unsafe();                                 // likewise, without an error: whether there was one
void refuse_waiting_for(c10::DeviceIndex index);          // all on the device
void refuse_if_captured(c10::Stream stream);
void refuse_if_captured(const Mark& mark);

}  // namespace software
