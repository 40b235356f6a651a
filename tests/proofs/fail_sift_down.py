# Refuted: bounds.
# Where dim == 1 and heap.shape[0] == n and n <= 1000000
import heald as wp


@wp.kernel
def sift(heap: wp.array(dtype=float), n: int):
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 0 < n and heap[child + 1] > heap[child]:
            child = child + 1
        if heap[i] >= heap[child]:
            return
        x = heap[i]
        heap[i] = heap[child]
        heap[child] = x
        i = child
