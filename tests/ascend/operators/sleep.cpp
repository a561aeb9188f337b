// Keeping the device busy.
#include <chrono>
#include <thread>

#include "operators/interface.h"

using namespace soft_cann;

OPERATOR(aclnnSleep, (IntsArgument cycles),
         { std::this_thread::sleep_for(std::chrono::nanoseconds(cycles->values.at(0))); })
