"""Predicting fusion

Every operator has a pattern that determines how it may be fused. This analysis visits a network in evaluation order and
predicts the groups from the patterns alone; FuseOps then shows the real ones. Where do they differ, and why?
"""

import tvm
from tvm import relay


@relay.transform.function_pass(opt_level=0)
class GuessGroups:
    """Begin a group at every heavy operator, and wherever something cannot join the group before it."""

    def transform_function(self, func, mod, ctx):
        groups = []

        def look(node):
            if not (isinstance(node, relay.Call) and isinstance(node.op, tvm.ir.Op)):
                return
            pattern = relay.OpPattern(node.op.get_attr("TOpPattern"))
            heavy = pattern >= relay.OpPattern.COMM_REDUCE
            if heavy or not groups:
                groups.append([])
            groups[-1].append(f"{node.op.name} ({pattern.name.lower()})")

        relay.analysis.post_order_visit(func, look)
        for number, group in enumerate(groups):
            print(f"guess {number}:", ", ".join(group))
        return func


image = relay.var("image", shape=(1, 8, 28, 28))
features = relay.nn.conv2d(image, relay.var("kernel", shape=(16, 8, 3, 3)), padding=(1, 1))
features = relay.sigmoid(relay.nn.bias_add(features, relay.var("bias", shape=(16,)))) * features
row = relay.transpose(relay.nn.batch_flatten(features), axes=(1, 0))
total = relay.sqrt(relay.sum(row, axis=0))
network = relay.Function(relay.analysis.free_vars(total), total)

mod = relay.transform.InferType()(tvm.IRModule.from_expr(network))
mod = GuessGroups()(mod)
mod = relay.transform.FuseOps(fuse_opt_level=2)(mod)


def show_groups(node):
    if isinstance(node, relay.Function) and node.attrs.get("Primitive"):
        names = []
        relay.analysis.post_order_visit(
            node.body,
            lambda part: names.append(part.op.name) if isinstance(part, relay.Call) else None,
        )
        print("fused:", ", ".join(names))


relay.analysis.post_order_visit(mod["main"].body, show_groups)
