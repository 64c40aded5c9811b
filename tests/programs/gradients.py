"""Gradients of graphs, of first and of higher order, against differences; and how a training step reads."""

import numpy as np
import tvm
from tvm import relay

HEADER = '#[version = "0.0.5"]\n'
FUNCTIONS = {
    "a layer": ("%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]", "nn.log_softmax(nn.dense(tanh(%x), %w))"),
    "a convolution": (
        "%x: Tensor[(1, 2, 5, 5), float32], %w: Tensor[(3, 2, 3, 3), float32], %b: Tensor[(3), float32]",
        "nn.avg_pool2d(nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=3, kernel_size=[3, 3]), "
        "%b)), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])",
    ),
    "shapes": (
        "%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]",
        "sum(concatenate((transpose(reshape(%x, newshape=[3, 2]), axes=[1, 0]), "
        "strided_slice(%x, begin=[0, 0], end=[1, 3], strides=[1, 1])), "
        "axis=0) / %y, axis=[1]) - sqrt(mean(abs(%x))) * max(exp(%y))",
    ),
    "functions": (
        "%x: Tensor[(4), float32], %y: Tensor[(4), float32]",
        "power(%x, %y) + log(%x) * sigmoid(%y) + erf(%x) - sin(%x) * cos(%y) + where(less(%x, %y), %x, %y) "
        '+ maximum(%x, %y) + clip(%y, a_min=0.2f, a_max=5f) + rsqrt(%x) + take(%x, 2, mode="clip")',
    ),
}
random = np.random.default_rng(0)


def run(function, values):
    """What a function returns for arrays, as NumPy arrays in the nesting of its tuples."""

    def plain(result):
        return result.numpy() if hasattr(result, "numpy") else [plain(item) for item in result]

    return plain(relay.create_executor("debug", mod=tvm.IRModule.from_expr(function)).evaluate()(*values))


def differences(function, values, step=1e-2):
    """Slopes of the sum of a function's result along each element, by differences to both sides."""
    for number, value in enumerate(values):
        slopes = np.zeros_like(value)
        for place in np.ndindex(value.shape):
            sides = []
            for sign in (1, -1):
                moved = [v.copy() for v in values]
                moved[number][place] += sign * step
                sides.append(run(function, moved).astype("float64").sum())
            slopes[place] = (sides[0] - sides[1]) / (2 * step)
        yield slopes


for name, (params, body) in FUNCTIONS.items():
    mod = relay.fromtext(f"{HEADER}def @main({params}) {{ {body} }}")
    function = relay.transform.InferType()(mod)["main"]
    shapes = [[int(n) for n in param.checked_type.shape] for param in function.params]
    values = [random.random(shape).astype("float32") + np.float32(0.25) for shape in shapes]
    print(f"-- {name}")
    for mode in ("first_order", "higher_order"):
        backward = relay.transform.gradient(function, mode=mode)
        _, slopes = run(backward, values)
        same = [np.allclose(a, b, atol=2e-2) for a, b in zip(slopes, differences(function, values), strict=True)]
        print(f"{mode}: slopes by {', '.join(p.name_hint for p in function.params)} as differences say: {same}")

called = "let %f = fn (%y: Tensor[(4), float32]) { %y * exp(%y) }; %f(%x)"
mod = relay.fromtext(f"{HEADER}def @main(%x: Tensor[(4), float32]) {{ {called} }}")
function = relay.transform.InferType()(mod)["main"]
backward = tvm.IRModule.from_expr(relay.transform.gradient(function))
steps = [relay.transform.PartialEvaluate(), relay.transform.DeadCodeElimination(), relay.transform.ToGraphNormalForm()]
backward = tvm.transform.Sequential([relay.transform.InferType(), *steps])(backward)
print("-- a function with its gradient, after the cells of the tape are gone")
print(backward["main"])
