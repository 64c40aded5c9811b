"""Passes over padding, dilation, divisors, batches and transposed weights, and recast: what changes, what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.relay.data_dep_optimization import simplify_fc_transpose
from compiler.classic.relay.transform.recast import RecastMutator
from compiler.ir.error import ArgumentError
from compiler.relay.analysis import list_op_freqs
from tests.compiler.relay.transform.reading import after, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, random_inputs

WIDTHS = ((0, 0), (0, 0), (1, 1), (2, 3))
LEAST = float(np.finfo("float32").min)


def image(dtype: str = "float32") -> Any:
    return relay.var("x", shape=(2, 4, 8, 8), dtype=dtype)


def padded(value: float = 0.0, widths: Any = WIDTHS, **attrs: Any) -> Any:
    return relay.nn.pad(image(), widths, value, **attrs)


def weight(channels: int = 4) -> Any:
    return relay.var("w", shape=(4, channels, 3, 3))


def means_the_same(out: Any, *passes: Any) -> Any:
    """Return the body after some passes, which must compute what it did."""
    before = module_of(out)
    body = after(out, *passes)
    inputs = random_inputs(before)
    free = relay.analysis.free_vars(body)
    assert free == relay.analysis.free_vars(out)
    made = module_of(body)
    np.testing.assert_allclose(evaluate(made["main"], inputs), evaluate(before["main"], inputs), rtol=1e-5, atol=1e-5)
    return body


@pytest.mark.parametrize(
    ("out", "padding"),
    [
        (relay.nn.conv2d(padded(), weight(), padding=(1, 0)), (2, 2, 2, 3)),
        (relay.nn.conv2d(padded(), weight(), strides=(2, 2), dilation=(2, 1)), (1, 2, 1, 3)),
        (relay.nn.max_pool2d(padded(-np.inf), (2, 2), padding=(1, 1)), (2, 3, 2, 4)),
        (relay.nn.max_pool2d(padded(LEAST), (3, 4), strides=(2, 2)), (1, 2, 1, 3)),
        (relay.nn.avg_pool2d(padded(), (2, 2)), (1, 2, 1, 3)),
        (relay.nn.avg_pool2d(padded(), (2, 2), padding=(1, 1), count_include_pad=True), (2, 3, 2, 4)),
    ],
)
def test_a_pad_becomes_padding(out: Any, padding: tuple[int, ...]) -> None:
    body = means_the_same(out, transform.FoldExplicitPadding())
    assert "nn.pad" not in shown(body)
    assert tuple(body.attrs.padding) == padding


@pytest.mark.parametrize(
    "out",
    [
        relay.nn.conv2d(padded(1.0), weight()),
        relay.nn.conv2d(padded(widths=((0, 0), (1, 1), (1, 1), (0, 0))), weight(6)),
        relay.nn.conv2d(padded(pad_mode="edge"), weight()),
        relay.nn.max_pool2d(padded(), (2, 2)),
        relay.nn.max_pool2d(padded(LEAST), (2, 2)),
        relay.nn.avg_pool2d(padded(), (2, 2), padding=(1, 1)),
        relay.nn.avg_pool2d(padded(), (3, 3), strides=(2, 2), ceil_mode=True),
        relay.nn.conv2d_transpose(padded(), weight()),
    ],
    ids=["value", "channels", "edge", "maximum of zeros", "maximum of padding", "mean of fewer", "ceil", "transposed"],
)
def test_a_pad_that_means_something_else_stays(out: Any) -> None:
    assert "nn.pad" in shown(after(out, transform.FoldExplicitPadding()))


def test_a_quantized_convolution_pads_by_its_zero_point() -> None:
    def out(value: int) -> Any:
        data = relay.nn.pad(image("int8"), WIDTHS, value)
        w = relay.var("w", shape=(4, 4, 3, 3), dtype="int8")
        points, scales = (relay.const(3), relay.const(0)), (relay.const(1.0), relay.const(1.0))
        return relay.qnn.op.conv2d(data, w, *points, *scales, kernel_size=(3, 3), channels=4)

    assert "nn.pad" in shown(after(out(0), transform.FoldExplicitPadding()))
    assert "nn.pad" not in shown(means_the_same(out(3), transform.FoldExplicitPadding()))


@pytest.mark.parametrize("divisor", [4.0, np.array([3, -0.1, 7, 1e3], "float32")])
def test_divisions_by_constants_are_multiplications(divisor: Any) -> None:
    out = relay.divide(relay.var("x", shape=(3, 4)), relay.const(divisor, "float32"))
    assert list_op_freqs(module_of(means_the_same(out, transform.DivToMul()))) == {"multiply": 1}


def test_other_divisions_stay() -> None:
    whole = relay.divide(relay.var("i", shape=(3,), dtype="int32"), relay.const(4))
    assert shown(after(whole, transform.DivToMul())) == "divide(i, 4)"
    assert shown(after(relay.divide(relay.const(4.0), image()), transform.DivToMul())) == "divide(4.0, x)"


def test_a_new_batch_goes_through_the_program() -> None:
    data, w = relay.var("data", shape=(1, 8)), relay.var("w", shape=(4, 8))
    mod = module_of(relay.nn.relu(relay.nn.dense(data, w)))
    for key in (data, "data"):
        made = transform.ChangeBatch({key: 0}, batch_size=7)(mod)
        assert made["main"].checked_type.ret_type.concrete_shape == (7, 4)
        assert made["main"].params[1] is w
    with pytest.raises(ArgumentError, match=r"data is of type .*, which has no axis 2"):
        transform.ChangeBatch({data: 2})(mod)


def test_transposed_weights_are_passed_transposed() -> None:
    x, v, w = relay.var("x", shape=(2, 3)), relay.var("v", shape=(3, 5)), relay.var("w", shape=(4, 5))
    hidden = relay.nn.relu(relay.nn.dense(x, relay.transpose(v, axes=[1, 0])))
    func = relay.Function([x, v, w], relay.nn.dense(hidden, w))
    values = {name: np.random.default_rng(1).random(shape, "float32") for name, shape in (("v", (3, 5)), ("w", (4, 5)))}
    params = {name: tvm.nd.array(value) for name, value in values.items()}
    made, made_params = simplify_fc_transpose.convert(func, params)
    assert [p.name_hint for p in made.params] == ["x", "w", "v.T"]
    assert set(made_params) == {"w", "v.T"}
    data = np.random.default_rng(2).random((2, 3), "float32")
    result = evaluate(made, [data, made_params["w"].numpy(), made_params["v.T"].numpy()])
    np.testing.assert_allclose(result, np.maximum(data @ values["v"], 0) @ values["w"].T, rtol=1e-5)


def layers() -> Any:
    x, v, w = relay.var("x", shape=(1, 4, 8, 8)), weight(), relay.var("w2", shape=(4, 4, 3, 3))
    return relay.Function([x, v, w], relay.nn.conv2d(relay.nn.relu(relay.nn.conv2d(x, v)), w))


def types_of(expr: Any, name: str) -> list[str]:
    relay.inference.infer_expr(expr)
    return [p.checked_type.dtype for p in relay.analysis.post_order(expr) if relay.operator.op_name(p) == name]


def test_recast_operators_compute_in_the_other_type_between_casts() -> None:
    made = transform.recast(layers(), "int8", "int32")
    assert types_of(made, "nn.conv2d") == ["int32", "int32"]
    assert made.body.checked_type.dtype == "float32"
    relus = transform.recast(layers(), "float16", "float16", ops=["nn.relu"])
    assert types_of(relus, "nn.relu") == ["float16"]
    assert types_of(relus, "nn.conv2d") == ["float32", "float32"]


@pytest.mark.parametrize(
    ("skip", "expected"), [([0], ["float32", "int32"]), ([-1], ["int32", "float32"]), ([0, 1], ["float32", "float32"])]
)
def test_layers_can_be_left_out(skip: list[int], expected: list[str]) -> None:
    assert types_of(transform.recast(layers(), "int8", "int32", skip_layers=skip), "nn.conv2d") == expected


def test_a_tuple_is_recast_field_by_field_and_a_module_stays_a_module() -> None:
    parts = [relay.var(name, shape=(1, 4)) for name in "xy"]
    mod = tvm.IRModule.from_expr(relay.concatenate(parts, axis=1))
    made = transform.recast(mod, "float16", "float32", ops=["concatenate"])
    assert shown(made["main"].body) == "cast(concatenate((cast(x), cast(y))))"
    inputs = [np.ones((1, 4), "float32"), np.full((1, 4), 0.5, "float32")]
    np.testing.assert_array_equal(evaluate(transform.InferType()(made)["main"], inputs), np.concatenate(inputs, 1))


def atrous(crops: Any, strides: int = 1, pad_value: float = 0.0, block: tuple[int, int] = (2, 3), **attrs: Any) -> Any:
    x, w = relay.var("x", shape=(1, 7, 8, 4)), relay.var("w", shape=(3, 3, 4, 2))
    batches = relay.nn.space_to_batch_nd(x, list(block), [[2, 3], [1, 3]], pad_value)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = relay.nn.conv2d(batches, w, strides=strides, **layouts, **attrs)
    return relay.nn.batch_to_space_nd(y, list(block), crops)


@pytest.mark.parametrize(
    ("out", "padding", "dilation"),
    [
        (atrous([[0, 1], [0, 1]], padding=(1, 1)), (4, 4, 4, 5), (2, 3)),
        (atrous([[2, 0], [1, 2]], padding=(1, 1)), (2, 3, 5, 4), (2, 3)),
        (atrous([[0, 1], [0, 0]], padding=(2, 1), dilation=(2, 1)), (6, 4, 6, 6), (4, 3)),
    ],
)
def test_a_convolution_of_blocks_is_a_dilated_one(
    out: Any, padding: tuple[int, ...], dilation: tuple[int, ...]
) -> None:
    body = means_the_same(out, transform.FlattenAtrousConv())
    assert shown(body) == "nn.conv2d(x, w)"
    assert (tuple(body.attrs.padding), tuple(body.attrs.dilation)) == (padding, dilation)


@pytest.mark.parametrize(
    "out",
    [atrous([[0, 1], [0, 1]], pad_value=1.0, padding=(1, 1)), atrous([[0, 0], [0, 0]], strides=2, padding=(1, 1))],
    ids=["value", "strides"],
)
def test_a_convolution_of_blocks_that_is_no_dilated_one_stays(out: Any) -> None:
    assert "batch_to_space_nd" in shown(means_the_same(out, transform.FlattenAtrousConv()))


def test_the_mutator_of_recast_rewrites_the_expression_that_it_is_given() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    layers = relay.nn.conv2d(relay.nn.conv2d(x, weight()), weight())
    made = RecastMutator("float16", "float32", ["nn.conv2d"], 2, [0]).visit(layers)
    assert shown(made).count("cast") == 3
    assert shown(made).startswith("cast(nn.conv2d(cast(nn.conv2d(x, w)), cast(w)))")
