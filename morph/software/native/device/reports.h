// What a sanitizer has found, for programs: a line of JSON each, at the end of the file that MORPH_SANITIZE_JSON names.
#pragma once

#include <string>

namespace software {

void write_reports_to(const std::string& file);  // "-": the standard output
void note_found(const char* check, const std::string& text);

}  // namespace software
