"""Parameters have the data types of their variables, or are refused; a model is written with or without them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import NDArray


def bound(value: Any, shape: tuple[int, ...] | None = None, dtype: str = "float32") -> NDArray:
    """Return the constant that a parameter becomes; one without a shape has no type either."""
    x = relay.var("x") if shape is None else relay.var("x", shape=shape, dtype=dtype)
    data = relay.build_module.bind_params_by_name(relay.Function([x], x), {"x": value}).body.data
    assert isinstance(data, NDArray)
    return data


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [[0.1, -2.5], (1, 2), [True, False], [np.float64(1 / 3), np.inf]], ids=str)
def test_numbers_are_rounded_to_the_type_of_their_parameter(value: Any, dtype: str) -> None:
    data = bound(value, (2,), dtype)
    assert data.dtype == dtype
    np.testing.assert_array_equal(data.numpy(), np.array(value, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32"])
def test_an_array_of_the_same_values_takes_the_type_of_its_parameter(dtype: str) -> None:
    data = bound(np.array([1.0, -128.0]), (2,), dtype)
    assert data.dtype == dtype
    np.testing.assert_array_equal(data.numpy(), [1, -128])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [([1, 2], "int32"), (3, "int32"), (3.5, "float32"), ([0.5], "float32"), (True, "bool"), (np.ones(2), "float64")],
    ids=str,
)
def test_numbers_for_a_parameter_without_a_type_are_narrow(value: Any, dtype: str) -> None:
    data = bound(value)
    assert data.dtype == dtype
    np.testing.assert_array_equal(data.numpy(), value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1.5], "int32"),
        ([2**40], "int32"),
        ([1e300], "float32"),
        ([70_000], "float16"),
        ([70_000.0], "float16"),
        (np.array([0.1]), "float32"),
        ([1.0, 2.0], "float32"),
    ],
)
def test_a_value_that_its_parameter_cannot_hold_is_refused(value: Any, dtype: str) -> None:
    with warnings.catch_warnings(action="error"), pytest.raises(ArgumentError, match=rf"'x' must .*\(1\), {dtype}\]"):
        bound(value, (1,), dtype)


def test_a_model_is_written_without_its_parameters(tmp_path: Path) -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    weights = np.arange(12, dtype="float32").reshape(4, 3)
    lib = relay.build(IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), "llvm", params={"w": weights})
    bare = lib["remove_params"]()
    assert bare.get_params() == {}
    assert lib.get_params()
    bare.export_library(str(tmp_path / "bare.so"))
    executor = tvm.runtime.load_module(str(tmp_path / "bare.so"))["default"](tvm.cpu())
    data = np.ones((2, 3), "float32")
    executor["set_input"]("x", tvm.nd.array(data))
    executor["load_params"](tvm.runtime.save_param_dict(lib.get_params()))
    executor["run"]()
    np.testing.assert_allclose(executor["get_output"](0).numpy(), data @ weights.T)
