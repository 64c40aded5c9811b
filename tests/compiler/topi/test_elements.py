"""Functions of tensors that take single elements as well."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir, topi
from compiler.ir.error import ArgumentError, DTypeError


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


def test_logical_operators_take_truth_values_only():
    numbers, truths = te.placeholder((2,), "int32"), te.placeholder((2,), "bool")
    for function in (topi.logical_and, topi.logical_or, topi.logical_xor):
        assert function(truths, truths).dtype == "bool"
        with pytest.raises(DTypeError, match="expected operands of type bool, got int32"):
            function(truths, numbers)


@pytest.mark.parametrize(("old", "new"), [((4, 0), (2, 0, 2)), ((16, 0), (4, 0)), ((0,), (3, 0))])
def test_no_elements_in_another_shape(old, new):
    a = te.placeholder(old, name="a")
    b = topi.reshape(a, new)
    out = tvm.nd.array(np.zeros(new, "float32"))
    tvm.build(te.create_schedule(b.op), [a, b], "llvm")(tvm.nd.array(np.zeros(old, "float32")), out)
    assert out.shape == new


@pytest.mark.parametrize("indices", [((2, 2), "float32"), ((2,), "int32")])
def test_gather_needs_integers_of_the_rank_of_the_data(indices):
    with pytest.raises(ArgumentError, match="gather: indices must be integers of the rank of the data"):
        topi.gather(te.placeholder((3, 4)), 0, te.placeholder(*indices))
