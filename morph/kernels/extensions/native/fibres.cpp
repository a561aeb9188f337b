// Stacks of their own for threads that wait: by a few instructions on x86-64, elsewhere by the C library.
#include "fibres.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace morph_cuda {
namespace {

// The first ones have a page below that faults: a kernel that needs more must not write into another stack. Each such
// page counts twice among a process's mappings, whose number is limited.
constexpr int kGuarded = 16384;
std::atomic<int> stacks{0};

// Stacks begin at different distances from a page's start, else what all of them use would share few lines of a cache.
size_t size_of(int number) { return kStack - unsigned(number) * 320 % 4096; }

char* map_stack(int number) {
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (number < kGuarded) mprotect(memory, size_t(sysconf(_SC_PAGESIZE)), PROT_NONE);
  return static_cast<char*>(memory);
}

}  // namespace

#if defined(__x86_64__)

struct Context {
  void* top = nullptr;
  char* stack = nullptr;
  size_t size = 0;
};

extern "C" void morph_cuda_switch(void** from, void* to);
asm(R"(.text
.globl morph_cuda_switch
.hidden morph_cuda_switch
.type morph_cuda_switch,@function
morph_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size morph_cuda_switch,.-morph_cuda_switch
)");

void reset(Context* context, void (*entry)()) {
  void** top = reinterpret_cast<void**>(context->stack + context->size - 64);
  *--top = nullptr;  // where entry would return to
  *--top = reinterpret_cast<void*>(entry);
  for (int registers = 6; registers; registers--) *--top = nullptr;
  context->top = top;
}

void switch_to(Context* from, Context* to) { morph_cuda_switch(&from->top, to->top); }
void prefetch(const Context* context) {
  for (int line = 0; line < 3; line++) __builtin_prefetch(static_cast<char*>(context->top) + 64 * line);
}

#else

struct Context {
  ucontext_t place;
  char* stack = nullptr;
  size_t size = 0;
};

void reset(Context* context, void (*entry)()) {
  getcontext(&context->place);
  context->place.uc_stack.ss_sp = context->stack;
  context->place.uc_stack.ss_size = context->size;
  context->place.uc_link = nullptr;
  makecontext(&context->place, entry, 0);
}

void switch_to(Context* from, Context* to) { swapcontext(&from->place, &to->place); }
void prefetch(const Context*) {}

#endif

Context* make_context(void (*entry)()) {
  int number = stacks++;
  char* stack = map_stack(number);
  auto* context = new Context;
  context->stack = stack, context->size = size_of(number);
  reset(context, entry);
  return context;
}

void free_context(Context* context) {
  munmap(context->stack, kStack);
  delete context;
}

const char* stack_of(const Context* context) { return context->stack; }

Context* own_context() { return new Context; }
void free_own_context(Context* context) { delete context; }

}  // namespace morph_cuda
