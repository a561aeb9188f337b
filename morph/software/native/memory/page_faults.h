// Accesses to memory that the program may not use now: they go on, and the interpreter raises an error afterwards.
#pragma once

namespace software {

bool open_page(const void* address);  // whether it was kept from who faults, and can be used now
void catch_page_faults();  // after what enables Python's faulthandler

}  // namespace software
