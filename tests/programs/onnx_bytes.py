"""Quantised operators of ONNX and of com.microsoft: products of bytes, compared with ONNX Runtime's kernels."""

import numpy as np
import onnx
import onnxruntime
import tvm
from tvm import relay
from tvm.contrib import graph_executor

GRAPHS = [
    """standard (float[2, 8] x, float[1, 4, 5, 5] image) => (
        uint8[a, b] quantized, float[a, b] real, float[a, b] dynamic, int32[a, b] integers, uint8[a, b] product,
        uint8[n, c, h, w] convolution, int32[n, c, h, w] sums)
        <float scale = {0.05}, uint8 zero = {128}, int8[8, 2] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, 8, 7, 6, 5, 4, 3, 2},
         float wide = {0.2}, int8 origin = {0}, int8[2, 4, 1, 1] kernel = {1, 2, -3, 4, 9, -7, 5, 3},
         uint8[2, 4, 1, 1] bytes = {1, 2, 3, 4, 9, 7, 5, 3}> {
        quantized = QuantizeLinear (x, scale, zero)
        real = DequantizeLinear (quantized, scale, zero)
        own, own_scale, own_zero = DynamicQuantizeLinear (x)
        dynamic = DequantizeLinear (own, own_scale, own_zero)
        integers = MatMulInteger (quantized, w, zero, origin)
        product = QLinearMatMul (quantized, scale, zero, w, scale, origin, wide, zero)
        pixels = QuantizeLinear (image, scale, zero)
        convolution = QLinearConv (pixels, scale, zero, kernel, scale, origin, wide, zero)
        sums = ConvInteger <pads = [1, 0, 0, 1]> (pixels, bytes, zero, zero)
    }""",
    """microsoft (float[2, 4] x) => (
        uint8[a, b] sum, uint8[a, b] product, uint8[a, b] sigmoid, uint8[a, b] leaky, uint8[a, b] softmax,
        uint8[a, b] joined, uint8[a, b] gemm, float[a, b] to_float, float[a, b] on_the_fly)
        <float s = {0.05}, uint8 z = {128}, float half = {0.01}, uint8 low = {0}, int8 origin = {0},
         int8[4, 3] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, 8, 7, 6}> {
        q = QuantizeLinear (x, s, z)
        sum = com.microsoft.QLinearAdd (q, s, z, q, s, z, s, z)
        product = com.microsoft.QLinearMul (q, s, z, q, s, z, s, z)
        sigmoid = com.microsoft.QLinearSigmoid (q, s, z, half, low)
        leaky = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (q, s, z, s, z)
        softmax = com.microsoft.QLinearSoftmax <axis = 1, opset = 13> (q, s, z, half, low)
        joined = com.microsoft.QLinearConcat <axis = 1> (s, z, q, s, z, sum, s, z)
        gemm = com.microsoft.QGemm (q, s, z, w, s, origin, , s, z)
        to_float = com.microsoft.MatMulIntegerToFloat (q, w, s, s, z, origin)
        on_the_fly = com.microsoft.DynamicQuantizeMatMul (x, w, s, origin)
    }""",
]


def evaluated(model, inputs):
    """The outputs of the model's machine code."""
    mod, params = relay.frontend.from_onnx(
        model, {name: value.shape for name, value in inputs.items()}, freeze_params=True
    )
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(**inputs)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


for text in GRAPHS:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n{text}')
    random = np.random.default_rng(0)
    inputs = {}
    for item in model.graph.input:
        shape = [d.dim_value for d in item.type.tensor_type.shape.dim]
        inputs[item.name] = random.normal(size=shape).astype("float32")
    print(model.graph.name)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    for output, ours, theirs in zip(model.graph.output, evaluated(model, inputs), expected, strict=True):
        off = np.abs(ours.astype("float64") - theirs).max()
        verdict = "as ONNX Runtime" if off < 1e-4 else f"off by {off:.3f}"
        print(f"    {output.name:12} {ours.dtype!s:8} {ours.shape!s:14} {verdict}")
