"""A custom pass

A pass is a function from IR to IR. This one turns every division by a power of two into a multiplication by its
reciprocal, which is exact, and runs after the second phase of lowering. Find it in the timeline.
"""

import tvm
from tvm import te

n = 1024
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] / 8.0 + A[i] / 3.0, name="B")
s = te.create_schedule(B.op)


@tvm.tir.transform.prim_func_pass(opt_level=0)
def multiply_by_reciprocal(func, mod, ctx):
    def rewrite(node):
        if isinstance(node.b, tvm.tir.FloatImm) and float(node.b.value).hex().startswith("0x1.0000000000000p"):
            return node.a * tvm.tir.const(1.0 / node.b.value, node.dtype)
        return None

    return func.with_body(tvm.tir.stmt_functor.ir_transform(func.body, None, rewrite, ["tir.Div"]))


with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, multiply_by_reciprocal)]}):
    print(tvm.lower(s, [A, B]))
