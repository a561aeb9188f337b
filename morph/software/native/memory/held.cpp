// See held.h.
#include <Python.h>

#include "memory/held.h"

#include "device/reports.h"

#include "memory/page_faults.h"
#include "memory/pinned.h"

#include <sys/mman.h>
#include <unistd.h>

#include <list>
#include <mutex>

namespace software {
namespace {

const uintptr_t page_size = uintptr_t(sysconf(_SC_PAGESIZE));

struct Held {
  const char *start, *end;
  bool written;
  Queued work;

  char* page() const { return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(start) / page_size * page_size); }
  size_t bytes() const { return (size_t(end - page()) + page_size - 1) / page_size * page_size; }
  void protect(int access) const { mprotect(page(), bytes(), access); }
  bool overlaps(const char* from, const char* to) const { return page() < to && from < page() + bytes(); }
};

std::mutex held_mutex;
std::list<Held>& held_now = *new std::list<Held>;
std::list<Held>& misused = *new std::list<Held>;  // not yet told

template <class Which>
void release(Which which) {
  held_now.remove_if([&](const Held& each) {
    bool is_released = which(each);
    if (is_released) each.protect(PROT_READ | PROT_WRITE);
    return is_released;
  });
}

int tell(void*) {
  std::lock_guard<std::mutex> lock(held_mutex);
  if (misused.empty()) return 0;
  const Held& held = misused.front();
  std::string text = c10::str(
      "CUDA error: the host does not wait for a copy (found by MORPH_SANITIZE=sync)\n  ", text_of(held.work.line), ": ",
      held.work.name, " on ", text_of(held.work.where), held.written ? " writes " : " reads ",
      held.end - held.start, " bytes of pinned memory\n  and the program ", held.written ? "uses" : "changes",
      " them before it has waited for that, by torch.cuda.synchronize() or an event");
  misused.clear();
  note_found("sync", text);
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  return -1;
}

}  // namespace

void hold(const char* start, size_t bytes, bool written, const Queued& work) {
  if (!bytes || !is_in_own_pages(start)) return;
  catch_page_faults();
  std::lock_guard<std::mutex> lock(held_mutex);
  held_now.push_back({start, start + bytes, written, work});
  held_now.back().protect(written ? PROT_NONE : PROT_READ);
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

// The access goes on, and the interpreter raises the error when it has returned.
bool open_held(const char* address) {
  std::lock_guard<std::mutex> lock(held_mutex);
  bool found = false;
  for (auto it = held_now.begin(); it != held_now.end();) {
    auto each = it++;
    if (!each->overlaps(address, address + 1)) continue;
    each->protect(PROT_READ | PROT_WRITE);
    bool is_misused = each->start <= address && address < each->end;
    if (is_misused) Py_AddPendingCall(&tell, nullptr);
    auto& to = is_misused ? misused : held_now;
    if (is_misused) to.splice(to.end(), held_now, each);
    else held_now.erase(each);
    found = true;
  }
  return found;
}

std::optional<Queued> holder(const char* start, size_t bytes) {
  std::lock_guard<std::mutex> lock(held_mutex);
  for (const Held& each : held_now)
    if (each.start < start + bytes && start < each.end) return each.work;
  return std::nullopt;
}

}  // namespace software
