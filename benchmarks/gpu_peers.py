"""What Heald is measured against on a GPU: kernels in CUDA C, and CUB through CuPy."""

from __future__ import annotations

import importlib
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

OPTIONS = ("-O3", "-std=c++17")
SOURCE = r"""
extern "C" {

__global__ void stencil(const float* __restrict__ u, float* __restrict__ out, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && i < n - 1 && j > 0 && j < m - 1) {
    size_t k = (size_t)i * m + j;
    out[k] = u[k] + 0.1f * (u[k - m] + u[k + m] + u[k - 1] + u[k + 1] - 4.0f * u[k]);
  }
}

// The reciprocal root as 1.0f / sqrtf, and by the approximate instruction.
#define NBODY(NAME, INVERSE)                                                          \
  __global__ void NAME(const float3* __restrict__ p, float3* __restrict__ f, int n) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                    \
    if (i >= n) return;                                                               \
    float3 x = p[i];                                                                  \
    float ax = 0, ay = 0, az = 0;                                                     \
    for (int j = 0; j < n; j++) {                                                     \
      float3 q = p[j];                                                                \
      float dx = q.x - x.x, dy = q.y - x.y, dz = q.z - x.z;                           \
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;                                 \
      float inv = INVERSE;                                                            \
      float w = inv * inv * inv;                                                      \
      ax += dx * w; ay += dy * w; az += dz * w;                                       \
    }                                                                                 \
    f[i] = make_float3(ax, ay, az);                                                   \
  }
NBODY(nbody, 1.0f / sqrtf(r2))
NBODY(nbody_fast, rsqrtf(r2))

__global__ void total(const float* __restrict__ x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}

// A table in constant memory, and in memory that is only read.
__constant__ float table[1024];
#define LOOK_UP(NAME, TABLE, PARAMETERS)                                     \
  __global__ void NAME(const int* __restrict__ x, float* __restrict__ y,     \
                       int n PARAMETERS) {                                   \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                           \
    if (i >= n) return;                                                      \
    float s = 0;                                                             \
    for (int k = 0; k < 64; k++) s += TABLE[(x[i] + k) & 1023];              \
    y[i] = s;                                                                \
  }
#define NOTHING
#define ALSO_T , const float* __restrict__ t
LOOK_UP(look_up_constant, table, NOTHING)
LOOK_UP(look_up_global, t, ALSO_T)

__global__ void four(const float* __restrict__ a, const float* __restrict__ b,
                     const float* __restrict__ c, float* __restrict__ d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = a[i] + b[i] * c[i];
}

}
"""


class MissingError(RuntimeError):
    """A peer is not here; its figures are skipped."""


class Peers:
    """CuPy, and the kernels above compiled by nvcc through it.

    Raises:
        MissingError: there is no CuPy.
    """

    def __init__(self) -> None:
        try:
            self.cupy: Any = importlib.import_module("cupy")
        except ImportError as error:
            raise MissingError("CuPy is not installed") from error
        self.compiler = "nvcc" if shutil.which("nvcc") else "nvrtc"
        options = OPTIONS if self.compiler == "nvcc" else OPTIONS[1:]
        module = self.cupy.RawModule(code=SOURCE, options=options, backend=self.compiler)
        self.kernel: Callable[[str], Any] = module.get_function
        self.variable: Callable[[str], Any] = module.get_global

    @property
    def versions(self) -> dict[str, str]:
        """What the figures were taken against."""
        return {"cupy": self.cupy.__version__, "CUDA C": f"{self.compiler} {' '.join(OPTIONS)}"}

    def milliseconds(self, run: Callable[[], object], repeats: int) -> float:
        """The median time of a call by events of the GPU."""
        events = [self.cupy.cuda.Event() for _ in range(2)]
        run()
        times = []
        for _ in range(9):
            events[0].record()
            for _ in range(repeats):
                run()
            events[1].record()
            events[1].synchronize()
            times.append(self.cupy.cuda.get_elapsed_time(*events) / repeats)
        return statistics.median(times)

    def best(
        self,
        name: str,
        launches: list[tuple[tuple[int, ...], tuple[int, ...]]],
        args: tuple[Any, ...],
        repeats: int,
    ) -> float:
        """Milliseconds of a kernel of :data:`SOURCE` with the grid and block that suit it best."""
        kernel = self.kernel(name)
        return min(
            self.milliseconds(lambda: kernel(grid, block, args), repeats)  # noqa: B023 - called here
            for grid, block in launches
        )

    def graph_milliseconds(self, name: str, args: tuple[Any, ...], launches: int = 1000) -> float:
        """The median time of a captured graph of a kernel by one warp, from its launch to its
        end."""
        kernel, stream = self.kernel(name), self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for _ in range(launches):
                kernel((1,), (32,), args)
            graph = stream.end_capture()
        times = []
        for _ in range(22):
            stream.synchronize()
            start = time.perf_counter()
            graph.launch(stream)
            stream.synchronize()
            times.append(time.perf_counter() - start)
        return statistics.median(times[2:]) * 1e3
