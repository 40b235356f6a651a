"""What Heald is measured against on a GPU: kernels in CUDA C, CUB through CuPy, the driver in C."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cores import quiet
from benchmarks.gpu_timing import MissingError

DRIVER = Path(__file__).parent / "cpp" / "driver.cu"
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

// Nothing but reading: four loads of 16 bytes under way in each thread.
__device__ float added(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__global__ void read_all(const float4* __restrict__ x, float* __restrict__ sums, int n) {
  int step = gridDim.x * blockDim.x, k = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (; k + 3 * step < n; k += 4 * step) {
    float4 a = x[k], b = x[k + step], c = x[k + 2 * step], d = x[k + 3 * step];
    s += (added(a) + added(b)) + (added(c) + added(d));
  }
  for (; k < n; k += step) s += added(x[k]);
  __shared__ float warps[32];
  for (int w = 16; w; w /= 2) s += __shfl_down_sync(~0u, s, w);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; w++) s += warps[w];
    sums[blockIdx.x] = s;
  }
}

__global__ void four(const float* __restrict__ a, const float* __restrict__ b,
                     const float* __restrict__ c, float* __restrict__ d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = a[i] + b[i] * c[i];
}

}
"""


class Peers:
    """CuPy, and the kernels above compiled by nvcc.

    Not by CuPy, which would compile them with ``-ftz=true``: roots, divisions and ``rsqrtf`` are
    faster with it, and it is no default of nvcc.

    Raises:
        MissingError: there is no CuPy.
    """

    def __init__(self) -> None:
        try:
            self.cupy: Any = importlib.import_module("cupy")
        except ImportError as error:
            raise MissingError(f"CuPy is not here: {error}") from error
        self._folder = tempfile.TemporaryDirectory(prefix="heald-bench-")
        self._modules: dict[tuple[str, ...], Any] = {}

    @property
    def versions(self) -> dict[str, str]:
        """What the figures were taken against."""
        return {"cupy": self.cupy.__version__, "CUDA C": f"nvcc {' '.join(OPTIONS)}"}

    def kernel(self, name: str, *flags: str) -> Any:
        """A kernel of :data:`SOURCE`, with more flags for the compiler.

        Raises:
            MissingError: there is no nvcc.
        """
        return self._module(flags).get_function(name)

    def variable(self, name: str) -> Any:
        """The address of a variable of :data:`SOURCE`."""
        return self._module(()).get_global(name)

    def _module(self, flags: tuple[str, ...]) -> Any:
        if flags not in self._modules:
            architecture = self.cupy.cuda.Device().compute_capability
            stem = Path(self._folder.name) / f"kernels{len(self._modules)}"
            stem.with_suffix(".cu").write_text(SOURCE, encoding="utf-8")
            made = str(stem.with_suffix(".cubin"))
            compile_c(str(stem.with_suffix(".cu")), made, int(architecture), "-cubin", *flags)
            self._modules[flags] = self.cupy.RawModule(path=made)
        return self._modules[flags]

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
        args: Sequence[Any],
        repeats: int,
        *flags: str,
    ) -> float:
        """Milliseconds of a kernel of :data:`SOURCE` with the grid and block that suit it best."""
        kernel = self.kernel(name, *flags)
        return min(
            self.milliseconds(lambda: kernel(grid, block, args), repeats)  # noqa: B023 - called here
            for grid, block in launches
        )

    def read(self, count: int, processors: int) -> dict[str, float]:
        """Milliseconds to read so many floats and add them up, by ``read_all`` and by torch."""
        kernel, x = self.kernel("read_all"), self.cupy.ones(count, dtype=np.float32)
        found = []
        for blocks, threads in ((b, t) for b in (2, 4, 8, 16, 32) for t in (256, 512)):
            sums = self.cupy.zeros(blocks * processors, dtype=np.float32)
            launch = (len(sums),), (threads,), (x, sums, np.int32(count // 4))
            kernel(*launch)
            assert float(sums.get().sum(dtype=np.float64)) == count, (blocks, threads)
            found.append(self.milliseconds(lambda: kernel(*launch), 10))  # noqa: B023 - called here
        times = {"CUDA C": min(found)}
        if importlib.util.find_spec("torch") is not None:
            try:
                times["torch.sum"] = self._torch_sum(x)
            except Exception as error:  # noqa: BLE001 - the other one stands
                print(f"torch.sum: {type(error).__name__}: {error}")
        return times

    def _torch_sum(self, x: Any) -> float:
        torch = importlib.import_module("torch")
        given = torch.as_tensor(x, device="cuda")
        np.testing.assert_allclose(float(torch.sum(given)), len(x), rtol=1e-6)
        return self.milliseconds(lambda: torch.sum(given), 10)

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


def driver_costs(architecture: int) -> dict[str, float]:
    """What ``cpp/driver.cu`` prints: launches and a graph without Python, medians of three runs.

    Raises:
        MissingError: there is no nvcc.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "driver")
        compile_c(str(DRIVER), program, architecture)
        found: list[dict[str, float]] = []
        for _ in range(3):
            with quiet(1):
                found.append(json.loads(_output([program])))
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def compile_c(source: str, made: str, architecture: int, *flags: str) -> None:
    """Compile a file by nvcc.

    Raises:
        MissingError: there is no nvcc.
    """
    compiler = shutil.which("nvcc")
    if compiler is None:
        raise MissingError("nvcc is not installed")
    _output([compiler, *OPTIONS, f"-arch=sm_{architecture}", *flags, "-o", made, source])


def _output(command: list[str]) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
