// Pinned memory that work of a stream still uses: the program's access to it meanwhile is an error.
#pragma once

#include "device/order.h"

namespace software {

// Of bytes that the pages of one block of pinned memory hold. Those that the work writes nobody may read.
void hold(const Use& use, const Queued& work);
std::vector<Queued> holders(const Use& use);  // the work that uses some of the bytes, where one of both writes
void open_for_device(const Use& use);         // until close_opened
void close_opened();
void let_go(const char* start, size_t bytes);
void let_go_of_past(const Moment& host);
bool open_held(const char* address);  // of a fault: whether it was held, and can be used now

}  // namespace software
