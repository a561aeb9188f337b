// Capturing a stream into a graph (NPUGraph): what runs meanwhile is recorded, and done again at each replay.
//
// On the device nothing runs during a capture. Here it does, since that is how the sizes of results are found; what
// it wrote over is put back when the capture ends.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace soft_cann {

class Graph {
 public:
  void add(std::function<void()> step);
  // Called when the graph is destroyed; for the arguments of steps.
  void at_the_end(std::function<void()> destroy);
  // Remembers memory that is about to be written.
  void preserve(void *start, size_t size);

  void end_capture();
  void replay();
  ~Graph();

 private:
  struct Preserved {
    void *start;
    std::vector<char> content;
  };

  std::recursive_mutex mutex_;  // a step may run operators of its own
  std::vector<std::function<void()>> steps_;
  std::vector<std::function<void()>> destructions_;
  std::vector<Preserved> preserved_;
};

// The graph that is being captured, by whichever thread; null when there is none.
Graph *captured_graph();

}  // namespace soft_cann
