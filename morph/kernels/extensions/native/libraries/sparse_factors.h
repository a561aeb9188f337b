// Factors of sparse matrices. Of each row of a factor the numbers from its first to its last one are kept, zeros too:
// loops over them are plain, and an order that keeps numbers near the diagonal keeps them few.
#pragma once

#include "sparse_rows.h"

namespace morph_cuda::solver {

// R, and the rotations of rows that make it.
template <class S>
class Orthogonal {
 public:
  explicit Orthogonal(const Rows<S>& a) : r_(a.columns) {
    order_ = in_order(a.count());
    std::vector<int64_t> first(a.count(), a.columns);
    for (int64_t i = 0; i < a.count(); i++)
      a.each(i, [&](int64_t column, S) { first[i] = std::min(first[i], column); });
    std::stable_sort(order_.begin(), order_.end(), [&](int64_t i, int64_t j) { return first[i] < first[j]; });
    Work<S> work(a.columns);
    for (int64_t row : order_) work.load(a, row), insert(work);
  }

  int64_t first_small(Real<S> tolerance) const { return r_.first_small(tolerance); }
  bool is_complete() const { return r_.is_complete(); }
  // Leaves out the columns that depend on others before them, and returns all, those of a basis first.
  std::pair<std::vector<int64_t>, int64_t> reduce(Real<S> tolerance) {
    std::vector<int64_t> basis, others;
    Work<S> work(r_.rows.size());
    for (int64_t k = 0; k < int64_t(r_.rows.size()); k++) {
      std::vector<S>& row = r_.rows[k];
      bool is_small = row.empty() || !(std::abs(row[0]) > tolerance);
      (is_small ? others : basis).push_back(k);
      if (!is_small || row.empty()) continue;
      std::copy(row.begin() + 1, row.end(), work.values.begin() + k + 1);
      work.from = k + 1, work.end = k + int64_t(row.size());
      row.clear();
      order_.push_back(-1 - k), insert(work);  // what the row held of b goes with it
    }
    int64_t rank = int64_t(basis.size());
    basis.insert(basis.end(), others.begin(), others.end());
    return {basis, rank};
  }
  std::vector<S> solve(const std::vector<S>& b, Real<S>* residual = nullptr) const {
    std::vector<S> y(r_.rows.size());
    Real<S> rest = 0;
    for (size_t i = 0, turn = 0; i < order_.size(); i++) {
      S value = order_[i] < 0 ? std::exchange(y[-1 - order_[i]], S(0)) : b[order_[i]];
      for (; turn < ends_[i]; turn++) turns_[turn].apply(y[turns_[turn].row], value);
      rest += std::norm(value);
    }
    if (residual) *residual = std::sqrt(rest);
    return r_.solve(std::move(y));
  }

 private:
  struct Turn {
    int64_t row;
    Real<S> cosine;
    S sine;
    void apply(S& upper, S& lower) const {
      S above = upper;
      upper = cosine * above + sine * lower;
      lower = cosine * lower - conjugated(sine) * above;
    }
  };

  void insert(Work<S>& work) {
    int64_t k = work.from;
    for (; k < work.end; k++) {
      if (work.values[k] == S(0)) continue;
      std::vector<S>& row = r_.rows[k];
      if (row.empty()) break;
      turn(k, row, work);
    }
    if (k < work.end) turns_.push_back({k, 0, S(1)}), budget_.spend(1 + work.end - k), r_.rows[k] = work.take(k);
    else work.take(k);
    ends_.push_back(turns_.size());
  }
  void turn(int64_t k, std::vector<S>& row, Work<S>& work) {
    int64_t wider = work.end - k - int64_t(row.size());
    budget_.spend(3 + std::max<int64_t>(wider, 0));
    if (wider > 0) row.resize(work.end - k);
    work.end = k + int64_t(row.size());
    S above = row[0], below = work.values[k];
    Real<S> length = std::abs(above), all = std::hypot(length, std::abs(below));
    Turn by{k, length / all, (above / length) * conjugated(below) / all};
    S *upper = row.data(), *lower = work.values.data() + k;
    int64_t n = int64_t(row.size());
#pragma omp simd
    for (int64_t i = 0; i < n; i++) by.apply(upper[i], lower[i]);
    work.values[k] = S(0);
    turns_.push_back(by);
  }

  Triangle<S> r_;
  Budget budget_;
  std::vector<Turn> turns_;
  std::vector<size_t> ends_;
  std::vector<int64_t> order_;  // the rows; -1 - k: what stood in row k
};

// L with ones in its diagonal, and U, by the largest number of each column.
template <class S>
class LowerUpper {
 public:
  using Line = std::vector<std::pair<int64_t, S>>;
  std::vector<int64_t> pivots;  // which row of the matrix each row is
  std::vector<Line> lower;      // below the diagonal
  Triangle<S> upper;

  explicit LowerUpper(const Rows<S>& a, Real<S> threshold = 1) : upper(a.columns) {
    std::vector<std::vector<Candidate>> waiting(a.columns + 1);  // for the column of their first number
    Work<S> work(a.columns);
    for (int64_t i = 0; i < a.count(); i++) {
      work.load(a, i);
      int64_t from = std::min(work.from, a.columns);
      wait(waiting, {i, {}, work.take(from)}, from);
    }
    for (int64_t k = 0; k < a.columns; k++) eliminate(k, waiting, threshold);
    for (Candidate& rest : waiting[a.columns]) place_anywhere(rest);
  }

