"""Graphs that compute in another data type."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.frontend import ChangeDatatype
from tests.compiler.custom_types import MYFLOAT, custom_types, register_myfloat


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    with custom_types():
        yield


def network() -> tvm.IRModule:
    x = relay.var("x", shape=(1, 3, 6, 6))
    weight = relay.const(np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype("float32"))
    pooled = relay.nn.max_pool2d(relay.nn.relu(relay.nn.conv2d(x, weight, padding=(1, 1))), (2, 2), (2, 2))
    body = relay.nn.softmax(relay.nn.batch_flatten(pooled))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def converted(values: tvm.nd.NDArray, dtype: str) -> tvm.nd.NDArray:
    x = relay.var("x", shape=values.shape, dtype=values.dtype)
    return relay.create_executor("graph").evaluate(relay.Function([x], x.astype(dtype)))(values)


@pytest.mark.parametrize("executor", ["graph", "vm"])
def test_a_network_in_a_format_of_ones_own(executor: str) -> None:
    register_myfloat()
    changed = ChangeDatatype("float32", MYFLOAT)(network())
    x = tvm.nd.array(np.random.default_rng(1).normal(size=(1, 3, 6, 6)).astype("float32"))
    expected = relay.create_executor("graph", mod=network()).evaluate()(x)
    found = relay.create_executor(executor, mod=changed).evaluate()(converted(x, MYFLOAT))
    assert found.dtype == MYFLOAT
    np.testing.assert_allclose(converted(found, "float32").numpy(), expected.numpy(), rtol=1e-5)


def test_types_of_variables_constants_and_results_change() -> None:
    text = str(ChangeDatatype("float32", "float16")(network()))
    assert "float32" not in text.replace('dtype="float32"', "").split("meta")[0]
    assert "-> Tensor[(1, 36), float16]" in text
    assert 'dtype="float16"' in text


def test_other_types_stay() -> None:
    x, n = relay.var("x", shape=(3,)), relay.var("n", shape=(3,), dtype="int32")
    pair = relay.var("pair", type_annotation=relay.TupleType([x.type_annotation, n.type_annotation]))
    body = relay.Tuple([relay.TupleGetItem(pair, 0), relay.add(n, relay.const(1))])
    changed = ChangeDatatype("float32", "float64")(tvm.IRModule.from_expr(relay.Function([pair, n], body)))
    main = relay.transform.InferType()(changed)["main"]
    assert [field.dtype for field in main.ret_type.fields] == ["float64", "int32"]
    assert [field.dtype for field in main.params[0].type_annotation.fields] == ["float64", "int32"]
