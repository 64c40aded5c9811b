"""What ONNX Runtime's exporters write for transformers: fused operators of com.microsoft, compared with its kernels."""

import numpy as np
import onnx
import onnxruntime
from tvm import relay

GRAPHS = [
    """fused (float[2, 4] x, float[4, 4] w, float[4] b, float[2, 2, 4] h, float[2, 2, 4] skip,
            float[1, 3, 5, 5] image, float[2, 3, 3, 3] k) => (
        float[a, b] gelu, float[a, b] bias_gelu, float[a, b] fast, float[a, b] quick, float[a, b] gemm,
        float[a, b] scaled, float[n, c, h, w] conv, float[a, b, c] norm, float[a, b, c] rms) {
        gelu = com.microsoft.Gelu (x)
        bias_gelu = com.microsoft.BiasGelu (x, b)
        fast = com.microsoft.FastGelu (x, b)
        quick = com.microsoft.QuickGelu <alpha = 1.5> (x)
        gemm = com.microsoft.FusedGemm <activation = "Relu", alpha = 0.5> (x, w, b)
        scaled = com.microsoft.FusedMatMul <transB = 1, alpha = 0.25> (x, w)
        conv = com.microsoft.FusedConv <activation = "Relu", pads = [1, 1, 1, 1]> (image, k)
        norm = com.microsoft.SkipLayerNormalization (h, skip, b, b)
        rms = com.microsoft.SkipSimplifiedLayerNormalization (h, skip, b)
    }""",
    """attention (float[2, 3, 8] h, float[8, 24] w, float[24] b, float[2, 3, 8] q,
               float[2, 5, 8] k, float[2, 5, 8] v) => (
        float[a, b, c] own, float[a, b, c] causal, float[a, b, c] cross) <int32[2] lengths = {3, 2}> {
        own = com.microsoft.Attention <num_heads = 2> (h, w, b, lengths)
        causal = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (h, w, b)
        cross = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v)
    }""",
    """cached (float[1, 1, 64] q, float[1, 1, 32] k, float[1, 1, 32] v,
            float[1, 2, 4, 16] keys, float[1, 2, 4, 16] values,
            float[8, 8] cos, float[8, 8] sin, float[1, 2, 32] turn) => (
        float[a, b, c] out, float[a, b, c, d] new_keys, float[a, b, c, d] new_values, float[a, b, c] turned)
        <int32[1] last = {4}, int32 total = {5}, int64[1, 2] places = {3, 5}> {
        out, new_keys, new_values = com.microsoft.GroupQueryAttention
            <num_heads = 4, kv_num_heads = 2, do_rotary = 1> (q, k, v, keys, values, last, total, cos, sin)
        turned = com.microsoft.RotaryEmbedding <num_heads = 2> (turn, places, cos, sin)
    }""",
]


def evaluated(model, inputs):
    """The outputs as the interpreter computes them, which runs each operator with NumPy."""
    mod, params = relay.frontend.from_onnx(model, {name: value.shape for name, value in inputs.items()})
    return [item.numpy() for item in relay.create_executor("debug", mod=mod).evaluate()(**inputs, **params)]


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
        same = np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        print(f"    {output.name:12} {ours.dtype!s:8} {ours.shape!s:14} {'as ONNX Runtime' if same else 'differs'}")
