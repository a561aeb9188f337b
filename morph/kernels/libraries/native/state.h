// What libcudart and libcuda of one process know of memory, streams and events: what one of them made, the others take.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace state {

struct Pinned {
  size_t bytes;
  unsigned flags;
  int device;
};

struct Event {
  unsigned flags;
  bool recorded;
};

struct Place {
  char mark[8];
  int process, file;
  uint64_t identity, offset, bytes;  // of the file; of the block in it
};

struct Opened {
  Place place;
  int device, count;
};

struct Variable {
  size_t bytes;
  int device;
};

struct State {
  std::mutex variables, memory, queues, sharing, peers;
  std::map<const void*, bool> taken;  // by start; whether it is managed
  std::map<const void*, Pinned> hosts;
  std::map<const void*, Event> events;  // not those that torch has made
  std::deque<void*> freed;              // events whose memory is kept for a while, so that their use is noticed
  std::map<const void*, unsigned> streams;
  std::map<const char*, Opened> opened;
  std::map<const char*, Variable> known;  // variables of loaded modules
  std::set<std::pair<int, int>> enabled;
  std::atomic<bool> unlaunched{false};  // a kernel was not run, and the program may not have looked at the error
};

State& all();

// Returns an error, once, if a kernel was not run: a copy or a wait would give what it has not computed.
int pending();

// Finds the variable of a module that an address lies in; returns the device, or -1.
int variable_around(const void* pointer, const void** start, size_t* bytes);

}  // namespace state
