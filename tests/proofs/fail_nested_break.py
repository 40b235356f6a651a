# Refuted: bounds.
# Where dim[0] == o.shape[0] and b.shape[0] == a.shape[0]
import heald as wp


@wp.kernel
def find(a: wp.array2d(dtype=float), b: wp.array(dtype=int), o: wp.array(dtype=int)):
    t = wp.tid()
    where = -1
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > float(t):
                where = i
                break
        if where >= 0:
            break
    if where >= -1:
        o[t] = b[where]
