"""What a function looks like at the end of each phase of lowering."""

import tvm
from tvm import te

n = 100
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] + 1.0, name="B")
C = te.compute((n, n), lambda i, j: B[i, j] * B[i, n - 1 - j], name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=32)
s[B].compute_at(s[C], inner)
s[C].parallel(outer)
jo, ji = s[B].split(B.op.axis[1], factor=4)
s[B].vectorize(ji)


def show(phase):
    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def after_phase(func, mod, ctx):
        print(f"phase {phase}")
        print(func.body)
        return func

    return phase, after_phase


with tvm.transform.PassContext(config={"tir.add_lower_pass": [show(phase) for phase in range(4)]}):
    print(tvm.lower(s, [A, C]))
