// See hidden.h.
#include <Python.h>

#include "memory/hidden.h"

#include "device/lines.h"
#include "device/reports.h"
#include "memory/addresses.h"
#include "memory/arena.h"
#include "memory/held.h"
#include "memory/page_faults.h"
#include "memory/location.h"
#include "memory/memory.h"
#include "memory/unwritten.h"

#include <sys/mman.h>

#include <atomic>

namespace software {
namespace {

std::atomic<int> accesses{0};
std::atomic<bool> is_to_tell{false};
HostAccess& last_access = *new HostAccess;
SpinLock opened_lock;
Segment* opened = nullptr;  // a list by Segment::opened_before

size_t mapped_bytes(const Segment& segment) { return (segment.size + kGranule - 1) / kGranule * kGranule; }

void protect(const Segment& segment, int access) { mprotect(segment.start, mapped_bytes(segment), access); }

void open_segment(Segment& segment) {
  if (std::exchange(segment.is_open, true)) return;
  segment.opened_before = std::exchange(opened, &segment);
  protect(segment, PROT_READ | PROT_WRITE);
}

void close_all() {
  std::lock_guard lock(opened_lock);
  if (accesses) return;
  while (Segment* segment = opened) {
    opened = segment->opened_before;
    segment->is_open = false;
    protect(*segment, PROT_NONE);
  }
}

void forget(Segment& segment) {
  std::lock_guard lock(opened_lock);
  for (Segment** each = &opened; *each; each = &(*each)->opened_before)
    if (*each == &segment) {
      *each = segment.opened_before;
      return;
    }
}

// Called by the interpreter when the access has returned to it.
int tell_of_access(void*) {
  if (!is_to_tell) return 0;
  close_all();
  PyObject* module = PyImport_ImportModule("morph.software.sanitizing");
  PyObject* text = module ? PyObject_CallMethod(module, "host_access", nullptr) : nullptr;
  if (text) PyErr_SetObject(PyExc_RuntimeError, text);
  Py_XDECREF(text);
  Py_XDECREF(module);
  is_to_tell = false;
  return -1;
}

// The memory may be given back before the program is told.
void tell_later(const void* address) {
  if (is_to_tell.exchange(true)) return;
  std::array<uintptr_t, 5> range{};
  int64_t device = locate(address, range);
  Context taken = range[4] ? context_of(reinterpret_cast<void*>(range[2])) : nullptr;
  last_access = {address, device, range[2], range[3], range[4] == kLive, std::move(taken)};
  Py_AddPendingCall(&tell_of_access, nullptr);
}

void* take_managed(size_t bytes) {
  void* start = take_outside(current_device(), bytes, /*torchs=*/true);
  if (start) show(*segment_of(start));
  return start;
}

void* usable_of(void* pointer) {
  const Segment* segment = segment_of(pointer);
  bool is_known = segment && pointer >= segment->start;
  return is_known ? static_cast<char*>(pointer) - kHidden : pointer;
}

}  // namespace

void hide_memory() { usable_address = &usable_of; }

const HostAccess& host_access() { return last_access; }

void* known_address(void* pointer) {
  const Segment* segment = segment_of(pointer);
  bool is_usable = segment && pointer < segment->start;
  return is_usable ? static_cast<char*>(pointer) + kHidden : pointer;
}

void map_hidden(Segment& segment, int file) {
  size_t bytes = mapped_bytes(segment);
  int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  char* wanted = segment.start - kHidden;
  void* made = mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags, file, off_t(segment.offset));
  TORCH_CHECK(made == wanted, "MORPH_SANITIZE=host: the addresses for the device's memory are taken");
  enter(wanted, bytes, &segment);
  protect(segment, PROT_NONE);
  catch_page_faults();
}

void unmap_hidden(Segment& segment) {
  forget(segment);
  size_t bytes = mapped_bytes(segment);
  enter(segment.start - kHidden, bytes, nullptr);
  munmap(segment.start - kHidden, bytes);
}

void show(Segment& segment) {
  if (!hides_memory()) return;
  forget(segment);
  segment.is_open = true;  // and in no list, so that it stays so
  protect(segment, PROT_READ | PROT_WRITE);
}

void begin_device_access() { accesses++; }

void end_device_access() {
  if (--accesses) return;
  close_all();
  close_opened();
}

bool device_works() { return accesses; }

bool open_hidden(const void* address) {
  Segment* segment = hides_memory() ? segment_of(address) : nullptr;
  if (!segment || address < segment->start) return false;
  std::lock_guard lock(opened_lock);
  if (!accesses) tell_later(address);
  open_segment(*segment);
  return true;
}

const DeviceFunctions& device_functions() {
  auto usable_at = [](const void* pointer) { return usable(pointer); };
  static const DeviceFunctions functions{&begin_device_access,    &end_device_access, &open_page,
                                         usable_at,               &take_managed,      &register_host_memory,
                                         &unregister_host_memory, &note_found,        &mark_unwritten,
                                         &is_unwritten,           &take_lines_from};
  return functions;
}

}  // namespace software
