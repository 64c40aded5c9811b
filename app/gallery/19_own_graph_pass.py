"""A custom graph pass

The pass replaces every ReLU by a leaky ReLU. It is an ordinary step of the pipeline: the timeline shows it among the
built-in passes, and the new operators are linked to the line that creates them and to those that they replace.
"""

import tvm
from tvm import relay


@relay.transform.function_pass(opt_level=1)
class Leaky:
    def __init__(self, slope):
        self.slope = slope

    def transform_function(self, func, mod, ctx):
        slope = self.slope

        class Replace(relay.ExprMutator):
            def visit_call(self, call):
                call = super().visit_call(call)
                if isinstance(call.op, tvm.ir.Op) and call.op.name == "nn.relu":
                    return relay.nn.leaky_relu(call.args[0], alpha=slope)
                return call

        return Replace().visit(func)


x = relay.var("x", shape=(4, 32))
hidden = relay.nn.relu(relay.nn.dense(x, relay.var("first", shape=(64, 32))))
output = relay.nn.relu(relay.nn.dense(hidden, relay.var("second", shape=(16, 64))))

pipeline = tvm.transform.Sequential(
    [
        relay.transform.InferType(),
        Leaky(0.1),
        relay.transform.InferType(),
        relay.transform.FuseOps(fuse_opt_level=2),
    ]
)
with tvm.transform.PassContext(opt_level=3):
    mod = pipeline(tvm.IRModule.from_expr(output))
print(mod)
