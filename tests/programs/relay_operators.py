"""Operators of Relay by family: machine code against the interpreter, which runs each with NumPy."""

import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor

X, Y = "%x: Tensor[(2, 3, 4), float32]", "%y: Tensor[(2, 3, 4), float32]"
IMAGE = "%i: Tensor[(1, 4, 6, 6), float32]"
FAMILIES = {
    "elements": (f"{X}, {Y}", [
        "rsqrt(%x) + log2(%x) * log10(%x) - atan(%y) / cosh(%y)", "ceil(%x * 3f) + trunc(%y * 3f)",
        "floor_divide(%x, %y)", "floor_mod(%x, %y)", "isfinite(%x)", "logical_and(less(%x, %y), greater(%y, %x))",
        "clip(round(%x * 9f), a_min=1f, a_max=5f)", "cast(bitwise_xor(cast(%x, dtype=\"int32\"), 5), dtype=\"int8\")",
        "sign(%x) * erf(%y) + sigmoid(negative(%x))", "copy(tan(%x)) + asin(%y) * acos(%y)", "fast_exp(%x)",
        "reinterpret(%x, dtype=\"int32\")", "nn.prelu(%x, meta[relay.Constant][0], axis=1)",
    ]),
    "shapes": (f"{X}, {Y}", [
        "reshape(%x, newshape=[0, -1])", "squeeze(expand_dims(%x, axis=1), axis=[1])", "stack((%x, %y), axis=1)",
        "reverse(%x, axis=2)", "repeat(%x, repeats=2, axis=1)", "tile(%x, reps=[1, 2, 1])", "transpose(%x)",
        "split(%x, indices_or_sections=2, axis=2).1", "broadcast_to(%x, shape=[2, 2, 3, 4])",
        "collapse_sum_like(%x, sum(%x, axis=[0]))",
        "nn.pad(%x, 0f, pad_width=[[0, 0], [1, 1], [0, 2]])", "nn.mirror_pad(%x, pad_width=[[0, 0], [1, 1], [0, 2]])",
        "strided_slice(%x, begin=[0, 2, 1], end=[2, 0, 4], strides=[1, -1, 2])",
        "slice_like(%x, sum(%x, axis=[2], keepdims=1))",
        "layout_transform(%x, src_layout=\"NCW\", dst_layout=\"NWC\")", "reshape_like(%x, %y)", "full_like(%x, 3f)",
        "arange(0f, 6f, 2f)", "trilu(%x, 0, upper=False)",
    ]),
    "reductions": (f"{X}, {Y}", [
        "variance(%x, mean(%x, axis=[1], keepdims=1), axis=[1])", "all(less(%x, %y), axis=[0])", "prod(%x, axis=[2])",
        "argmax(%x, axis=[1])", "cumsum(%x, axis=1)", "cumprod(%x, axis=2)", "nn.l2_normalize(%x, eps=0.1f, axis=[1])",
        "sort(%x, axis=2)", "argsort(%x, axis=1)", "topk(%x, k=2, axis=2).0", "nn.log_softmax(%x)",
        "any(less(%x, %y), axis=[2])",
    ]),
    "places": (f"{X}, {Y}", [
        "take(%x, meta[relay.Constant][2], axis=1)", "gather(%x, meta[relay.Constant][3], axis=1)",
        "gather_nd(%x, meta[relay.Constant][4])",
        "scatter_elements(%x, meta[relay.Constant][3], strided_slice(%y, begin=[0, 0, 0], end=[2, 1, 4]), axis=1)",
        "scatter_nd(%x, meta[relay.Constant][4], meta[relay.Constant][5])",
        "one_hot(meta[relay.Constant][2], 1f, 0f, depth=4, axis=-1, dtype=\"float32\")",
        "where(less(%x, %y), %x, %y)", "sequence_mask(%x, meta[relay.Constant][6], mask_value=0f, axis=0)",
        "searchsorted(sort(%x), %y)",
        "reverse_sequence(%x, meta[relay.Constant][7], seq_axis=1, batch_axis=0)",
        "unravel_index(meta[relay.Constant][2], meta[relay.Constant][8])",
        "adv_index((%x, meta[relay.Constant][7] - 2, meta[relay.Constant][2]))",
        "invert_permutation(meta[relay.Constant][9])",
    ]),
    "images": (f"{IMAGE}, %k: Tensor[(4, 4, 3, 3), float32]", [
        "nn.conv2d(%i, %k, channels=4, kernel_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])",
        "nn.conv2d_transpose(%i, %k, channels=4, kernel_size=[3, 3])",
        "nn.max_pool2d(%i, pool_size=[3, 3], ceil_mode=True, strides=[2, 2])",
        "nn.adaptive_avg_pool2d(%i, output_size=[2, 2])",
        "nn.upsampling(%i, scale_h=2, scale_w=2, method=\"bilinear\")",
        "image.resize2d(%i, size=[4, 9], roi=[0f, 0f, 0f, 0f], method=\"cubic\")", "nn.lrn(%i, size=3)",
        "nn.depth_to_space(%i, block_size=2)",
        "nn.space_to_depth(%i, block_size=2)", "nn.batch_flatten(%i)",
        "nn.instance_norm(%i, meta[relay.Constant][10], meta[relay.Constant][10])",
        "nn.group_norm(%i, meta[relay.Constant][10], meta[relay.Constant][10], num_groups=2)",
        "nn.dilate(%i, strides=[1, 1, 2, 2])",
        "nn.layer_norm(%i, meta[relay.Constant][10], meta[relay.Constant][10], axis=1)",
        "image.dilation2d(%i, meta[relay.Constant][11], strides=[1, 1])",
        "nn.contrib_conv2d_winograd_without_weight_transform(%i, "
        "nn.contrib_conv2d_winograd_weight_transform(%k, tile_size=2), "
        "tile_size=2, channels=4, kernel_size=[3, 3], padding=[1, 1, 1, 1])",
        "vision.yolo_reorg(%i, stride=2)", "nn.avg_pool2d(%i, pool_size=[2, 2], strides=[2, 2])",
        "nn.global_max_pool2d(%i)",
    ]),
    "products": ("%a: Tensor[(2, 3, 4), float32], %b: Tensor[(2, 5, 4), float32], %v: Tensor[(4, 8), float32], "
                 "%s: Tensor[(1, 3, 9), float32], %w: Tensor[(2, 3, 3), float32]", [
        "nn.batch_matmul(%a, %b, transpose_b=True)", "nn.matmul(reshape(%a, newshape=[6, 4]), %v)",
        "einsum((%a, %b), equation=\"nij,nkj->nki\")",
        "nn.conv1d(%s, %w, channels=2, kernel_size=[3])", "nn.max_pool1d(%s, pool_size=[2], strides=[2])",
        "nn.avg_pool1d(%s, pool_size=[3])",
        "nn.conv1d_transpose(%s, transpose(%w, axes=[1, 0, 2]), channels=2, kernel_size=[3])",
        "nn.bias_add(%a, sum(%v, axis=[1]), axis=2)",
    ]),
}  # fmt: skip
CONSTANTS = [
    np.full(3, 0.1, "float32"), np.float32(1), np.array([2, 0]), np.array([[[0, 1, 2, 0]], [[1, 1, 0, 2]]]),
    np.array([[0, 1], [2, 0]]), np.arange(8, dtype="float32").reshape(2, 4), np.array([1, 2, 1], "int32"),
    np.array([2, 3]),
    np.array([3, 4]), np.array([2, 0, 1]), np.ones(4, "float32"), np.zeros((4, 2, 2), "float32"),
]  # fmt: skip
random = np.random.default_rng(0)
for family, (params, bodies) in FAMILIES.items():
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{ ({", ".join(bodies)}) }}'
    mod = relay.parse(text, init_meta_table={"relay.Constant": [relay.const(value) for value in CONSTANTS]})
    shapes = [[int(n) for n in param.checked_type.shape] for param in mod["main"].params]
    values = [random.random(shape, "float32") * np.float32(0.9) + np.float32(0.05) for shape in shapes]
    expected = relay.create_executor("debug", mod=mod).evaluate()(*values)
    with tvm.transform.PassContext(opt_level=3):
        module = graph_executor.GraphModule(relay.build(mod, target="llvm -opt-level=0")["default"](tvm.cpu(0)))
    module.set_input(**{p.name_hint: value for p, value in zip(mod["main"].params, values, strict=True)})
    module.run()
    print(f"-- {family}")
    for number, (body, theirs) in enumerate(zip(bodies, expected, strict=True)):
        ours, theirs = module.get_output(number).numpy(), theirs.numpy()
        same = np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        print(f"{ours.dtype!s:8} {ours.shape!s:14} {'as NumPy' if same else 'DIFFERS'}  {body}")
