// Memory of other processes: a handle names the memory file of the process that has it.
#include "machine.h"
#include "memory.h"
#include "state.h"

#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memory {
namespace {

constexpr char kMark[8] = "morphip";

using state::Opened;
using state::Place;
using Lock = std::lock_guard<std::mutex>;
static_assert(sizeof(Place) <= sizeof(Handle));

std::map<const char*, Opened>::iterator opened_around(const void* pointer) {
  auto& opened = state::all().opened;
  auto after = opened.upper_bound(static_cast<const char*>(pointer));
  if (after == opened.begin()) return opened.end();
  auto found = std::prev(after);
  return pointer < found->first + found->second.place.bytes ? found : opened.end();
}

uint64_t identity(int file) {
  struct stat status {};
  return fstat(file, &status) ? 0 : uint64_t(status.st_ino);
}

char* map(const Place& place) {
  std::string path = "/proc/" + std::to_string(place.process) + "/fd/" + std::to_string(place.file);
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* start = MAP_FAILED;
  if (identity(file) == place.identity)  // else the process is gone, and its number is another's
    start = mmap(nullptr, place.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(place.offset));
  ::close(file);
  return start == MAP_FAILED ? nullptr : static_cast<char*>(start);
}

}  // namespace

int share(Handle* handle, const void* pointer) {
  if (!handle) return machine::kInvalidValue;
  Place place{{}, int(getpid()), -1, 0, 0, 0};
  std::memcpy(place.mark, kMark, sizeof kMark);
  size_t bytes = 0;
  if (!machine::segment(pointer, &bytes) || machine::place(pointer, &place.file, &place.offset))
    return machine::kInvalidValue;
  place.bytes = bytes, place.identity = identity(place.file);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &place, sizeof place);
  return 0;
}

int open(void** pointer, const Handle& handle) {
  Place place{};
  std::memcpy(&place, &handle, sizeof place);
  if (!pointer || std::memcmp(place.mark, kMark, sizeof kMark)) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  if (place.process == getpid()) return machine::kDeviceUninitialized;  // as CUDA refuses it
  Lock lock(state::all().sharing);
  for (auto& [start, each] : state::all().opened)
    if (each.place.identity == place.identity && each.place.offset == place.offset) {
      each.count++;
      *pointer = const_cast<char*>(start);
      return 0;
    }
  char* start = map(place);
  if (!start) return machine::kInvalidValue;
  state::all().opened[start] = {place, machine::get_device(), 1};
  *pointer = start;
  return 0;
}

int close(void* pointer) {
  Lock lock(state::all().sharing);
  auto found = state::all().opened.find(static_cast<char*>(pointer));
  if (found == state::all().opened.end()) return machine::kInvalidValue;
  if (--found->second.count) return 0;
  munmap(pointer, found->second.place.bytes);
  state::all().opened.erase(found);
  return 0;
}

int device(const void* pointer) {
  int owner = machine::owner(pointer);
  if (owner >= 0) return owner;
  const void* start = nullptr;
  size_t bytes = 0;
  if (int device = state::variable_around(pointer, &start, &bytes); device >= 0) return device;
  Lock lock(state::all().sharing);
  auto found = opened_around(pointer);
  return found == state::all().opened.end() ? -2 : found->second.device;
}

int around(const void* pointer, const void** start, size_t* bytes) {
  if ((*start = machine::segment(pointer, bytes))) return 0;
  if (state::variable_around(pointer, start, bytes) >= 0) return 0;
  Lock lock(state::all().sharing);
  auto found = opened_around(pointer);
  if (found == state::all().opened.end()) return machine::kInvalidValue;
  *start = found->first, *bytes = found->second.place.bytes;
  return 0;
}

}  // namespace memory
