# Refuted: races.
# Where block_dim == 64 and dim[0] == 1024 and c.shape == 32 and a.shape == 32 and b.shape == 32
import heald as wp


@wp.kernel
def matmul(
    a: wp.array(dtype=float, ndim=2),
    b: wp.array(dtype=float, ndim=2),
    c: wp.array(dtype=float, ndim=2),
):
    i = wp.tid()
    left = wp.shared_array((8, 8), float)
    right = wp.shared_array((8, 8), float)
    y = wp.thread_index() // 8
    x = wp.thread_index() % 8
    row = i // 64 // 4 * 8 + y
    column = i // 64 % 4 * 8 + x
    s = 0.0
    for k in range(0, a.shape[1], 8):
        left[y, x] = a[row, k + x]
        right[y, x] = b[k + y, column]
        wp.block_sync()
        for j in range(8):
            s += left[y, j] * right[j, x]
        wp.block_dim()
    c[row, column] = s
