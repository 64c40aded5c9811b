"""Types of calls where extents are symbolic or unknown, and the errors of types that do not go together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.ir.error import TVMError
from compiler.relay.inference import infer_expr

N = te.size_var("n")
Any_ = relay.Any


def _type(expr: Any) -> str:
    return str(infer_expr(expr.astuple() if hasattr(expr, "astuple") else expr))


def _var(*shape: Any, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


_RULES: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda x: relay.add(x, _var(6)), "(n, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.add(x, _var(3, 4, 6)), "(3, 4, 6)", "(3, 4, 6)"),
    (lambda x: relay.multiply(x, _var(te.size_var("m"), 4, 6)), "(?, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.sum(x, 1), "(n, 6)", "(?, 6)"),
    (lambda x: relay.transpose(x), "(6, 4, n)", "(6, 4, ?)"),
    (lambda x: relay.reshape(x, (-1, 24)), "(n, 24)", "(?, 24)"),
    (lambda x: relay.reshape(x, (0, -1)), "(n, 24)", "(?, 24)"),
    (lambda x: relay.reshape(x, (-2,)), "(n, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.reshape(x, (0, -3)), "(n, 24)", "(?, 24)"),
    (lambda x: relay.reshape(x, (0, -4, 2, -1, 6)), "(n, 2, 2, 6)", "(?, 2, 2, 6)"),
    (lambda x: relay.concatenate([x, x], 1), "(n, 8, 6)", "(?, 8, 6)"),
    (lambda x: relay.concatenate([x, x], 0), "(n + n, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.split(x, 2, 1)[0], "(n, 2, 6)", "(?, 2, 6)"),
    (lambda x: relay.strided_slice(x, [0, 1], [1 << 40, 3]), "(n, 2, 6)", "(?, 2, 6)"),
    (lambda x: relay.strided_slice(x, [1], [1 << 40]), "(n - 1, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.take(x, _var(5, dtype="int64"), 1), "(n, 5, 6)", "(?, 5, 6)"),
    (lambda x: relay.expand_dims(x, 0), "(1, n, 4, 6)", "(1, ?, 4, 6)"),
    (lambda x: relay.tile(x, (2, 1, 1)), "(n * 2, 4, 6)", "(?, 4, 6)"),
    (lambda x: relay.stack([x, x], 0), "(2, n, 4, 6)", "(2, ?, 4, 6)"),
    (lambda x: relay.topk(x, 3, ret_type="values"), "(n, 4, 3)", "(?, 4, 3)"),
    (lambda x: relay.einsum([x, x], "bij,bkj->bik"), "(n, 4, 4)", "(?, 4, 4)"),
    (lambda x: relay.cumsum(x), "(n * 4 * 6)", "(?)"),
]


@pytest.mark.parametrize(("make", "symbolic", "unknown"), _RULES)
def test_symbolic_extents_pass_through(make: Callable[[Any], Any], symbolic: str, unknown: str) -> None:
    assert _type(make(_var(N, 4, 6))) == f"Tensor[{symbolic}, float32]"
    assert _type(make(_var(Any_(), 4, 6))) == f"Tensor[{unknown}, float32]"


@pytest.mark.parametrize(
    ("shape", "new", "at"), [((1, "?", 6), (-1, 6), 0), (("?", 2, 6), (2, -1, 6), 1), ((1, "?", 6), (-3, 0), 0)]
)
def test_an_unknown_extent_that_remains_alone_is_the_same_one(
    shape: tuple[Any, ...], new: tuple[int, ...], at: int
) -> None:
    unknown = Any_()
    x = _var(*(unknown if d == "?" else d for d in shape))
    found: Any = infer_expr(relay.reshape(x, new))
    assert found.shape[at] is unknown
    several: Any = infer_expr(relay.reshape(_var(unknown, Any_(), 6), (-1, 6)))
    doubled: Any = infer_expr(relay.reshape(x, (-1,)))
    assert several.shape[0] is not unknown
    assert doubled.shape[0] is not unknown


def test_extents_beside_a_concatenation() -> None:
    """An extent that one input leaves open is static where the one along the axis is not, as in classic TVM."""
    free = _var(relay.Any(), relay.Any())
    assert _type(relay.concatenate([_var(relay.Any(), 3), free], 0)) == "Tensor[(?, 3), float32]"
    assert _type(relay.concatenate([_var(1, 3), _var(1, relay.Any())], 0)) == "Tensor[(2, ?), float32]"


def test_results_whose_size_depends_on_values() -> None:
    x, shape = _var(2, 3), _var(2, dtype="int64")
    assert _type(relay.argwhere(x)) == "Tensor[(?, 2), int32]"
    assert _type(relay.reshape(x, shape)) == "Tensor[(?, ?), float32]"
    assert _type(relay.arange(_var(dtype="int32"), dtype="int32")) == "Tensor[(?), int32]"
    assert _type(relay.topk(x, _var(dtype="int64"), ret_type="indices")) == "Tensor[(2, ?), int32]"
    assert _type(relay.strided_slice(x, shape, shape, axes=[1])) == "Tensor[(2, ?), float32]"


def test_constants_make_static_calls() -> None:
    x, two = _var(2, 3), relay.const(np.array([3, 2], "int64"))
    assert relay.reshape(x, two).op.name == "reshape"
    assert _type(relay.broadcast_to(_var(2), two)) == "Tensor[(3, 2), float32]"
    assert _type(relay.full(relay.const(1.0), two)) == "Tensor[(3, 2), float32]"
    one, zero = relay.const(1), relay.const(0)
    assert _type(relay.one_hot(_var(4, dtype="int32"), one, zero, relay.const(5), 0, "int8")) == "Tensor[(5, 4), int8]"


_ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: relay.add(_var(4, 6), _var(5)), "shapes (4, 6) and (5,) cannot be broadcast: extents 6 and 5 differ"),
    (lambda: relay.add(_var(4), _var(4, dtype="int32")), "the same data type, got float32 and int32; cast one"),
    (lambda: relay.logical_and(_var(4), _var(4)), "both inputs must be of type bool"),
    (lambda: relay.sum(_var(4), 1), "axis must be at least -1 and less than 1, got 1"),
    (lambda: relay.sum(_var(4, 4), [0, -2]), "axis must name each dimension once"),
    (lambda: relay.reshape(_var(2, 3), (4, 2)), "it has 6 elements, the new shape 8"),
    (lambda: relay.reshape(_var(2, 3), (-1, 4)), "6 elements are not a multiple of 4"),
    (lambda: relay.reshape(_var(2, 3), (-1, -1)), "-1 may occur only once"),
    (lambda: relay.reshape(_var(2, 3), (0, 0, 0)), "0 refers to dimension 2, and there are only 2"),
    (lambda: relay.reshape(_var(2, 3), (-4, 2, 2, 3)), "2 is not 2 times 2"),
    (lambda: relay.reshape(_var(2, 3), (-5, 6)), "there is no special value -5"),
    (lambda: relay.transpose(_var(2, 3), (0, 0)), "axes must name each dimension once"),
    (lambda: relay.squeeze(_var(2, 3), [0]), "its extent must be 1: 2 and 1 differ"),
    (lambda: relay.concatenate([_var(2, 3), _var(2, 4)], 0), "extents along axis 1"),
    (lambda: relay.split(_var(5), 2), "5 elements along axis 0 cannot be split into 2 equal parts"),
    (lambda: relay.split(_var(5), (3, 2)), "indices must grow"),
    (lambda: relay.broadcast_to(_var(2), (3,)), "cannot be broadcast"),
    (lambda: relay.take(_var(2), _var(2), 0), "indices must be integers"),
    (lambda: relay.gather_nd(_var(2, 3), _var(3, 1, dtype="int64")), "3 coordinates after 0 batch dimensions"),
    (lambda: relay.topk(_var(2), 3), "k must be at most the extent 2"),
    (lambda: relay.one_hot(_var(2, dtype="int32"), relay.const(1), relay.const(0), 0, 0, "int32"), "depth must be"),
    (lambda: relay.einsum([_var(2, 3), _var(4, 2)], "ij,jk->ik"), "axis 'j' has the extents 3 and 4"),
    (lambda: relay.einsum([_var(2, 3)], "ijk->i"), "does not name the 2 axes"),
    (lambda: relay.reinterpret(_var(2), "int8"), "as many bits"),
    (lambda: relay.layout_transform(_var(1, 2, 3, 4), "NCHW", "NCDHW"), "must have the same dimensions"),
    (lambda: relay.scatter_nd(_var(3, 4), _var(1, 2, dtype="int64"), _var(2, 3)), "updates"),
    (lambda: relay.reverse_sequence(_var(3, 4), _var(2, dtype="int32")), "batch_axis = 3, and seq_length size = 2"),
]


@pytest.mark.parametrize(("make", "message"), _ERRORS)
def test_errors_name_what_differs(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TVMError) as caught:
        _type(make())
    assert message in str(caught.value)


def test_wrong_attributes_are_refused_at_once() -> None:
    x = _var(2, 3)
    for make, message in (
        (lambda: relay.take(x, x, mode="round"), "take: mode must be one of 'clip', 'wrap', 'fast', got 'round'"),
        (lambda: relay.topk(x, ret_type="all"), "ret_type must be"),
        (lambda: relay.scatter_nd(x, x, x, "avg"), "scatter_nd: mode must be one of 'update'"),
        (lambda: relay.cast(x, "float33"), "float33"),
        (lambda: relay.reshape(x, ("a", 2)), "reshape: newshape must be a sequence of extents"),
        (lambda: relay.strided_slice(x, [0], [1], slice_mode="length"), "slice_mode must be"),
        (lambda: relay.op.get("nn.nothing"), "no operator is named 'nn.nothing'"),
    ):
        with pytest.raises(TVMError, match=message.replace("(", r"\(")):
            make()


@pytest.mark.parametrize("name", ["exp", "log", "sigmoid", "tanh"])
def test_functions_of_real_numbers_are_refused_for_integers_when_they_are_computed(name: str) -> None:
    x = _var(4, dtype="int32")
    call = getattr(relay, name)(x)
    assert _type(call) == "Tensor[(4), int32]"
    mod = tvm.IRModule.from_expr(relay.Function([x], call))
    for kind in ("graph", "debug"):
        with pytest.raises(TVMError, match="data must be floating-point, got int32; cast it first"):
            relay.create_executor(kind, mod).evaluate()(np.ones(4, "int32"))


def test_the_default_of_empty_rows_may_be_a_vector_of_unknown_length() -> None:
    unknown = relay.Any()
    coordinates, vector = _var(unknown, unknown, dtype="int64"), _var(unknown, dtype="int64")
    filled = relay.sparse_fill_empty_rows(coordinates, vector, vector, vector)
    assert _type(filled).startswith("(Tensor[(?, ?), int64], Tensor[(?), int64]")


def test_channels_behind_the_last_whole_block_are_left_out() -> None:
    x = _var(1, 5, 2, 2)
    call = relay.nn.depth_to_space(x, 2)
    assert _type(call) == "Tensor[(1, 1, 4, 4), float32]"
    data = np.arange(20, dtype="float32").reshape(1, 5, 2, 2)
    mod = tvm.IRModule.from_expr(relay.Function([x], call))
    expected = data[:, :4].reshape(1, 2, 2, 1, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4)
    for kind in ("graph", "debug"):
        np.testing.assert_array_equal(relay.create_executor(kind, mod).evaluate()(data).numpy(), expected)


_MALFORMED: list[tuple[Callable[[], Any], str]] = [
    (lambda: relay.matrix_set_diag(_var(3, 3), _var(3), k=[]), "matrix_set_diag: k must be one int or two"),
    (lambda: relay.matrix_set_diag(_var(3, 3), _var(3), align=1.5), "matrix_set_diag: align must be such as"),
    (lambda: relay.vision.get_valid_counts(_var(1, 4, 6), []), "score_threshold"),
    (lambda: relay.stft(_var(1, 9), relay.const(3)), "stft: n_fft must be an int"),
    (lambda: relay.take(_var(4), _var(2, dtype="int32"), batch_dims=None), "take: batch_dims must be an int"),
    (lambda: relay.arange(_var(dtype="float32"), []), "arange: start, stop and step must be scalars"),
    (lambda: relay.arange(0, 4, 0), "arange.*: step must not be 0"),
    (lambda: relay.strided_set(_var(4), _var(2), 0, "x"), "strided_set must be an int"),
    (lambda: relay.sparse_to_dense(_var(2, dtype="int32"), [4], [_var(2)]), "sparse_values"),
    (lambda: relay.topk(_var(4), _var(2, 2, dtype="int32")), "k must be a scalar or a vector of one number"),
    (lambda: relay.slice_like(_var(4, 4), _var(2), axes=[1]), "axes must be below the 1 dimensions of shape_like"),
    (lambda: relay.full_like(_var(4), _var(4)), "fill_value"),
    (lambda: relay.image.grid_sample(_var(), _var()), "data must have 2 or 3 spatial dimensions"),
    (lambda: relay.image.resize(_var(1, 1, 4, 4), (2, 2), method={}), "method"),
    (lambda: relay.nn.adaptive_avg_pool2d(_var(1, 2, 0, 4)), "there is nothing to pool"),
    (lambda: relay.vision.yolo_reorg(_var(1, 0, 2, 2)), "data must have channels"),
    (lambda: relay.nn.contrib_conv2d_winograd_weight_transform(_var(3), 4), "weight must have 2 or 3 spatial"),
    (lambda: relay.nn.contrib_dense_strassen(_var(6, 8), _var(8, 2, 4, 4)), "there must be one matrix, and 7 or 49"),
    (lambda: relay.nn.contrib_dense_strassen(_var(2, 6, 8), _var(7, 2, 4, 4)), "there must be one matrix"),
    (lambda: relay.nn.contrib_dense_strassen(_var(6, 9), _var(7, 2, 4, 4)), "the weight's sums: 9 and 8 differ"),
    (lambda: relay.nn.contrib_dense_strassen(_var(6, 16), _var(49, 2, 4, 4)), "rows of data must be a multiple of 4"),
    (lambda: relay.qnn.op.simulated_quantize(_var(4), _var(), _var(), out_dtype="int99"), "got 'int99'"),
    (lambda: relay.qnn.op.simulated_quantize(_var(4, dtype="int8"), _var(), _var()), "data must be real numbers"),
]


@pytest.mark.parametrize(("make", "message"), _MALFORMED)
def test_what_is_wrong_with_a_call_is_said_in_the_words_of_its_operator(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TVMError, match=message):
        _type(make())


def test_whether_channels_have_several_kernels_may_be_unknown() -> None:
    weight = _var(3, 3, 4, Any_())
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI", "groups": 4}
    assert _type(relay.nn.conv2d(_var(1, 5, 5, 4), weight, **layouts)) == "Tensor[(1, 3, 3, ?), float32]"
    assert _type(relay.nn.conv2d(_var(1, 5, 5, 4), weight, channels=8, **layouts)) == "Tensor[(1, 3, 3, 8), float32]"


@pytest.mark.parametrize(
    ("shape", "axis", "dtype"), [((2, 3), None, "int32"), ((65536, 32769), None, "int64"), ((65536, 32769), 1, "int32")]
)
def test_the_place_of_an_element_is_of_a_type_that_holds_it(shape: Any, axis: Any, dtype: str) -> None:
    found = infer_expr(relay.argmax(_var(*shape), axis=axis))
    assert found.dtype == dtype
