"""Every rule of SimplifyExpr fires on its example, and not where it would be wrong."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from compiler.ir.module import IRModule
from compiler.relay.analysis import post_order
from compiler.relay.transform.simplify.simplify_rules import BUILD_RULES, RULES
from tests.compiler.relay.transform.reading import after, module_of, relay, shown, transform
from tests.properties.graphs import evaluate


def x(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape or (2, 3, 4), dtype=dtype)


def number(value: float, dtype: str = "float32") -> Any:
    return relay.const(value, dtype)


def dequantized(scale: Any) -> Any:
    points = np.zeros(np.shape(scale), "int32")
    scales = relay.const(np.asarray(scale, "float32"))
    return relay.qnn.op.dequantize(x(dtype="int8"), scales, relay.const(points), axis=2)


def quadratic(a: float, b: float, c: float, dtype: str = "float32") -> Any:
    u, v = relay.var("u", shape=(2, 1), dtype=dtype), relay.var("v", shape=(3,), dtype=dtype)
    return number(a, dtype) * (u * u) + number(b, dtype) * u * v + number(c, dtype) * (v * v)


def einsum(equation: str, *shapes: tuple[int, ...]) -> Any:
    return relay.einsum([relay.var(name, shape=shape) for name, shape in zip("xw", shapes, strict=True)], equation)


def dense(*shape: int) -> Any:
    """A dense layer of five units, of the rows of all outer axes."""
    return relay.nn.dense(relay.reshape(x(*shape), (-1, shape[-1])), relay.var("w", shape=(5, shape[-1])))


def rounded(scale: float, step: Any) -> Any:
    """A sum of two products, divided and rounded: what is dequantized, normalized and quantized."""
    factors = np.linspace(scale, 2 * scale, 4, dtype="float32")
    total = relay.add(relay.multiply(x(), relay.const(factors)), relay.add(relay.multiply(x(), number(3)), number(2)))
    return relay.nearbyint(relay.divide(total, step))


FIRES: list[tuple[Any, str]] = [
    (quadratic(1, 2, 1), "multiply(add(u, v), add(u, v))"),
    (quadratic(1, 5, 6), "multiply(add(u, multiply(v, 3.0)), add(u, multiply(v, 2.0)))"),
    (quadratic(2, -6, 4, "int32"), "multiply(2, multiply(add(u, multiply(v, -1)), add(u, multiply(v, -2))))"),
    (relay.reshape(relay.reshape(x(), (6, 4)), (4, 6)), "reshape(x)"),
    (relay.transpose(relay.transpose(x(), (1, 2, 0)), (2, 0, 1)), "x"),
    (relay.transpose(relay.transpose(x())), "x"),
    (relay.transpose(x(), (0, 1, 2)), "x"),
    (relay.layout_transform(relay.layout_transform(x(1, 8, 4, 4), "NCHW", "NCHW4c"), "NCHW4c", "NCHW"), "x"),
    (
        relay.layout_transform(relay.layout_transform(x(1, 8, 4, 4), "NCHW", "NCHW4c"), "NCHW4c", "NCHW8c"),
        "layout_transform(x)",
    ),
    (
        relay.layout_transform(relay.layout_transform(x(1, 8, 4, 4), "NCHW", "NCHW4c"), "NCHW4c", "NHWC"),
        "layout_transform(x)",
    ),
    (relay.layout_transform(relay.layout_transform(x(2, 3, 4, 5), "NCHW", "NHWC"), "NHWC", "CHWN"), "transpose(x)"),
    (relay.layout_transform(relay.transpose(x(2, 4, 5, 8), (0, 3, 1, 2)), "NCHW", "NCHW4c"), "layout_transform(x)"),
    (relay.transpose(relay.layout_transform(x(2, 2, 5, 6, 4), "NCHW4c", "NCHW"), (0, 2, 3, 1)), "layout_transform(x)"),
    (relay.transpose(relay.layout_transform(x(2, 3, 4, 5), "NCHW", "NHWC"), (0, 3, 1, 2)), "x"),
    (relay.reverse_reshape(relay.reshape(x(), (6, 4)), (4, 6)), "reshape(x)"),
    (relay.cast(x(), "float32"), "x"),
    (relay.cast(relay.cast(x(dtype="int8"), "int32"), "int64"), "cast(x)"),
    (relay.cast(relay.cast(x(dtype="uint8"), "int32"), "float64"), "cast(x)"),
    (relay.cast(relay.cast(x(dtype="int8"), "int32"), "int8"), "x"),
    (relay.cast_like(x(), relay.var("y", shape=(1,), dtype="int32")), "cast(x)"),
    (relay.add(x(), number(0)), "x"),
    (relay.add(number(0), x()), "x"),
    (relay.subtract(x(), number(0)), "x"),
    (relay.divide(x(), number(1)), "x"),
    (relay.divide(number(1), relay.sqrt(x())), "rsqrt(x)"),
    (relay.divide(number(2), relay.sqrt(x())), "multiply(2.0, rsqrt(x))"),
    (relay.divide(relay.const(np.ones((5, 2, 3, 4), "float32")), relay.sqrt(x())), "multiply(c[5, 2, 3, 4], rsqrt(x))"),
    (relay.multiply(relay.add(x(), number(2)), number(3)), "add(multiply(x, 3.0), 6.0)"),
    (relay.multiply(relay.add(relay.multiply(x(), number(2)), number(1)), number(3)), "add(multiply(x, 6.0), 3.0)"),
    (relay.cast(relay.cast(relay.clip(x(dtype="int32"), 0.0, 255.0), "uint8"), "int32"), "clip(x)"),
    (relay.clip(relay.cast(x(), "int8"), -128.0, 300.0), "cast(x)"),
    (relay.clip(x(), -np.inf, np.inf), "x"),
    (relay.multiply(number(3), relay.add(number(2), x())), "add(multiply(x, 3.0), 6.0)"),
    (relay.argmax(dequantized(2.0), axis=1), "argmax(x)"),
    (relay.argmin(dequantized(2.0), axis=1), "argmin(x)"),
    (relay.argsort(dequantized(2.0), axis=1), "argsort(x)"),
    (relay.add(relay.add(x(), number(2)), number(3)), "add(x, 5.0)"),
    (relay.multiply(number(3), relay.multiply(x(), number(2))), "multiply(x, 6.0)"),
    (relay.zeros_like(x()), "zeros()"),
    (relay.ones_like(x()), "ones()"),
    (relay.full_like(x(), number(7)), "full(7.0)"),
    (relay.reshape_like(x(), relay.var("y", shape=(6, 4))), "reshape(x)"),
    (relay.broadcast_to_like(x(), relay.var("y", shape=(5, 2, 3, 4))), "broadcast_to(x)"),
    (relay.collapse_sum_like(x(), relay.var("y", shape=(3, 1))), "collapse_sum_to(x)"),
    (relay.add(relay.zeros((2, 3, 4), "float32"), relay.exp(x())), "exp(x)"),
    (relay.subtract(x(), relay.full(number(4), (3, 4), "float32")), "subtract(x, 4.0)"),
    (relay.less(relay.ones((4,), "float32"), x()), "less(1.0, x)"),
]


@pytest.mark.parametrize(("out", "wanted"), FIRES, ids=[shown(f[0]) for f in FIRES])
def test_an_expression_becomes_simpler(out: Any, wanted: str) -> None:
    assert shown(after(out, transform.SimplifyExpr())) == wanted


def test_both_operands_may_be_one_value() -> None:
    data = x()
    assert shown(after(relay.multiply(data, relay.ones_like(data)), transform.SimplifyExpr())) == "x"
    assert shown(after(relay.add(data, data), transform.SimplifyExpr())) == "multiply(x, 2.0)"


def test_numbers_may_be_of_a_type_that_numpy_does_not_know_by_itself() -> None:
    data = x(3, 4, dtype="bfloat16")
    assert shown(after(relay.add(data, data), transform.SimplifyExpr())) == "multiply(x, 2.0)"
    filled = relay.full(number(4), (3, 4), "bfloat16")
    assert shown(after(relay.subtract(data, filled), transform.SimplifyExpr())) == "subtract(x, 4.0)"


IN_BUILDS: list[tuple[Any, str]] = [
    (relay.reshape(relay.nn.batch_flatten(x()), (4, 6)), "reshape(x)"),
    (relay.reshape(relay.reshape(x(), (6, 4)), (2, 3, 4)), "x"),
    (relay.reshape(x(), (0, -1, 4)), "x"),
    (relay.squeeze(relay.expand_dims(x(), axis=1), [1]), "x"),
    (relay.expand_dims(relay.squeeze(x(1, 4), [0]), axis=0), "x"),
    (relay.nn.batch_flatten(x(2, 3)), "x"),
    (relay.multiply(relay.const(np.ones((3, 1), "float32")), x()), "x"),
    (rounded(5, number(0.25)), "nearbyint(add(multiply(x, c[4]), add(multiply(x, 12.0), 8.0)))"),
    (relay.power(x(), number(1)), "x"),
    (relay.power(x(), number(2)), "multiply(x, x)"),
    (relay.negative(relay.negative(x())), "x"),
    (relay.nn.relu(relay.nn.relu(relay.nn.relu(x()))), "nn.relu(x)"),
    (relay.abs(relay.abs(x())), "abs(x)"),
    (relay.clip(relay.clip(x(), 0.0, 6.0), -1.0, 5.0), "clip(x)"),
    (relay.contrib_reverse_reshape(relay.contrib_reverse_reshape(x(), (6, 4)), (2, 3, 4)), "x"),
    (relay.add(relay.const(np.zeros((3, 1), "float32")), x()), "x"),
    (relay.subtract(x(), relay.const(np.zeros(4, "float32"))), "x"),
    (relay.divide(x(), relay.const(np.ones(4, "float32"))), "x"),
    (relay.reshape(dense(1, 6, 4), (1, 6, 5)), "nn.dense(x, w)"),
    (relay.reshape(dense(2, 40, 4), (2, 40, 5)), "nn.dense(x, w)"),
    (relay.nn.dense(x(3, 4), relay.transpose(relay.var("w", shape=(4, 5)))), "nn.matmul(x, w)"),
    (einsum("ik,jk->ij", (3, 4), (5, 4)), "nn.dense(x, w)"),
    (einsum("bik,bkj->bji", (2, 3, 4), (2, 4, 5)), "transpose(nn.batch_matmul(x, w))"),
    (relay.transpose(x(1, 3, 4), (1, 0, 2)), "reshape(x)"),
    (relay.layout_transform(x(1, 8, 1, 1), "NCHW", "NHWC"), "reshape(x)"),
    (
        relay.layout_transform(relay.image.resize2d(x(1, 2, 3, 3, 8), (6, 6), layout="NCHW8c"), "NCHW8c", "NCHW"),
        "layout_transform(annotation.stop_fusion(image.resize2d(x)))",
    ),
    (relay.broadcast_to(x(), (2, 3, 4)), "x"),
    (relay.collapse_sum_to(x(), (2, 3, 4)), "x"),
]


@pytest.mark.parametrize(("out", "wanted"), IN_BUILDS, ids=[shown(f[0]) for f in IN_BUILDS])
def test_builds_simplify_more(out: Any, wanted: str) -> None:
    assert shown(after(out, transform.SimplifyExpr())) != wanted
    assert shown(after(out, transform.SimplifyExpr(in_build=True))) == wanted


@pytest.mark.parametrize(
    ("scale", "step"), [(1e-30, number(1e20)), (1e30, number(1e-20)), (5, number(0)), (5, relay.var("s", shape=()))]
)
def test_rounded_quotients_stay_where_factors_would_lose_digits(scale: float, step: Any) -> None:
    out = rounded(scale, step)
    assert shown(after(out, transform.SimplifyExpr(in_build=True))) == shown(out)


def test_rounded_quotients_are_as_near_as_those_of_floats() -> None:
    out = relay.nearbyint(relay.divide(relay.multiply(x(50, 40), number(0.0123)), number(0.71)))
    values = np.random.default_rng(0).integers(-5000, 5000, (50, 40)).astype("float32")
    made = IRModule.from_expr(after(out, transform.SimplifyExpr(in_build=True)))
    found = relay.create_executor("graph", made).evaluate()(values).numpy()
    exact = values.astype("float64") * np.float32(0.0123) / np.float32(0.71)
    assert (np.abs(found - exact) <= 0.5 + 1e-6 * np.abs(exact)).all()


def test_every_operator_with_rules_has_an_example() -> None:
    for rules, examples in ((RULES, FIRES), (BUILD_RULES, IN_BUILDS)):
        calls = [e for out, _ in examples for e in relay.analysis.post_order(out) if isinstance(e, relay.Call)]
        broadcasting = {rule.operator for rule in rules if "full(v)" in rule.equation}
        assert {rule.operator for rule in rules} - broadcasting <= {call.op.name for call in calls}
        assert all(rule.equation for rule in rules)


STAYS: list[Any] = [
    relay.add(x(3), relay.const(np.zeros((2, 3), "float32"))),
    relay.multiply(x(3), relay.const(np.ones((2, 3), "float32"))),
    relay.subtract(number(0), x()),
    relay.divide(number(1), x()),
    relay.cast(relay.cast(x(), "float16"), "float32"),
    relay.cast(relay.cast(x(), "int32"), "float32"),
    relay.cast(relay.cast(relay.clip(x(), 0.0, 255.0), "uint8"), "float32"),
    relay.cast(relay.cast(relay.clip(x(dtype="int32"), -1.0, 255.0), "uint8"), "int32"),
    relay.cast(relay.cast(x(dtype="int32"), "float32"), "int32"),
    relay.clip(relay.cast(x(), "int8"), -128.0, 126.0),
    relay.cast(relay.cast(x(dtype="uint8"), "int8"), "int32"),
    relay.cast(relay.cast(x(dtype="int8"), "uint32"), "int64"),
    relay.transpose(x(1, 3, 4), (0, 2, 1)),
    relay.clip(relay.clip(x(), 0.0, 1.0), 2.0, 3.0),
    relay.expand_dims(x(), axis=1),
    relay.multiply(relay.add(x(), number(2)), relay.var("y", shape=(4,))),
    relay.argmax(dequantized(-2.0), axis=1),
    relay.argmax(dequantized([1.0, 2.0, 3.0, 4.0]), axis=2),
    relay.layout_transform(x(1, 8, 4, 4), "NCHW", "NHWC"),
    relay.nn.relu(relay.negative(relay.nn.relu(x()))),
    relay.nn.dense(x(3, 4, dtype="int8"), relay.transpose(relay.var("w", shape=(4, 5), dtype="int8"))),
    einsum("ik,jk->ij", (3, 4), (5, 1)),
    einsum("ii,jk->ij", (3, 3), (5, 4)),
    einsum("ij,jk->ijk", (3, 4), (4, 5)),
    quadratic(2, 3, 2),
    quadratic(2, 5, 3, "int32"),
    quadratic(2, 4, 2, "float16"),
]


@pytest.mark.parametrize("out", STAYS, ids=[shown(out) for out in STAYS])
def test_an_expression_stays(out: Any) -> None:
    assert shown(after(out, transform.SimplifyExpr())) == shown(out)


@pytest.mark.parametrize(
    "equation",
    [
        "ik,kj->ij",
        "ki,jk->ji",
        "bik,bjk->bij",
        "bhqd,bkhd->bhqk",
        "kbi,jkb->jib",
        "ikl,jkl->ij",
        "k,k->",
        "k,kj->j",
        "ik,k->i",
    ],
)
def test_products_that_an_equation_stands_for(equation: str) -> None:
    sizes = dict(zip("bhijlqkd", (2, 3, 4, 5, 6, 7, 8, 9), strict=True))
    shapes = [tuple(sizes[c] for c in own) for own in equation.partition("->")[0].split(",")]
    out = einsum(equation, *shapes)
    simpler = after(out, transform.SimplifyExpr(in_build=True))
    assert "einsum" not in shown(simpler)
    values = [np.random.default_rng(n).standard_normal(shape).astype("float32") for n, shape in enumerate(shapes)]
    found = relay.create_executor("graph", IRModule.from_expr(out)).evaluate()(*values).numpy()
    np.testing.assert_allclose(found, np.einsum(equation, *values), 1e-5, 1e-5)


def test_extents_that_nobody_knows_are_not_written_down() -> None:
    data = relay.var("x", shape=(relay.Any(), 4))
    for out in (relay.reshape(relay.reshape(data, (-1,)), (-1, 4)), relay.zeros_like(data)):
        assert shown(after(out, transform.SimplifyExpr())) == shown(out)


def test_rules_can_be_chosen() -> None:
    some = [rule for rule in RULES if rule.operator == "cast"]
    out = relay.cast(relay.negative(relay.negative(x())), "float32")
    assert shown(after(out, transform.SimplifyExpr(some))) == "negative(negative(x))"


_NUMBERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")


def _edges(dtype: str) -> Any:
    """Return the least and largest numbers of a data type, and those around some powers of 2."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype.startswith("float"):
        return np.array([0.0, -0.75, 0.75, 1.5, -1.5, 100.25, -100.0, 0.1], dtype)
    info = np.iinfo(dtype)
    near = [b * s + d for b in (0, 127, 255, 2048, 32767, 2**24, 2**53) for s in (1, -1) for d in (-1, 0, 1)]
    numbers = (info.min, info.min + 1, info.max - 1, info.max, *near)
    return np.array([n for n in numbers if info.min <= n <= info.max], dtype)


