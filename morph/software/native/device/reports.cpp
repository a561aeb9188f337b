// See reports.h.
#include "device/reports.h"

#include <c10/util/StringUtil.h>

#include <fcntl.h>
#include <unistd.h>

#include <regex>

namespace software {
namespace {

std::string& file() {
  static auto* only = new std::string;
  return *only;
}

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (char each : text) {
    char escaped[8];
    if (each == '"' || each == '\\') all += {'\\', each};
    else if (static_cast<unsigned char>(each) >= 0x20) all += each;
    else std::snprintf(escaped, sizeof escaped, "\\u%04x", each), all += escaped;
  }
  return all + '"';
}

// Those of the program's sources that the text names, in its order.
std::string lines_in(const std::string& text) {
  static const auto& line = *new std::regex(R"([\w.\-]+\.\w+:\d+)");
  std::string all;
  for (std::sregex_iterator each(text.begin(), text.end(), line), end; each != end; ++each)
    all += (all.empty() ? "" : ", ") + quoted(each->str());
  return "[" + all + "]";
}

}  // namespace

void write_reports_to(const std::string& path) { file() = path == "-" ? "/dev/stdout" : path; }

void note_found(const char* check, const std::string& text) {
  if (file().empty()) return;
  std::string row = c10::str("{\"check\": ", quoted(check), ", \"process\": ", getpid(), ", \"lines\": ",
                             lines_in(text), ", \"text\": ", quoted(text), "}\n");
  int to = open(file().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (to < 0 || write(to, row.data(), row.size()) != ssize_t(row.size()))  // at once: other processes write there too
    std::fprintf(stderr, "morph: cannot write to %s\n", file().c_str());
  if (to >= 0) close(to);
}

}  // namespace software
