"""GPU: a sum across threads

The 64 threads of a block sum one row together: each its share first, then by shuffles within warps, then through shared
memory. LowerThreadAllreduce generates this code: find it among the Device steps of the timeline.
"""

import tvm
from tvm import te

n, m = 1024, 512
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), name="k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")

s = te.create_schedule(B.op)
outer, inner = s[B].split(k, factor=64)
BF = s.rfactor(B, inner)
s[B].bind(s[B].op.axis[0], te.thread_axis("blockIdx.x"))
thread = te.thread_axis("threadIdx.x")
s[B].bind(s[B].op.reduce_axis[0], thread)
s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
s[B].set_store_predicate(thread.var.equal(0))
f = tvm.build(s, [A, B], target="cuda")
