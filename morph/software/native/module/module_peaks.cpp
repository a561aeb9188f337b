// Python bindings of the memory's peaks.
#include "memory/arena.h"
#include "memory/peaks.h"
#include "module/module.h"

namespace software {
namespace {

py::list lines_of(const Holders& holders) {
  py::list all;
  for (auto& [line, holder] : holders)
    all.append(py::make_tuple(text_of({line.first, line.second}), holder.bytes, holder.blocks));
  return all;
}

py::dict row(const Peaks::Found& found) {
  py::dict all;
  py::list levels;
  for (const Level& each : found.levels) levels.append(py::make_tuple(each.allocated, each.reserved));
  all["levels"] = levels, all["phase"] = size_t(found.phase), all["steps"] = found.steps;
  all["lines"] = lines_of(found.holders);
  return all;
}

py::list peak_rows() {
  py::list all;
  for (auto& each : peaks()) all.append(row(each));
  return all;
}

py::tuple refused_row() {
  auto [phase, steps, line] = refused_at();
  return py::make_tuple(size_t(phase), steps, text_of(line));
}

}  // namespace

void bind_peaks(py::module& module) {
  module.def("watch_peaks", &watch_peaks);
  module.def("begin_step", &begin_step);
  module.def("end_step", &end_step);
  module.def("peaks", &peak_rows);
  module.def("refused_at", &refused_row);
  module.def("usable_memory", &usable_memory);
}

}  // namespace software
