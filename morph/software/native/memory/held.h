// Pinned memory that a copy still uses: the program's access to it meanwhile is an error.
#pragma once

#include "device/order.h"

namespace software {

// Of bytes that the pages of one block of pinned memory hold. Written: by the copy, so that nobody may read them.
void hold(const char* start, size_t bytes, bool written, const Queued& work);
void let_go(const char* start, size_t bytes);
void let_go_of_past(const Moment& host);
bool open_held(const char* address);  // of a fault: whether it was held, and can be used now
std::optional<Queued> holder(const char* start, size_t bytes);  // the copy that uses some of them

}  // namespace software
