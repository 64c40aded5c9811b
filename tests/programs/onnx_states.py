"""Recurrent layers, sequences, branches and loops of ONNX on the virtual machine, compared with ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import tvm
from tvm import relay
from tvm.runtime import vm

GRAPHS = [
    """recurrent (float[3, 2, 4] x, float[1, 5, 4] w, float[1, 5, 5] r, float[2, 15, 4] gw, float[2, 15, 5] gr,
               float[1, 20, 4] lw, float[1, 20, 5] lr, float[1, 40] lb, float[1, 15] peepholes) => (
        float[a, b, c, d] rnn, float[a, b, c, d] gru, float[a, b, c, d] lstm, float[a, b, c] cell)
        <int32[2] lengths = {3, 2}> {
        rnn = RNN <hidden_size = 5, activations = ["Relu"]> (x, w, r)
        gru = GRU <hidden_size = 5, direction = "bidirectional", linear_before_reset = 1> (x, gw, gr)
        lstm, last, cell = LSTM <hidden_size = 5> (x, lw, lr, lb, lengths, , , peepholes)
    }""",
    """sequences (float[2, 3] x, float[2, 3] y) => (float[a, b] joined, int64 length, float[a, b] stacked) {
        one = Constant <value_int = 1> ()
        all = SequenceConstruct (x, y, x)
        more = SequenceInsert (all, y, one)
        fewer = SequenceErase (more, one)
        joined = ConcatFromSequence <axis = 0> (fewer)
        length = SequenceLength (more)
        parts = SplitToSequence <axis = 1> (y)
        part = SequenceAt (parts, one)
        stacked = Concat <axis = 1> (x, part)
    }""",
    """branches (float[2, 3] x) => (float[2, 3] y) {
        sum = ReduceSum <keepdims = 0> (x)
        zero = Constant <value_float = 0.0> ()
        positive = Greater (sum, zero)
        y = If (positive) <
            then_branch = larger () => (float[2, 3] a) { a = Add (x, x) },
            else_branch = smaller () => (float[2, 3] b) { b = Neg (x) }
        >
    }""",
    """loops (float[2, 3] x, float[3] start) => (
        float[2, 3] doubled, float[n, 2, 3] steps, float[3] total, float[2, 3] running) {
        turns = Constant <value_int = 3> ()
        going = Cast <to = 9> (turns)
        doubled, steps = Loop (turns, going, x) <
            body = turn (int64 i, bool again, float[2, 3] v) => (bool go_on, float[2, 3] twice, float[2, 3] seen) {
                go_on = Identity (again)
                twice = Add (v, v)
                seen = Identity (v)
            }
        >
        total, running = Scan (start, x) <
            num_scan_inputs = 1,
            body = add (float[3] sum, float[3] row) => (float[3] next, float[3] out) {
                next = Add (sum, row)
                out = Identity (next)
            }
        >
    }""",
    """unknown (float[2, 3] x) => (
        int64[r, n] where, float[a] positive, float[a] unique, int64[a] counts, float[a, b] kept) {
        zero = Constant <value_float = 0.0> ()
        mask = Greater (x, zero)
        where = NonZero (mask)
        minus = Constant <value_ints = [-1]> ()
        flat = Reshape (x, minus)
        bits = Reshape (mask, minus)
        positive = Compress <axis = 0> (flat, bits)
        whole = Round (flat)
        unique, first, inverse, counts = Unique (whole)
        shape = Constant <value_ints = [2, 1]> ()
        kept = Expand (positive, shape)
    }""",
]


def evaluated(model, inputs):
    """The outputs of the model's program for the virtual machine."""
    mod, params = relay.frontend.from_onnx(model, {name: value.shape for name, value in inputs.items()})
    with tvm.transform.PassContext(opt_level=3):
        machine = vm.VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu(0))
    result = machine.run(**inputs)
    return [item.numpy() for item in ([result] if isinstance(result, tvm.nd.NDArray) else result)]


for text in GRAPHS:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{text}')
    random = np.random.default_rng(0)
    inputs = {}
    for item in model.graph.input:
        shape = [d.dim_value for d in item.type.tensor_type.shape.dim]
        inputs[item.name] = random.normal(size=shape).astype("float32")
    print(model.graph.name)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    for output, ours, theirs in zip(model.graph.output, evaluated(model, inputs), expected, strict=True):
        same = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        print(f"    {output.name:12} {ours.dtype!s:8} {ours.shape!s:14} {'as ONNX Runtime' if same else 'differs'}")
