// Memory that another stream than its own has used when it is given back: torch's record_stream. It is free again at
// the first allocation after that stream's work, as on CUDA, where the allocation asks for the events of the uses.
#include "device/clock.h"

#include <mutex>
#include <unordered_map>

namespace software {
namespace {

std::mutex counted;
std::unordered_map<const void*, std::vector<c10::Stream>>& users =
    *new std::unordered_map<const void*, std::vector<c10::Stream>>;
std::vector<std::pair<void*, Clock::time_point>>& given_back = *new std::vector<std::pair<void*, Clock::time_point>>;

Clock::time_point last_use(const std::vector<c10::Stream>& streams) {
  Clock::time_point last{};
  for (c10::Stream stream : streams) last = std::max(last, idle_at(stream));
  return last;
}

}  // namespace

void use_on(const void* block, c10::Stream stream) {
  std::lock_guard<std::mutex> lock(counted);
  users[block].push_back(stream);
  any_users = true;
}

bool keep_used(void* block) {
  std::lock_guard<std::mutex> lock(counted);
  auto found = users.find(block);
  if (found == users.end()) return false;
  given_back.emplace_back(block, last_use(found->second));
  users.erase(found);
  any_users = !users.empty();
  any_given_back = true;
  return true;
}

std::vector<void*> no_longer_used() {
  std::vector<void*> idle;
  std::lock_guard<std::mutex> lock(counted);
  for (auto it = given_back.begin(); it != given_back.end();) {
    bool past = is_past(it->second);
    if (past) idle.push_back(it->first);
    it = past ? given_back.erase(it) : std::next(it);
  }
  any_given_back = !given_back.empty();
  return idle;
}

void wait_for_uses() {
  Clock::time_point last{};
  {
    std::lock_guard<std::mutex> lock(counted);
    for (const auto& [block, time] : given_back) last = std::max(last, time);
  }
  wait_until(last);
}

}  // namespace software
