"""Scripts that the process from which children are forked serves, for children to find its caches filled."""

KERNELS = """
import numpy as np
import tvm
from tvm import te

A = te.placeholder((8, 64), name="A")
k = te.reduce_axis((0, 64), name="k")
B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(k, factor=16)
partial = s.rfactor(B, inner)
s[partial].vectorize(partial.op.axis[0])
s[partial].unroll(partial.op.reduce_axis[0])
rows = tvm.build(s, [A, B], target="llvm -mcpu=native", name="rows")
a, b = tvm.nd.array(np.ones((8, 64), "float32")), tvm.nd.empty((8,), "float32")
rows(a, b)
tvm.lower(s, [A, B], simple_mode=True)

n = 16
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[j, i] * 2.0, name="B")
s = te.create_schedule(B.op)
shared = s.cache_read(A, "shared", [B])
ty, tx = te.thread_axis("threadIdx.y"), te.thread_axis("threadIdx.x")
block, i = s[B].split(B.op.axis[0], factor=8)
s[B].bind(block, te.thread_axis("blockIdx.x"))
s[shared].compute_at(s[B], block)
for stage, axes in ((B, (i, B.op.axis[1])), (shared, s[shared].op.axis)):
    for axis, thread in zip(axes, (ty, tx)):
        outer, inner = s[stage].split(axis, factor=4)
        s[stage].bind(inner, thread)
tvm.build(s, [A, B], target="cuda", name="transposed")
"""

MODEL = """
import numpy as np
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relay, te

nodes = [
    helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
    helper.make_node("BatchNormalization", ["a", "s", "s", "s", "s"], ["n"]),
    helper.make_node("Relu", ["n"], ["b"]),
    helper.make_node("Add", ["b", "x"], ["c"]),
    helper.make_node("GlobalAveragePool", ["c"], ["d"]),
    helper.make_node("Flatten", ["d"], ["e"]),
    helper.make_node("Gemm", ["e", "g", "h"], ["y"], transB=1),
]
sizes = {"w": (4, 4, 3, 3), "s": (4,), "g": (3, 4), "h": (3,)}
weights = [numpy_helper.from_array(np.ones(size, "float32"), name) for name, size in sizes.items()]
x, y = (
    helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in (("x", (1, 4, 8, 8)), ("y", (1, 3)))
)
mod, params = relay.frontend.from_onnx(helper.make_model(helper.make_graph(nodes, "small", [x], [y], weights)))
with tvm.transform.PassContext(opt_level=3):
    relay.build(mod, target="llvm -mcpu=native", params=params)

A = te.placeholder((16,), name="A")
B = te.compute((16,), lambda i: te.exp(A[i]), name="B")
for target in "llvm", "llvm -mcpu=native":  # LLVM is asked which instructions each has, for functions such as exp
    tvm.build(te.create_schedule(B.op), [A, B], target=target)
"""
