"""Products that are padded to whole tiles of tensor cores compute what they computed before."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, topi
from compiler.classic.testing.relay.temp_op_attr import TempOpAttr


def _legalized(op, function, expr, params, target="cuda"):
    def on_target(attrs, inputs, types):
        with tvm.target.Target(target):
            return function(attrs, inputs, types)

    mod = tvm.IRModule.from_expr(relay.Function(params, expr))
    with TempOpAttr(op, "FTVMLegalize", on_target):
        return mod, relay.transform.Legalize()(relay.transform.InferType()(mod))


def _run(mod, *arrays):
    return relay.create_executor("debug", mod=mod).evaluate()(*arrays).numpy()


def _calls(mod, op):
    return [part for part in relay.analysis.post_order(mod["main"]) if getattr(part, "op", None) == op]


_PAD = tvm.ir.Op.get("nn.pad")

DENSE = [  # rows, summands, columns, type, and how many zeros are added to each; counted by hand
    (8, 16, 32, "float16", None),
    (7, 16, 32, "float16", (1, 0, 0)),
    (7, 15, 31, "int8", (1, 1, 1)),
    (40, 16, 8, "float16", (24, 0, 0)),
    (8, 16, 8, "float16", None),  # three quarters of the products would be by zeros
    (8, 15, 8, "int8", (0, 1, 0)),  # no tile of tensor cores, but the dot product of four bytes
    (8, 31, 32, "float32", None),
]


@pytest.mark.parametrize(("rows", "summands", "columns", "dtype", "added"), DENSE)
def test_dense_layers_are_padded_to_whole_tiles(rows, summands, columns, dtype, added):
    x, w = relay.var("x", shape=(rows, summands), dtype=dtype), relay.var("w", shape=(columns, summands), dtype=dtype)
    out = "int32" if dtype == "int8" else ""
    layer = relay.nn.dense(x, w, units=columns, out_dtype=out)
    before, after = _legalized("nn.dense", topi.nn.dense_legalize, layer, [x, w])
    m, k, n = added or (0, 0, 0)
    pads = [((0, a), (0, b)) for a, b in ((m, k), (n, k)) if a or b]
    assert [tuple(map(tuple, call.attrs.pad_width)) for call in _calls(after, _PAD)] == pads
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, t.checked_type.concrete_shape).astype(dtype) for t in after["main"].params]
    np.testing.assert_array_equal(_run(after, *arrays), _run(before, *arrays))


@pytest.mark.parametrize(("a", "b"), [(False, True), (False, False), (True, True), (True, False)])
def test_batches_are_padded_along_the_axes_that_are_rows_and_columns(a, b):
    x = relay.var("x", shape=(2, 15, 7) if a else (2, 7, 15), dtype="float16")
    w = relay.var("w", shape=(2, 31, 15) if b else (2, 15, 31), dtype="float16")
    product = relay.nn.batch_matmul(x, w, transpose_a=a, transpose_b=b)
    before, after = _legalized("nn.batch_matmul", topi.nn.batch_matmul_legalize, product, [x, w])
    assert len(_calls(after, _PAD)) == 2
    arrays = [np.random.default_rng(1).integers(-2, 3, v.type_annotation.shape).astype("float16") for v in (x, w)]
    np.testing.assert_array_equal(_run(after, *arrays), _run(before, *arrays))


CONVS = [  # data layout, weight layout, images, channels, outputs, type, and the zeros added to these
    ("NHWC", "HWIO", 7, 16, 32, "float16", (1, 0, 0)),
    ("NHWC", "HWIO", 8, 13, 63, "int8", (0, 3, 1)),
    ("HWNC", "HWOI", 8, 16, 33, "int8", (0, 0, 31)),
    ("NCHW", "OIHW", 2, 3, 5, "int8", (0, 1, 3)),
    ("NCHW", "OIHW", 2, 3, 5, "float16", None),
]


@pytest.mark.parametrize(("layout", "weights", "images", "channels", "outputs", "dtype", "added"), CONVS)
def test_convolutions_are_padded_to_whole_tiles(layout, weights, images, channels, outputs, dtype, added):
    extents = {"N": images, "C": channels, "H": 3, "W": 4, "I": channels, "O": outputs}
    shape = tuple(extents[axis] for axis in layout)
    kernel = tuple(2 if axis in "HW" else extents[axis] for axis in weights)
    x, w = relay.var("x", shape=shape, dtype=dtype), relay.var("w", shape=kernel, dtype=dtype)
    conv = relay.nn.conv2d(x, w, channels=outputs, kernel_size=(2, 2), data_layout=layout, kernel_layout=weights)
    before, after = _legalized("nn.conv2d", topi.nn.conv2d_legalize, conv, [x, w])
    (made,) = _calls(after, conv.op)
    data, weight = (arg.checked_type.concrete_shape for arg in made.args)
    n, c, o = added or (0, 0, 0)
    assert (data[layout.index("N")], data[layout.index("C")]) == (images + n, channels + c)
    assert (weight[weights.index("I")], weight[weights.index("O")]) == (channels + c, outputs + o)
    arrays = [np.random.default_rng(2).integers(-1, 2, s).astype(dtype) for s in (shape, kernel)]
    np.testing.assert_array_equal(_run(after, *arrays), _run(before, *arrays))


def test_other_targets_keep_their_products():
    x, w = relay.var("x", shape=(7, 15), dtype="float16"), relay.var("w", shape=(31, 15), dtype="float16")
    layer = relay.nn.dense(x, w)
    before, after = _legalized("nn.dense", topi.nn.dense_legalize, layer, [x, w], "llvm")
    assert tvm.ir.structural_equal(after, relay.transform.InferType()(before))


@pytest.mark.parametrize(("layout", "weights"), [("NHWC", "HWIO"), ("NHWC", "IOHW"), ("NCHW", "OIHW")])
def test_transposed_convolutions_take_the_plain_layouts(layout, weights):
    extents = {"N": 1, "C": 3, "H": 4, "W": 5, "I": 3, "O": 2}
    x = relay.var("x", shape=tuple(extents[axis] for axis in layout))
    w = relay.var("w", shape=tuple(2 if axis in "HW" else extents[axis] for axis in weights))
    conv = relay.nn.conv2d_transpose(
        x, w, channels=2, kernel_size=(2, 2), data_layout=layout, kernel_layout=weights, out_dtype="float32"
    )
    before, after = _legalized("nn.conv2d_transpose", topi.nn.conv2d_transpose_legalize, conv, [x, w])
    (made,) = _calls(after, conv.op)
    assert (made.attrs.data_layout, made.attrs.kernel_layout) == ("NCHW", "IOHW")
    arrays = [np.random.default_rng(3).normal(size=v.type_annotation.shape).astype("float32") for v in (x, w)]
    np.testing.assert_allclose(_run(after, *arrays), _run(before, *arrays), rtol=1e-5, atol=1e-5)
