// The memory of the devices, and pinned memory of the host.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>

namespace soft_cann {

constexpr int kHost = -1;

struct Block {
  char *start;
  size_t size;
  int device;  // kHost: pinned or reserved
};

// Both return an aclError.
int allocate(void **pointer, size_t size, int device);
int release(void *pointer);

// Host memory that others allocated, or only its addresses.
void remember_host(void *pointer, size_t size);
void forget_host(void *pointer);

// The block that holds an address.
std::optional<Block> block_around(const void *address);

// A piece of device memory that does not lie in a block; false when the device is full.
bool take_physical(int device, size_t size);
void give_physical(int device, size_t size);

// Where an address of device memory lies in the file that backs the device.
struct Backing {
  int file;
  off_t offset;
};
Backing backing(const Block &block, const void *address);

}  // namespace soft_cann
