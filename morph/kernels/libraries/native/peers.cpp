// See peers.h.
#include "peers.h"

#include "machine.h"
#include "state.h"

namespace peers {
int can_access(int* answer, int device, int peer) {
  if (!answer) return machine::kInvalidValue;
  if (!machine::exists(device) || !machine::exists(peer)) return machine::kInvalidDevice;
  *answer = machine::reaches(device, peer);
  return 0;
}

int enable(int peer, unsigned flags) {
  if (flags) return machine::kInvalidValue;
  if (!machine::exists(peer) || peer == machine::get_device()) return machine::kInvalidDevice;
  if (!machine::reaches(machine::get_device(), peer)) return machine::kPeerUnsupported;
  std::lock_guard<std::mutex> lock(state::all().peers);
  return state::all().enabled.emplace(machine::get_device(), peer).second ? 0 : int(machine::kPeerAlreadyEnabled);
}

int disable(int peer) {
  std::lock_guard<std::mutex> lock(state::all().peers);
  return state::all().enabled.erase({machine::get_device(), peer}) ? 0 : int(machine::kPeerNotEnabled);
}

}  // namespace peers
