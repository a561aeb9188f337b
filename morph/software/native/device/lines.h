// The line of the program that runs now.
#pragma once

#include <string>
#include <vector>

namespace software {

struct Line {
  const void* code = nullptr;  // of Python's; null: unknown
  int number = 0;              // kText: `code` is the text itself, which is kept
};
constexpr int kText = -1;

void pass_over_lines(std::vector<std::string> foreign);  // of files that start so
void take_lines_from(const char* (*of_program)());  // which is not in Python; null: unknown
Line current_line();
std::string text_of(const Line& line);  // "train.py:12"

}  // namespace software
