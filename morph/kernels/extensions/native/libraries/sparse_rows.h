// Sparse matrices by rows, and what their factors are made of.
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace morph_cuda::solver {

template <class S>
struct Rows {  // a matrix by rows, from 0 on
  int64_t columns;
  std::vector<int64_t> offsets{0}, at;
  std::vector<S> values;

  int64_t count() const { return int64_t(offsets.size()) - 1; }
  void add(int64_t column, S value) { at.push_back(column), values.push_back(value); }
  void end_row() { offsets.push_back(int64_t(at.size())); }
  template <class F>
  void each(int64_t row, F work) const {
    for (int64_t k = offsets[row]; k < offsets[row + 1]; k++) work(at[k], values[k]);
  }
};

// Of each row the one that `rows` names, and each column where `columns` has it.
template <class S>
Rows<S> permuted(const Rows<S>& a, const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
  std::vector<int64_t> place(columns.size());
  for (size_t i = 0; i < columns.size(); i++) place[columns[i]] = int64_t(i);
  Rows<S> found{a.columns};
  for (int64_t row : rows) {
    std::vector<std::pair<int64_t, int64_t>> line;
    for (int64_t k = a.offsets[row]; k < a.offsets[row + 1]; k++) line.push_back({place[a.at[k]], k});
    std::sort(line.begin(), line.end());
    for (auto [column, k] : line) found.add(column, a.values[k]);
    found.end_row();
  }
  return found;
}
// Less a number in the diagonal.
template <class S>
Rows<S> shifted(const Rows<S>& a, S by) {
  Rows<S> found{a.columns};
  for (int64_t i = 0; i < a.count(); i++) {
    a.each(i, [&](int64_t column, S value) { found.add(column, value); });
    found.add(i, -by);
    found.end_row();
  }
  return found;
}
inline std::vector<int64_t> in_order(int64_t n) {
  std::vector<int64_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class S> using Real = typename c10::scalar_value_type<S>::type;
inline float conjugated(float x) { return x; }
inline double conjugated(double x) { return x; }
template <class R>
c10::complex<R> conjugated(c10::complex<R> x) {
  return std::conj(x);
}

// A Hermitian matrix by its lower triangle.
template <class S>
Rows<S> mirrored(const Rows<S>& a) {
  std::vector<std::vector<std::pair<int64_t, S>>> rows(a.count());
  for (int64_t i = 0; i < a.count(); i++)
    a.each(i, [&](int64_t column, S value) {
      if (column <= i) rows[i].push_back({column, value});
      if (column < i) rows[column].push_back({i, conjugated(value)});
    });
  Rows<S> found{a.columns};
  for (auto& row : rows) {
    for (auto [column, value] : row) found.add(column, value);
    found.end_row();
  }
  return found;
}

class Budget {  // of numbers in memory
 public:
  void spend(int64_t numbers) {
    left_ -= numbers;
    TORCH_CHECK(left_ >= 0, "a factor of this matrix would hold more than ", kMost,
                " numbers here; let the function reorder it, order it by csrsymrcm, or use an iterative solver");
  }

 private:
  static constexpr int64_t kMost = int64_t(1) << 27;
  int64_t left_ = kMost;
};

// A row while it is worked on: its numbers from `from` to `end`, and zeros elsewhere.
template <class S>
struct Work {
  std::vector<S> values;
  int64_t from = 0, end = 0;

  explicit Work(int64_t columns) : values(columns) {}
  void load(const Rows<S>& a, int64_t row) {
    from = a.columns, end = 0;
    a.each(row, [&](int64_t column, S value) {
      values[column] += value, from = std::min(from, column), end = std::max(end, column + 1);
    });
  }
  std::vector<S> take(int64_t first) {  // what is left from there on; then all is zero
    std::vector<S> rest(values.begin() + first, values.begin() + std::max(first, end));
    std::fill(values.begin() + std::min(from, end), values.begin() + end, S(0));
    return rest;
  }
};

template <class S>
class Triangle {  // an upper one; each row begins with its diagonal, and has no numbers where that is 0
 public:
  explicit Triangle(int64_t n = 0) : rows(n) {}
  std::vector<std::vector<S>> rows;

  int64_t first_small(Real<S> tolerance) const {
    for (size_t i = 0; i < rows.size(); i++)
      if (rows[i].empty() || !(std::abs(rows[i][0]) > tolerance)) return int64_t(i);
    return -1;
  }
  bool is_complete() const {
    return std::none_of(rows.begin(), rows.end(), [](auto& row) { return row.empty(); });
  }
  std::vector<S> solve(std::vector<S> x) const {  // 0 where the diagonal is
    for (int64_t i = int64_t(rows.size()) - 1; i >= 0; i--) {
      const std::vector<S>& row = rows[i];
      for (size_t k = 1; k < row.size(); k++) x[i] -= row[k] * x[i + k];
      x[i] = row.empty() ? S(0) : x[i] / row[0];
    }
    return x;
  }
};

}  // namespace morph_cuda::solver
