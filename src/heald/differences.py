"""How Heald differs from Warp, for ``heald migrate`` and hints: one record for each thing of Warp's
that must be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase


class Kind(Enum):
    """What follows from a finding."""

    REWRITE = "rewrite"
    """A spelling to change; nothing else."""
    NOTE = "note"
    """Good to know; nothing has to be done."""
    DIFFERS = "differs"
    """It exists, and means something else or is refused in this form."""
    UNSUPPORTED = "unsupported"
    """Heald has no such thing."""


@dataclass(frozen=True, slots=True)
class Construct:
    """One thing to look at.

    Attributes:
        key: what it is called in reports and in the documentation.
        title: heading of its section in the documentation.
        why: what Warp does and Heald does not, in one or two sentences.
        remedy: what to type instead.
        names: Warp's public names that it is about, seen from ``import warp as wp``; ``*`` stands
            for any letters.  Of what is unsupported, a name that Heald has is never reported,
            whatever is written here.
        docs: page of the documentation that says more.
    """

    key: str
    kind: Kind
    title: str
    why: str
    remedy: str
    names: tuple[str, ...] = ()
    docs: str = ""


CONSTRUCTS: dict[str, Construct] = {}


def _define(construct: Construct) -> None:
    CONSTRUCTS[construct.key] = construct


def _unsupported(key: str, names: str, title: str, why: str, remedy: str, docs: str = "") -> None:
    _define(Construct(key, Kind.UNSUPPORTED, title, why, remedy, tuple(names.split()), docs))


def _note(key: str, title: str, why: str, remedy: str, docs: str = "") -> None:
    _define(Construct(key, Kind.NOTE, title, why, remedy, (), docs))


def _differs(key: str, title: str, why: str, remedy: str, docs: str = "") -> None:
    _define(Construct(key, Kind.DIFFERS, title, why, remedy, (), docs))


def construct_of(name: str) -> Construct | None:
    """The record about a name, such as ``tile_load`` or ``fem``; exact names come first."""
    return match(name, exact=True) or match(name, exact=False)


def match(name: str, *, exact: bool) -> Construct | None:
    """The first record that has a name as it is, or a pattern for it."""
    for construct in CONSTRUCTS.values():
        is_about = construct.kind is Kind.UNSUPPORTED
        if is_about and _is_named(name, construct.names, exact=exact):
            return construct
    return None


def _is_named(name: str, patterns: Iterable[str], *, exact: bool) -> bool:
    return name in patterns if exact else any(fnmatchcase(name, p) for p in patterns)


# -- spelling --------------------------------------------------------------------------------------

_define(
    Construct(
        "import",
        Kind.REWRITE,
        "The import",
        "The package is called heald; its public names are Warp's.",
        "write `heald` for `warp`: `import heald as wp`, `from heald import vec3 as V`, "
        "`import heald.types as wt`",
        docs="index.md",
    )
)

# -- what means something else ---------------------------------------------------------------------

_differs(
    "int-division",
    "Division of two integers",
    "Warp truncates `7 / 2` to 3. Heald refuses `/` of two integers, and Python computes it where "
    "both are literals.",
    "write `a // b` for the floor, or `float(a) / float(b)`",
    "errors/H0108.md",
)
_differs(
    "remainder",
    "Remainder of negative numbers",
    "Warp's `%` has the sign of the dividend, as in C; Heald's has the sign of the divisor, as in "
    "Python. They agree where the dividend is not negative; reported are dividends of which that "
    "cannot be seen (divisors are taken to be positive).",
    "nothing if the dividend is never negative; else write `wp.mod(a, b)` for the sign of the "
    "dividend",
    "language.md#operators",
)
_differs(
    "negative-index",
    "An index below zero at run time",
    "In Warp an index of -1 reads from the end. In Heald only a literal negative index does; one "
    "that is negative at run time is out of bounds and the launch raises OutOfBoundsError.",
    "test the index before the access, wrap it with `i % n`, or write `a[a.shape[0] + i]`",
    "language.md#arrays",
)
_differs(
    "unset-variable",
    "A variable that is set on one path only",
    "Warp reads back whatever the memory holds. Heald refuses it and names both paths.",
    "set it before the branch or loop, such as `x = float(0.0)`",
    "errors/H0302.md",
)
_differs(
    "bool-operator",
    "`and`, `or` of numbers as a value",
    "Python's `x and y` gives an operand, not a bool, so Heald takes it as a condition or of bools "
    "only.",
    "compare (`x != 0 and y != 0`), or write `y if x else x`",
    "errors/H0201.md",
)
_differs(
    "array-truth",
    "Asking whether an array was given",
    "Warp takes None for an array, and `if a:` or `wp.where(a, ...)` asks for it. In Heald every "
    "array argument is an array.",
    "pass an empty array and ask for `a.shape[0] > 0`, or a bool beside it",
    "differences.md",
)
_differs(
    "struct-array-element",
    "An array of structs that hold arrays",
    "A record with an array in memory is a raw pointer in user-writable memory. Heald takes such a "
    "struct by value only.",
    "pass the arrays beside each other, or one array and offsets into it",
    "errors/H0208.md",
)
_differs(
    "launch-rank",
    "A launch with other dimensions than the kernel reads",
    "Warp gives the first index where the kernel asks for fewer than the launch has. Heald refuses "
    "the launch.",
    "launch with as many dimensions as `wp.tid()` is unpacked into",
    "errors/H0706.md",
)
_differs(
    "results-as-arguments",
    "Builtins that write results into their arguments",
    "The forms of `svd2`, `svd3`, `qr3`, `eig3` and `quat_to_axis_angle` that fill variables do "
    "not exist.",
    "take what they return: `U, sigma, V = wp.svd3(A)`, `axis, angle = wp.quat_to_axis_angle(q)`",
    "differences.md",
)
_differs(
    "empty-transform",
    "`wp.transform()` without arguments",
    "Warp's is the identity on the host and zeros in kernels; Heald's is zeros on both.",
    "write `wp.transform_identity()`",
    "differences.md",
)
_differs(
    "spatial-dtype",
    "Spatial types with `dtype=`",
    "`wp.spatial_vector` and `wp.spatial_matrix` are float32.",
    "write `wp.spatial_vectord`, `wp.spatial_matrixd` for float64, `...h` for float16",
    "differences.md",
)
_differs(
    "unrolled-loop",
    "Loops that Warp unrolls",
    "Warp unrolls a loop over a literal `range`, so its variable is known while compiling. In "
    "Heald a loop runs, and only `wp.static(range(...))` is unrolled.",
    "write `for k in wp.static(range(n))`",
    "language.md#control-flow",
)
_differs(
    "reversed",
    "`reversed(range(...))`",
    "`reversed` is not part of the language.",
    "write the range that counts down, such as `range(n - 1, -1, -1)`",
    "language.md#control-flow",
)
_differs(
    "python-round",
    "Python's `round`",
    "Warp takes `round(x)` in a kernel for `wp.round(x)`. Python's gives an int and rounds "
    "halves to the even one, so Heald refuses it.",
    "write `wp.round(x)` (halves away from zero) or `wp.rint(x)` (to the even one)",
    "builtins/scalar-math.md",
)
_differs(
    "spread",
    "Arguments with a star",
    "Only tuples that are known while compiling can be spread.",
    "write the components: `wp.vec3(a[0], a[1], a[2])`",
    "errors/H0104.md",
)
_differs(
    "slice-step",
    "Slices with a step that is known at run time",
    "The step of a slice is a literal.",
    "index in a loop: `a[start + k * step]`",
    "language.md#arrays",
)
_differs(
    "kernel-array",
    "Arrays that a kernel makes of an address",
    "An address in a kernel could be anything, so no access to it could be checked.",
    "pass the array, a view of it, or `wp.from_ptr(...)` from the host",
    "arrays.md#sharing-memory",
)
_differs(
    "struct-default",
    "A struct with arrays that is made of nothing",
    "A field that is an array has no default.",
    "give the arrays: `S(data=a)`",
    "errors/H0206.md",
)
_differs(
    "random-state",
    "States of random numbers that are no variables",
    "A random function moves its state on, so the state is a local variable.",
    "`state = wp.rand_init(seed, i)` first; of an array, read the state and store it back",
    "builtins/random.md",
)
_differs(
    "types-constructor",
    "Values made by `wp.types.vector` and its kin",
    "`wp.types.vector`, `matrix`, `quaternion` and `transformation` make types, not values.",
    "call `wp.vector(...)`, `wp.matrix(...)`, `wp.quaternion(...)`, `wp.transformation(...)`",
    "language.md#vectors-matrices-quaternions",
)
_note(
    "hash-grid-order",
    "Order of neighbours in a hash grid",
    "Warp's queries give points in an order that changes from run to run. In Heald cells come in "
    "order and points ascending, so sums over neighbours are reproducible, and differ from Warp's "
    "in the last bits.",
    "nothing, unless results are compared bit by bit",
    "differences.md",
)
_differs(
    "options",
    "Options and parameters that Heald does not have",
    "Host functions take Warp's parameters where they mean something here; others are refused, "
    "never ignored.",
    "leave it out",
    "settings.md",
)
_differs(
    "settings",
    "Settings of `wp.config`",
    "An unknown setting is refused, never ignored.",
    "leave it out; `print(wp.config)` shows what there is",
    "settings.md",
)
_differs(
    "star-import",
    "`from warp import *`",
    "What the file takes from Warp cannot be told from its other names.",
    "write `import heald as wp` and `wp.` before the names",
)

_define(
    Construct(
        "other-results",
        Kind.NOTE,
        "Builtins with other results for some arguments",
        "These are more accurate than Warp's, or give another one of several right answers, such "
        "as a quaternion of the opposite sign.",
        "nothing, unless results are compared with those of Warp",
        (
            "quat_from_matrix",
            "transform_from_matrix",
            "transform_decompose",
            "svd2",
            "svd3",
            "eig3",
            "inverse",
            "intersect_tri_tri",
            "poisson",
            "pnoise",
            "quat_to_euler",
            "floordiv",
            "asin",
            "acos",
            "erfc",
            "erfinv",
            "erfcinv",
            "norm_pseudo_huber",
            "argmin",
            "argmax",
            "copysign",
            "smoothstep",
            "quat_rotate",
            "quat_rotate_inv",
            "quat_slerp",
            "quat_to_matrix",
        ),
        "differences.md",
    )
)

# -- what is not there -----------------------------------------------------------------------------

_unsupported(
    "gradients",
    "Tape adjoint grad func_grad func_replay autograd autograd.* optim optim.* "
    "WarpDeterminismError",
    "Differentiation",
    "Heald does not differentiate kernels yet. It refuses rather than give a wrong gradient.",
    "write the adjoint as a kernel of its own, or take differences",
    "errors/H0716.md",
)
_unsupported(
    "tiles",
    "tile tile_* untile launch_tiled dense_*_batched",
    "Tiles",
    "There are no values that the threads of a block hold together.",
    "share memory in the block by hand (`wp.shared_array`, `wp.block_sync`, `wp.reduce_sum`), or "
    "let each thread compute its own elements in a loop",
    "blocks.md",
)
_unsupported(
    "meshes",
    "Mesh Mesh* mesh_*",
    "Meshes",
    "There is no mesh type and no query of one.",
    "keep vertices and triangles in arrays; `wp.HashGrid` finds candidates, and "
    "`wp.triangle_closest_point`, `wp.closest_point_edge_edge`, `wp.intersect_tri_tri` test them",
    "builtins/geometric-functions.md",
)
_unsupported(
    "bvh",
    "Bvh BvhQuery* bvh_* is_cubql_available",
    "Bounding volume hierarchies",
    "There is no tree of boxes.",
    "put the centres into a `wp.HashGrid` with cells of the largest size",
    "builtins/geometry.md",
)
_unsupported(
    "volumes",
    "Volume volume_*",
    "Sparse volumes",
    "There are no NanoVDB volumes.",
    "keep the values in an array with three dimensions and blend neighbours with `wp.lerp`",
)
_unsupported(
    "textures",
    "Texture Texture* texture_*",
    "Textures",
    "There is no texture memory.",
    "keep the values in an array and blend neighbours with `wp.lerp`",
)
_unsupported(
    "native-code",
    "func_native",
    "Snippets of C++ and CUDA",
    "Kernels are proved and run in an interpreter, which cannot see into C++.",
    "write it as `@wp.func`; bit operations, shifts and atomics are there",
    "language.md#functions",
)
_unsupported(
    "graphs",
    "CaptureMode capture_* is_conditional_graph_supported",
    "CUDA graphs that branch, loop or are stored",
    "Captures are there; conditional graphs, files of graphs and modes of capturing are not.",
    "branch on the host between launches of graphs",
    "gpu.md#graphs",
)
_unsupported(
    "memory-pools",
    "Allocator CudaManagedAllocator MemoryKind ScopedAllocator ScopedMempool ScopedMempoolAccess "
    "ScopedMemoryTracker get_device_allocator set_device_allocator set_cuda_allocator "
    "print_memory_report",
    "Allocators",
    "Memory comes from the pool of a device, which cannot be replaced.",
    "leave it out: arrays are freed when nothing refers to them any more",
    "gpu.md",
)
_unsupported(
    "peer-access",
    "ScopedPeerAccess can_access from_ipc_handle event_from_ipc_handle",
    "Memory of other processes",
    "Arrays and events are not opened by handles of other processes.",
    "copy through the host",
    "gpu.md",
)
_unsupported(
    "frameworks",
    "jax_* *_jax Jax* clear_jax_* jax_experimental jax_experimental.* *_paddle",
    "JAX and Paddle",
    "Only numpy, DLPack and torch are known by name.",
    "share memory through DLPack: `wp.from_dlpack(x)`, and `jax.dlpack.from_dlpack(a)` back",
    "arrays.md#sharing-memory",
)
_unsupported(
    "dlpack-export",
    "to_dlpack",
    "`to_dlpack`",
    "Arrays have `__dlpack__`, which every consumer of today takes.",
    "hand the array itself to the consumer: `np.from_dlpack(a)`",
    "arrays.md#sharing-memory",
)
_unsupported(
    "numpy-dtypes",
    "dtype_from_numpy dtype_to_numpy",
    "Conversions of numpy's dtypes",
    "These two functions are not there.",
    "`wp.array(x).dtype` and `a.numpy().dtype` tell the same",
    "arrays.md",
)
_unsupported(
    "fabric",
    "fabricarray fabricarrayarray indexedfabricarray indexedfabricarrayarray",
    "Fabric arrays",
    "Omniverse Fabric is not known.",
    "copy into a `wp.array`",
)
_unsupported(
    "graphics-interop",
    "RegisteredGLBuffer GLTextureResource render render.*",
    "Rendering and OpenGL",
    "There is no renderer and no shared graphics memory.",
    "draw from `a.numpy()`, for instance with Pillow, matplotlib or pyvista",
)
_unsupported(
    "profiling",
    "ScopedCudaProfiler TimingResult TIMING_* timing_* cuda_profiler_*",
    "Profiling",
    "There is no profile of single kernels.",
    "`with wp.ScopedTimer(name):` measures on the host, events with `enable_timing` on a GPU",
)
_unsupported(
    "logging",
    "Logger ScopedLogger ScopedLogLevel LOG_* get_logger set_logger print_diagnostics",
    "Logging",
    "Heald says nothing by itself.",
    "`wp.config.verbose = True` reports what the cache does; `heald doctor` describes the machine",
    "settings.md",
)
_unsupported(
    "ahead-of-time",
    "compile_aot_module load_aot_module ModuleBuildOptions clear_lto_cache "
    "get_cpu_kernel_cache_key build_experimental build_experimental.*",
    "Compiling ahead of time",
    "Kernels are stored one by one.",
    "`wp.save_ir(kernel, path)` and `wp.load_ir(path)`, or `wp.build(kernel, 'out.ptx')`",
    "wir.md",
)
_unsupported(
    "device-queries",
    "get_cuda_device get_cuda_driver_version get_cuda_kernel_properties get_cuda_max_cluster_dim "
    "get_cuda_supported_archs get_cuda_toolkit_version get_suggested_block_size map_cuda_device "
    "unmap_cuda_device",
    "Questions about CUDA devices",
    "These functions are not there.",
    "`wp.get_device('cuda:0')` gives a device, `heald doctor` prints driver and architecture",
    "gpu.md",
)
_unsupported(
    "exceptions",
    "WarpCodegen*",
    "Exceptions of the compiler",
    "The classes have other names.",
    "catch `wp.CompileError` (`wp.TypingError` of wrong types)",
    "errors/index.md",
)
_unsupported(
    "approximations",
    "div_approx inverse_approx",
    "Approximate division",
    "Operations are rounded as IEEE 754 says.",
    "write `a / b`, `1.0 / a`",
    "language.md#rounding",
)
_unsupported(
    "local-arrays",
    "fixedarray",
    "`fixedarray`",
    "The class has no public name.",
    "write `wp.zeros(shape=8, dtype=float)` in the kernel",
    "language.md#local-arrays",
)
_unsupported(
    "determinism",
    "DeterministicMode",
    "A mode for reproducible sums",
    "There is no such mode. Atomic sums of floats depend on the order of threads on GPUs.",
    "sum with `wp.utils.array_sum`, or let each thread sum its own part in a loop",
)
_unsupported(
    "libraries",
    "fem fem.* sparse sparse.* sim sim.* examples examples.* tests tests.* geometry geometry.* "
    "codegen codegen.* context context.* native native.* stubs stubs.* math math.* fabric fabric.* "
    "torch torch.* jax jax.* paddle paddle.* build build.* constants constants.* builtins "
    "builtins.* dlpack dlpack.* _src _src.*",
    "Packages beside the kernel language",
    "`warp.fem`, `warp.sparse`, `warp.sim` and Warp's inner modules have no counterpart.",
    "keep that part on Warp (arrays pass through DLPack without a copy), or write it as kernels",
)
_unsupported(
    "machinery",
    "DeviceLike HashGridQuery address address_of array_store breakpoint extract float handle index "
    "indexref int iter_next len load pos print range ref reversed slice store tuple view *_inplace "
    "assign assign_* ddiv",
    "Names of Warp's own machinery",
    "Warp exports them, and programs rarely need them.",
    "use the language: `a[i]` loads and stores, `a[i] += x` updates, Python's `len`, `range` and "
    "`print` are known, `float(x)` and `int(x)` convert",
    "language.md",
)
_unsupported(
    "absent",
    "",
    "Other names",
    "Heald has no such name.",
    "`heald builtins WORD` looks for another",
    "builtins/index.md",
)
