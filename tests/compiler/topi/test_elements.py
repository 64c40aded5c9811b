"""Functions of tensors that take single elements as well."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir, topi


@pytest.mark.parametrize("indexed", [lambda a, i: a[i], lambda a, i: a(i)])
def test_an_element_of_a_tensor_is_cast(indexed):
    a = te.placeholder((5,), name="a")
    b = te.compute((5,), lambda i: topi.cast(indexed(a, i) * 2.0, "int32") + topi.cast(indexed(a, i), "int32"))
    data, out = tvm.nd.array(np.array([-1.5, 0.2, 1.7, 2.0, 9.9], "float32")), tvm.nd.array(np.zeros(5, "int32"))
    tvm.build(te.create_schedule(b.op), [a, b], "llvm")(data, out)
    source = data.numpy()
    np.testing.assert_array_equal(out.numpy(), (source * 2).astype("int32") + source.astype("int32"))


def test_an_expression_is_cast():
    x = tir.Var("x", "int32")
    cast = topi.cast(x, "float32")
    assert isinstance(cast, tir.Cast)
    assert cast.dtype == "float32"
    assert cast.value.same_as(x)
    assert topi.cast(x, "int32") is x


def test_an_element_of_a_buffer_is_cast():
    buffer = tir.decl_buffer((4,), "float16")
    assert topi.cast(buffer[2], "float32").value.buffer is buffer
