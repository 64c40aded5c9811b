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


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_vector_of_constants_is_computed(dtype: str) -> None:
    vector = np.array([3, -1, 7, 2], dtype)
    tensor = utils.const_vector(vector)
    result = tvm.nd.empty((4,), dtype)
    tvm.build(te.create_schedule(tensor.op), [tensor], "llvm")(result)
    np.testing.assert_array_equal(result.numpy(), vector)


@pytest.mark.parametrize("bounds", [(0, 8, 1), (1, 7, 2), (2, 3, 5), (7, 0, -1), (6, 1, -2), (7, 2, -3), (5, 5, 1)])
def test_indices_of_a_slice(bounds: tuple[int, int, int]) -> None:
    chosen = list(range(10))[slice(*bounds)]
    inside = [bool(utils.get_const_int(utils.within_index(*bounds, i))) for i in range(10)]
    assert inside == [i in chosen for i in range(10)]
    for place, i in enumerate(chosen):
        assert utils.get_const_int(utils.make_idx(*bounds, 10, i)) == place


def test_a_slice_that_begins_behind_the_end_begins_with_the_last_element() -> None:
    assert [utils.get_const_int(utils.make_idx(20, 0, -3, 10, i)) for i in (9, 6, 3)] == [0, 1, 2]


def test_shapes_of_unknown_extents() -> None:
    n = te.var("n")
    assert utils.is_dynamic_shape((1, tir.Any()))
    assert utils.is_dynamic_shape((te.size_var("n"),))
    assert not utils.is_dynamic_shape((1, n, n + 1))


def test_keys_of_the_current_target() -> None:
    assert not utils.is_target("cpu")
    with tvm.target.Target("llvm"):
        assert utils.is_target("cpu")
        assert utils.is_target(["cuda", "cpu"])
        assert not utils.is_target("llvm")


def test_shapes_in_layouts() -> None:
    assert utils.get_shape((2, tir.const(32), 5, 7), "NCHW", "NHWC") == (2, 5, 7, 32)
    assert utils.get_shape((2, 3, 5, 7, 16), "NCHW16c", tir.layout("NHWC16c")) == (2, 5, 7, 3, 16)
    with pytest.raises(ArgumentError, match="must have the same axes"):
        utils.get_shape((2, 32, 5, 7), "NCHW", "NCHW16c")
    with pytest.raises(ArgumentError, match="an extent for each axis of NCHW"):
        utils.get_shape((2, 32, 5), "NCHW", "NHWC")


def test_kinds_of_layouts() -> None:
    kinds = (utils.nchw_pack_layout, utils.nchw_xc_layout, utils.ncw_pack_layout, utils.ncw_xc_layout)
    names = ("NCHW4n16c", "NCHW16c", "NCW4n16c", "NCW16c")
    for kind, own in zip(kinds, names, strict=True):
        assert [name for name in (*names, "NCHW", "NHWC", "NCW", "undef") if kind(name)] == [own]
