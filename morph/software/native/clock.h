// When work is done. Kernels compute when they are queued; only a sleep that a program asks for takes its time, as
// the moment from which a queue is idle again. Whoever waits for a queue, on a GPU, waits for that moment.
#pragma once

#include "device.h"

#include <chrono>

namespace software {

using Clock = std::chrono::steady_clock;

void sleep_on(c10::Stream stream, Clock::duration time);
void sleep_until(c10::Stream stream, Clock::time_point time);
Clock::time_point idle_at(c10::Stream stream);  // of an idle queue: a time that is past
void wait_until(Clock::time_point time);        // returns at once where that is past
bool is_past(Clock::time_point time);

// What every wait of the host for the device goes through.
enum class Waits { kAllowed, kWarned, kRefused };
void watch_waits(Waits waits);
Waits watched_waits();
void wait_for(c10::Stream stream);              // as cudaStreamSynchronize
void wait_for_device(c10::DeviceIndex index);   // as cudaDeviceSynchronize
void wait_for_copy(c10::DeviceIndex index);     // of a copy between host and device that was not said to be non-blocking
bool is_watched();                              // whether the host's waits matter just now: a queue sleeps, or a mode is set

// The stream whose work this thread captures into a graph; refuses, once it is ended, a capture that broke off.
void set_capturing(std::optional<c10::Stream> stream);
void refuse_in_capture();  // what a capture cannot hold: it breaks off
bool is_capturing(c10::Stream stream);
bool is_capturing();

// uses.cpp: work of a stream that uses a block of device memory, for as long as the stream is not idle
void use_on(const void* block, c10::Stream stream);
bool keep_while_used(void* block);    // whether a block that is given back has to wait
std::vector<void*> no_longer_used();  // the blocks that waited and need not any more

// Devices that this process has used: on a GPU they then have a context.
void open_context(c10::DeviceIndex index);
bool has_context(c10::DeviceIndex index);

}  // namespace software
