// See sites.h. binutils' addr2line, which comes with g++, reads what the compiler wrote of lines.
#include "sites.h"

#include "../device.h"

#include <c10/util/StringUtil.h>

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace morph_cuda::sanitizer {
namespace {

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  FILE* output = popen(command.c_str(), "r");
  if (!output) return lines;
  char line[4096];
  while (std::fgets(line, sizeof line, output)) {
    lines.emplace_back(line);
    if (lines.back().back() == '\n') lines.back().pop_back();
  }
  pclose(output);
  return lines;
}

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (char each : word) result += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return result + "'";
}

bool is_own(const std::string& place) {  // or the standard library's
  return place.find("/include/morph/") != std::string::npos || place.find("/include/c++/") != std::string::npos;
}
bool is_known(const std::string& place) { return place[0] != '?' && place.back() != '?'; }

std::string without_folder(const std::string& place) { return place.substr(place.rfind('/') + 1); }

const void* base_of(const void* place) {
  Dl_info module;
  return dladdr(place, &module) ? module.dli_fbase : nullptr;
}

struct Found {
  std::string source;    // "scale.cu:5 (scale)", of what the compiler put there
  std::string function;  // the whole one that it is in
};

Found look_up(const std::string& library, long offset) {
  char number[32];
  std::snprintf(number, sizeof number, "0x%lx", offset);
  auto lines = lines_of("addr2line -f -C -i -e " + quoted(library) + " " + number + " 2>/dev/null");
  Found found;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {  // the function, then the place; outwards
    std::string place = lines[i + 1].substr(0, lines[i + 1].find(" (discriminator"));
    if (!is_known(place) || is_own(place)) continue;
    std::string named = lines[i].substr(0, lines[i].find('('));
    found.function = named.substr(named.rfind("void ", 0) == 0 ? 5 : 0);  // of a template: with what it returns
    if (found.source.empty()) found.source = c10::str(without_folder(place), " (", found.function, ")");
  }
  if (found.source.empty()) found = {c10::str(without_folder(library), "+", number), "a kernel"};
  return found;
}

const Found& found_at(const void* site) {
  static const Found unknown{"an unknown place", "a kernel"};
  static auto& known = *new std::map<std::pair<std::string, long>, Found>;  // a module may be unloaded
  static auto& lock = *new std::mutex;
  Dl_info module;
  const char* before = static_cast<const char*>(site) - 1;  // within the call
  if (!dladdr(before, &module) || !module.dli_fname) return unknown;
  std::pair key(std::string(module.dli_fname), long(before - static_cast<const char*>(module.dli_fbase)));
  std::lock_guard<std::mutex> locked(lock);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, look_up(key.first, key.second)).first;
  return found->second;
}

const void* program = nullptr;  // where it begins

const char* line_of_program() {
  void* callers[32];
  int count = backtrace(callers, 32);
  for (int i = 0; i < count; i++)
    if (base_of(callers[i]) == program) return found_at(callers[i]).source.c_str();
  return nullptr;
}

}  // namespace

void tell_lines_of(const void* inside) {
  program = base_of(inside);
  device_functions().take_lines_from(&line_of_program);
}

std::string source_of(const void* site) { return found_at(site).source; }

std::string function_of(const void* site) { return found_at(site).function; }

}  // namespace morph_cuda::sanitizer
