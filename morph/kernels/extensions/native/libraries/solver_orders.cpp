// The orders of sparse matrices, and matrices in other orders.
#include "solver_sparse.h"

namespace morph_cuda::solver {
namespace {

using Neighbours = std::vector<std::vector<int64_t>>;

Neighbours neighbours_of(int64_t n, const std::vector<int64_t>& offsets, const std::vector<int64_t>& at) {
  Neighbours all(n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
      if (at[k] != i) all[i].push_back(at[k]), all[at[k]].push_back(i);
  for (auto& each : all) {
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  for (auto& each : all)
    std::stable_sort(each.begin(), each.end(), [&](int64_t i, int64_t j) { return all[i].size() < all[j].size(); });
  return all;
}

// Those that are reached from one, in levels by their distance.
std::vector<std::vector<int64_t>> levels_from(int64_t start, const Neighbours& of, std::vector<int64_t>& seen) {
  int64_t turn = seen[start] = *std::max_element(seen.begin(), seen.end()) + 1;
  std::vector<std::vector<int64_t>> levels{{start}};
  while (!levels.back().empty()) {
    std::vector<int64_t> next;
    for (int64_t each : levels.back())
      for (int64_t other : of[each])
        if (std::exchange(seen[other], turn) != turn) next.push_back(other);
    levels.push_back(std::move(next));
  }
  levels.pop_back();
  return levels;
}

// From one that is as far as any other from the one where its level began.
std::vector<std::vector<int64_t>> longest_levels(int64_t start, const Neighbours& of, std::vector<int64_t>& seen) {
  auto levels = levels_from(start, of, seen);
  while (true) {
    auto fewer = [&](int64_t i, int64_t j) { return of[i].size() < of[j].size(); };
    auto further = levels_from(*std::min_element(levels.back().begin(), levels.back().end(), fewer), of, seen);
    if (further.size() <= levels.size()) return levels;
    levels = std::move(further);
  }
}

cusolverStatus_t ordered(SparseCaller by, int n, int nnz, cusparseMatDescr_t descr, const int* offsets,
                         const int* columns, int* p) {
  return answered(by, n >= 0 && nnz >= 0 && descr && offsets && columns && p, [&] {
    Rows<int64_t> a = places(n, n, nnz, int(descr->base), offsets, columns);
    std::vector<int64_t> order = cuthill_mckee(n, a.offsets, a.at);
    std::copy(order.begin(), order.end(), used(p, size_t(n), true));
  });
}

bool is_symmetric(const Rows<int64_t>& a) {
  std::vector<std::pair<int64_t, int64_t>> here, there;
  for (int64_t i = 0; i < a.count(); i++)
    a.each(i, [&](int64_t column, int64_t) { here.push_back({i, column}), there.push_back({column, i}); });
  std::sort(here.begin(), here.end()), std::sort(there.begin(), there.end());
  return here == there;
}

}  // namespace

std::vector<int64_t> order_of(const int* p, int64_t n) {
  std::vector<int64_t> order(used(p, size_t(n), false), p + n), sorted = order;
  std::sort(sorted.begin(), sorted.end());
  TORCH_CHECK(sorted == in_order(n), "an order does not name each row or column once");
  return order;
}

std::vector<int64_t> cuthill_mckee(int64_t n, const std::vector<int64_t>& offsets, const std::vector<int64_t>& at) {
  Neighbours all = neighbours_of(n, offsets, at);
  std::vector<int64_t> order, seen(n), starts = in_order(n);
  std::stable_sort(starts.begin(), starts.end(), [&](int64_t i, int64_t j) { return all[i].size() < all[j].size(); });
  for (int64_t start : starts)
    if (!seen[start])
      for (auto& level : longest_levels(start, all, seen)) order.insert(order.end(), level.begin(), level.end());
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

#define MORPH_HANDLE cusolverSpHandle_t handle
#define MORPH_PLACES const cusparseMatDescr_t descr, const int *offsets, const int *columns

extern "C" {

cusolverStatus_t cusolverSpXcsrsymrcmHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p) {
  return ordered(handle, n, nnz, descr, offsets, columns, p);
}
cusolverStatus_t cusolverSpXcsrsymmdqHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p) {
  return ordered(handle, n, nnz, descr, offsets, columns, p);
}
cusolverStatus_t cusolverSpXcsrsymamdHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, int* p) {
  return ordered(handle, n, nnz, descr, offsets, columns, p);
}
cusolverStatus_t cusolverSpXcsrmetisndHost(MORPH_HANDLE, int n, int nnz, MORPH_PLACES, const int64_t*, int* p) {
  return ordered(handle, n, nnz, descr, offsets, columns, p);
}
cusolverStatus_t cusolverSpXcsrissymHost(MORPH_HANDLE, int n, int nnz, const cusparseMatDescr_t descr,
                                         const int* offsets, const int* ends, const int* columns, int* into) {
  bool is_valid = n >= 0 && nnz >= 0 && descr && offsets && ends && columns && into;
  return answered(handle, is_valid, [&] {
    TORCH_CHECK(n == 0 || std::equal(ends, ends + n, offsets + 1), "rows with gaps between them are not served");
    *into = is_symmetric(places(n, n, nnz, int(descr->base), offsets, columns));
  });
}
cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(MORPH_HANDLE, int, int, int, MORPH_PLACES, const int* p,
                                                   const int* q, size_t* bytes) {
  bool is_valid = descr && offsets && columns && p && q && bytes;
  return answered(handle, is_valid, [&] { *bytes = morph_cuda::sparse::kBuffer; });
}
cusolverStatus_t cusolverSpXcsrpermHost(MORPH_HANDLE, int m, int n, int nnz, const cusparseMatDescr_t descr,
                                        int* offsets, int* columns, const int* p, const int* q, int* map, void*) {
  bool is_valid = m >= 0 && n >= 0 && nnz >= 0 && descr && offsets && columns && p && q && map;
  return answered(handle, is_valid, [&] {
    int base = int(descr->base);
    Rows<int64_t> moved = permuted(places(m, n, nnz, base, offsets, columns), order_of(p, m), order_of(q, n));
    std::vector<int> before(map, map + nnz);
    for (size_t k = 0; k < moved.at.size(); k++)
      columns[k] = int(moved.at[k]) + base, map[k] = before[moved.values[k]];
    for (size_t i = 0; i < moved.offsets.size(); i++) offsets[i] = int(moved.offsets[i]) + base;
  });
}
}
#undef MORPH_HANDLE
#undef MORPH_PLACES
