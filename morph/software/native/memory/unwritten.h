// Memory that nothing was written to, for MORPH_SANITIZE=init. While that is so, each four bytes of it hold what their
// address tells: a NaN that no computation makes. So who writes need not tell of it, be it an operator, a library, a
// copy or another process.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstddef>
#include <string>

namespace software {

inline bool marks_unwritten = false;
void begin_to_mark();  // memory that is taken from now on

void mark_unwritten(void* start, size_t bytes);
// All of the words that they lie in. Of a word that reaches over the end of an allocation too little is compared.
bool is_unwritten(const void* start, size_t bytes);

void mark_allocation(void* start, size_t bytes);
// Raises where an operator reads a tensor of which nothing was written.
void check_read(const char* name, const at::Tensor& tensor, bool is_changed);

}  // namespace software
