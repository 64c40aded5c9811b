"""Quantised operators: their canonical forms against their references, and both against real arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.relay.analysis import post_order
from compiler.relay.operator import op_name
from tests.compiler.relay.op.example import Example, by_reference, evaluate
from tests.compiler.relay.op.examples import quantized
from tests.compiler.relay.op.examples.quantized import point, scale

qnn = relay.qnn.op
_SIMULATED = ("qnn.simulated_quantize", "qnn.simulated_dequantize")
_CASES = [
    pytest.param(example, id=f"{name}-{i}")
    for name, examples in quantized.EXAMPLES.items()
    if name not in _SIMULATED
    for i, example in enumerate(examples)
]


def canonical(example: Example, target: str = "llvm") -> Any:
    """Return a function of the example's variables in its canonical form."""
    variables = example.variables
    mod = tvm.IRModule.from_expr(relay.Function(variables, example.call(variables)))
    with tvm.target.Target(target):
        return relay.qnn.transform.CanonicalizeOps()(relay.transform.InferType()(mod))["main"]


@pytest.mark.parametrize("example", _CASES)
def test_canonical_form_equals_reference(example: Example) -> None:
    func = canonical(example)
    assert not any(op_name(part).startswith("qnn.") for part in post_order(func))
    [wanted] = by_reference(example)
    result = evaluate(func.body, dict(zip(func.params, example.arrays, strict=True)))
    np.testing.assert_array_equal(result, wanted)
    assert result.dtype == wanted.dtype


@pytest.mark.parametrize("example", _CASES[::7])
def test_built_code_equals_reference(example: Example) -> None:
    variables = example.variables
    mod = tvm.IRModule.from_expr(relay.Function(variables, example.call(variables)))
    run = relay.create_executor("graph", mod=mod, target="llvm").evaluate()
    np.testing.assert_array_equal(run(*example.arrays).numpy(), by_reference(example)[0])


def test_real_numbers_to_integers_and_back() -> None:
    x = np.array([-200.0, -1.5, -0.5, 0.0, 0.5, 1.5, 2.6, 300.0], "float32")
    for dtype, wanted in (("int8", [-128, 1, 2, 3, 4, 5, 6, 127]), ("uint8", [0, 1, 2, 3, 4, 5, 6, 255])):
        call = Example(lambda v, dtype=dtype: qnn.quantize(v, scale(1), point(3), out_dtype=dtype), [x])
        np.testing.assert_array_equal(by_reference(call)[0], wanted)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize(("rounding", "wanted"), [("UPWARD", [-2, 3, 8]), ("TONEAREST", [-3, 3, 8])])
def test_halves_are_rounded_as_asked(rounding: str, wanted: list[int], dtype: str) -> None:
    x = np.array([-10, 10, 30], "int32")

    def make(v: Any, **attrs: str) -> Any:
        return qnn.requantize(v, scale(0.5), point(0), scale(2.0), point(0), **attrs)

    given = Example(lambda v: make(v, rounding=rounding, compute_dtype=dtype), [x])
    np.testing.assert_array_equal(by_reference(given)[0], wanted)
    with qnn.requantize_config(rounding=rounding, compute_dtype=dtype):
        np.testing.assert_array_equal(by_reference(Example(make, [x]))[0], wanted)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ArgumentError, match="rounding must be one of 'None', 'UPWARD', 'TONEAREST', got 'DOWN'"):
        qnn.requantize(*[relay.var("x")] * 5, rounding="DOWN")
    with pytest.raises(ArgumentError, match="compute_dtype must be"):
        qnn.requantize_config(compute_dtype="int8")


def test_cpus_that_the_target_names_requantize_in_float32() -> None:
    example = Example(
        lambda x: qnn.requantize(x, scale(0.3), point(2), scale(0.7), point(3)), [np.arange(9, dtype="int32")]
    )
    for target, name in (("llvm", "fixed_point_multiply"), ("llvm -mcpu=skylake-avx512", "floor")):
        assert name in {op_name(part) for part in post_order(canonical(example, target))}


