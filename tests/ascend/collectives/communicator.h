// The ranks of a group on one machine, each connected to each by a Unix socket.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "soft_cann.h"
#include "third_party/hccl/inc/hccl/hccl.h"

namespace soft_cann {

// Bytes to or from one rank; those to oneself go to the next transfer from oneself.
struct Transfer {
  int peer;
  bool sends;
  char *data;
  size_t size;
};

class Communicator {
 public:
  // Returns when all ranks are connected.
  static HcclResult create(const std::string &name, int size, int rank, HcclComm *out);
  // All ranks in this process; each needs a thread of its own, which torch_npu gives it.
  static HcclResult create_all(const std::string &name, int size, HcclComm *out);
  ~Communicator();

  // Does all transfers at once, so that nobody waits in a circle.
  HcclResult transfer(std::vector<Transfer> transfers);

  const std::string name;
  const int size;
  const int rank;

 private:
  Communicator(const std::string &name, int size, int rank)
      : name(name), size(size), rank(rank), sockets_(size, -1) {}
  HcclResult connect_all();
  HcclResult connect_within_process(Communicator &peer);
  HcclResult connect_to(int peer);
  HcclResult accept_from_higher(int listener);
  HcclResult advance(Transfer &transfer);
  void deliver_to_self(std::vector<Transfer> &transfers) const;

  std::vector<int> sockets_;
  std::mutex mutex_;
};

inline Communicator *as_communicator(HcclComm comm) { return static_cast<Communicator *>(comm); }

}  // namespace soft_cann