@pytest.mark.sample(3)
@pytest.mark.parametrize("source", _NUMBERS)
def test_casts_that_are_left_out_were_idle(source: str) -> None:
    values = _edges(source)
    removed = 0
    limits = [None] if source == "bool" else [None, (0.0, 255.0), (-128.0, 127.0), (0.0, 2048.0), (-1.0, 2049.0)]
    for between, last, limit in product(_NUMBERS, _NUMBERS, limits):
        start = relay.var("x", shape=values.shape, dtype=source)
        clipped = start if limit is None else relay.clip(start, *limit)
        before = relay.cast(relay.cast(clipped, between), last)
        body = after(before, transform.SimplifyExpr())
        names = [e.op.name for e in post_order(body) if isinstance(e, relay.Call)]
        if names.count("cast") == 2:
            continue
        removed += 1
        with np.errstate(over="ignore", invalid="ignore"):
            found, wanted = (evaluate(module_of(e)["main"], [values]) for e in (body, before))
        np.testing.assert_array_equal(found, wanted, err_msg=f"{source} {limit} {between} {last}")
    assert removed >= 20


def test_a_layout_that_stays_is_no_transform() -> None:
    moved = relay.layout_transform(relay.nn.relu(relay.var("v", shape=(1, 3, 8, 8))), "NCHW", "NCHW")
    assert shown(after(moved, transform.SimplifyExpr())) == "nn.relu(v)"


def test_casts_between_integers_behind_a_cast_of_limits_are_one() -> None:
    x = relay.clip(relay.var("u", shape=(4,)), 0.0, 255.0)
    body = after(relay.cast(relay.cast(relay.cast(x, "uint8"), "int16"), "int32"), transform.SimplifyExpr())
    assert shown(body) == "cast(cast(clip(u)))"
