"""The functions of ``topi.nn``, compiled and compared with the NumPy references of ``topi.testing``."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.classic.testing import topi as reference
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Div, Mul

RNG = np.random.default_rng(0)


def data(*shape, dtype="float32"):
    if dtype.startswith(("int", "uint")):
        return RNG.integers(0, 4, shape).astype(dtype)
    return RNG.uniform(-1, 1, shape).astype(dtype)


def run(define, *arrays):
    """Return what a definition computes of arrays, with the schedule of any group."""
    inputs = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(arrays)]
    made = define(*inputs)
    outputs = [made] if isinstance(made, te.Tensor) else list(made)
    built = tvm.build(topi.generic.schedule_extern(outputs), [*inputs, *outputs], "llvm")
    results = [tvm.nd.array(np.zeros([int(e) for e in t.shape], t.dtype)) for t in outputs]
    built(*[tvm.nd.array(a) for a in arrays], *results)
    values = [r.numpy() for r in results]
    return values[0] if isinstance(made, te.Tensor) else values


def check(define, expected, *arrays):
    np.testing.assert_allclose(run(define, *arrays), expected(*arrays), rtol=1e-4, atol=1e-4)


@pytest.mark.sample(3)
@pytest.mark.parametrize("padding", [0, 1, (1, 2), "SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_over_one_dimension(stride, padding):
    check(
        lambda x, w: topi.nn.conv1d_ncw(x, w, stride, padding, 2),
        lambda x, w: reference.conv1d_ncw_python(x, w, stride, padding, 2),
        data(2, 4, 11),
        data(6, 4, 3),
    )
    check(
        lambda x, w: topi.nn.group_conv1d_nwc(x, w, stride, padding, 1, 2),
        lambda x, w: reference.group_conv1d_ncw_python(
            x.transpose(0, 2, 1), w.transpose(2, 1, 0), stride, padding, 1, 2
        ).transpose(0, 2, 1),
        data(2, 11, 4),
        data(3, 2, 6),
    )


@pytest.mark.parametrize("padding", [0, (1, 2), (1, 0, 2, 1), "SAME", "VALID"])
def test_convolutions_over_two_dimensions(padding):
    x, w = data(2, 4, 9, 8), data(6, 4, 3, 3)
    check(
        lambda x, w: topi.nn.conv2d_nchw(x, w, (2, 1), padding, 1),
        lambda x, w: reference.conv2d_nchw_python(x, w, (2, 1), padding),
        x,
        w,
    )
    check(
        lambda x, w: topi.nn.conv2d_hwcn(x, w, 1, padding, 1),
        lambda x, w: reference.conv2d_hwcn_python(x, w, 1, padding),
        x.transpose(2, 3, 1, 0),
        w.transpose(2, 3, 1, 0),
    )
    check(
        lambda x, w: topi.nn.group_conv2d_nhwc(x, w, 1, padding, 1, 2),
        lambda x, w: reference.conv2d_nhwc_python(x, w, 1, padding, groups=2),
        x.transpose(0, 2, 3, 1),
        data(3, 3, 2, 6),
    )


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolutions(multiplier):
    x, w = data(2, 4, 7, 8), data(4, multiplier, 3, 3)
    check(
        lambda x, w: topi.nn.depthwise_conv2d_nchw(x, w, 1, "SAME", 1),
        lambda x, w: reference.depthwise_conv2d_python_nchw(x, w, 1, "SAME"),
        x,
        w,
    )
    check(
        lambda x, w: topi.nn.depthwise_conv2d_nhwc(x, w, 2, "VALID", 1),
        lambda x, w: reference.depthwise_conv2d_python_nhwc(x, w, 2, "VALID"),
        x.transpose(0, 2, 3, 1),
        w.transpose(2, 3, 0, 1),
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2, 3])
def test_the_gradients_of_a_depthwise_convolution_are_its_transpose(stride, padding):
    """The products of gradient and convolution, of weight and its gradient, and of data and its gradient agree."""
    out = (8 + 2 * padding - 3) // stride + 1
    x, w, g = data(1, 8, 8, 3), data(3, 3, 3, 2), data(1, out, out, 6)
    y = run(lambda x, w: topi.nn.depthwise_conv2d_nhwc(x, w, stride, padding, 1), x, w)
    pads = [padding, padding]
    dx = run(
        lambda w, g: topi.nn.depthwise_conv2d_backward_input_nhwc(w, g, g.shape, x.shape, [stride, stride], pads), w, g
    )
    dw = run(
        lambda x, g: topi.nn.depthwise_conv2d_backward_weight_nhwc(x, g, g.shape, w.shape, [stride, stride], pads), x, g
    )
    np.testing.assert_allclose([(x * dx).sum(), (w * dw).sum()], (y * g).sum(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("rank", "groups"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_transposed_convolutions(rank, groups):
    name = {1: "conv1d_transpose_ncw", 2: "conv2d_transpose_nchw", 3: "conv3d_transpose_ncdhw"}[rank]
    define = getattr(topi.nn, name if groups == 1 else f"group_{name}")
    expected = getattr(reference, f"{'group_' * (rank == 1 and groups > 1)}{name}_python")
    steps, pads, more = (2,) * rank, (1,) * rank, (1,) * rank
    last = () if groups == 1 else (groups,)
    scalar = rank == 1
    check(
        lambda x, w: define(x, w, 2 if scalar else steps, 1 if scalar else pads, "float32", more, *last),
        lambda x, w: expected(x, w, 2 if scalar else steps, 1 if scalar else pads, more, *last),
        data(2, 4, *(5,) * rank),
        data(4, 3, *(3,) * rank),
    )


def test_channels_in_blocks():
    x, w = data(1, 8, 6, 6), data(16, 8, 3, 3)
    blocks = x.reshape(1, 2, 4, 6, 6).transpose(0, 1, 3, 4, 2)
    kernels = w.reshape(2, 8, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    define = lambda x, w: topi.nn.unpack_NCHWc_to_nchw(  # noqa: E731
        topi.nn.conv2d_NCHWc(x, w, 1, 1, 1, "NCHW4c", "NCHW8c"), "float32"
    )
    result = run(define, np.ascontiguousarray(blocks), np.ascontiguousarray(kernels))
    np.testing.assert_allclose(result, reference.conv2d_nchw_python(x, w, 1, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transformed", [False, True])
def test_winograd(transformed):
    x, w = data(1, 4, 8, 8), data(6, 4, 3, 3)
    expected = reference.conv2d_nchw_python(x, w, 1, 1)
    if transformed:
        ready = run(lambda w: topi.nn.conv2d_winograd_weight_transform(w, 4), w)
        nchw = run(
            lambda x, w: topi.nn.conv2d_winograd_nchw_without_weight_transform(x, w, 1, 1, 1, None),
            x,
            np.ascontiguousarray(ready.swapaxes(2, 3)),
        )
        nhwc = run(
            lambda x, w: topi.nn.conv2d_winograd_nhwc_without_weight_transform(x, w, 1, 1, 1, None),
            np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
            ready,
        )
    else:
        nchw = run(lambda x, w: topi.nn.conv2d_winograd_nchw(x, w, 1, 1, 1, None), x, w)
        nhwc = run(
            lambda x, w: topi.nn.conv2d_winograd_nhwc(x, w, 1, "SAME", 1, None),
            np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
            np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
        )
    np.testing.assert_allclose(nchw, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(nhwc.transpose(0, 3, 1, 2), expected, rtol=1e-3, atol=1e-3)


def test_winograd_moves_by_one():
    x, w = te.placeholder((1, 4, 8, 8)), te.placeholder((6, 4, 3, 3))
    with pytest.raises(ArgumentError, match="strides must be 1, got 2"):
        topi.nn.conv2d_winograd_nchw(x, w, 2, 1, 1, "float32")


def test_deformable_convolutions():
    x, offset, w = data(1, 4, 6, 6), data(1, 36, 6, 6), data(5, 4, 3, 3)
    check(
        lambda x, o, w: topi.nn.deformable_conv2d_nchw(x, o, w, 1, 1, 1, 2, 1, "float32"),
        lambda x, o, w: reference.deformable_conv2d_nchw_python(x, o, w, 1, 1, 1, 2, 1),
        x,
        offset,
        w,
    )


def test_correlation():
    check(
        lambda a, b: topi.nn.correlation_nchw(a, b, 3, 3, 1, 2, 2, False),
        lambda a, b: reference.correlation_nchw_python(a, b, 3, 3, 1, 2, 2, False),
        data(1, 3, 10, 10),
        data(1, 3, 10, 10),
    )


def test_products_of_signs():
    a, b = data(4, 64), data(5, 64)
    result = run(lambda a, b: topi.nn.binary_dense(topi.nn.binarize_pack(a), topi.nn.binarize_pack(b)), a, b)
    np.testing.assert_array_equal(result, np.where(a >= 0, 1, -1) @ np.where(b >= 0, 1, -1).T)


@pytest.mark.parametrize("unipolar", [False, True])
def test_products_bit_by_bit(unipolar):
    a, b = data(4, 64, dtype="uint32"), data(5, 64, dtype="uint32") & 1
    weight = 2 * b.astype("int32") - 1 if unipolar else b.astype("int32")
    result = run(lambda a, b: topi.nn.bitserial_dense(a, b, 2, 1, "uint32", "int16", unipolar), a, b)
    np.testing.assert_array_equal(result, a.astype("int32") @ weight.T)


def test_normalisations():
    x, vector = data(3, 4, 5, 6), data(4)
    plane = data(5, 6)
    check(
        lambda x, g, b: topi.nn.layer_norm(x, g, b, [2, 3]),
        lambda x, g, b: reference.layer_norm_python(x, g, b, (2, 3)),
        x,
        plane,
        plane,
    )
    check(
        lambda x, g, b: topi.nn.group_norm(x, g, b, 2, 1, [2, 3]),
        lambda x, g, b: reference.group_norm_python(x, g, b, 2, 1, [2, 3]),
        x,
        vector,
        vector,
    )
    check(lambda x, g: topi.nn.rms_norm(x, g, [2, 3]), lambda x, g: reference.rms_norm_python(x, g, (2, 3)), x, plane)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("layout", ["IFGO", "IOFG"])
def test_long_short_term_memory(layout, reverse):
    arrays = [data(4, 2, 3), data(20, 3), data(20, 4), data(20), data(20), data(2, 4), data(2, 5), data(4, 5)]
    arrays += [data(2, 5) for _ in range(3)]
    results = run(lambda *t: topi.nn.lstm(*t, reverse=reverse, weight_layout=layout), *arrays)
    expected = reference.lstm_python(*arrays, reverse=reverse, weight_layout=layout)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-5)


def test_sparse_products():
    begins, columns = np.array([0, 2, 3, 5], "int32"), np.array([0, 3, 1, 0, 2], "int32")
    values, x = data(5), data(2, 4)
    dense = np.zeros((3, 4), "float32")
    for row in range(3):
        for e in range(begins[row], begins[row + 1]):
            dense[row, columns[e]] = values[e]
    check(topi.nn.sparse_dense_sp_rhs, lambda x, *_: x @ dense.T, x, values, columns, begins)
    check(topi.nn.sparse_dense_sp_lhs, lambda v, c, b, x: dense @ x.T, values, columns, begins, x)
    images = data(1, 3, 3, 4)
    check(
        lambda *t: topi.nn.sparse_conv2d(*t, "NCHW"),
        lambda x, *_: np.einsum("nchw,oc->nohw", x, dense),
        np.ascontiguousarray(images.transpose(0, 3, 1, 2)),
        values,
        columns,
        begins,
    )


@pytest.mark.parametrize("mode", ["SYMMETRIC", "REFLECT"])
def test_mirrored_ends(mode):
    check(
        lambda x: topi.nn.mirror_pad(x, (0, 1, 2), (1, 2, 0), mode),
        lambda x: np.pad(x, ((0, 1), (1, 2), (2, 0)), mode.lower()),
        data(2, 5, 4),
    )


def test_pixels_and_channels():
    x = data(1, 8, 3, 3)
    check(lambda x: topi.nn.depth_to_space(x, 2), lambda x: reference.depth_to_space_python(x, 2), x)
    check(lambda x: topi.nn.fast_softmax(x, 1), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True), x)
    check(lambda x: topi.nn.upsampling(x, 2, 3), lambda x: x.repeat(2, 2).repeat(3, 3), x)


@pytest.mark.parametrize(("dtype", "operation"), [("float16", Div), ("float32", Mul), ("float64", Mul)])
def test_a_softmax_divides_once_in_a_row_where_the_inverse_keeps_the_digits(dtype, operation):
    assert isinstance(topi.nn.softmax(te.placeholder((2, 8), dtype)).op.body[0], operation)


def test_padding_of_arguments():
    from compiler.topi.nn.padding import get_pad_tuple, get_pad_tuple1d, get_pad_tuple3d, get_pad_tuple_generic

    assert get_pad_tuple("SAME", (3, 4)) == (1, 2, 1, 1)
    assert get_pad_tuple1d((1, 2), (3,)) == (1, 2)
    assert get_pad_tuple3d(1, (3, 3, 3)) == (1,) * 6
    assert get_pad_tuple_generic((1, 2, 3, 4), (3, 3)) == ((1, 2), (3, 4))
    with pytest.raises(ValueError, match="Size of padding can only be 2 or 4"):
        get_pad_tuple((1, 2, 3), (3, 3))
    with pytest.raises(ValueError, match="padding must be"):
        get_pad_tuple("FULL", (3, 3))


def test_definitions_and_schedules_of_cpus():
    x, w = data(1, 4, 8, 8), data(6, 4, 3, 3)
    inputs = [te.placeholder(a.shape, name=n) for n, a in (("x", x), ("w", w))]
    result = topi.x86.conv2d_nchw(*inputs, 1, 1, 1, "float32")
    built = tvm.build(topi.x86.schedule_conv2d_nchw([result]), [*inputs, result], "llvm")
    out = tvm.nd.array(np.zeros((1, 6, 8, 8), "float32"))
    built(tvm.nd.array(x), tvm.nd.array(w), out)
    np.testing.assert_allclose(out.numpy(), reference.conv2d_nchw_python(x, w, 1, 1), rtol=1e-4, atol=1e-4)
    signs = topi.x86.binarize_pack(te.placeholder((4, 64)))
    assert topi.x86.schedule_binarize_pack([signs]).outputs[0] == signs.op


def test_convolutions_whose_weights_have_groups_of_channels():
    x, w = data(1, 2, 5, 5, 8, dtype="uint8"), data(3, 2, 3, 3, 2, 4, 4, dtype="int8")

    def expected(x, w):
        images = x.transpose(0, 1, 4, 2, 3).reshape(1, 16, 5, 5).astype("int32")
        weights = w.transpose(0, 5, 1, 4, 6, 2, 3).reshape(12, 16, 3, 3).astype("int32")
        return reference.conv2d_nchw_python(images, weights, 1, 1).reshape(1, 3, 4, 5, 5).transpose(0, 1, 3, 4, 2)

    def define(x, w):
        return topi.nn.conv2d_NCHWc_int8(x, w, 1, 1, 1, "NCHW8c", "NCHW4c", "int32")

    check(define, expected, x, w)
    with pytest.raises(ArgumentError, match="must be n_elems, 8, got 4"):
        topi.nn.conv2d_NCHWc_int8(*map(te.placeholder, (x.shape, w.shape)), 1, 1, 1, "NCHW8c", "NCHW4c", "int32", 8)


@pytest.mark.parametrize("library", ["cblas", "dynamic", "mkl", "nopack", "pack"])
def test_dense_layers_under_the_names_of_libraries(library):
    a, b = te.placeholder((3, 8), name="a"), te.placeholder((16, 8), name="b")
    with tvm.target.Target("llvm"):
        c = getattr(topi.x86, f"dense_{library}")(a, b)
        built = tvm.build(getattr(topi.x86, f"schedule_dense_{library}")([c]), [a, b, c])
    x, y = data(3, 8), data(16, 8)
    out = tvm.nd.array(np.zeros((3, 16), "float32"))
    built(tvm.nd.array(x), tvm.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x @ y.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("define", [topi.nn.conv2d_nchw, topi.nn.depthwise_conv2d_nchw])
def test_a_schedule_of_ones_own_finds_the_sums_in_the_result(define):
    """Without a target, whose schedules want rows in full vectors, a convolution is one stage after its padding."""
    x, w = data(1, 4, 7, 7), data(4, 1 if define is topi.nn.depthwise_conv2d_nchw else 4, 3, 3)
    X, W = (te.placeholder(a.shape, name=n) for n, a in (("X", x), ("W", w)))
    sums = define(X, W, 1, 1, 1)
    s = te.create_schedule(sums.op)
    s[s[sums].op.input_tensors[0]].compute_inline()
    local = s.cache_write(sums, "local")
    s[local].compute_at(s[sums], s[sums].op.axis[1])
    s[local].reorder(*s[local].op.reduce_axis, *s[local].op.axis)
    out = tvm.nd.array(np.zeros((1, 4, 7, 7), "float32"))
    tvm.build(s, [X, W, sums], "llvm")(tvm.nd.array(x), tvm.nd.array(w), out)
    if define is topi.nn.conv2d_nchw:
        expected = reference.conv2d_nchw_python(x, w, 1, 1)
    else:
        expected = reference.depthwise_conv2d_python_nchw(x, w, 1, "SAME")
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise_convolution_takes_the_data_type_where_older_releases_had_it(multiplier):
    def defined(x, w):
        return topi.nn.depthwise_conv2d_nhwc(x, w, (1, 1), 1, (1, 1), "float32")

    def expected(x, w):
        x, w = np.pad(x.transpose(0, 3, 1, 2), ((0, 0), (0, 0), (1, 1), (1, 1))), w.transpose(2, 3, 0, 1)
        return reference.depthwise_conv2d_python_nchw(x, w, 1, "VALID").transpose(0, 2, 3, 1)

    check(defined, expected, data(1, 5, 5, 4), data(3, 3, 4, multiplier))


def test_prelu_needs_a_slope_for_each_place():
    x = te.placeholder((1, 3, 2, 2))
    with pytest.raises(ArgumentError, match="one slope for each of the 3 places along axis 1"):
        topi.nn.prelu(x, te.placeholder((2,)), 1)
    with pytest.raises(ArgumentError, match="one slope"):
        topi.nn.prelu(x, te.placeholder((3, 1)), 1)


def test_the_kernel_of_one_dimension_is_a_number_or_a_tuple():
    assert topi.nn.utils.get_pad_tuple1d("SAME", 4) == topi.nn.utils.get_pad_tuple1d("SAME", (4,)) == (2, 1)
