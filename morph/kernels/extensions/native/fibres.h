// Stacks of their own for threads that wait, and the switch between them.
#pragma once

namespace morph_cuda {

constexpr unsigned long kStack = 768 << 10;  // bytes, of which a kernel may have 512 KiB of its own

struct Context;  // where a stack's execution stands

// Makes a stack on which `entry` runs at the first switch to it. Throws std::bad_alloc.
Context* make_context(void (*entry)());
void reset(Context* context, void (*entry)());  // abandons what runs there
void free_context(Context* context);
const char* stack_of(const Context* context);  // its lowest address
Context* own_context();  // of the calling thread's own stack
void free_own_context(Context* context);
void switch_to(Context* from, Context* to);

}  // namespace morph_cuda
