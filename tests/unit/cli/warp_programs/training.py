# ruff: noqa
# fmt: off
"""A small optimisation with a tape, a mesh, tiles and the rest of what is not there."""

import torch
import warp  #~ import
import warp as wp  #~ import
import warp.fem as fem  #~ import libraries
import warp.optim  #~ import gradients
from warp.types import vector, type_is_matrix  #~ import absent
from warp import Mesh as M, array, launch as go  #~ import meshes

wp.init()
wp.config.legacy_cpu_linker = True  #~ settings
wp.config.mode = "debug"
wp.set_module_options({"enable_backward": False, "max_unroll": 8})  #~ options

TILE = 16


@wp.func_native("return x * 2.0f;")  #~ native-code
def twice(x: float) -> float: ...


@wp.kernel(enable_backward=False, launch_bounds=256)  #~ options
def tiles(a: array(dtype=float), m: "wp.MeshQuery"):  #~ meshes
    i = wp.tid()
    t = wp.tile_load(a, shape=TILE)  #~ tiles
    s = wp.tile_sum(t)  #~ tiles
    wp.tile_store(a, s)  #~ tiles


@wp.kernel
def closest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), d: wp.array(dtype=float)):
    i = wp.tid()
    q = wp.mesh_query_point(mesh, points[i], 1.0)  #~ meshes
    v = wp.volume_sample_f(mesh, points[i], wp.Volume.LINEAR)  #~ volumes volumes
    d[i] = v


def unrelated(wp, go):
    go(wp.Mesh)
    return wp.Tape


class Trainer:
    def __init__(self):
        self.x = wp.zeros(10, dtype=wp.vec3, requires_grad=True)  #~ gradients
        self.y = wp.zeros(10, dtype=wp.vec3, requires_grad=False)
        self.mesh = M(self.x, self.y)  #~ meshes
        self.other = wp.empty(3, retain_grad=True)  #~ gradients
        self.other.requires_grad = True  #~ gradients
        self.x.grad.zero_()  #~ gradients

    def run(self):
        with wp.Tape() as tape:  #~ gradients
            go(closest, dim=10, inputs=[], record_tape=True)  #~ gradients
            wp.launch(closest, 10, adj_inputs=[], max_blocks=3)  #~ gradients options
        tape.backward()
        warp.optim.Adam([])  #~ gradients
        fem.integrate(None)
        a = wp.from_jax(None)  #~ frameworks
        wp.render.UsdRenderer("x.usd")  #~ graphics-interop
        wp.nothing_like_this()  #~ absent
        return wp.to_torch(a), wp.utils.array_scan, wp.utils.segmented_sort_pairs  #~ absent
