# Proved.
# Where block_dim == 64 and dim[0] == 1024 and a.shape == 32 and b.shape == 32
import heald as wp


@wp.kernel
def transpose(a: wp.array(dtype=float, ndim=2), b: wp.array(dtype=float, ndim=2)):
    i = wp.tid()
    s = wp.shared_array((8, 8), float)
    t = wp.thread_index()
    row = i // 64 // 4 * 8
    column = i // 64 % 4 * 8
    s[t // 8, t % 8] = a[row + t // 8, column + t % 8]
    wp.block_sync()
    b[column + t // 8, row + t % 8] = s[t % 8, t // 8]
