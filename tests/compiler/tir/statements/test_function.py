"""Functions of loop IR: parameters that are buffers, special values of parameters, broadcast buffers."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import te, tir
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir import IRModule, structural_equal
from compiler.ir.error import ArgumentError, DTypeError
from compiler.runtime.arrays.ndarray import array, empty


def _running_sum(size: tir.PrimExpr) -> tir.PrimFunc:
    buffer = tir.decl_buffer((size,), "int64", name="A")
    builder = tir.ir_builder.create()
    memory = builder.buffer_ptr(buffer)
    with builder.for_range(1, size, name="i") as i:
        memory[i] = memory[i] + memory[i - 1]
    return tir.PrimFunc([buffer], builder.get())


def test_buffers_are_parameters() -> None:
    func = _running_sum(te.var("n"))
    (handle,) = func.params
    assert (handle.dtype, func.buffer_map[handle].name) == ("handle", "A")
    values = array(np.arange(10))
    build(IRModule({"main": func}))(values)
    np.testing.assert_array_equal(values.numpy(), np.cumsum(np.arange(10)))
    with pytest.raises(DTypeError, match="params must be variables or buffers, got 3"):
        tir.PrimFunc([3], func.body)  # type: ignore[list-item]


def test_special_values() -> None:
    n = te.var("n")
    func = tir.PrimFunc([n, *_running_sum(n).params], _running_sum(n).body)
    size = te.var("size")
    general = _running_sum(size)
    (handle,) = general.params
    special = general.specialize({handle: tir.decl_buffer((8,), "int64")})
    assert structural_equal(special, _running_sum(tir.const(8)))
    scalar = tir.PrimFunc([n], tir.Evaluate((n + 3) // 2))
    assert structural_equal(scalar.specialize({n: 5}), tir.PrimFunc([], tir.Evaluate(4)))
    assert scalar.specialize({}) is scalar or structural_equal(scalar.specialize({}), scalar)
    with pytest.raises(ArgumentError, match="n is not a parameter"):
        general.specialize({n: 3})
    with pytest.raises(ArgumentError, match="an integer"):
        scalar.specialize({n: 3.5})
    with pytest.raises(ArgumentError, match="has 1 dimensions, got a buffer with 2"):
        general.specialize({handle: tir.decl_buffer((8, 8), "int64")})
    with pytest.raises(ArgumentError, match="has 8 where the buffer has 9"):
        special.specialize({special.params[0]: tir.decl_buffer((9,), "int64")})
    with pytest.raises(ArgumentError, match="a scalar's value must be an expression"):
        scalar.specialize({n: tir.decl_buffer((1,))})
    assert func.params[0] is n


def test_a_variable_has_one_value() -> None:
    n = te.var("n")
    square = tir.decl_buffer((n, n), "float32", name="S")
    func = tir.PrimFunc([square], tir.Evaluate(n))
    (handle,) = func.params
    with pytest.raises(ArgumentError, match="'n' cannot be both 3 and 4"):
        func.specialize({handle: tir.decl_buffer((3, 4), "float32")})
    assert structural_equal(func.specialize({handle: tir.decl_buffer((3, 3))}).body, tir.Evaluate(3))


@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 1, 1), (1, 4, 3), (1, 1, 1)])
def test_dimensions_of_one_element_are_broadcast(shape: tuple[int, ...]) -> None:
    sizes = [te.size_var(name) for name in ("n0", "n1", "n2")]
    source = te.placeholder(sizes, name="B")
    result = te.compute((2, 4, 3), lambda i, j, k: source[i, j, k] + 1.0, name="C")
    view = tir.decl_buffer(source.shape, source.dtype, name="Bb", buffer_type="auto_broadcast")
    schedule = te.create_schedule(result.op)
    function = build(schedule, [source, result], binds={source: view})
    values = np.random.default_rng(0).random(shape, np.float32)
    out = empty((2, 4, 3))
    function(array(values), out)
    np.testing.assert_array_equal(out.numpy(), np.broadcast_to(values + 1, (2, 4, 3)))
    assert 'buffer_type="auto"' in str(lower(schedule, [source, result], binds={source: view}))
