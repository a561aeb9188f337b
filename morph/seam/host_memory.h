// The counts of the host's allocator, for the CPU as target.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace seam {

void engage_host_memory();
void disengage_host_memory();

// Under the keys of torch.cuda.memory_stats: bytes and numbers of what tensors hold.
std::map<std::string, uint64_t> host_memory();
void reset_peak_host_memory();
void reset_accumulated_host_memory();
// Allocations that would go beyond are refused, as if memory had run out.
void limit_host_memory(uint64_t bytes);

}  // namespace seam
