// thrust's vectors, iterators and algorithms.
#include <thrust/copy.h>
#include <thrust/detail/type_traits.h>
#include <thrust/device_ptr.h>
#include <thrust/device_reference.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>

struct Squared {
  __host__ __device__ float operator()(float x) const { return x * x; }
};
struct Dot {
  template <class T>
  __host__ __device__ float operator()(const T& pair) const { return thrust::get<0>(pair) * thrust::get<1>(pair); }
};

static_assert(std::is_same_v<thrust::iterator_value<thrust::device_ptr<int>>::type, int>);
static_assert(std::is_same_v<thrust::iterator_difference<thrust::counting_iterator<int>>::type, std::ptrdiff_t>);
static_assert(thrust::detail::is_same<thrust::detail::conditional<true, int, long>::type, int>::value);

__global__ void drawn(unsigned seed, int skip, float* reals, int* whole, int n) {
  thrust::default_random_engine generator(seed);
  generator.discard(skip + threadIdx.x * n);
  thrust::uniform_real_distribution<float> real(-2.f, 3.f);
  thrust::uniform_int_distribution<int> integer(-5, 5);
  for (int i = 0; i < n; i++) {
    thrust::minstd_rand same = generator;
    reals[threadIdx.x * n + i] = real(generator);
    whole[threadIdx.x * n + i] = integer(same);
  }
}

extern "C" {
void draw(int seed, int skip, float* reals, int* whole, int n) { drawn<<<1, 8>>>(seed, skip, reals, whole, n); }
void shuffled(int* values, int* copied, int n) {
  thrust::device_ptr<int> first(values);
  thrust::universal_vector<int> kept(first, first + n);
  thrust::shuffle(thrust::device, first, first + n, thrust::default_random_engine(7));
  thrust::default_random_engine generator;
  thrust::shuffle_copy(kept.begin(), kept.end(), copied, generator);
}
int order(float* keys, long* places, int n) try {
  cudaStream_t stream = nullptr;
  thrust::device_vector<long> indices(n);
  thrust::sequence(indices.begin(), indices.end());
  thrust::device_ptr<float> first(keys);
  thrust::sort_by_key(thrust::cuda::par.on(stream), first, first + n, indices.begin(), thrust::greater<float>());
  thrust::copy(indices.begin(), indices.end(), thrust::device_pointer_cast(places));
  return 0;
} catch (const std::exception&) {
  return 1;
}
float squares(const float* x, int n) {
  return thrust::transform_reduce(thrust::device, x, x + n, Squared(), 0.f, thrust::plus<float>());
}
float dot(const float* x, const float* y, int n) {
  auto first = thrust::make_zip_iterator(thrust::make_tuple(x, y));
  auto products = thrust::make_transform_iterator(first, Dot());
  return thrust::reduce(products, products + n);
}
void suffix_sums(const int* values, int* sums, int n) {
  auto last = thrust::make_reverse_iterator(values + n);
  thrust::inclusive_scan(thrust::device, last, last + n, thrust::make_reverse_iterator(sums + n));
}
void scans(int* values, int* exclusive, int n) {
  thrust::exclusive_scan(thrust::device, values, values + n, exclusive);
  thrust::inclusive_scan(thrust::device, values, values + n, values);
}
int runs(int* values, int* keys, int* counts, int n) {
  thrust::device_ptr<int> first(values);
  thrust::device_vector<int> sorted(first, first + n);
  thrust::sort(sorted.begin(), sorted.end());
  auto ones = thrust::make_constant_iterator(1);
  auto ends = thrust::reduce_by_key(thrust::device, sorted.begin(), sorted.end(), ones, keys, counts);
  int distinct = int(thrust::unique(sorted.begin(), sorted.end()) - sorted.begin());
  return ends.first - keys == distinct ? distinct : -1;
}
int positive(const float* x, int* places, int n) {
  thrust::counting_iterator<int> all(0);
  int* end = thrust::copy_if(thrust::device, all, all + n, x, places, [](float value) { return value > 0; });
  thrust::host_vector<bool> flags(3, true);
  return flags == std::vector<char>{1, 1, 1} ? int(end - places) : -1;
}
// Sums of pairs, halved as they are written, and each then written to where the last of its kind belongs.
void outputs(const int* x, const int* y, int* halves, int* turned, int n) {
  auto both = thrust::make_zip_iterator(x, y);
  auto half = thrust::make_transform_output_iterator(halves, [](int sum) { return sum / 2; });
  thrust::transform(both, both + n, half, thrust::make_zip_function([](int a, int b) { return a + b; }));
  auto backwards = thrust::make_tabulate_output_iterator([=](std::ptrdiff_t i, int value) { turned[n - 1 - i] = value; });
  thrust::copy(halves, halves + n, backwards);
  thrust::device_reference<int> last = turned[0];
  last += 1;
}
}
