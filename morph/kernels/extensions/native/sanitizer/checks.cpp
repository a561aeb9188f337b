// See checks.h.
#include "checks.h"

#include "../block.h"
#include "../device.h"
#include "calls.h"
#include "libraries.h"
#include "sites.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <string_view>

namespace morph_cuda::sanitizer {

thread_local Watcher* active = nullptr;

namespace {

bool asks_for(std::string_view kind) {
  const char* set = std::getenv("MORPH_SANITIZE");
  std::string_view left = set ? set : "";
  while (!left.empty()) {
    size_t comma = left.find(',');
    if (left.substr(0, comma) == kind || left == "all") return true;
    left = comma == left.npos ? "" : left.substr(comma + 1);
  }
  return false;
}

std::string thread_text(dim3 block, const Access& by) {
  unsigned x = by.thread % block.x, y = by.thread / block.x % block.y, z = by.thread / block.x / block.y;
  return c10::str("thread [", x, ",", y, ",", z, "] of block ", by.block);
}

std::string access_text(const Use& use, const std::string& where) {
  return c10::str("a ", use.writes ? "write" : "read", " of ", use.bytes, " bytes ", where);
}

std::string race_text(dim3 block, const Race& race) {
  auto line = [&](const Access& by, bool writes) {
    const char* what = by.is_atomic ? "an atomic operation" : writes ? "a write" : "a read";
    return c10::str("\n  ", source_of(by.site), ": ", what, " by ", thread_text(block, by));
  };
  std::string both = line(race.first, race.first_writes) + line(race.second, race.second_writes);
  return c10::str(both, "\n    at the same place of ", race.is_shared ? "shared" : "global",
                  " memory, and nothing makes one wait for the other");
}

}  // namespace

bool is_order_watched() {
  static const bool sync = asks_for("sync");
  return sync;
}

bool is_memory_checked() {
  static const bool memory = asks_for("memory");
  return memory;
}

bool is_init_checked() {
  static const bool init = asks_for("init");
  return init;
}

bool is_memory_hidden() {
  static const bool host = asks_for("host");
  return host;
}

std::unique_ptr<Launch> Launch::wanted(const void* frame) {
  static const bool memory = is_memory_checked(), init = is_init_checked(), sync = is_order_watched();
  static const bool race = asks_for("race");
  if (!memory && !init && !race && !sync && !is_memory_hidden()) return nullptr;
  auto launch = std::make_unique<Launch>();
  launch->checks_memory_ = memory, launch->checks_init_ = init;
  launch->frame_ = reinterpret_cast<uintptr_t>(frame);
  if (race) launch->races_ = std::make_unique<Races>();
  if (sync) launch->footprint_ = std::make_unique<Footprint>();
  return launch;
}

void Launch::pass_grid() {
  if (!races_) return;
  std::lock_guard<std::mutex> lock(Races::lock());
  races_->pass_grid();
}

void Launch::settle() {
  if (!races_) return;
  std::lock_guard<std::mutex> lock(Races::lock());
  races_->settle();
}

bool Launch::has_found() { return races_ && races_->has_found(); }

void Launch::end(dim3 block, cudaStream_t stream) {
  if (footprint_) footprint_->queue(stream);
  if (!races_) return;
  std::lock_guard<std::mutex> lock(Races::lock());
  races_->end();
  std::string found;
  for (const Race& each : races_->found()) found += race_text(block, each);
  if (found.empty()) return;
  std::string text = "CUDA error: race in a kernel (found by MORPH_SANITIZE=race)" + found;
  device_functions().note_found("race", text);
  TORCH_CHECK(false, text);
}

void Checks::begin(int64_t number, int threads, uintptr_t kernel, size_t shared) {
  knowledge_.begin(uint32_t(number), threads);
  const morph_index& size = place.block_size;
  barriers_.begin(number, dim3(size.x, size.y, size.z));
  dynamic_ = reinterpret_cast<uintptr_t>(block_.dynamic_shared()), dynamic_size_ = shared;
  if (!is_begun_) {
    is_begun_ = true;
    warn_if_unchecked(kernel);
    variables_ = variables_beside(kernel);
  }
  if (launch_.checks_init()) launch_.settle(), forget_shared();
}

void Checks::forget_shared() const {
  auto forget = [](uintptr_t start, size_t bytes) {
    device_functions().mark_unwritten(reinterpret_cast<void*>(start), bytes);
  };
  forget(dynamic_, dynamic_size_);
  for (const Variable& each : variables_.shared) forget(each.start, each.end - each.start);
}

bool Checks::is_shared(uintptr_t address) const {
  return address - dynamic_ < dynamic_size_ || variables_.has(address);
}

bool Checks::is_own(uintptr_t address) const {
  bool is_place = address - reinterpret_cast<uintptr_t>(&place) < sizeof place;
  return is_place || is_on_stack(address) || launch_.is_argument(address) || variables_.is_guard(address);
}

bool Checks::is_over_dynamic(const Use& use) const {
  return use.address - dynamic_ + use.bytes - dynamic_size_ - 1 < kZone;
}

const Variable* Checks::left_behind(const Use& use) const {
  return variables_.has(use.address) ? variables_.before(use.address, use.bytes) : nullptr;
}

void Checks::check_memory(const Use& use) {
  if (use.address & (use.alignment - 1))
    block_.fail_access(cudaErrorMisalignedAddress, access_text(use, c10::str("at ", (void*)use.address)), use.site,
                       "memory");
  if (is_over_dynamic(use))
    refuse(use, c10::str("over the end of the block's ", dynamic_size_, " bytes of shared memory"));
  if (const Variable* variable = left_behind(use))
    refuse(use, c10::str("over the end of ", source_name(*variable), ", ", variable->end - variable->start,
                         " bytes of shared memory"));
  if (!bounds_.has(use.address, use.bytes)) refuse(use, Bounds::problem(use.address));
}

uintptr_t Checks::end_of_shared(uintptr_t address) const {
  if (address - dynamic_ < dynamic_size_) return dynamic_ + dynamic_size_;
  const Variable* variable = variables_.around(address);
  return variable ? variable->end : 0;
}

void Checks::check_written(const Use& use) {
  bool is_in_shared = is_shared(use.address);
  uintptr_t end = is_in_shared ? end_of_shared(use.address) : bounds_.end_of(use.address);
  if ((use.address + use.bytes + 3) / 4 * 4 > end) return;  // too little of the last word is the allocation's
  if (!device_functions().is_unwritten(reinterpret_cast<void*>(use.address), use.bytes)) return;
  std::string where = is_in_shared ? " of shared memory" : ", " + Bounds::place(use.address);
  block_.fail_unwritten(c10::str("a read of ", use.bytes, " bytes", where), use.site);
}

void Checks::refuse(const Use& use, const std::string& where, const char* check) {
  block_.fail_access(cudaErrorIllegalAddress, access_text(use, where), use.site, check);
}

void Checks::use(const Use& use) {
  if (is_own(use.address)) return;
  bool is_blocks = is_shared(use.address) || block_.is_deposit(use.address);
  if (is_memory_hidden() && !is_blocks && bounds_.is_hosts(use.address))
    refuse(use, "of memory of the host that is neither pinned nor managed", "host");
  if (launch_.checks_memory()) check_memory(use);
  if (launch_.checks_init() && use.reads) check_written(use);
  Races* races = launch_.races();
  Footprint* footprint = launch_.footprint();
  if (!races && !footprint) return;
  bool is_in_shared = is_shared(use.address);
  std::lock_guard<std::mutex> lock(Races::lock());
  if (footprint && !is_in_shared) footprint->add(use);
  if (!races) return;
  Access by;
  by.block = knowledge_.block(), by.thread = uint16_t(block_.thread());
  by.is_atomic = use.is_atomic, by.site = use.site;
  races->access(knowledge_, use.address, use.bytes, use.writes, by, is_in_shared);
}

void Checks::synchronize(const Use& use) {
  if (!launch_.races() || is_on_stack(use.address)) return;
  std::lock_guard<std::mutex> lock(Races::lock());
  launch_.races()->synchronize(knowledge_, use.address, block_.thread(), use.writes);
}

void Checks::copy(void* to, const void* from, size_t written, size_t read, const void* site) {
  if (read) use({reinterpret_cast<uintptr_t>(from), read, false, false, true, 1, site});
  if (written) use({reinterpret_cast<uintptr_t>(to), written, true, false, false, 1, site});
}

void Checks::pass_barrier() {
  barriers_.pass();
  if (launch_.races()) knowledge_.pass_barrier(launch_.races()->clock().end());
}
void Checks::pass_warp(int warp, unsigned lanes) {
  if (launch_.races()) knowledge_.pass_warp(warp, lanes, launch_.races()->clock().end());
}
void Checks::pass(const std::vector<int>& threads) {
  if (launch_.races()) knowledge_.pass(threads, launch_.races()->clock().end());
}
void Checks::fence() {
  if (launch_.races()) knowledge_.fence(launch_.races()->clock().end());
}

}  // namespace morph_cuda::sanitizer
