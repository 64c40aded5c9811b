"""The public functions have the names and parameters of classic TVM 0.19, as it prints them."""

from __future__ import annotations

import inspect

import pytest

from compiler import relay

SIGNATURES = {
    "data": (
        "abs acos acosh asin asinh atan atanh bitwise_not ceil copy cos cosh erf exp floor "
        "invert_permutation isfinite isinf isnan log log10 log2 logical_not negative ones_like round "
        "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zeros_like"
    ),
    "lhs, rhs": (
        "add bitwise_and bitwise_or bitwise_xor divide equal floor_divide floor_mod greater "
        "greater_equal left_shift less less_equal logical_and logical_or logical_xor maximum minimum mod "
        "multiply not_equal power right_shift subtract trunc_divide trunc_mod"
    ),
    "inputs": "adv_index",
    "data, axis=None, keepdims=False, exclude=False": "all any max mean mean_std min prod sum",
    'start, stop=None, step=None, dtype="float32"': "arange",
    "data, axis=None, keepdims=False, exclude=False, select_last_index=False": "argmax argmin",
    'data, axis=-1, is_ascend=True, dtype="int32"': "argsort",
    "condition": "argwhere",
    "data, shape": "broadcast_to collapse_sum_to",
    "data, broadcast_type": "broadcast_to_like",
    "data, dtype": "cast reinterpret",
    "data, dtype_like": "cast_like",
    "a, a_min, a_max": "clip",
    "data, collapse_type": "collapse_sum_like",
    "data, axis": "concatenate reverse stack",
    "data, axis=None, dtype=None, exclusive=None": "cumprod cumsum",
    "data, equation": "einsum",
    "data, axis, num_newaxis=1": "expand_dims",
    "data, multiplier, shift": "fixed_point_multiply",
    'fill_value, shape=(), dtype=""': "full",
    "data, fill_value": "full_like",
    "data, axis, indices": "gather",
    "data, indices, batch_dims=0, index_rank=None": "gather_nd",
    "data, src_layout, dst_layout": "layout_transform",
    "data, axis=None, keepdims=False": "logsumexp",
    'data, diagonal, k=0, align="RIGHT_LEFT"': "matrix_set_diag",
    "data, axis=None, keepdims=False, exclude=False, unbiased=False": "mean_variance std",
    'data, indexing="ij"': "meshgrid",
    'data, dtype="int32"': "ndarray_size shape_of",
    "indices, on_value, off_value, depth, axis, dtype": "one_hot",
    "shape, dtype": "ones zeros",
    "data, repeats, axis": "repeat",
    "data, newshape, allowzero=False": "reshape",
    "data, shape_like, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None": "reshape_like",
    "data, seq_lengths, seq_axis=1, batch_axis=0": "reverse_sequence",
    'data, indices, updates, axis=0, reduction="update"': "scatter_elements",
    'data, indices, updates, mode="update"': "scatter_nd",
    'sorted_sequence, values, right=False, dtype="int32"': "searchsorted",
    "data, segment_ids, num_segments=None": "segment_sum",
    "data, valid_length, mask_value=0, axis=0": "sequence_mask",
    "data, shape_like, axes=None": "slice_like",
    "data, axis, window_shape, strides": "sliding_window",
    "data, axis=-1, is_ascend=True": "sort",
    "sparse_indices, output_shape, sparse_values, default_value=0": "sparse_to_dense",
    "data, indices_or_sections, axis=0": "split",
    "data, axis=None": "squeeze squeeze",
    "data, v, begin, end, strides=None": "strided_set",
    'data, begin, end, strides=None, axes=None, slice_mode="end"': "strided_slice",
    'data, indices, axis=None, batch_dims=0, mode="clip"': "take",
    "data, reps": "tile",
    'data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"': "topk",
    "data, axes=None": "transpose",
    "data, k, upper=True": "trilu",
    "data, is_sorted=True, return_counts=False": "unique",
    "indices, shape": "unravel_index",
    "data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None": "variance",
    "condition, x, y": "where",
}
"""Names by their parameters."""

_CASES = [(name, parameters) for parameters, names in SIGNATURES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "parameters"), _CASES)
def test_parameters(name: str, parameters: str) -> None:
    found = inspect.signature(getattr(relay, name)).parameters.values()
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in found]
    assert ", ".join(shown).replace("'", '"') == parameters


@pytest.mark.parametrize("name", ["conv1d_transpose", "conv2d_transpose", "conv3d_transpose"])
def test_transposed_convolutions_take_groups_first(name: str) -> None:
    order = list(inspect.signature(getattr(relay.nn, name)).parameters)
    assert order[4:8] == ["dilation", "groups", "channels", "kernel_size"]


@pytest.mark.parametrize("name", ["max_pool2d_grad", "avg_pool2d_grad"])
def test_gradients_of_pooling_take_the_layout_after_the_padding(name: str) -> None:
    order = list(inspect.signature(getattr(relay.nn, name)).parameters)
    assert order[:6] == ["out_grad", "data", "pool_size", "strides", "padding", "layout"]


@pytest.mark.parametrize(
    "combine",
    [
        lambda parts: relay.concatenate(parts, 0),
        lambda parts: relay.stack(parts, 0),
        lambda parts: relay.einsum(parts, "i,i->i"),
        lambda parts: relay.meshgrid(parts, "ij").astuple(),
    ],
)
def test_results_of_a_call_are_listed_one_by_one(combine):
    parts = relay.split(relay.var("x", shape=(6,)), 2)
    assert len(combine(parts).args[0].fields) == 2
    assert combine(parts).args[0].fields[1].index == 1


@pytest.mark.parametrize("combine", [relay.concatenate, relay.stack])
def test_nothing_cannot_be_combined(combine):
    with pytest.raises(ValueError, match="data must not be empty"):
        combine([], axis=0)


def test_a_class_of_attributes_is_documented_by_its_operator() -> None:
    attributes = relay.op.op_attrs
    assert attributes.ClipAttrs.__doc__ == "Attributes of ``clip``."
    assert attributes.SoftmaxAttrs.__doc__
    assert attributes.Conv2DAttrs.__doc__
