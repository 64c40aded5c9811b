"""Numbers and shapes of definitions."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir, topi
from compiler.ir.error import ArgumentError
from compiler.topi import utils


def test_constants_become_numbers() -> None:
    n = tir.Var("n", "int32")
    shape = utils.get_const_tuple((tir.IntImm("int32", 3), 4, n))
    assert shape == (3, 4, n)
    assert utils.get_const_int(tir.const(2) * 3) == 6
    assert utils.get_float_tuple([1, tir.const(0.5)]) == (1.0, 0.5)
    assert utils.equal_const_int(n - n, 0)
    assert utils.is_empty_shape((3, 0))
    assert not utils.is_empty_shape((n,))
    with pytest.raises(ArgumentError, match="must be a constant int"):
        utils.get_const_int(n)


def test_places_and_indices_are_inverse() -> None:
    for place in range(24):
        assert utils.ravel_index(utils.unravel_index(place, (2, 3, 4)), (2, 3, 4)) == place
    assert [utils.ceil_div(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert utils.get_max_power2_factor(48) == 16
    assert utils.get_max_power2_factor(48, 4) == 4
    assert utils.swap([1, 2, 3], 0) == (3, 2, 1)


def test_a_matrix_of_constants_is_inlined() -> None:
    matrix = np.arange(6, dtype="float32").reshape(2, 3)
    constants = utils.const_matrix(matrix)
    A = te.placeholder((2, 3), name="A")
    middle = te.compute((2, 3), lambda i, j: A[i, j] * 2.0, name="middle", tag="elemwise")
    B = te.compute((2, 3), lambda i, j: middle[i, j] + constants[i, j], name="B")
    s = te.create_schedule(B.op)
    visited: list[str] = []
    utils.traverse_inline(s, B.op, lambda op: visited.append(op.name))
    assert visited == ["A", "middle", "const_matrix", "B"]
    built = tvm.build(s, [A, B], "llvm")
    a, b = tvm.nd.array(np.ones((2, 3), "float32")), tvm.nd.empty((2, 3))
    built(a, b)
    np.testing.assert_array_equal(b.numpy(), 2 + matrix)


def test_tools_are_no_operators() -> None:
    assert topi.utils is utils
    assert topi.prod is not utils.prod
    assert topi.prod(te.placeholder((2, 3)), axis=1).shape[0].value == 2
