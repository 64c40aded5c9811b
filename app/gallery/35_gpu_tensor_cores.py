"""GPU: a matrix product on tensor cores

The definition is an ordinary product of half-precision matrices. ``tensorize`` replaces tiles of 16 x 16 by warp-level
operations on fragments: ``wmma`` in CUDA C, ``HMMA`` in SASS. The server emulates them.
"""

import tvm
from tvm import te
from tvm.topi.cuda import tensor_intrin

n, tile, half, step, m = 256, 64, 32, 32, 16
shape = (m, m, m)


def product(rows, columns, depth):
    A, B = te.placeholder((rows, depth), "float16", "A"), te.placeholder((depth, columns), "float16", "B")
    k = te.reduce_axis((0, depth), name="k")
    f32 = "float32"
    C = te.compute((rows, columns), lambda i, j: te.sum(A[i, k].astype(f32) * B[k, j].astype(f32), axis=k), name="C")
    return A, B, C


A, B, C = product(n, n, n)
s = te.create_schedule(C.op)
CS = s.cache_write(C, "shared")
CF = s.cache_write(CS, "wmma.accumulator")
AS, BS = s.cache_read(A, "shared", [CF]), s.cache_read(B, "shared", [CF])
AF, BF = s.cache_read(AS, "wmma.matrix_a", [CF]), s.cache_read(BS, "wmma.matrix_b", [CF])
tx, ty, tz = (te.thread_axis((0, e), f"threadIdx.{x}") for e, x in ((32, "x"), (2, "y"), (2, "z")))


def copied_by_all(stage, *axes):
    rest = stage.fuse(*axes)
    for thread in (tx, ty, tz):
        rest, own = stage.split(rest, factor=thread.dom.extent)
        stage.bind(own, thread)


by, bx, *own = s[C].tile(*C.op.axis, tile, tile)
s[C].bind(by, te.thread_axis("blockIdx.y"))
s[C].bind(bx, te.thread_axis("blockIdx.x"))
copied_by_all(s[C], *own)
s[CS].compute_at(s[C], bx)
yo, xo, y, x = s[CS].tile(*CS.op.axis, half, half)
s[CS].bind(yo, tz)
s[CS].bind(xo, ty)
y, x, rows, columns = s[CS].tile(y, x, m, m)
s[CS].tensorize(rows, tensor_intrin.intrin_wmma_store_matrix([tile, 1], [half, 1], shape, "float32", (m, m), (m, m)))
s[CF].compute_at(s[CS], xo)
y, x, rows, columns = s[CF].tile(*CF.op.axis, m, m)
ko, ki = s[CF].split(CF.op.reduce_axis[0], step)
ki, kk = s[CF].split(ki, m)
s[CF].reorder(ko, ki, y, x, rows, columns, kk)
s[CF].tensorize(rows, tensor_intrin.intrin_wmma_gemm(*product(m, m, m), [m, 1], [half, 1], [half, 1], shape))
for shared in (AS, BS):
    s[shared].compute_at(s[CF], ko)
    copied_by_all(s[shared], *s[shared].op.axis)
a = tensor_intrin.intrin_wmma_load_matrix_A([m, 1], [step, 1], shape, "row_major", (m, m), (m, m), "float16")
b = tensor_intrin.intrin_wmma_load_matrix_W([half, 1], [tile, 1], shape, "row_major", (m, m), (m, m), "float16")
for fragment, load in ((AF, a), (BF, b)):
    s[fragment].compute_at(s[CF], ki)
    s[fragment].tensorize(s[fragment].tile(*s[fragment].op.axis, m, m)[2], load)
f = tvm.build(s, [A, B, C], target="cuda")