@pytest.mark.parametrize(
    ("target", "data", "weight", "left"),
    [
        ("llvm", "uint8", "int8", False),
        ("llvm -mcpu=skylake-avx512", "uint8", "int8", True),
        ("llvm -mcpu=skylake-avx512", "int8", "int8", True),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod", "uint8", "int8", True),
    ],
)
def test_layers_in_the_data_types_of_the_target(target: str, data: str, weight: str, left: bool) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 100, (3, 8)).astype(data), rng.integers(-90, 90, (5, 8)).astype(weight)
    variables = Example(lambda: None, [x, w]).variables
    call = qnn.dense(*variables, point(7), point(2), scale(0.5), scale(0.25), units=5)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(variables, call)))
    with tvm.target.Target(target):
        func = relay.qnn.transform.Legalize()(mod)["main"]
    assert ("qnn.dense" in func.astext()) == left
    result = evaluate(func.body, dict(zip(func.params, [x, w], strict=True)))
    np.testing.assert_array_equal(result, (x.astype("int32") - 7) @ (w.astype("int32") - 2).T)


_LAYERS = {
    "qnn.conv2d": lambda x, w, a, b: qnn.conv2d(x, w, a, b, scale(0.5), scale(0.25), kernel_size=(1, 1), channels=4),
    "qnn.dense": lambda x, w, a, b: qnn.dense(x, w, a, b, scale(0.5), scale(0.25), units=4),
    "qnn.batch_matmul": lambda x, w, a, b: qnn.batch_matmul(x, w, a, b, scale(0.5), scale(0.25)),
}


@pytest.mark.parametrize("name", _LAYERS)
@pytest.mark.parametrize(
    ("dtypes", "zeros", "factors"),
    [
        (("uint8", "int8"), (0, 0), "int16"),
        (("uint8", "int8"), (255, -128), "int16"),
        (("int8", "int8"), (127, 127), "int16"),
        (("uint8", "uint8"), (255, 255), "int16"),
        (("uint8", "int8"), (40000, 0), "int32"),
        (("uint8", "int8"), (None, 0), "int32"),
        (("int16", "int16"), (0, 0), "int32"),
    ],
)
def test_bytes_are_multiplied_in_sixteen_bits_where_all_fit(
    name: str, dtypes: tuple[str, str], zeros: tuple[int | None, int], factors: str
) -> None:
    """x86 adds products of pairs of such integers in one instruction; the extremes of both data types are among them.

    What is wider stays so, also for CPUs that multiply bytes fast.
    """
    rank = {"qnn.conv2d": 4, "qnn.dense": 2, "qnn.batch_matmul": 3}[name]
    shapes = ((1, 6, 1, 1), (4, 6, 1, 1)) if rank == 4 else ((1,) * (rank - 1) + (6,), (1,) * (rank - 2) + (4, 6))
    x, w = (
        np.resize(np.array([limits.max, limits.min, 3], dtype), shape)
        for shape, dtype in zip(shapes, dtypes, strict=True)
        for limits in [np.iinfo("int8" if dtype == "int16" else dtype)]
    )
    variables = Example(lambda: None, [x, w]).variables
    free = relay.var("zero", shape=(), dtype="int32")
    first = free if zeros[0] is None else point(zeros[0])
    call = _LAYERS[name](*variables, first, point(zeros[1]))
    params = [*variables, free] if zeros[0] is None else variables
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(params, call)))
    with tvm.target.Target("llvm -mcpu=haswell"):
        canonical = relay.qnn.transform.CanonicalizeOps()(relay.qnn.transform.Legalize()(mod))
    typed = relay.transform.InferType()(canonical)["main"]
    [layer] = [part for part in post_order(typed.body) if op_name(part) == name.replace("qnn.", "nn.")]
    assert [factor.checked_type.dtype for factor in layer.args] == [factors, factors]
    values = [x, w] if zeros[0] is not None else [x, w, np.array(77, "int32")]
    result = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*values).numpy()
    zero = 77 if zeros[0] is None else zeros[0]
    a, b = x.astype("int32").reshape(-1, 6) - zero, w.astype("int32").reshape(-1, 6) - zeros[1]
    np.testing.assert_array_equal(result.reshape(-1, 4), a @ b.T)


@pytest.mark.parametrize("axis", [0, -1])
def test_softmax_of_integers_is_near_that_of_reals(axis: int) -> None:
    x = np.random.default_rng(0).integers(-128, 128, (4, 10)).astype("int8")
    call = Example(lambda v: qnn.softmax(v, scale(0.03), point(3), scale(1 / 256), point(-128), axis=axis), [x])
    [result] = by_reference(call)
    powers = np.exp(x.astype("float64") * 0.03)
    wanted = powers / powers.sum(axis, keepdims=True)
    assert np.abs((result.astype("float64") + 128) / 256 - wanted).max() < 0.03
