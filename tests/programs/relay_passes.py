"""What passes over graphs do, each on a graph that it is for, as text; the values stay what they were."""

import numpy as np
import tvm
from tvm import relay

T = relay.transform
HEADER = '#[version = "0.0.5"]\n'
CONV = "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])"
X, W = "%x: Tensor[(1, 8, 6, 6), float32]", "%w: Tensor[(8, 8, 3, 3), float32]"
CASES = [
    ("fold constants", [T.FoldConstant()], "%x: Tensor[(2), float32]", "%x * (2f + 1f)"),
    (
        "fuse",
        [T.FuseOps(2)],
        "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]",
        "nn.relu(nn.dense(%x, %w)) + 1f",
    ),
    (
        "inference",
        [T.SimplifyInference()],
        f"{X}, %s: Tensor[(8), float32]",
        "nn.batch_norm(%x, %s, %s, %s, exp(%s)).0",
    ),
    (
        "fold scales",
        [T.FoldScaleAxis(), T.FoldConstant()],
        f"{X}, {W}, %s: Tensor[(8, 1, 1), float32]",
        f"{CONV} * abs(%s)",
    ),
    (
        "share",
        [T.EliminateCommonSubexpr(), T.CombineParallelDense(2), T.DeadCodeElimination()],
        "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(3, 4), float32]",
        "let %unused = exp(%x); (nn.dense(tanh(%x), %w), nn.dense(tanh(%x), %v))",
    ),
    (
        "combine convolutions",
        [T.CombineParallelConv2D(2)],
        f"{X}, {W}, %v: Tensor[(8, 8, 3, 3), float32]",
        f"({CONV}, {CONV.replace('%w', '%v')})",
    ),
    (
        "simplify",
        [T.SimplifyExpr(), T.FoldConstant()],
        "%x: Tensor[(2, 3, 4), float32]",
        "transpose(transpose(reshape(reshape(%x, newshape=[6, 4]), newshape=[4, 2, 3]), axes=[1, 2, 0]), "
        'axes=[2, 0, 1]) + zeros(shape=[4, 2, 3], dtype="float32")',
    ),
    (
        "canonical operators",
        [T.CanonicalizeOps(), T.CanonicalizeCast()],
        f"{X}, %b: Tensor[(8), float32]",
        "nn.bias_add(%x, %b)",
    ),
    ("fast math", [T.FastMath()], "%x: Tensor[(4), float32]", "exp(tanh(%x)) + erf(%x)"),
    (
        "layout",
        [T.ConvertLayout({"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]})],
        f"{X}, {W}",
        f"nn.max_pool2d(nn.relu({CONV}), pool_size=[2, 2])",
    ),
    ("half precision", [T.ToMixedPrecision("float16")], f"{X}, {W}", f"nn.softmax({CONV})"),
    ("A-normal form", [T.ToANormalForm()], "%x: Tensor[(4), float32]", "exp(%x) + tanh(exp(%x))"),
    ("graph form", [T.ToGraphNormalForm()], "%x: Tensor[(4), float32]", "let %a = exp(%x); let %b = %a + %a; %b * %a"),
    (
        "basic blocks",
        [T.ToBasicBlockNormalForm()],
        "%x: Tensor[(4), float32], %c: bool",
        "let %a = exp(%x); if (%c) { %a } else { tanh(%a) }",
    ),
    (
        "partial evaluation",
        [T.PartialEvaluate(), T.DeadCodeElimination()],
        "%x: Tensor[(4), float32]",
        "let %f = fn (%y: Tensor[(4), float32]) { %y + %y }; let %t = (%x, %f(%x)); %t.1",
    ),
    ("arguments", [T.EtaExpand(), T.Inline()], "%x: Tensor[(4), float32]", "%x"),
    (
        "quantised",
        [T.InferType(), relay.qnn.transform.CanonicalizeOps()],
        "%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), uint8]",
        "qnn.requantize(qnn.dense(%x, %w, 3, 4, 0.5f, 0.25f, "
        'units=3, out_dtype="int32"), 0.125f, 0, 1f, 2, out_dtype="uint8")',
    ),
    (
        "fake quantisation",
        [T.FakeQuantizationToInteger()],
        "%x: Tensor[(2, 4), int8]",
        'qnn.quantize(nn.relu(reshape(qnn.dequantize(%x, 0.5f, 0), newshape=[4, 2])), 0.5f, 0, out_dtype="int8")',
    ),
    (
        "dynamic to static",
        [T.DynamicToStatic()],
        "%x: Tensor[(2, 4), float32]",
        "dyn.reshape(%x, meta[relay.Constant][0])",
    ),
    ("alter layout", [T.AlterOpLayout()], f"{X}, {W}", f"nn.relu({CONV})"),
    (
        "legal",
        [T.Legalize()],
        "%x: Tensor[(1, 3, 5, 5), int8], %w: Tensor[(8, 3, 3, 3), int8]",
        'nn.conv2d(%x, %w, channels=8, kernel_size=[3, 3], out_dtype="int32")',
    ),
    (
        "batches",
        [T.CombineParallelBatchMatmul(2)],
        "%x: Tensor[(1, 2, 3), float32], %w: Tensor[(1, 3, 4), float32], %v: Tensor[(1, 3, 4), float32]",
        "(nn.batch_matmul(%x, %w), nn.batch_matmul(%x, %v))",
    ),
    (
        "flat atrous",
        [T.FlattenAtrousConv()],
        "%x: Tensor[(1, 6, 6, 8), float32], %w: Tensor[(3, 3, 8, 8), float32]",
        "nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x, block_shape=[2, 2], "
        "paddings=[[2, 2], [2, 2]]), %w, "
        'channels=8, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO"), block_shape=[2, 2], '
        "crops=[[0, 0], [0, 0]])",
    ),
]


def values_of(function):
    """Random arguments for the parameters of a function."""
    random = np.random.default_rng(0)
    for param in function.params:
        kind = param.checked_type
        shape = [int(extent) for extent in kind.shape]
        value = random.random(shape) if kind.dtype == "float32" else random.integers(0, 9, shape)
        yield np.asarray(value).astype(kind.dtype)


def results(mod, values):
    result = relay.create_executor("debug", mod=mod).evaluate()(*values)
    return [result.numpy()] if isinstance(result, tvm.nd.NDArray) else [item.numpy() for item in result]


for name, passes, params, body in CASES:
    table = {"relay.Constant": [relay.const([4, 2], "int64")]}
    before = T.InferType()(tvm.relay.parse(f"{HEADER}def @main({params}) {{ {body} }}", init_meta_table=table))
    with tvm.transform.PassContext(opt_level=4), tvm.target.Target("llvm -mcpu=skylake-avx512"):
        after = T.InferType()(tvm.transform.Sequential(passes)(before))
    print(f"-- {name}")
    print(after["main"])
    values = list(values_of(before["main"]))
    same = all(
        np.allclose(a, b, rtol=2e-2) for a, b in zip(results(before, values), results(after, values), strict=True)
    )
    print("the same values:", same)
