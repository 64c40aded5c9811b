"""Windows over images in ONNX's text format, interpreted and compared with ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
from tvm import relay

GRAPHS = [
    """convolutions (float[1, 4, 7, 6] x, float[8, 2, 3, 3] w, float[4, 2, 3, 2] t, float[8] b) => (
        float[n, c, h, w] grouped, float[n, c, h, w] dilated, float[n, c, h, w] same, float[n, c, h, w] transposed,
        float[n, c, h, w] twice) {
        grouped = Conv <group = 2, strides = [2, 1], pads = [1, 0, 1, 1]> (x, w, b)
        dilated = Conv <group = 2, dilations = [2, 2]> (x, w)
        same = Conv <group = 2, auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w)
        transposed = ConvTranspose <strides = [2, 2], output_padding = [1, 0], pads = [1, 0, 0, 1]> (x, t)
        twice = ConvTranspose <group = 2, strides = [2, 1]> (x, t)
    }""",
    """pools (float[1, 2, 6, 6] x) => (
        float[n, c, h, w] largest, float[n, c, h, w] rounded_up, float[n, c, h, w] mean, float[n, c, h, w] inside,
        float[n, c, h, w] norm, float[n, c, h, w] all, float[n, c, h, w] most, float[n, c, h, w] length,
        int64[n, c, h, w] places, float[n, c, h, w] back) {
        largest = MaxPool <kernel_shape = [3, 2], strides = [2, 2], dilations = [2, 1]> (x)
        rounded_up = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)
        mean = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x)
        inside = AveragePool <kernel_shape = [3, 3], auto_pad = "SAME_LOWER"> (x)
        norm = LpPool <kernel_shape = [2, 2], p = 2> (x)
        all = GlobalAveragePool (x)
        most = GlobalMaxPool (x)
        length = GlobalLpPool <p = 1> (x)
        pooled, places = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
        back = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (pooled, places)
    }""",
    """sizes (float[1, 2, 4, 3] x) => (
        float[n, c, h, w] nearest, float[n, c, h, w] linear, float[n, c, h, w] cubic, float[n, c, h, w] cropped,
        float[n, c, h, w] columns) <float[4] scales = {1, 1, 2, 1.5}, int64[4] small = {1, 2, 3, 5}, float[0] none = {},
        float[8] box = {0, 0, 0.25, 0.1, 1, 1, 0.75, 0.9}, int64[2] image = {3, 4}, int64[2] block = {2, 2}> {
        nearest = Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">
            (x, none, scales)
        linear = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, none, none, small)
        cubic = Resize <mode = "cubic", cubic_coeff_a = -0.5> (x, none, none, small)
        cropped = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, box, none, small)
        shape = Constant <value_ints = [1, 4, 6]> ()
        blocks = Reshape (x, shape)
        columns = Col2Im (blocks, image, block)
    }""",
    """places (float[1, 2, 5, 4] x, float[1, 3, 3, 2] grid) => (
        float[n, c, h, w] bilinear, float[n, c, h, w] reflected, float[n, c, h, w] bicubic, float[n, c, h, w] regions,
        float[n, c, h, w] averages, float[n, h, w, two] affine)
        <float[1, 2, 3] theta = {1, 0.5, 0, 0, 1, 0.25}, int64[4] size = {1, 1, 2, 3}, int64[2] batch = {0, 0},
         float[2, 4] boxes = {0, 0, 3, 3, 1, 1, 3, 2}, float[2, 5] rois = {0, 0, 0, 3, 3, 0, 1, 1, 3, 2}> {
        bilinear = GridSample <mode = "linear"> (x, grid)
        reflected = GridSample <mode = "nearest", padding_mode = "reflection"> (x, grid)
        bicubic = GridSample <mode = "cubic", padding_mode = "border", align_corners = 1> (x, grid)
        regions = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
        averages = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, boxes, batch)
        affine = AffineGrid (theta, size)
    }""",
]


def evaluated(model, inputs):
    """The outputs as the interpreter computes them, which runs each operator with NumPy."""
    mod, params = relay.frontend.from_onnx(model, {name: value.shape for name, value in inputs.items()})
    return [item.numpy() for item in relay.create_executor("debug", mod=mod).evaluate()(**inputs, **params)]


for text in GRAPHS:
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 20]>\n{text}')
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
