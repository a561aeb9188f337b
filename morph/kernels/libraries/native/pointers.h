// What CUDA's driver knows of an address.
#pragma once

namespace pointers {

int attribute(void* answer, int attribute, const void* pointer);
int attributes(unsigned count, const int* wanted, void** answers, const void* pointer);

}  // namespace pointers
