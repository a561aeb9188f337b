// How a block ends where a check of the sanitizer finds something, or where a thread reaches memory that is not its own.
#include "block.h"

#include "device.h"
#include "grid.h"
#include "sanitizer/sites.h"

namespace morph_cuda {
namespace {

std::string access_text(const std::string& what, const void* site) {
  const morph_index& b = place.block, &t = place.thread;
  std::string where = c10::str("block [", b.x, ",", b.y, ",", b.z, "], thread [", t.x, ",", t.y, ",", t.z, "]");
  return c10::str(sanitizer::source_of(site), ": ", what, ", ", where);
}

void note_found(const char* check, const std::string& text) {
  if (is_launching()) device_functions().note_found(check, text);  // another thread may not ask for the function
}

}  // namespace

std::exception_ptr Block::race_error(const std::string& text) {
  note_found("race", text);
  return std::make_exception_ptr(c10::Error({__func__, __FILE__, __LINE__}, text));
}

void Block::fail_access(cudaError_t error, const std::string& what, const void* site, const char* check) {
  std::string text = c10::str("CUDA error: ", cudaGetErrorString(error), ": ", access_text(what, site));
  note_found(check, text);
  fail(std::make_exception_ptr(c10::AcceleratorError({__func__, __FILE__, __LINE__}, error, text)));
}

void Block::fail_unwritten(const std::string& what, const void* site) {
  std::string text = "CUDA error: memory is read that nothing was written to (found by MORPH_SANITIZE=init)\n  " +
                     access_text(what, site);
  note_found("init", text);
  fail(std::make_exception_ptr(c10::Error({__func__, __FILE__, __LINE__}, text)));
}

}  // namespace morph_cuda
