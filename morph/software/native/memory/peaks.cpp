// See peaks.h.
#include "memory/peaks.h"

#include "memory/arena.h"

namespace torch::autograd {  // in a header that takes seconds to read
TORCH_API int get_current_graph_task_id();
}

namespace software {
namespace {

std::atomic<size_t> steps_over{0};
thread_local bool is_in_step = false;
thread_local int step_task = -1;  // the backward pass that the step is made in, by a hook
thread_local Line taking_line;

}  // namespace

void watch_peaks() { peaks_watched = true; }

Phase current_phase() {
  int task = torch::autograd::get_current_graph_task_id();
  if (is_in_step && task == step_task) return kStep;
  return task == -1 ? kOther : kBackward;
}

void begin_step() {
  is_in_step = true;
  step_task = torch::autograd::get_current_graph_task_id();
  note_levels();
}

void end_step() {
  is_in_step = false;
  steps_over++;
  note_levels();
}

void note_taking_line() { taking_line = current_line(); }

std::tuple<Phase, size_t, Line> refused_at() {
  Phase phase = current_phase();
  is_in_step = false;  // the error ends it
  return {phase, steps_over, taking_line};
}

void Peaks::count(const void* block, int64_t bytes) {
  note();  // of this phase, which may have begun since the last change
  if (bytes < 0 || holds_peaks) keep_holders();
  Line& line = lines_[block];
  if (bytes > 0) line = taking_line;
  auto holder = held_.try_emplace({line.code, line.number}).first;
  holder->second.bytes += size_t(bytes);
  holder->second.blocks += bytes > 0 ? 1 : -1;
  if (!holder->second.blocks) held_.erase(holder);
  if (bytes < 0) lines_.erase(block);
  now_.allocated += size_t(bytes);
  note();
}

void Peaks::reserve(int64_t bytes) {
  now_.reserved += size_t(bytes);
  note();
}

void Peaks::note() {
  if (holds_peaks) return;
  Phase phase = current_phase();
  Level& level = found_.levels[phase];
  level = {std::max(level.allocated, now_.allocated), std::max(level.reserved, now_.reserved)};
  if (now_.allocated <= highest_) return;
  highest_ = now_.allocated;
  found_.phase = phase, found_.steps = steps_over;
  is_new_ = true;
}

// Only when the peak is past: most allocations of a first step are one.
void Peaks::keep_holders() {
  if (is_new_) found_.holders = held_;
  is_new_ = false;
}

Peaks::Found Peaks::found() {
  keep_holders();
  return found_;
}

Peaks::Found Arena::peaks() {
  std::lock_guard lock(lock_);
  return peaks_.found();
}

void Arena::note_level() {
  std::lock_guard lock(lock_);
  peaks_.note();
}

}  // namespace software
