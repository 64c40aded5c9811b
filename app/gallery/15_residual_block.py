"""A residual block, pass by pass

Convolutions, batch normalisations, ReLUs and a skip connection. Each pass is a step in the timeline: the normalisations
become multiplications and additions, and the resulting fourteen operators are fused into two kernels.
"""

import tvm
from tvm import relay

channels, size = 64, 56
image = relay.var("image", shape=(1, channels, size, size))
kernel = relay.var("kernel", shape=(channels, channels, 3, 3))
scale, shift, mean, spread = (relay.var(name, shape=(channels,)) for name in ("scale", "shift", "mean", "spread"))

features = relay.nn.conv2d(image, kernel, padding=(1, 1))
normal = relay.nn.batch_norm(features, scale, shift, mean, spread)[0]
block = relay.nn.relu(normal + image)

mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(block), block))
for step in (
    relay.transform.InferType(),
    relay.transform.SimplifyInference(),
    relay.transform.FoldConstant(),
    relay.transform.FuseOps(fuse_opt_level=2),
    relay.transform.InferType(),
):
    mod = step(mod)
print(mod["main"])
