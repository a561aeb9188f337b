// See page_faults.h.
#include "memory/page_faults.h"

#include "memory/held.h"
#include "memory/hidden.h"

#include <signal.h>

#include <mutex>

namespace software {
namespace {

struct sigaction previous;

void handle(int number, siginfo_t* info, void* context) {
  bool is_access = info->si_code > 0;
  if (is_access && open_page(info->si_addr)) return;
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(number, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  sigaction(number, &previous, nullptr);  // the instruction faults again
  if (!is_access) raise(number);
}

void install_handler() {
  struct sigaction own {};
  own.sa_sigaction = &handle;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &own, &previous);
}

}  // namespace

bool open_page(const void* address) { return open_held(static_cast<const char*>(address)) || open_hidden(address); }

void catch_page_faults() {
  static std::once_flag once;
  std::call_once(once, &install_handler);
}

}  // namespace software
