// Accesses to memory that the program may not use now: they go on, and the interpreter raises an error afterwards.
#pragma once

namespace software {

void catch_page_faults();  // after what enables Python's faulthandler

}  // namespace software
