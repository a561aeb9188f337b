// See last_uses.h.
#include "device/last_uses.h"

#include <algorithm>

namespace software {

std::optional<Conflict> LastUses::add(const Use& use, const Queued& work, const Moment& now) {
  const char* end = use.start + use.bytes;
  std::optional<Conflict> found;
  auto first = cut(use.start);
  auto last = cut(end);
  for (auto it = first; it != last && !found; ++it) {
    const Span& span = it->second;
    if (span.written && !is_over(*span.written, work.stream, now)) found = {*span.written, true, span.is_reused};
    if (!use.writes) continue;
    for (const Queued& read : span.read)
      if (!found && !is_over(read, work.stream, now)) found = {read, false, span.is_reused};
  }
  if (!use.writes) return add_read(use, work), found;
  spans_.erase(first, last);
  spans_.emplace(use.start, Span{end, work, {}});
  return found;
}

void LastUses::add_read(const Use& use, const Queued& work) {
  const char *place = use.start, *end = use.start + use.bytes;
  for (auto it = spans_.lower_bound(place); place < end; ++it) {
    const char* next = it == spans_.end() || it->first > end ? end : it->first;
    if (place < next) it = spans_.emplace_hint(it, place, Span{next, std::nullopt, {work}});
    else {
      auto& read = it->second.read;
      auto is_older = [&](const Queued& each) { return each.stream == work.stream; };
      read.erase(std::remove_if(read.begin(), read.end(), is_older), read.end());
      read.push_back(work);
    }
    place = it->second.end;
  }
}

void LastUses::give(const char* start, const char* end) {
  auto first = cut(start);
  auto last = cut(end);
  for (auto it = first; it != last; ++it) it->second.is_reused = true;
}

void LastUses::forget(const char* start, const char* end) {
  auto first = cut(start);
  auto last = cut(end);
  spans_.erase(first, last);
}

LastUses::Spans::iterator LastUses::cut(const char* place) {
  auto after = spans_.lower_bound(place);
  if (after == spans_.begin()) return after;
  auto before = std::prev(after);
  if (before->second.end <= place) return after;
  Span right = before->second;
  before->second.end = place;
  return spans_.emplace_hint(after, place, std::move(right));
}

}  // namespace software
