// When queued work is complete. Kernels run when they are queued; only a program's own sleep takes time, as
// the moment from which a queue is idle again. Everything that waits for a queue on a GPU waits for that moment.
#pragma once

#include "device/device.h"

#include <atomic>
#include <chrono>

namespace software {

using Clock = std::chrono::steady_clock;

void sleep_on(c10::Stream stream, Clock::duration time);
void sleep_until(c10::Stream stream, Clock::time_point time);
Clock::time_point idle_at(c10::Stream stream);  // of an idle queue: a time that is past
void wait_until(Clock::time_point time);        // returns at once if it has passed
bool is_past(Clock::time_point time);

// Every wait of the host for the device calls one of these.
enum class Waits { kAllowed, kWarned, kRefused };
void watch_waits(Waits waits);
Waits watched_waits();
void wait_for(c10::Stream stream);              // as cudaStreamSynchronize
void wait_for_device(c10::DeviceIndex index);   // as cudaDeviceSynchronize
void wait_for_copy(c10::DeviceIndex index);     // for a blocking copy between host and device
bool is_watched();                              // whether a wait of the host has an effect now

// uses.cpp: blocks of device memory in use by a stream that is not idle yet
void use_on(const void* block, c10::Stream stream);
inline std::atomic<bool> any_users{false}, any_given_back{false};
bool keep_used(void* block);
inline bool keep_while_used(void* block) { return any_users && keep_used(block); }  // whether a freed block has to wait
std::vector<void*> no_longer_used();  // the blocks that need not wait any more, if `any_given_back`
void wait_for_uses();                 // of all blocks that wait

// Devices that this process has used: on a GPU they have a context then.
void open_context(c10::DeviceIndex index);
bool has_context(c10::DeviceIndex index);

}  // namespace software
