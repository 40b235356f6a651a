// What a C++ programmer would write for the cases of cpu.py and library.py.  Compiled by peers.py in the same run
// as the timings, once with -O3 and once with -O3 -ffast-math, always -march=native -fopenmp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <omp.h>
#include <vector>

extern "C" {

void set_threads(int32_t count) { omp_set_num_threads(count); }

void saxpy(int64_t n, float a, const float *__restrict x, float *__restrict y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void triad(int64_t n, float s, const float *__restrict b, const float *__restrict c,
           float *__restrict a) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

// The rim of v is set to zero, as the kernel does.
void stencil(int64_t rows, int64_t columns, const float *__restrict u, float *__restrict v) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    float *out = v + i * columns;
    if (i == 0 || i == rows - 1) {
      std::fill(out, out + columns, 0.0f);
      continue;
    }
    const float *here = u + i * columns, *above = here - columns, *below = here + columns;
    out[0] = 0.0f;
    for (int64_t j = 1; j < columns - 1; j++)
      out[j] = here[j] + 0.1f * (above[j] + below[j] + here[j - 1] + here[j + 1] - 4.0f * here[j]);
    out[columns - 1] = 0.0f;
  }
}

void nbody(int64_t n, const float *__restrict x, const float *__restrict y,
           const float *__restrict z, float *__restrict ax, float *__restrict ay,
           float *__restrict az) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float xi = x[i], yi = y[i], zi = z[i], sx = 0, sy = 0, sz = 0;
    for (int64_t j = 0; j < n; j++) {
      float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float inverse = 1.0f / sqrtf(r2);
      float cube = inverse * inverse * inverse;
      sx += dx * cube;
      sy += dy * cube;
      sz += dz * cube;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}

void sinexp(int64_t n, const float *__restrict x, float *__restrict y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = sinf(x[i]) * expf(x[i]);
}

void mandelbrot(int64_t side, float centre_x, float centre_y, float scale, int32_t limit,
                int32_t *__restrict count) {
  float half = 0.5f * side;
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t i = 0; i < side; i++) {
    float cy = (i - half) * scale + centre_y;
    for (int64_t j = 0; j < side; j++) {
      float cx = (j - half) * scale + centre_x, x = 0, y = 0;
      int32_t n = 0;
      while (n < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        n++;
      }
      count[i * side + j] = n;
    }
  }
}

void gather(int64_t n, const int32_t *__restrict where, const float *__restrict x,
            float *__restrict y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) y[i] = 2.0f * x[where[i]];
}

void matvec(int64_t n, const float *__restrict m, const float *__restrict x,
            float *__restrict y) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int r = 0; r < 3; r++)
      y[3 * i + r] = m[9 * i + 3 * r] * x[3 * i] + m[9 * i + 3 * r + 1] * x[3 * i + 1] +
                     m[9 * i + 3 * r + 2] * x[3 * i + 2];
}

// Each thread sums its share, then writes it from where those before it ended.
void scan(int64_t n, const int32_t *__restrict in, int32_t *__restrict out) {
  std::vector<uint32_t> starts(omp_get_max_threads() + 1, 0);
#pragma omp parallel
  {
    int64_t count = omp_get_num_threads(), number = omp_get_thread_num();
    int64_t begin = n * number / count, end = n * (number + 1) / count;
    uint32_t total = 0;
    for (int64_t i = begin; i < end; i++) total += (uint32_t)in[i];
    starts[number + 1] = total;
#pragma omp barrier
#pragma omp single
    for (int64_t k = 0; k < count; k++) starts[k + 1] += starts[k];
    total = starts[number];
    for (int64_t i = begin; i < end; i++) out[i] = (int32_t)(total += (uint32_t)in[i]);
  }
}

