// What a program has of its process: arguments, input, output, environment, order of its beginnings and ends, status.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

struct Kept {
  int* memory = nullptr;
  Kept() { cudaMalloc(&memory, 4), std::fprintf(stderr, "begins\n"); }
  ~Kept() { cudaFree(memory), std::fprintf(stderr, "ends\n"); }
} kept;

int error = 40;  // the C library has a function of this name

__global__ void add(int n, int* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, i);
}

int main(int argc, char** argv) {
  int option, sum = 0;
  const char* value = "";
  while ((option = getopt(argc, argv, "x:")) != -1) value = option == 'x' ? optarg : value;
  cudaMemset(kept.memory, 0, 4);
  add<<<4, 32>>>(100, kept.memory);
  cudaMemcpy(&sum, kept.memory, 4, cudaMemcpyDeviceToHost);
  std::printf("%s %s %s %d %d %s ", argv[0], value, argv[optind], sum, error, std::getenv("OF_TEST"));
  for (int each; (each = std::getchar()) != EOF;) std::putchar(each);
  if (argv[optind][0] == 'e') std::exit(3);
  if (argv[optind][0] == 'a') std::abort();
  return 5;
}
