// What a launch costs without Python: cuLaunchKernel of a kernel of four pointers and a number, in
// rounds that do not fill the queue of the GPU, and a captured graph of 1000 of them by one warp.
// Prints JSON.  Built by nvcc without -lcuda: the driver's function comes from the runtime.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

static void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: error %d\n", what, code);
  std::exit(1);
}
#define CHECK(CALL) check(static_cast<int>(CALL), #CALL)

__global__ void four(const float* __restrict__ a, const float* __restrict__ b,
                     const float* __restrict__ c, float* __restrict__ d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = a[i] + b[i] * c[i];
}

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
}

template <class Run>
static double microseconds(Run run, cudaStream_t stream) {
  const int count = 500;
  std::vector<double> times;
  for (int round = 0; round < 100; round++) {
    run(stream, 256);
    CHECK(cudaStreamSynchronize(stream));
    double start = now();
    for (int i = 0; i < count; i++) run(stream, 256);
    times.push_back((now() - start) / count * 1e6);
  }
  CHECK(cudaStreamSynchronize(stream));
  return median(times);
}

template <class Run>
static double graph_milliseconds(Run run, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 1000; i++) run(stream, 32);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&made, graph, 0));
  std::vector<double> times;
  for (int round = 0; round < 22; round++) {
    CHECK(cudaStreamSynchronize(stream));
    double start = now();
    CHECK(cudaGraphLaunch(made, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (round > 1) times.push_back((now() - start) * 1e3);
  }
  return median(times);
}

int main() {
  void* entry = nullptr;
#if CUDART_VERSION >= 12050
  CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault,
                                         nullptr));
#else
  CHECK(cudaGetDriverEntryPoint("cuLaunchKernel", &entry, cudaEnableDefault, nullptr));
#endif
  auto launch = reinterpret_cast<decltype(&cuLaunchKernel)>(entry);
  if (!launch) check(1, "no cuLaunchKernel");

  int n = 32;
  float* arrays[4];
  for (int k = 0; k < 4; k++) {
    std::vector<float> values(n, 1.0f + k);
    CHECK(cudaMalloc(&arrays[k], n * sizeof(float)));
    CHECK(cudaMemcpy(arrays[k], values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  cudaFunction_t kernel;
  CHECK(cudaGetFuncBySymbol(&kernel, reinterpret_cast<const void*>(four)));
  void* arguments[] = {&arrays[0], &arrays[1], &arrays[2], &arrays[3], &n};
  auto run = [&](cudaStream_t stream, unsigned threads) {
    CHECK(launch(kernel, 1, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr));
  };
  cudaStream_t alone, blocking;
  CHECK(cudaStreamCreateWithFlags(&alone, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&blocking));

  run(alone, 256);
  CHECK(cudaStreamSynchronize(alone));
  std::vector<float> found(n);
  CHECK(cudaMemcpy(found.data(), arrays[3], n * sizeof(float), cudaMemcpyDeviceToHost));
  for (float value : found) check(value != 7.0f, "the kernel's result");

  double own = microseconds(run, alone), other = microseconds(run, blocking);
  std::printf("{\"non_blocking_us\": %.4f, \"blocking_us\": %.4f, \"graph_ms\": %.5f}\n", own,
              other, graph_milliseconds(run, alone));
  return 0;
}
