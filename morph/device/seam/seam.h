// Shared by the parts of the native seam: the target device type, and how each part is engaged and disengaged.
#pragma once
#include <ATen/core/TensorBody.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace c10 {
class OperatorHandle;
}
struct _object;
using PyObject = _object;

namespace seam {

// A line that is said once in a process, the first time that what it is about happens.
struct Notice {
  std::string line;
  std::atomic<bool> said{false};

  void say() {
    if (!said.exchange(true)) std::fprintf(stderr, "morph: %s\n", line.c_str());
  }
};

// For registrations that warn of what they override.
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// The device type that "cuda" means while the seam is engaged.
c10::DeviceType target();
void set_target(c10::DeviceType type);

// How many devices the target has. Raises nothing.
int device_count();
// How many there are until a device is used; -1 to ask the vendor, whose runtime then fixes which are visible.
void expect_devices(int count);

// Returns the target's device for a CUDA device, and any other device unchanged.
// Raises the seam's error for an index without a device.
c10::Device translate(c10::Device device);
bool exists(c10::Device device);
// The target's device for a CUDA device that exists, and the number of a device of the target among CUDA's.
c10::Device numbered_by_target(c10::Device device);
int numbered_by_cuda(c10::Device device);
// From now on the target has one device in each process, its 0, which is CUDA's number LOCAL_RANK.
void number_by_local_rank();
bool is_numbered_by_rank();

// Initialises the target's runtime as torch would have done for its own name (torch.npu._lazy_init).
void initialize_target();

// Calls that reached the seam, by operator name.
void count(const c10::OperatorHandle& op);
std::map<std::string, uint64_t> counted();

// Makes these operators of the target run without a memory format that they refuse, and prints `saying` the first
// time. Disengaging the seam undoes it.
void leave_out_formats(const std::vector<std::string>& operators, const std::string& saying);
void disengage_formats();

// Makes the collectives of the target reduce these dtypes on the host, since the vendor's library refuses them.
void reduce_on_host(const std::vector<std::string>& dtypes, const std::string& saying);
void disengage_reductions();

// Makes the target compute the operators that it has no kernel for on the host, and says so for each once.
void compute_rest_on_host();
void disengage_host();

// Makes copies with non_blocking=True end before they return where the host's memory is not pinned. `saying` is
// printed the first time that the vendor can pin none for a copy to new memory.
void order_copies(const std::string& saying);
void disengage_copies();

// Makes the vendor's error that has these words a torch.OutOfMemoryError.
void tell_exhaustion(const std::string& words);
void disengage_exhaustion();

// From now on counts how often the host waits for a number of the target's. `waits` has the count, and the thread
// that waits now, as Python numbers it, or 0.
void count_waits();
std::pair<uint64_t, unsigned long> waits();
void disengage_waits();

// Whether the code that runs now sees CUDA: the vendor's device is "cuda" to it.
bool is_asked_for_cuda();
// From now on `views`, an owned callable, decides that by the frame; nobody sees CUDA before.
void answer_by_caller(PyObject* views);
void disengage_views();

void engage_guard();
void disengage_guard();
void engage_hooks();
void disengage_hooks();
void engage_dispatch();
void disengage_dispatch();
void engage_initialization();
void disengage_initialization();
void engage_device_objects();
void disengage_device_objects();
void engage_storage();
void disengage_storage();
void engage_scripts();
void disengage_scripts();
void engage_tensor_methods();
void disengage_tensor_methods();
void engage_factories();
void disengage_factories();

}  // namespace seam
