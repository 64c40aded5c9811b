"""The same values from code for the oldest x86-64 CPUs and from code that LLVM does not optimise."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.expr.primexpr import Call
from compiler.ir.op import Op
from compiler.runtime.modules.native_code import host_triple
from tests.compiler.target.kernels import evaluate

TARGETS = ["llvm -opt-level=0", *(["llvm -mcpu=x86-64"] if host_triple().startswith("x86_64") else [])]


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sqrt", "floor", "round", "sin", "fma"])
@pytest.mark.parametrize("target", TARGETS)
def test_functions(target: str, name: str, dtype: str, lanes: int) -> None:
    row = Op.get("tir." + name)
    inputs = [np.random.default_rng(n).uniform(0.1, 4, 64).astype(dtype) for n in range(3 if name == "fma" else 1)]
    actual = evaluate(lambda *args: Call(args[0].dtype, row, args), inputs, dtype, lanes, target)
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}[dtype]
    assert row.reference is not None
    np.testing.assert_allclose(actual, row.reference(*inputs), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("target", TARGETS)
def test_arithmetic(target: str) -> None:
    rng = np.random.default_rng(0)
    for dtype in ("int8", "uint16", "int64", "float16", "float32"):
        a, b = rng.integers(1, 100, (2, 64)).astype(dtype)
        for lanes in (1, 8):
            actual = evaluate(lambda x, y: x * y + x - y, [a, b], dtype, lanes, target)
            # A product and a sum may be fused, and are then rounded once.
            tolerance = 2e-3 if dtype == "float16" else 0
            with np.errstate(over="ignore"):
                np.testing.assert_allclose(actual, a * b + a - b, rtol=tolerance)
