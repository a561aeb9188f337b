// Stacks of their own for threads that wait, and the switch between them.
#pragma once

namespace morph_cuda {

// Bytes, of which a kernel may have 512 KiB of its own. An odd number of pages: the same place of many stacks would else
// compete for few of the entries that a processor has for addresses.
constexpr unsigned long kStack = 772 << 10;

struct Context;  // where a stack's execution stands

// Makes a stack on which `entry` runs at the first switch to it. Throws std::bad_alloc.
Context* make_context(void (*entry)());
void reset(Context* context, void (*entry)());  // abandons what runs there
void free_context(Context* context);
const char* stack_of(const Context* context);  // its lowest address
Context* own_context();  // of the calling thread's own stack
void free_own_context(Context* context);
void switch_to(Context* from, Context* to);
void prefetch(const Context* context);  // which is switched to next but one

}  // namespace morph_cuda
