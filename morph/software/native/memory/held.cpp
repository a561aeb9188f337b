// See held.h.
#include <Python.h>

#include "memory/held.h"

#include "device/reports.h"

#include "memory/hidden.h"
#include "memory/page_faults.h"
#include "memory/pinned.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace software {
namespace {

const uintptr_t page_size = uintptr_t(sysconf(_SC_PAGESIZE));

struct Held {
  Use use;
  Queued work;
  bool is_open = false;  // for the device

  const char* end() const { return use.start + use.bytes; }
  char* page() const { return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(use.start) / page_size * page_size); }
  char* last_page() const { return page() + (size_t(end() - page()) + page_size - 1) / page_size * page_size; }
  bool has(const char* address) const { return use.start <= address && address < end(); }
  bool overlaps(const char* from, const char* to) const { return use.start < to && from < end(); }
  bool shares_page(const char* from, const char* to) const { return page() < to && from < last_page(); }
};

std::mutex held_mutex;
std::list<Held>& held_now = *new std::list<Held>;
std::list<Held>& misused = *new std::list<Held>;  // not yet told
bool any_open = false;

// Linux has the processor forget all pages of the process where what more than 33 of them allow is changed at once
// (tlb_single_page_flush_ceiling): what runs next takes longer than some more calls do.
void allow(char* start, size_t bytes, int access) {
  const size_t few = 32 * page_size, at_once = bytes <= 4 * few ? few : bytes;
  for (size_t i = 0; i < bytes; i += at_once) mprotect(start + i, std::min(at_once, bytes - i), access);
}

// As the work allows that holds some of the pages: what is written cannot be read either.
void protect(char* from, char* to) {
  auto is_here = [&](const Held& each) { return !each.is_open && each.shares_page(from, to); };
  auto covers = [&](const Held& each) { return is_here(each) && each.page() <= from && to <= each.last_page(); };
  bool is_one = std::count_if(held_now.begin(), held_now.end(), is_here) == 1;
  if (!is_one || std::none_of(held_now.begin(), held_now.end(), covers)) allow(from, size_t(to - from), PROT_READ | PROT_WRITE);
  for (bool writes : {false, true})
    for (const Held& each : held_now) {
      if (!is_here(each) || each.use.writes != writes) continue;
      char *first = std::max(from, each.page()), *last = std::min(to, each.last_page());
      allow(first, size_t(last - first), writes ? PROT_NONE : PROT_READ);
    }
}

template <class Which>
void release(Which which) {
  std::list<Held> released;
  for (auto it = held_now.begin(); it != held_now.end();) {
    auto each = it++;
    if (which(*each)) released.splice(released.end(), held_now, each);
  }
  for (const Held& each : released) protect(each.page(), each.last_page());
}

template <class Which>
void open_all(Which which) {
  for (Held& each : held_now)
    if (!each.is_open && which(each)) {
      each.is_open = any_open = true;
      protect(each.page(), each.last_page());
    }
}

// The host has seen what the work wrote last.
void let_go_of_earlier(const Queued& work) {
  release([&](const Held& each) { return each.work.stream == work.stream && each.work.count <= work.count; });
}

int tell(void*) {
  std::lock_guard<std::mutex> lock(held_mutex);
  if (misused.empty()) return 0;
  const Held& held = misused.front();
  std::string text = c10::str(
      "CUDA error: the host does not wait for a stream (found by MORPH_SANITIZE=sync)\n  ", text_of(held.work.line), ": ",
      held.work.name, " on ", text_of(held.work.where), held.use.writes ? " writes " : " reads ",
      held.use.bytes, " bytes of pinned memory\n  and the program ", held.use.writes ? "uses" : "changes",
      " them before it has waited for that, by torch.cuda.synchronize() or an event");
  misused.clear();
  note_found("sync", text);
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  return -1;
}

}  // namespace

void hold(const Use& use, const Queued& work) {
  if (!use.bytes || !is_in_own_pages(use.start)) return;
  catch_page_faults();
  std::lock_guard<std::mutex> lock(held_mutex);
  Held held{use, work};
  held_now.remove_if([&](const Held& each) {
    bool lies_in = use.start <= each.use.start && each.end() <= held.end();
    return lies_in && each.work.stream == work.stream && each.use.writes <= use.writes;
  });
  held_now.push_back(held);
  protect(held.page(), held.last_page());
}

std::vector<Queued> holders(const Use& use) {
  std::vector<Queued> found;
  std::lock_guard<std::mutex> lock(held_mutex);
  for (const Held& each : held_now)
    if ((each.use.writes || use.writes) && each.overlaps(use.start, use.start + use.bytes)) found.push_back(each.work);
  return found;
}

void open_for_device(const Use& use) {
  std::lock_guard<std::mutex> lock(held_mutex);
  open_all([&](const Held& each) { return each.shares_page(use.start, use.start + use.bytes); });
}

void close_opened() {
  std::lock_guard<std::mutex> lock(held_mutex);
  if (!any_open) return;
  any_open = false;
  for (Held& each : held_now)
    if (std::exchange(each.is_open, false)) protect(each.page(), each.last_page());
}

void let_go(const char* start, size_t bytes) {
  std::lock_guard<std::mutex> lock(held_mutex);
  release([&](const Held& each) { return each.overlaps(start, start + bytes); });
}

void let_go_of_past(const Moment& host) {
  std::lock_guard<std::mutex> lock(held_mutex);
  constexpr size_t kHost = size_t(-1);  // no stream's place
  release([&](const Held& each) { return is_over(each.work, kHost, host); });
}

// The access goes on, and the interpreter raises the error when it has returned. Where the page holds bytes that are
// written, it is not known whether the access reads.
bool open_held(const char* address) {
  std::lock_guard<std::mutex> lock(held_mutex);
  auto is_here = [&](const Held& each) { return !each.is_open && each.shares_page(address, address + 1); };
  auto writes_here = [&](const Held& each) { return is_here(each) && each.use.writes; };
  bool is_written = std::any_of(held_now.begin(), held_now.end(), writes_here);
  auto found = std::find_if(held_now.begin(), held_now.end(), [&](const Held& each) {
    return is_here(each) && each.has(address) && each.use.writes == is_written;
  });
  bool is_held = std::any_of(held_now.begin(), held_now.end(), is_here);
  open_all(is_here);
  if (found == held_now.end() || device_works()) return is_held;
  if (found->use.is_atomic) return let_go_of_earlier(Queued(found->work)), is_held;
  misused.splice(misused.end(), held_now, found);
  Py_AddPendingCall(&tell, nullptr);
  return is_held;
}

}  // namespace software
