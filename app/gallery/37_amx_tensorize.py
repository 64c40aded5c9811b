"""8-bit products in tile registers

AMX multiplies matrices of 16 x 64 and 64 x 16 bytes by one instruction, for which B has to be packed in groups of four.
The schedule goes there from plain loops: tiles of 32 x 32 sums, which four registers hold, then ``tensorize``, which
checks that the loops compute what the instructions do. The schedule pane draws the registers. Intel's Xeons have AMX
from Sapphire Rapids on; for other processors the panes show the same code, and running it says what is missing.
"""

import tvm
from tvm import te
from tvm.topi.x86 import tensor_intrin

M = N = K = 512
A = te.placeholder((M, K), "uint8", name="A")
B = te.placeholder((K, N), "int8", name="B")

# A row of a tile has four numbers of one column, then four of the next one.
packed = te.compute((N // 16, K // 4, 16, 4), lambda jo, ko, ji, ki: B[ko * 4 + ki, jo * 16 + ji], name="packed")
k = te.reduce_axis((0, K), name="k")
C = te.compute(
    (M, N),
    lambda i, j: te.sum(A[i, k].astype("int32") * packed[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k),
    name="C",
)

s = te.create_schedule(C.op)
blocks, groups, column, number = s[packed].op.axis
s[packed].reorder(blocks, groups, number, column)
s[packed].vectorize(column)
s[packed].parallel(blocks)

rows, columns, i, j = s[C].tile(*s[C].op.axis, 32, 32)
s[C].parallel(rows)

# Eight steps over k: the sums are loaded into tiles once, and stored once.
s[C].tensorize(i, tensor_intrin.amx_product(32, 32, K, "uint8", "int8"))

product = tvm.build(s, [A, B, C], target="llvm -mcpu=sapphirerapids", name="product")
