// See barriers.h.
#include "barriers.h"

#include "sites.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

namespace morph_cuda::sanitizer {
namespace {

// The compiler may have copied a barrier: only the source tells two of them apart.
const std::string& source_of_barrier(const void* site) {
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::string>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(site);
  return found == known.end() ? known.emplace(site, source_of(site)).first->second : found->second;
}

std::string error(const std::string& what) {
  return c10::str("CUDA error: ", what, " (found by MORPH_SANITIZE=race)");
}

}  // namespace

std::string Barriers::name(int thread) const {
  unsigned t = unsigned(thread), x = t % size_.x, y = t / size_.x % size_.y, z = t / size_.x / size_.y;
  return c10::str("thread [", x, ",", y, ",", z, "] of block ", number_);
}

std::string Barriers::line(const Waiting& waiting) const {
  return c10::str("\n  ", source_of_barrier(waiting.site), ": ", name(waiting.thread));
}

std::string Barriers::problem(const std::vector<Waiting>& waiting) const {
  const Waiting& first = waiting.front();
  if (ended_ >= 0)
    return c10::str(error("a thread ends where others of its block wait at a barrier"), line(first), "\n    waits for ",
                    name(ended_), ", which took part in a barrier before");
  for (const Waiting& each : waiting)
    if (each.site != first.site && source_of_barrier(each.site) != source_of_barrier(first.site))
      return error("the threads of a block wait at different barriers") + line(first) + line(each);
  return "";
}

std::string Barriers::problem(unsigned mask, const Waiting& waiting) const {
  if (mask >> (waiting.thread & 31) & 1) return "";
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return c10::str(error("a thread is not in the mask of its warp's operation"), line(waiting), ", mask ", text);
}

}  // namespace morph_cuda::sanitizer
