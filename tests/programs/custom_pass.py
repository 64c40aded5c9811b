"""A pass that finds loops and rewrites them, in the middle of lowering."""

import tvm
from tvm import te

n = 128
a = te.placeholder((n,), name="a")
b = te.placeholder((n,), name="b")
c = te.compute((n,), lambda i: a[i] * b[i], name="c")
s = te.create_schedule(c.op)
print(tvm.lower(s, [a, b, c]))

found = []


def remember(node):
    if isinstance(node, tvm.tir.For) and isinstance(node.extent, tvm.tir.IntImm) and node.extent.value % 4 == 0:
        found.append(node)


def split_by_four(node):
    if node not in found:
        return None
    name, extent = node.loop_var.name, node.extent.value
    outer, inner = te.var(name + ".outer"), te.var(name + ".inner")
    body = tvm.tir.stmt_functor.substitute(node.body, {node.loop_var: outer * 4 + inner})
    body = tvm.tir.For(inner, 0, 4, tvm.tir.ForKind.VECTORIZED, body)
    return tvm.tir.For(outer, 0, extent // 4, tvm.tir.ForKind.PARALLEL, body)


@tvm.tir.transform.prim_func_pass(opt_level=0)
def vectorize_by_four(func, mod, ctx):
    tvm.tir.stmt_functor.post_order_visit(func.body, remember)
    return func.with_body(tvm.tir.stmt_functor.ir_transform(func.body, None, split_by_four, ["tir.For"]))


with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, vectorize_by_four)]}):
    print(tvm.lower(s, [a, b, c]))
