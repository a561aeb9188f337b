// See assertions.h.
#include "device/assertions.h"

#include "device/errors.h"
#include "device/faults.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace software {
namespace {

// The words of the CPU's kernels; a dimension out of range is an error of the call on CUDA too, and so is an index into
// nothing, which torch finds by the sizes.
constexpr const char* OF_SIZES = "index is out of bounds for dimension with size 0";
constexpr const char* OF_VALUES[] = {"is out of bounds", "index out of range in self", "tried to access index",
                                     "not in the valid range", "target out of range", "invalid max index",
                                     "elements of input should be between 0 and 1", "probability tensor contains",
                                     "p_in >= 0", "invalid Poisson rate",
                                     "elements of target should be between 0 and 1",
                                     "source < number of ones in mask", "invalid multinomial distribution",
                                     "Expected Tensor with single nonzero value"};

bool is_on() {
  const char* wanted = std::getenv("MORPH_DEVICE_ASSERTS");
  return !wanted || std::strcmp(wanted, "0") != 0;
}

struct Lost {
  int32_t code = 0;  // while it is not lost
  std::string words;
};
Lost& lost() {
  static auto* first = new Lost;
  return *first;
}

}  // namespace

std::atomic<bool> context_in_doubt{false};

void examine_context() {
  if (lost().code) refuse(lost().code, lost().words);
  if (happens(Fault::kUse, -1)) lose_context(kUncorrectableECC);
}

void lose_context(int32_t code, const std::string& words) {
  static std::atomic<bool> is_lost{false};
  if (!is_lost.exchange(true)) lost() = {code, words};
  context_in_doubt = true;
  refuse(lost().code, lost().words);
}

void assert_on_device(const std::exception& error, bool is_assertion) {
  auto* known = dynamic_cast<const c10::Error*>(&error);
  const std::string words = known ? known->what_without_backtrace() : error.what();
  if (is_assertion && is_on()) lose_context(kAssert, words);
  if (words.find(OF_SIZES) != std::string::npos) return;
  for (const char* each : OF_VALUES) {
    if (words.find(each) != std::string::npos && is_on()) lose_context(kAssert, words);
  }
}

}  // namespace software
