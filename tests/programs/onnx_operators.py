"""Operators of ONNX in its own text format: each graph is interpreted and compared with ONNX's own evaluator."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from tvm import relay

GRAPHS = [
    """activations (float[2, 5] x) => (
        float[a, b] elu, float[a, b] celu, float[a, b] selu, float[a, b] gelu, float[a, b] mish,
        float[a, b] softplus, float[a, b] softsign, float[a, b] leaky, float[a, b] prelu, float[a, b] thresholded,
        float[a, b] hard, float[a, b] swish, float[a, b] clipped, float[a, b] softmax, float[a, b] log_softmax,
        float[a, b] hardmax, float[a, b] shrunk) <float slope = {0.1}, float low = {-0.5}, float high = {0.5}> {
        elu = Elu <alpha = 0.5> (x)
        celu = Celu <alpha = 2.0> (x)
        selu = Selu (x)
        gelu = Gelu <approximate = "tanh"> (x)
        mish = Mish (x)
        softplus = Softplus (x)
        softsign = Softsign (x)
        leaky = LeakyRelu <alpha = 0.2> (x)
        prelu = PRelu (x, slope)
        thresholded = ThresholdedRelu <alpha = 0.3> (x)
        hard = HardSigmoid (x)
        swish = HardSwish (x)
        clipped = Clip (x, low, high)
        softmax = Softmax <axis = 1> (x)
        log_softmax = LogSoftmax <axis = 0> (x)
        hardmax = Hardmax (x)
        shrunk = Shrink <lambd = 0.4, bias = 0.1> (x)
    }""",
    """arithmetic (float[2, 5] x, int64[3] i) => (
        int64[c] remainder, float[a, b] power, int64[c] places, float[a, b] mean, float[a, b] largest,
        float[a, b] total, bool[a, b] infinite, bool[a, b] nan, float[a, b] reciprocal, float[a, b] rounded,
        int32[a, b] whole, float[a, b] like, float[a, b] chosen, bool[a, b] either, float[a, b] sign, float[a, b] wave)
        <int64[3] m = {3, -2, 5}, uint64[3] s = {1, 2, 3}, float square = {2}, float zero = {0}> {
        remainder = Mod (i, m)
        power = Pow (x, square)
        unsigned = Cast <to = 13> (m)
        shifted = BitShift <direction = "LEFT"> (unsigned, s)
        places = Cast <to = 7> (shifted)
        mean = Mean (x, power)
        largest = Max (x, power, zero)
        total = Sum (x, power, x)
        quotient = Div (x, zero)
        infinite = IsInf <detect_negative = 0> (quotient)
        nan = IsNaN (quotient)
        reciprocal = Reciprocal (x)
        rounded = Round (x)
        whole = Cast <to = 6> (x)
        like = CastLike (whole, x)
        positive = Greater (x, zero)
        negative = Not (positive)
        either = Xor (positive, negative)
        chosen = Where (positive, x, zero)
        sign = Sign (x)
        sine = Sin (x)
        inverse = Acosh (square)
        wave = Mul (sine, inverse)
    }""",
    """reductions (float[2, 3, 4] x) => (
        float[a, b] l1, float[a, b] l2, float[a, b] sum_of_squares, float[a, b] log_sum, float[a, b] log_sum_exp,
        float[a, b, c] product, float least, float[a, b] average, int64[a, b] first, int64[a, b, c] last,
        float[a, b, c] running, float[a, b, c] top, int64[a, b, c] where)
        <int64[1] one = {1}, int64 axis = {2}, int64[1] two = {2}> {
        l1 = ReduceL1 <keepdims = 0> (x, one)
        l2 = ReduceL2 <keepdims = 0> (x, one)
        sum_of_squares = ReduceSumSquare <keepdims = 0> (x, one)
        positive = Abs (x)
        log_sum = ReduceLogSum <keepdims = 0> (positive, one)
        log_sum_exp = ReduceLogSumExp <keepdims = 0> (x, one)
        product = ReduceProd (x, one)
        least = ReduceMin <keepdims = 0> (x)
        average = ReduceMean <keepdims = 0> (x, one)
        first = ArgMax <axis = 1, keepdims = 0> (x)
        last = ArgMin <axis = 2, select_last_index = 1> (x)
        running = CumSum <reverse = 1, exclusive = 1> (x, axis)
        top, where = TopK <axis = 2> (x, two)
    }""",
    """normalizations (float[4, 4, 3, 3] x) => (
        float[n, c, h, w] batch, float[n, c, h, w] instance, float[n, c, h, w] group, float[n, c, h, w] layer,
        float[n, c, h, w] local, float[n, c, h, w] unit, float[n, c, h, w] standard, float[n, c] determinants)
        <float[4] scale = {1, 2, 3, 4}, float[4] bias = {0, 1, 0, 1}, float[3] row = {1, 2, 3}> {
        batch = BatchNormalization (x, scale, bias, bias, scale)
        instance = InstanceNormalization (x, scale, bias)
        group = GroupNormalization <num_groups = 2> (x, scale, bias)
        layer = LayerNormalization (x, row, row)
        local = LRN <size = 3> (x)
        unit = LpNormalization <axis = 1, p = 2> (x)
        standard = MeanVarianceNormalization (x)
        determinants = Det (x)
    }""",
    """shapes (float[2, 3, 4] x) => (
        int64[r] shape, int64 size, float[a, b] flat, float[a, b, c] turned, float[a, b] squeezed, float[a, b] first,
        float[a, b, c] rest, float[a, b, c] slice, float[a, b, c, d] wide, float[a, b, c] tiled, float[a, b, c] padded,
        float[a, b, c] mirrored, float[a, b, c] lower, float[a, b] eye, int64[r] numbers, float[a, b] sevens,
        float[n, c, h, w] deep, float[n, c, h, w] shallow, float[a, b, c] cropped)
        <int64[2] pair = {-1, 4}, int64[1] zero = {0}, int64[2] sizes = {1, 2}, int64[2] start = {2, 3},
         int64[2] stop = {-4, 0}, int64[2] axes = {1, 2}, int64[2] steps = {-1, -2}, int64[4] to = {5, 1, 3, 4},
         int64[3] times = {1, 2, 1}, int64[6] pads = {0, 1, 0, 0, 1, 2},
         float[3, 3] square = {1, 2, 3, 4, 5, 6, 7, 8, 9},
         int64 from = {1}, int64 until = {9}, int64 by = {2}, int64[4] image = {1, 6, 2, 2}, int64[2] small = {2, 2}> {
        shape = Shape (x)
        size = Size (x)
        flat = Flatten <axis = 2> (x)
        turned = Transpose <perm = [2, 0, 1]> (x)
        first3, rest = Split <axis = 1> (x, sizes)
        from1 = Unsqueeze (from, zero)
        x1 = Slice (x, zero, from1, zero)
        squeezed = Squeeze (x1, zero)
        first = Reshape (x, pair)
        slice = Slice (x, start, stop, axes, steps)
        wide = Expand (x1, to)
        tiled = Tile (x, times)
        padded = Pad (x, pads)
        mirrored = Pad <mode = "reflect"> (x, pads)
        lower = Trilu <upper = 0> (x)
        eye = EyeLike <k = 1> (square)
        numbers = Range (from, until, by)
        sevens = ConstantOfShape <value = float[1] {7}> (small)
        images = Reshape (x, image)
        twelve = Concat <axis = 1> (images, images)
        deep = SpaceToDepth <blocksize = 2> (twelve)
        shallow = DepthToSpace <blocksize = 2, mode = "CRD"> (twelve)
        cropped = CenterCropPad <axes = [1, 2]> (x, small)
    }""",
    """indices (float[2, 4] x) => (
        float[a, b] rows, float[a, b] elements, float[a] points, float[a, b] scattered, float[a, b] added,
        float[a, b, c] hot, float[a, b] reversed, float[a, b] kept, float[a, b] multiplied)
        <int64[2] two = {1, 0}, int64[2, 2] grid = {0, 1, 1, 0}, int64 depth = {3}, float[2] values = {0, 5},
         int64[2] lengths = {2, 3}, float[2] new = {10, 20}, float[2, 2] four = {1, 2, 3, 4},
         bool[2] mask = {0, 1}> {
        rows = Gather <axis = 0> (x, two)
        elements = GatherElements <axis = 1> (x, grid)
        points = GatherND (x, grid)
        scattered = ScatterND (x, grid, new)
        added = ScatterElements <axis = 0, reduction = "add"> (x, grid, four)
        multiplied = ScatterElements <axis = 1, reduction = "mul"> (x, grid, four)
        hot = OneHot (grid, depth, values)
        reversed = ReverseSequence <batch_axis = 0, time_axis = 1> (x, lengths)
        kept = Compress <axis = 0> (x, mask)
    }""",
]


def evaluated(model, inputs):
    """The outputs as the interpreter computes them, which runs each operator with NumPy."""
    mod, params = relay.frontend.from_onnx(model, {name: value.shape for name, value in inputs.items()})
    return [item.numpy() for item in relay.create_executor("debug", mod=mod).evaluate()(**inputs, **params)]


for text in GRAPHS:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    random = np.random.default_rng(0)
    inputs = {}
    for item in model.graph.input:
        shape = [d.dim_value for d in item.type.tensor_type.shape.dim]
        value = random.normal(size=shape) if item.type.tensor_type.elem_type == 1 else random.integers(1, 9, shape)
        inputs[item.name] = value.astype(onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type))
    print(model.graph.name)
    with np.errstate(divide="ignore"):
        expected = ReferenceEvaluator(model).run(None, inputs)
    for output, ours, theirs in zip(model.graph.output, evaluated(model, inputs), expected, strict=True):
        same = np.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
        print(f"    {output.name:16} {ours.dtype!s:8} {ours.shape!s:14} {'as ONNX says' if same else 'differs'}")