// Least significant digit first, 8 bits a pass, one histogram a thread.
void sort_pairs(int64_t n, uint32_t *keys, int32_t *values) {
  std::vector<uint32_t> other_keys(n);
  std::vector<int32_t> other_values(n);
  std::vector<int64_t> places(256 * omp_get_max_threads());
  uint32_t *from = keys, *to = other_keys.data();
  int32_t *values_from = values, *values_to = other_values.data();
  for (int shift = 0; shift < 32; shift += 8) {
#pragma omp parallel
    {
      int64_t count = omp_get_num_threads(), number = omp_get_thread_num();
      int64_t begin = n * number / count, end = n * (number + 1) / count;
      int64_t own[256] = {0};
      for (int64_t i = begin; i < end; i++) own[from[i] >> shift & 255]++;
      for (int d = 0; d < 256; d++) places[d * count + number] = own[d];
#pragma omp barrier
#pragma omp single
      {
        int64_t total = 0;
        for (int64_t k = 0; k < 256 * count; k++) {
          int64_t here = places[k];
          places[k] = total;
          total += here;
        }
      }
      for (int d = 0; d < 256; d++) own[d] = places[d * count + number];
      for (int64_t i = begin; i < end; i++) {
        int64_t place = own[from[i] >> shift & 255]++;
        to[place] = from[i];
        values_to[place] = values_from[i];
      }
    }
    std::swap(from, to);
    std::swap(values_from, values_to);
  }
}

// Particles of each cell of a box of dims cells, cells of width radius, in one list.
void build_cells(int64_t n, const float *__restrict x, float radius, const float *low,
                 const int32_t *dims, int32_t *__restrict starts, int32_t *__restrict ids) {
  int64_t cells = (int64_t)dims[0] * dims[1] * dims[2];
  std::vector<int32_t> cell(n);
  std::fill(starts, starts + cells + 1, 0);
  for (int64_t i = 0; i < n; i++) {
    int64_t c = 0;
    for (int k = 0; k < 3; k++)
      c = c * dims[k] + std::clamp((int)((x[3 * i + k] - low[k]) / radius), 0, dims[k] - 1);
    cell[i] = (int32_t)c;
    starts[c + 1]++;
  }
  for (int64_t c = 0; c < cells; c++) starts[c + 1] += starts[c];
  std::vector<int32_t> next(starts, starts + cells);
  for (int64_t i = 0; i < n; i++) ids[next[cell[i]]++] = (int32_t)i;
}

void density(int64_t n, const float *__restrict x, float radius, const float *low,
             const int32_t *dims, const int32_t *__restrict starts, const int32_t *__restrict ids,
             float scale, float *__restrict out) {
  float h2 = radius * radius;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float px = x[3 * i], py = x[3 * i + 1], pz = x[3 * i + 2], total = 0;
    int at[3];
    for (int k = 0; k < 3; k++)
      at[k] = std::clamp((int)((x[3 * i + k] - low[k]) / radius), 0, dims[k] - 1);
    int last = std::min(at[2] + 1, dims[2] - 1), first = std::max(at[2] - 1, 0);
    for (int a = std::max(at[0] - 1, 0); a <= std::min(at[0] + 1, dims[0] - 1); a++)
      for (int b = std::max(at[1] - 1, 0); b <= std::min(at[1] + 1, dims[1] - 1); b++) {
        int64_t row = ((int64_t)a * dims[1] + b) * dims[2];
        for (int32_t k = starts[row + first]; k < starts[row + last + 1]; k++) {
          const float *p = x + 3 * (int64_t)ids[k];
          float dx = px - p[0], dy = py - p[1], dz = pz - p[2];
          float w = h2 - (dx * dx + dy * dy + dz * dz);
          if (w > 0.0f) total += w * w * w;
        }
      }
    out[i] = scale * total;
  }
}

// The cases of library.py.
#define MAP(name)                                                                                  \
  void map_##name(int64_t n, const float *__restrict x, float *__restrict y) {                     \
    _Pragma("omp parallel for schedule(static)")                                                   \
    for (int64_t i = 0; i < n; i++) y[i] = name##f(x[i]);                                          \
  }
#define MAP_PAIRS(name)                                                                            \
  void map_##name(int64_t n, const float *__restrict x, const float *__restrict y,                 \
                  float *__restrict z) {                                                           \
    _Pragma("omp parallel for schedule(static)")                                                   \
    for (int64_t i = 0; i < n; i++) z[i] = name##f(x[i], y[i]);                                    \
  }

MAP(sin) MAP(cos) MAP(tan) MAP(asin) MAP(acos) MAP(atan)
MAP(sinh) MAP(cosh) MAP(tanh)
MAP(exp) MAP(exp2) MAP(log) MAP(log2) MAP(log10)
MAP(erf) MAP(erfc) MAP(cbrt)
MAP_PAIRS(atan2) MAP_PAIRS(pow)
}
