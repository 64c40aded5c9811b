"""Matmul, scheduled in TensorIR

The program is written in TVMScript, and each primitive transforms it: select one in the timeline to see the program
after it, press D to compare it with the one before, and measure all of them with the ladder.
"""

import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    for i, j, k in T.grid(256, 256, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


sch = tir.Schedule(matmul)
block = sch.get_block("C")
i, j, k = sch.get_loops(block)

# A tile of C that fits into registers: 4 rows of 32 columns.
i_outer, i_inner = sch.split(i, factors=[None, 4])
j_outer, j_inner = sch.split(j, factors=[None, 32])
sch.reorder(i_outer, j_outer, k, i_inner, j_inner)
sch.parallel(i_outer)
sch.vectorize(j_inner)
sch.unroll(i_inner)

# It is accumulated in a local buffer, and written to C once.
tile = sch.cache_write(block, 0, "local")
sch.reverse_compute_at(tile, j_outer)
row, column = sch.get_loops(tile)[-2:]
sch.vectorize(column)
sch.unroll(row)

# Move the initialisation of the sum out of the loop over k.
sch.decompose_reduction(block, k)

f = tvm.build(sch.mod, target="llvm -mcpu=native")
