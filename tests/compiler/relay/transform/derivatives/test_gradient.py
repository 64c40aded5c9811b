"""Gradients against differences of nearby values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.error import ArgumentError
from compiler.relay import transform
from compiler.relay.analysis import post_order
from compiler.relay.inference import infer_module
from compiler.relay.reference import RefRead
from compiler.relay.ty import TensorType
from tests.compiler.relay.transform.meaning import run
from tests.compiler.relay.transform.programs import DIFFERENTIABLE, PROGRAMS, REAL, VECTOR, assert_same

relay: Any = compiler.relay


def _total(value: Any) -> float:
    return sum(_total(v) for v in value) if isinstance(value, tuple) else float(np.sum(value))


def _first(value: Any) -> float:
    """Return the sum of the first tensor of a result: what mode ``higher_order`` differentiates, as TVM 0.19 does."""
    return _first(value[0]) if isinstance(value, tuple) else float(np.sum(value))


TOTALS: dict[str, Callable[[Any], float]] = {"first_order": _total, "higher_order": _first}


def _slopes(mod: IRModule, args: tuple[Any, ...], total: Callable[[Any], float]) -> list[Any]:
    """Return central differences of a sum of the result, for every element of every argument."""
    slopes = []
    for i, arg in enumerate(args):
        slope = np.zeros_like(arg)
        for at in np.ndindex(arg.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in args]
                moved[i][at] += step
                ends.append(total(run(mod, *moved)))
            slope[at] = (ends[0] - ends[1]) / 2e-6
        slopes.append(slope)
    return slopes


def _check(mod: IRModule, args: tuple[Any, ...], mode: str) -> IRModule:
    """Check gradients, and return the module that computes them."""
    expected, slopes = run(mod, *args), _slopes(mod, args, TOTALS[mode])
    result = mod.shallow_copy()
    result["main"] = transform.gradient(mod["main"], result, mode)
    assert result["main"].checked_type.arg_types == mod["main"].checked_type.arg_types
    value, grads = run(infer_module(result), *args)
    assert_same(value, expected)
    for grad, slope in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-5, atol=1e-7)
    return result


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_programs(name: str) -> None:
    make, args = PROGRAMS[name]
    result = _check(infer_module(make()), args, "higher_order")
    value = run(result, *args)
    decided = name != "closures"  # that one branches on its arguments, and must keep what branches write
    passes: list[Any] = [transform.PartialEvaluate(), transform.DeadCodeElimination(ignore_impurity=decided)]
    for step in passes:
        result = step(result)
        assert_same(run(result, *args), value)
    assert decided == (not [p for p in post_order(result["main"]) if isinstance(p, RefRead)])


def _layer(x: Any, y: Any) -> Any:
    return relay.nn.relu(relay.nn.dense(relay.reshape(x, (1, 3)), relay.stack([y, relay.exp(y)], axis=0)))


GRAPHS: dict[str, Any] = {
    "the same value twice": lambda x, y: relay.multiply(x, relay.multiply(x, y)),
    "broadcasting": lambda x, y: relay.divide(x, relay.add(relay.sum(relay.exp(y)), relay.const(1.0, "float64"))),
    "tuples": lambda x, y: relay.Tuple([relay.tanh(x), relay.Tuple([relay.multiply(x, y), y])]),
    "joined and split": lambda x, y: relay.multiply(*list(relay.split(relay.concatenate([y, relay.exp(x)], 0), 2))),
    "a layer": _layer,
    "softmax": lambda x, y: relay.multiply(relay.nn.softmax(x), y),
    "nothing of one": lambda x, y: relay.sqrt(relay.exp(y)),
    "integers": lambda x, y: relay.multiply(x, relay.take(y, relay.argsort(relay.cast(y, "int32")))),
    "choices": lambda x, y: relay.where(relay.less(x, y), relay.maximum(x, relay.negative(y)), relay.multiply(y, x)),
}


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str, mode: str) -> None:
    x, y = relay.var("x", VECTOR), relay.var("y", VECTOR)
    mod = infer_module(IRModule.from_expr(relay.Function([x, y], GRAPHS[name](x, y))))
    _check(mod, (np.array([0.3, -1.2, 2.0]), np.array([1.1, 0.4, -0.7])), mode)


def test_a_small_network() -> None:
    x, w = relay.var("x", TensorType((1, 2, 6, 6), "float64")), relay.var("w", TensorType((3, 2, 3, 3), "float64"))
    scale = relay.var("scale", VECTOR)
    rest = [relay.const(np.array(v), "float64") for v in ([0.1, 0.2, 0.3], [0.0, -0.5, 0.5], [1.0, 2.0, 0.5])]
    conv = relay.nn.batch_norm(relay.nn.conv2d(x, w, strides=(2, 2), padding=(1, 1)), scale, *rest)[0]
    pooled = relay.nn.max_pool2d(relay.tanh(conv), pool_size=(2, 2))
    mod = IRModule.from_expr(relay.Function([x, w, scale], relay.nn.batch_flatten(pooled)))
    rng = np.random.default_rng(7)
    args = (rng.normal(size=(1, 2, 6, 6)), rng.normal(size=(3, 2, 3, 3)), rng.normal(size=3))
    with pytest.raises(ArgumentError, match=r"operator nn\.batch_norm has no gradient: .* after SimplifyInference"):
        transform.gradient(mod["main"], mode="first_order")
    _check(infer_module(transform.SimplifyInference()(mod)), args, "first_order")


def test_fused_groups_are_what_they_compute() -> None:
    x, p = relay.var("x", VECTOR), relay.var("p", VECTOR)
    kernel = relay.Function([p], relay.exp(relay.tanh(p)), attrs={"Primitive": 1})
    for mode in ("first_order", "higher_order"):
        mod = infer_module(IRModule.from_expr(relay.Function([x], relay.Call(kernel, [x]))))
        _check(mod, (np.array([0.3, -1.2, 2.0]),), mode)


def test_every_function_of_a_module() -> None:
    make, args = PROGRAMS["graph"]
    mod = infer_module(transform.FirstOrderGradient()(make()))
    expected = run(_check(infer_module(make()), args, "first_order"), *args)
    assert_same(run(mod, *args), expected)


def test_ten_thousand_operators() -> None:
    value: Any = relay.var("x", REAL)
    for _ in range(5_000):
        value = relay.sin(relay.negative(value))
    mod = IRModule.from_expr(value)
    mod["main"] = transform.gradient(infer_module(mod)["main"], mode="first_order")
    assert infer_module(mod)["main"].ret_type.fields[0] == REAL


def test_what_cannot_be_differentiated_is_named() -> None:
    make, _ = PROGRAMS["closures"]
    with pytest.raises(ArgumentError, match="mode 'first_order' differentiates operators and tuples only, not"):
        transform.gradient(make()["main"], mode="first_order")
    x = relay.var("x", VECTOR)
    image = relay.nn.lrn(relay.reshape(x, (1, 3, 1, 1)))
    with pytest.raises(ArgumentError, match=r"operator nn\.lrn has no gradient: not needed"):
        transform.gradient(relay.Function([x], image), mode="first_order")
    with pytest.raises(ArgumentError, match="mode must be 'first_order' or 'higher_order', got 'third_order'"):
        transform.gradient(relay.Function([x], x), mode="third_order")
    with pytest.raises(ArgumentError, match="expr must be a Function"):
        transform.gradient(x)
