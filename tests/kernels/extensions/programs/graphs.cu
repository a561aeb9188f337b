// Graphs that are captured and built, launched again and again, changed, and refused as CUDA refuses them.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int* x, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
}
__global__ void sum(const int* x, const int* y, int n, int* out) {
  int total = 0;
  for (int i = 0; i < n; i++) total += x[i] * y[i];
  *out = total;
}
static void count(void* data) { ++*static_cast<int*>(data); }

constexpr int kCount = 100;
int *x, *y, *out, *host, calls = 0;

static void show(const char* what, cudaError_t error) { std::printf("%s: %s\n", what, cudaGetErrorName(error)); }

// y is filled on another stream, which joins before the sum.
static cudaError_t capture(cudaStream_t stream, cudaStream_t other, int by, cudaGraph_t* graph) {
  cudaEvent_t fork, join;
  cudaEventCreate(&fork), cudaEventCreate(&join);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(other, fork, 0);
  add<<<4, 32, 0, stream>>>(x, kCount, by);
  cudaMemsetAsync(y, 0, kCount * sizeof(int), other);
  auto kernel = &add;
  kernel<<<dim3(4), dim3(32), 0, other>>>(y, kCount, 2);
  cudaEventRecord(join, other);
  cudaStreamWaitEvent(stream, join, 0);
  sum<<<1, 1, 0, stream>>>(x, y, kCount, out);
  cudaMemcpyAsync(host, out, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, count, &calls);
  cudaEventDestroy(fork), cudaEventDestroy(join);
  return cudaStreamEndCapture(stream, graph);
}

static void captured(cudaStream_t stream, cudaStream_t other) {
  cudaGraph_t graph, changed;
  cudaGraphExec_t run;
  size_t nodes = 0, roots = 0;
  show("captured", capture(stream, other, 1, &graph));
  cudaGraphGetNodes(graph, nullptr, &nodes), cudaGraphGetRootNodes(graph, nullptr, &roots);
  std::printf("%zu nodes, %zu roots, %d so far, %d calls\n", nodes, roots, *host, calls);
  cudaGraphInstantiate(&run, graph, 0);
  cudaGraphDestroy(graph);
  for (int i = 0; i < 3; i++) cudaGraphLaunch(run, stream);
  cudaStreamSynchronize(stream);
  std::printf("%d, %d calls\n", *host, calls);
  capture(stream, other, 10, &changed);
  cudaGraphExecUpdateResultInfo result;
  show("updated", cudaGraphExecUpdate(run, changed, &result));
  cudaGraphLaunch(run, stream);
  cudaStreamSynchronize(stream);
  std::printf("%d, %d calls\n", *host, calls);
  cudaGraphExecDestroy(run), cudaGraphDestroy(changed);
}

static void built(cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphNode_t clear, node, copy;
  cudaGraphExec_t run;
  cudaGraphCreate(&graph, 0);
  cudaMemsetParams fill = {x, 0, 7, sizeof(int), kCount, 1};
  int n = kCount, by = 3;
  void* arguments[] = {&x, &n, &by};
  cudaKernelNodeParams how = {(void*)add, dim3(4), dim3(32), 0, arguments, nullptr};
  cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, host, x, sizeof(int), cudaMemcpyDeviceToHost);
  cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill);
  cudaGraphAddKernelNode(&node, graph, &clear, 1, &how);
  cudaGraphAddDependencies(graph, &node, &copy, 1);
  by = 1000;  // which the node has not
  cudaGraphInstantiate(&run, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(run, stream), cudaStreamSynchronize(stream);
  std::printf("%d\n", *host);
  cudaKernelNodeParams known;
  cudaGraphKernelNodeGetParams(node, &known);
  std::printf("%d %d\n", known.func == (void*)add, *static_cast<int*>(known.kernelParams[2]));
  show("set", cudaGraphExecKernelNodeSetParams(run, node, &how));
  cudaGraphLaunch(run, stream), cudaStreamSynchronize(stream);
  std::printf("%d\n", *host);
  cudaGraphAddDependencies(graph, &copy, &clear, 1);
  show("a ring", cudaGraphInstantiate(&run, graph, 0));
}

static void refused(cudaStream_t stream, cudaStream_t other) {
  cudaGraph_t graph;
  cudaEvent_t event;
  void* more;
  cudaEventCreate(&event);
  show("begun on the default stream", cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  show("memory", cudaMalloc(&more, 4));
  show("ended", cudaStreamEndCapture(stream, &graph));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  show("memory", cudaMalloc(&more, 4));
  show("a wait", cudaStreamSynchronize(stream));
  show("ended", cudaStreamEndCapture(stream, &graph));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  add<<<1, 1>>>(x, 1, 1);
  show("on the default stream", cudaGetLastError());
  show("ended", cudaStreamEndCapture(stream, &graph));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  add<<<1, 1, 0, other>>>(x, 1, 1);
  show("an event", cudaEventQuery(event));
  show("not joined", cudaStreamEndCapture(stream, &graph));
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  add<<<1, 1, 0, other>>>(x, 1, 1);
  show("an empty one", cudaStreamEndCapture(stream, &graph));
}

int main() {
  cudaStream_t stream, other;
  cudaStreamCreate(&stream), cudaStreamCreate(&other);
  cudaMalloc(&x, kCount * sizeof(int)), cudaMalloc(&y, kCount * sizeof(int)), cudaMalloc(&out, sizeof(int));
  cudaMallocHost(&host, sizeof(int));
  cudaMemset(x, 0, kCount * sizeof(int));
  *host = -1;
  captured(stream, other);
  built(stream);
  refused(stream, other);
}
