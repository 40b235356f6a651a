"""What ``test_warp.py`` runs under NVIDIA Warp, too, with the other import."""

import heald as wp


@wp.kernel
def random(
    st: wp.array(dtype=wp.uint32),
    x: wp.array(dtype=wp.vec4),
    p: wp.array(dtype=wp.int32),
    o: wp.array2d(dtype=wp.float32),
):
    i = wp.tid()
    s = st[i]
    v = x[i]
    q = p[i]
    a2 = wp.vec2(v[0], v[1])
    a3 = wp.vec3(v[0], v[1], v[2])
    o[i, 0] = wp.noise(s, v[0])
    o[i, 1] = wp.noise(s, a2)
    o[i, 2] = wp.noise(s, a3)
    o[i, 3] = wp.noise(s, v)
    u = wp.vec4(wp.abs(v[0]), wp.abs(v[1]), wp.abs(v[2]), wp.abs(v[3]))
    b2 = wp.vec2(u[0], u[1])
    b3 = wp.vec3(u[0], u[1], u[2])
    o[i, 4] = wp.pnoise(s, u[0], q)
    o[i, 5] = wp.pnoise(s, b2, q, q + 1)
    o[i, 6] = wp.pnoise(s, b3, q, q + 1, q + 2)
    o[i, 7] = wp.pnoise(s, u, q, q + 1, q + 2, q + 3)
    c2 = wp.curlnoise(s, a2, wp.uint32(3), 2.0, 0.5)
    c3 = wp.curlnoise(s, a3, wp.uint32(2), 3.0, 0.25)
    c4 = wp.curlnoise(s, v, wp.uint32(1), 2.0, 0.5)
    for k in range(2):
        o[i, 8 + k] = c2[k]
    for k in range(3):
        o[i, 10 + k] = c3[k]
    for k in range(3):
        o[i, 13 + k] = c4[k]
    t = s
    o[i, 16] = float(wp.poisson(t, u[0]))
    o[i, 17] = float(wp.poisson(t, u[1] * 50.0))
    o[i, 18] = float(t % wp.uint32(65536))


@wp.kernel
def mathematics(x: wp.array2d(dtype=wp.float32), o: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    a = wp.vec3(x[i, 0], x[i, 1], x[i, 2])
    b = wp.vec3(x[i, 3], x[i, 4], x[i, 5])
    q = wp.normalize(wp.quat(x[i, 6], x[i, 7], x[i, 8], x[i, 9]))
    u = wp.normalize(a)
    s = x[i, 14]
    t = x[i, 15]
    f = wp.erf(s)
    o[i, 0] = f
    o[i, 1] = wp.erfc(s)
    o[i, 2] = wp.erfinv(t)
    o[i, 3] = wp.erfcinv(t + 1.0)
    o[i, 4] = wp.cbrt(s)
    o[i, 5] = wp.norm_l1(a)
    o[i, 6] = wp.norm_l2(a)
    o[i, 7] = wp.norm_huber(a, 0.7)
    o[i, 8] = wp.norm_pseudo_huber(a, 0.7)
    sn = wp.smooth_normalize(a, 0.7)
    for k in range(3):
        o[i, 9 + k] = sn[k]
    qe = wp.quat_from_euler(a, 0, 1, 2)
    for k in range(4):
        o[i, 12 + k] = qe[k]
    e = wp.quat_to_euler(q, 2, 0, 1)
    rp = wp.quat_to_rpy(q)
    e2 = wp.quat_to_euler(q, 0, 1, 0)
    for k in range(3):
        o[i, 16 + k] = e[k]
        o[i, 19 + k] = rp[k]
        o[i, 22 + k] = e2[k]
    tw = wp.quat_twist(u, q)
    for k in range(4):
        o[i, 25 + k] = tw[k]
    o[i, 29] = wp.quat_twist_angle(u, q)
    o[i, 30] = wp.quat_twist_angle_signed(u, q)
    sa = wp.spatial_vector(a, b)
    sb = wp.spatial_vector(b, a + b)
    sc = wp.spatial_cross(sa, sb)
    sd = wp.spatial_cross_dual(sa, sb)
    pose = wp.transform(b, q)
    tt = wp.transform_twist(pose, sa)
    tr = wp.transform_wrench(pose, sa)
    for k in range(6):
        o[i, 31 + k] = sc[k]
        o[i, 37 + k] = sd[k]
        o[i, 43 + k] = tt[k]
        o[i, 49 + k] = tr[k]
    o[i, 55] = wp.spatial_dot(sa, sb)
    vp = wp.velocity_at_point(sa, b)
    composed = wp.transform_compose(a, q, b)
    affine = wp.transform_to_matrix(pose)
    for k in range(3):
        o[i, 56 + k] = vp[k]
    for k in range(4):
        for j in range(4):
            o[i, 59 + 4 * k + j] = composed[k, j]
            o[i, 75 + 4 * k + j] = affine[k, j]
    back = wp.transform_from_matrix(affine)
    for k in range(7):
        o[i, 91 + k] = back[k]


@wp.kernel
def shapes(x: wp.array2d(dtype=wp.float32), o: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    a = wp.vec3(x[i, 0], x[i, 1], x[i, 2])
    b = wp.vec3(x[i, 3], x[i, 4], x[i, 5])
    s = x[i, 14]
    ee = wp.closest_point_edge_edge(
        a, b, wp.vec3(x[i, 6], x[i, 7], x[i, 8]), wp.vec3(x[i, 9], x[i, 10], x[i, 11]), 1.0e-6
    )
    for k in range(3):
        o[i, 98 + k] = ee[k]
    o[i, 101] = float(
        wp.intersect_tri_tri(
            a,
            b,
            wp.vec3(x[i, 6], x[i, 7], x[i, 8]),
            wp.vec3(x[i, 9], x[i, 10], x[i, 11]),
            wp.vec3(x[i, 12], x[i, 13], s),
            a * 0.3 + b * 0.2,
        )
    )
    o[i, 102] = float(wp.bit_count(int(x[i, 0] * 1000.0)))
    square = wp.mat33(a[0], a[1], a[2], b[0], b[1], b[2], x[i, 6], x[i, 7], x[i, 8])
    _, sigma, _ = wp.svd3(square)
    _, upper = wp.qr3(square)
    small = wp.mat22(a[0], a[1], b[0], b[1])
    _u, s2, _v = wp.svd2(small)
    for k in range(3):
        o[i, 103 + k] = sigma[k]
    for k in range(3):
        for j in range(3):
            o[i, 106 + 3 * k + j] = upper[k, j]
    o[i, 115] = s2[0]
    o[i, 116] = s2[1]
    ad = wp.spatial_adjoint(square, wp.transpose(square))
    for k in range(6):
        for j in range(6):
            o[i, 117 + 6 * k + j] = ad[k, j]
