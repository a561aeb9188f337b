#include "collectives/communicator.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

namespace soft_cann {
namespace {

constexpr int kPatience = 1800000;        // milliseconds for a peer to take part, as HCCL's own default
constexpr int kConnectionTries = 120000;  // one in a millisecond

struct Address {
  sockaddr_un address{};
  socklen_t length;

  // Abstract: the path begins with NUL, and no file is left behind.
  Address(const std::string &communicator, int rank) {
    std::string path = "soft-hccl-" + communicator + "-" + std::to_string(rank);
    path.resize(std::min(path.size(), sizeof address.sun_path - 1));
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, path.data(), path.size());
    length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + path.size());
  }
  sockaddr *get() { return reinterpret_cast<sockaddr *>(&address); }
};

int open_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

}  // namespace

HcclResult Communicator::create(const std::string &name, int size, int rank, HcclComm *out) {
  std::unique_ptr<Communicator> communicator(new Communicator(name, size, rank));
  if (HcclResult error = communicator->connect_all()) return error;
  *out = communicator.release();
  return HCCL_SUCCESS;
}

HcclResult Communicator::create_all(const std::string &name, int size, HcclComm *out) {
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; rank++) ranks.emplace_back(new Communicator(name, size, rank));
  for (int rank = 0; rank < size; rank++)
    for (int peer = 0; peer < rank; peer++)
      if (HcclResult error = ranks[rank]->connect_within_process(*ranks[peer])) return error;
  for (int rank = 0; rank < size; rank++) out[rank] = ranks[rank].release();
  return HCCL_SUCCESS;
}

Communicator::~Communicator() {
  for (int socket : sockets_)
    if (socket >= 0) close(socket);
}

HcclResult Communicator::connect_all() {
  Address own(name, rank);
  int listener = open_socket();
  if (bind(listener, own.get(), own.length) || listen(listener, 128)) {
    soft_cann_fail(HCCL_E_SYSCALL, "cannot listen for %s: %s", name.c_str(), std::strerror(errno));
    close(listener);
    return HCCL_E_SYSCALL;
  }
  HcclResult result = HCCL_SUCCESS;
  for (int peer = 0; peer < rank && !result; peer++) result = connect_to(peer);
  for (int peer = rank + 1; peer < size && !result; peer++) result = accept_from_higher(listener);
  close(listener);
  return result;
}

HcclResult Communicator::connect_within_process(Communicator &peer) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
    soft_cann_fail(HCCL_E_SYSCALL, "cannot connect the ranks of %s: %s", name.c_str(), std::strerror(errno));
    return HCCL_E_SYSCALL;
  }
  sockets_[peer.rank] = pair[0];
  peer.sockets_[rank] = pair[1];
  return HCCL_SUCCESS;
}

HcclResult Communicator::connect_to(int peer) {
  Address theirs(name, peer);
  for (int tries = 0; tries < kConnectionTries; tries++) {
    int socket = open_socket();
    if (!connect(socket, theirs.get(), theirs.length) && write(socket, &rank, sizeof rank) == sizeof rank) {
      sockets_[peer] = socket;
      return HCCL_SUCCESS;
    }
    close(socket);
    usleep(1000);
  }
  soft_cann_fail(HCCL_E_TCP_CONNECT, "rank %d of %s cannot reach rank %d", rank, name.c_str(), peer);
  return HCCL_E_TCP_CONNECT;
}

HcclResult Communicator::accept_from_higher(int listener) {
  int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), peer = -1;
  if (socket < 0 || read(socket, &peer, sizeof peer) != sizeof peer || peer <= rank || peer >= size)
    return HCCL_E_TCP_CONNECT;
  sockets_[peer] = socket;
  return HCCL_SUCCESS;
}

void Communicator::deliver_to_self(std::vector<Transfer> &transfers) const {
  for (auto &from : transfers) {
    if (from.peer != rank || !from.sends) continue;
    for (auto &to : transfers) {
      if (to.peer != rank || to.sends || !to.size) continue;
      std::memmove(to.data, from.data, std::min(to.size, from.size));
      to.size = 0;
      break;
    }
    from.size = 0;
  }
}

HcclResult Communicator::transfer(std::vector<Transfer> transfers) {
  std::lock_guard lock(mutex_);
  deliver_to_self(transfers);
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<Transfer *> waiting;
    std::set<std::pair<int, bool>> busy;  // one at a time for each peer and direction, in order
    for (auto &each : transfers) {
      if (!each.size || !busy.insert({each.peer, each.sends}).second) continue;
      polled.push_back({sockets_[each.peer], short(each.sends ? POLLOUT : POLLIN), 0});
      waiting.push_back(&each);
    }
    if (polled.empty()) return HCCL_SUCCESS;
    int ready = poll(polled.data(), polled.size(), kPatience);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      soft_cann_fail(HCCL_E_TIMEOUT, "rank %d of %s waits for the others in vain", rank, name.c_str());
      return HCCL_E_TIMEOUT;
    }
    for (size_t i = 0; i < polled.size(); i++) {
      if (!polled[i].revents) continue;
      if (HcclResult error = advance(*waiting[i])) return error;
    }
  }
}

HcclResult Communicator::advance(Transfer &transfer) {
  int socket = sockets_[transfer.peer];
  ssize_t count = transfer.sends ? send(socket, transfer.data, transfer.size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                 : recv(socket, transfer.data, transfer.size, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return HCCL_SUCCESS;
  if (count <= 0) {
    soft_cann_fail(HCCL_E_REMOTE, "rank %d of %s lost rank %d", rank, name.c_str(), transfer.peer);
    return HCCL_E_REMOTE;
  }
  transfer.data += count;
  transfer.size -= size_t(count);
  return HCCL_SUCCESS;
}

}  // namespace soft_cann