  int64_t first_small(Real<S> tolerance) const { return upper.first_small(tolerance); }
  bool is_complete() const { return upper.is_complete(); }
  std::vector<S> solve(const std::vector<S>& b) const {
    std::vector<S> y(lower.size());
    for (size_t i = 0; i < lower.size(); i++) {
      y[i] = b[pivots[i]];
      for (auto [column, value] : lower[i]) y[i] -= value * y[column];
    }
    return upper.solve(std::move(y));
  }

 private:
  struct Candidate {
    int64_t row;
    Line lower;
    std::vector<S> values;
  };

  // Behind the zeros at its front.
  static void wait(std::vector<std::vector<Candidate>>& waiting, Candidate line, int64_t from) {
    std::vector<S>& values = line.values;
    auto first = std::find_if(values.begin(), values.end(), [](S value) { return value != S(0); });
    int64_t column = first == values.end() ? int64_t(waiting.size()) - 1 : from + (first - values.begin());
    values.erase(values.begin(), first);
    waiting[column].push_back(std::move(line));
  }
  void eliminate(int64_t k, std::vector<std::vector<Candidate>>& waiting, Real<S> threshold) {
    std::vector<Candidate> all = std::move(waiting[k]);
    pivots.push_back(-1), lower.emplace_back();
    if (all.empty()) return;
    auto by_size = [](auto& x, auto& y) { return std::abs(x.values[0]) < std::abs(y.values[0]); };
    auto best = std::max_element(all.begin(), all.end(), by_size);
    for (auto each = all.begin(); each != all.end(); each++)
      if (each->row == k && std::abs(each->values[0]) >= threshold * std::abs(best->values[0])) best = each;
    std::swap(*best, all.back());
    Candidate pivot = std::move(all.back());
    all.pop_back();
    budget_.spend(int64_t(pivot.values.size() + 2 * pivot.lower.size()));
    for (Candidate& each : all) subtract(k, pivot.values, each), wait(waiting, std::move(each), k);
    pivots[k] = pivot.row, lower[k] = std::move(pivot.lower), upper.rows[k] = std::move(pivot.values);
  }
  static void subtract(int64_t k, const std::vector<S>& pivot, Candidate& from) {
    S by = from.values[0] / pivot[0];
    from.lower.push_back({k, by});
    from.values.resize(std::max(from.values.size(), pivot.size()));
    const S* other = pivot.data();
    S* own = from.values.data();
    int64_t n = int64_t(pivot.size());
#pragma omp simd
    for (int64_t i = 1; i < n; i++) own[i] -= by * other[i];
    own[0] = S(0);
  }
  void place_anywhere(Candidate& rest) {
    auto free = std::find(pivots.begin(), pivots.end(), -1);
    if (free == pivots.end()) return;
    *free = rest.row, lower[free - pivots.begin()] = std::move(rest.lower);
  }

  Budget budget_;
};

// L without exchanges, of the lower triangle, whose rows end with the diagonal.
template <class S>
class Cholesky {
 public:
  explicit Cholesky(const Rows<S>& a) : n_(a.count()) {
    for (int64_t i = 0; i < n_ && append(a, i); i++) budget_.spend(int64_t(rows_.back().size()));
  }

  int64_t count() const { return n_; }
  bool is_complete() const { return int64_t(rows_.size()) == n_; }
  int64_t first_small(Real<S> tolerance) const {
    for (size_t i = 0; i < rows_.size(); i++)
      if (!(diagonal(i) > tolerance)) return int64_t(i);
    return is_complete() ? -1 : int64_t(rows_.size());
  }
  Real<S> diagonal(int64_t i) const { return std::real(rows_[i].back()); }
  std::vector<S> solve(std::vector<S> x) const {
    for (int64_t i = 0; i < n_; i++) x[i] = (x[i] - product(i, i, [&](int64_t k) { return x[k]; })) / diagonal(i);
    for (int64_t i = n_ - 1; i >= 0; i--) {
      x[i] /= diagonal(i);
      for (int64_t k = first(i); k < i; k++) x[k] -= conjugated(rows_[i][k - first(i)]) * x[i];
    }
    return x;
  }

 private:
  int64_t first(int64_t i) const { return i + 1 - int64_t(rows_[i].size()); }
  template <class F>
  S product(int64_t i, int64_t before, F other, int64_t from = 0) const {
    S sum(0);
    for (int64_t k = std::max(first(i), from); k < before; k++) sum += rows_[i][k - first(i)] * other(k);
    return sum;
  }
  bool append(const Rows<S>& a, int64_t i) {
    int64_t from = i;
    a.each(i, [&](int64_t column, S) { from = std::min(from, column); });
    std::vector<S> row(i + 1 - from);
    a.each(i, [&](int64_t column, S value) { if (column <= i) row[column - from] += value; });
    Real<S> rest = std::real(row.back());
    for (int64_t j = from; j < i; j++) {
      S others = product(j, j, [&](int64_t k) { return conjugated(row[k - from]); }, from);
      row[j - from] = (row[j - from] - conjugated(others)) / diagonal(j);
      rest -= std::norm(row[j - from]);
    }
    if (!(rest > 0)) return false;
    row.back() = std::sqrt(rest);
    rows_.push_back(std::move(row));
    return true;
  }

  int64_t n_;
  Budget budget_;
  std::vector<std::vector<S>> rows_;
};

}  // namespace morph_cuda::solver
