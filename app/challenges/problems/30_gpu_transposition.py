"""GPU: transposition

Transpose a matrix on a GPU, where the threads of a warp should read side by side, and write side by side.
"""
# /// challenge
# group = "GPU"
# hint = """
# A tile in shared memory lets both be coalesced; then see how many threads use the same bank (storage_align moves
# rows apart).
# """
# numpy = "lambda A: np.ascontiguousarray(A.T)"
# peak = ""
# small = { n = 64 }
# ///

import tvm
from tvm import te

n = 1024
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[j, i], name="B")

s = te.create_schedule(B.op)
i, j = B.op.axis
by, ty = s[B].split(i, factor=16)
bx, tx = s[B].split(j, factor=16)
s[B].reorder(by, bx, ty, tx)
s[B].bind(by, te.thread_axis("blockIdx.y"))
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[B].bind(ty, te.thread_axis("threadIdx.y"))
s[B].bind(tx, te.thread_axis("threadIdx.x"))
f = tvm.build(s, [A, B], target="cuda", name="gpu_transposition")
