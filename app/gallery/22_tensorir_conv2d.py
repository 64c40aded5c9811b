"""Convolution, tensorized

The innermost loops of a convolution are a product of two small matrices. Blockize turns them into a block, and
tensorize replaces it by a hand-written kernel that computes eight outputs as sums of vectors.
"""

import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def conv2d(
    image: T.Buffer((30, 30, 16), "float32"),
    weight: T.Buffer((3, 3, 16, 32), "float32"),
    out: T.Buffer((28, 28, 32), "float32"),
):
    for y, x, f, ry, rx, c in T.grid(28, 28, 32, 3, 3, 16):
        with T.block("conv"):
            vy, vx, vf, vry, vrx, vc = T.axis.remap("SSSRRR", [y, x, f, ry, rx, c])
            with T.init():
                out[vy, vx, vf] = T.float32(0)
            out[vy, vx, vf] = out[vy, vx, vf] + image[vy + vry, vx + vrx, vc] * weight[vry, vrx, vc, vf]


@T.prim_func
def row_times_matrix(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16,), "float32", offset_factor=1)
    B = T.match_buffer(b, (16, 8), "float32", strides=[32, 1], offset_factor=1)
    C = T.match_buffer(c, (8,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:8], A[0:16], B[0:16, 0:8])
        T.writes(C[0:8])
        for f, c in T.grid(8, 16):
            with T.block("update"):
                vf, vc = T.axis.remap("SR", [f, c])
                C[vf] = C[vf] + A[vc] * B[vc, vf]


@T.prim_func
def vectors(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16,), "float32", offset_factor=1)
    B = T.match_buffer(b, (16, 8), "float32", strides=[32, 1], offset_factor=1)
    C = T.match_buffer(c, (8,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:8], A[0:16], B[0:16, 0:8])
        T.writes(C[0:8])
        for c in T.unroll(16):
            C[T.ramp(0, 1, 8)] = C[T.ramp(0, 1, 8)] + T.broadcast(A[c], 8) * B[c, T.ramp(0, 1, 8)]


tir.TensorIntrin.register("row_times_matrix", row_times_matrix, vectors, override=True)

sch = tir.Schedule(conv2d)
block = sch.get_block("conv")
y, x, f, ry, rx, c = sch.get_loops(block)
f_outer, f_inner = sch.split(f, factors=[None, 8])
sch.reorder(y, x, f_outer, ry, rx, f_inner, c)
sch.parallel(y)
init = sch.decompose_reduction(block, ry)
sch.vectorize(sch.get_loops(init)[-1])
inner = sch.blockize(f_inner)
sch.tensorize(inner, "row_times_matrix")

f = tvm.build(sch.mod, target="llvm -mcpu=native")
