// See faults.h.
#include "faults.h"

#include "block.h"

#include <c10/util/StringUtil.h>

#include <signal.h>
#include <ucontext.h>

#include <mutex>

namespace morph_cuda {
namespace {

struct sigaction before[2];  // of SIGSEGV and SIGBUS

const void* instruction(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(registers.gregs[REG_RIP] + 1);  // as the address after a call
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(registers.pc + 1);
#else
  return nullptr;
#endif
}

void hand_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& other = before[number == SIGBUS];
  if (other.sa_flags & SA_SIGINFO) return other.sa_sigaction(number, info, context);
  if (other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN) return other.sa_handler(number);
  sigaction(number, &other, nullptr);  // the instruction faults again
}

// The kernel's thread is left where it stands, and nothing of it is unwound. It cannot hold a lock of malloc's.
void handle(int number, siginfo_t* info, void* context) {
  Block* block = Block::running();
  if (!block) return hand_on(number, info, context);
  block->fail_access(c10::str("nothing is at the address ", info->si_addr), instruction(context));
}

}  // namespace

void catch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction own {};
    own.sa_sigaction = &handle;
    own.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &own, &before[0]);
    sigaction(SIGBUS, &own, &before[1]);
  });
}

}  // namespace morph_cuda
