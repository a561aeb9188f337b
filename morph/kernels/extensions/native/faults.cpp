// See faults.h.
#include "faults.h"

#include "block.h"
#include "device.h"

#include <c10/util/StringUtil.h>

#include <signal.h>
#include <ucontext.h>

#include <memory>
#include <mutex>

namespace morph_cuda {
namespace {

struct sigaction before[2];  // of SIGSEGV and SIGBUS

struct Fault {
  const void *address, *site;
};
thread_local Fault fault;

// Runs in the place of the kernel's thread, which is left where it stands. Nothing of it is unwound.
void report() {
  Block* block = Block::running();
  auto below = static_cast<const char*>(fault.address) - block->stack();
  bool is_overflow = below >= 0 && below < 4096;
  std::string nothing = c10::str("nothing is at the address ", fault.address);
  block->fail_access(cudaErrorIllegalAddress, is_overflow ? "the thread's stack is full" : nothing, fault.site, "memory");
}

// Has the execution go on with `report`, on the thread's own stack from its top.
void go_on(ucontext_t* context, const char* stack) {
  uintptr_t top = reinterpret_cast<uintptr_t>(stack + kStack - 64) & ~uintptr_t(15);
  auto entry = reinterpret_cast<uintptr_t>(&report);
#if defined(__x86_64__)
  auto& registers = context->uc_mcontext.gregs;
  fault.site = reinterpret_cast<const void*>(registers[REG_RIP] + 1);  // as the address after a call
  registers[REG_RSP] = greg_t(top - 8), registers[REG_RIP] = greg_t(entry);
#elif defined(__aarch64__)
  auto& registers = context->uc_mcontext;
  fault.site = reinterpret_cast<const void*>(registers.pc + 1);
  registers.sp = top, registers.pc = entry;
#else
  report();
#endif
}

void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& other = before[number == SIGBUS];
  if (other.sa_flags & SA_SIGINFO) return other.sa_sigaction(number, info, context);
  if (other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN) return other.sa_handler(number);
  sigaction(number, &other, nullptr);  // the instruction faults again
  if (info->si_code <= 0) raise(number);  // unless a process sent it
}

void handle(int number, siginfo_t* info, void* context) {
  if (protects_memory() && info->si_code > 0 && device_functions().open_page(info->si_addr)) return;
  Block* block = Block::running();
  if (!block || info->si_code <= 0) return hand_on(number, info, context);
  fault.address = info->si_addr;
  go_on(static_cast<ucontext_t*>(context), block->stack());
}

void install() {
  struct sigaction own {};
  own.sa_sigaction = &handle;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &own, &before[0]);
  sigaction(SIGBUS, &own, &before[1]);
}

// A full stack has no room for a handler. A thread that has a stack for signals keeps it.
class SignalStack {
 public:
  SignalStack() : memory_(new char[kBytes]) {
    stack_t there, own{};
    if (sigaltstack(nullptr, &there) || !(there.ss_flags & SS_DISABLE)) return;
    own.ss_sp = memory_.get(), own.ss_size = kBytes;
    is_used_ = sigaltstack(&own, nullptr) == 0;
  }
  ~SignalStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    if (is_used_) sigaltstack(&none, nullptr);
  }

 private:
  static constexpr size_t kBytes = 64 << 10;
  std::unique_ptr<char[]> memory_;
  bool is_used_ = false;
};

}  // namespace

void catch_faults() {
  static std::once_flag once;
  std::call_once(once, &install);
  thread_local SignalStack stack;
}

}  // namespace morph_cuda
