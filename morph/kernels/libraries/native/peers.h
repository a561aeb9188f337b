// Which devices a program has let read each other's memory; every device can.
#pragma once

namespace peers {

int can_access(int* answer, int device, int peer);
int enable(int peer, unsigned flags);  // for the current device
int disable(int peer);

}  // namespace peers
