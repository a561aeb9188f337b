// Who used each piece of memory last.
#pragma once

#include "device/order.h"

#include <map>
#include <optional>

namespace software {

// An earlier use of memory that a later one does not come after.
struct Conflict {
  Queued work;
  bool writes;  // whether the earlier one does
  bool is_reused;  // the memory was given to another owner in between
};

class LastUses {
 public:
  // Takes a use in. `now` is the moment at which its work starts.
  std::optional<Conflict> add(const Use& use, const Queued& work, const Moment& now);
  void give(const char* start, const char* end);
  void forget(const char* start, const char* end);

 private:
  struct Span {
    const char* end;
    std::optional<Queued> written;
    std::vector<Queued> read;  // since then, the last of each stream
    bool is_reused = false;
  };
  using Spans = std::map<const char*, Span>;

  Spans::iterator cut(const char* place);  // the first span from there on
  void add_read(const Use& use, const Queued& work);

  Spans spans_;
};

}  // namespace software
