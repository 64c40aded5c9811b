"""Shapes through a network

A visitor that collects the result type of every operator, and the number of multiplications of each layer. There are
types only after InferType has run: comment it out and see what the visitor reports.
"""

import math

import tvm
from tvm import relay


def network():
    values = relay.var("image", shape=(1, 1, 28, 28))
    for layer, (inputs, outputs) in enumerate([(1, 8), (8, 16)]):
        weights = relay.var(f"kernel{layer}", shape=(outputs, inputs, 5, 5))
        values = relay.nn.relu(relay.nn.conv2d(values, weights, padding=(2, 2)))
        values = relay.nn.max_pool2d(values, pool_size=(2, 2), strides=(2, 2))
    values = relay.nn.batch_flatten(values)
    values = relay.nn.dense(values, relay.var("weights", shape=(10, 16 * 7 * 7)))
    values = relay.nn.softmax(values)
    return relay.Function(relay.analysis.free_vars(values), values)


class Shapes(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.rows = []

    def visit_call(self, call):
        super().visit_call(call)
        shape = [int(extent) for extent in call.checked_type.shape]
        weights = [int(extent) for extent in call.args[1].checked_type.shape] if len(call.args) > 1 else [0, 0]
        self.rows.append((call.op.name, shape, math.prod(shape) * math.prod(weights[1:])))


mod = tvm.IRModule.from_expr(network())
mod = relay.transform.InferType()(mod)

shapes = Shapes()
shapes.visit(mod["main"])
for name, shape, multiplications in shapes.rows:
    print(f"{name:16} {shape!s:18} {multiplications:9,}")
print(f"{sum(count for _, _, count in shapes.rows):,} multiplications in all")
