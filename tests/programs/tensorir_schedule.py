"""Every kind of primitive of TensorIR on small programs: after each, the loops, and the values against NumPy."""

import numpy as np
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def chain(A: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16))
    C = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * C[vi, vj]


@T.prim_func
def rows(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def dot4(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1)
    B = T.match_buffer(b, (4, 4), offset_factor=1)
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def dot4_by_columns(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4, 4), offset_factor=1)
    B = T.match_buffer(b, (4, 4), offset_factor=1)
    C = T.match_buffer(c, (4, 4), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for j, k, i in T.grid(4, 4, 4):
            C[i, j] = C[i, j] + A[i, k] * B[k, j]


tir.TensorIntrin.register("dot4x4", dot4, dot4_by_columns)


def tiled(sch):
    """Split, reorder, fuse and annotate."""
    i, j, k = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, factors=[None, 4])
    jo, ji = sch.split(j, factors=[2, None])
    sch.reorder(io, jo, k, ii, ji)
    sch.parallel(sch.fuse(io, jo))
    sch.unroll(ii)
    sch.vectorize(ji)
    sch.annotate(k, "pragma_unroll_explicit", 0)


def cached(sch):
    """Stage an operand and the result near where they are used, and initialise apart."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    near = sch.cache_read(block, 1, "local")
    sch.compute_at(near, j)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), i)
    sch.decompose_reduction(block, k)
    sch.set_scope(near, 0, "global")
    sch.storage_align(near, 0, axis=0, factor=8, offset=1)


def reindexed(sch):
    """Change how operands are laid out in memory."""
    sch.reindex("C", ("read", 1))
    sch.transform_layout("C", ("read", 1), lambda j, k: [j // 4, k, j % 4])
    sch.transform_block_layout("C", lambda i, j, k: [i, j, k // 4, k % 4])


def tensorized(sch):
    """Replace an inner product of tiles by an intrinsic."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (io, ii), (jo, ji), (ko, ki) = (sch.split(loop, factors=[None, 4]) for loop in (i, j, k))
    sch.reorder(io, jo, ko, ii, ji, ki)
    sch.decompose_reduction(block, ko)
    print("iterates over", [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))])
    sch.tensorize(ii, "dot4x4")


def inlined(sch):
    """Compute producers where they are read, and merge the last step into the one before."""
    sch.compute_inline("B")
    sch.reverse_compute_inline("D")
    _, inner = sch.split(sch.get_loops("C")[1], factors=[None, 4])
    sch.annotate(inner, "note", 1)
    sch.unannotate(inner, "note")
    sch.add_unit_loop("C")


def rolled(sch):
    """Compute each stage a tile at a time."""
    io, _ = sch.split(sch.get_loops("D")[0], factors=[4, 4])
    sch.compute_at("C", io)
    sch.compute_at("B", io, preserve_unit_loops=True)
    sch.blockize(sch.get_loops("D")[1])
    print("consumers of B:", [sch.get(b).name_hint for b in sch.get_consumers("B")])
    print("producers of D:", [sch.get(b).name_hint for b in sch.get_producers("C")])


def factored(sch):
    """Reduce parts of a row side by side."""
    ko, _ = sch.split(sch.get_loops("B")[1], factors=[4, 16])
    parts = sch.rfactor(ko, 0)
    sch.reorder(sch.get_loops(parts)[1], sch.get_loops(parts)[0])


random = np.random.default_rng(0)
a, b = random.random((16, 16), "float32"), random.random((16, 16), "float32")
long = random.random((16, 64), "float32")
CASES = [
    (matmul, [tiled, cached, reindexed, tensorized], (a, b), a @ b),
    (chain, [inlined, rolled], (a,), (2 * a + 1) ** 2),
    (rows, [factored], (long,), long.sum(1)),
]
for function, recipes, inputs, expected in CASES:
    for recipe in recipes:
        print(f"\n{recipe.__name__}: {recipe.__doc__}")
        sch = tir.Schedule(function)
        recipe(sch)
        print(sch.mod["main"].body)
        print("applied:", " ".join(step.kind.name for step in sch.trace.insts))
        out = tvm.nd.array(np.zeros(expected.shape, "float32"))
        tvm.build(sch.mod, target="llvm")(*map(tvm.nd.array, inputs), out)
        print("as NumPy:", np.allclose(out.numpy(), expected, rtol=1e-5))
