"""Copies that share no definition; what functions and buffers refuse."""

import numpy as np
import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.script import from_source
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import Allocate, AttrStmt
from compiler.tir.statements.stmt_functor import post_order_visit, renew_defs
from tests.compiler.tir.transform.programs import nodes


def copy_function():
    n = tir.Var("n", "int32")
    a, b = (tir.decl_buffer((n,), name=name) for name in "ab")
    i = tir.Var("i", "int32")
    body = tir.For(i, 0, n, tir.ForKind.SERIAL, tir.BufferStore(b, a.vload((i,)) + 1.0, [i]))
    return tir.PrimFunc([a, b], body).with_attr("global_symbol", "main")


def definitions(func):
    parts = [*func.params, *func.buffer_map.values()]

    def collect(n):
        if isinstance(n, tir.For):
            parts.append(n.loop_var)
        if isinstance(n, (tir.BufferLoad, tir.BufferStore)):
            parts.extend((n.buffer, n.buffer.data, *n.buffer.shape))

    post_order_visit(func.body, collect)
    return set(map(id, parts))


def test_a_renewed_function_is_another_one_that_does_the_same():
    func = copy_function()
    new = renew_defs(func)
    assert structural_equal(func, new)
    assert definitions(func).isdisjoint(definitions(new))
    result = np.zeros(3, "float32")
    tvm.build(new, target="llvm")(np.arange(3, dtype="float32"), result)
    np.testing.assert_equal(result, [1, 2, 3])


def test_marks_of_memory_and_launches_follow_their_definitions():
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), n: T.int32):
    p = T.handle("int32", "shared")
    T.attr(p, "volatile_scope", 1)
    with T.launch_thread("threadIdx.x", n) as tx:
        q = T.allocate([8], "int32", "local")
        T.attr(q, "volatile_scope", 1)
        A[tx] = n
"""
    )
    new = renew_defs(func)
    assert structural_equal(func, new)
    [launch] = [n for n in nodes(new, AttrStmt) if n.attr_key == "thread_extent"]
    [memory] = nodes(new, Allocate)
    [old] = nodes(func, Allocate)
    assert launch.value is new.params[1] is launch.node.dom.extent
    assert memory.body.node is memory.buffer_var is not old.buffer_var
    again = RenewDefs().visit(rebuild(launch, body=launch))
    assert again.node is again.body.node is not launch.node
    around = tir.AttrStmt(old.buffer_var, "volatile_scope", tir.const(1), rebuild(old, body=tir.Evaluate(1)))
    mark = RenewDefs().visit(around)
    assert mark.node is mark.body.buffer_var is not old.buffer_var


def test_the_value_of_a_buffer_is_a_buffer():
    func = copy_function()
    with pytest.raises(ArgumentError, match="another buffer"):
        func.specialize({func.params[0]: 3})


@pytest.mark.parametrize("separators", [[2, 1], [4], [-1], [1, 9]])
def test_axis_separators_lie_between_dimensions(separators):
    with pytest.raises(ArgumentError, match="axis_separators"):
        tir.decl_buffer((2, 3, 4), axis_separators=separators)


def test_modules_come_with_their_target():
    module = tvm.IRModule({"main": copy_function()})
    result = np.zeros(2, "float32")
    tvm.build({"llvm": module})(np.ones(2, "float32"), result)
    np.testing.assert_equal(result, [2, 2])
    with pytest.raises(ArgumentError, match="one target"):
        tvm.build({"llvm": module, "llvm -opt-level=1": module})


def test_attributes_are_given_by_a_mapping():
    func = copy_function().with_attr({"a": 1, "b": 2})
    assert (func.attrs["a"], func.attrs["b"], func.attrs["global_symbol"]) == (1, 2, "main")
    module = tvm.IRModule({"main": func}).with_attrs({"c": 3, "d": 4}).without_attr("c")
    assert module.attrs == {"d": 4}


def test_predicates_use_the_new_variables():
    size, i = tir.Var("n", "int32"), tir.Var("i", "int32")
    buffer = tir.decl_buffer((16,), "int32", "A")
    lanes = tir.Ramp(i, 1, 4)
    mask = tir.Broadcast(i, 4) < tir.Broadcast(size, 4)
    store = tir.BufferStore(buffer, tir.BufferLoad(buffer, [lanes], mask) + tir.Broadcast(1, 4), [lanes], mask)
    func = tir.PrimFunc([buffer.data, size], tir.For(i, 0, 4, tir.ForKind.SERIAL, store))
    new = renew_defs(func)
    assert structural_equal(func, new)
    assert set(tir.analysis.undefined_vars(new.body, list(new.params))) == set()


def test_what_a_block_allocates_keeps_the_size_that_is_known_around_it():
    n, memory = tir.Var("n", "int32"), tir.Var("memory", "handle")
    buffer = tir.decl_buffer((n,), name="memory", data=memory)
    block = tir.Block(
        [], [], [], "copy", tir.BufferStore(buffer, tir.const(0.0, "float32"), [0]), alloc_buffers=[buffer]
    )
    (renewed,) = RenewDefs().visit(block).alloc_buffers
    assert renewed.shape[0] is n
    assert renewed.data is not memory


def test_a_block_that_defines_nothing_is_another_block_too():
    buffer = tir.decl_buffer((1,), name="A")
    block = tir.Block([], [], [], "store", tir.BufferStore(buffer, tir.const(0.0, "float32"), [0]))
    renewed = RenewDefs().visit(block)
    assert renewed is not block
    assert structural_equal(renewed, block, map_free_vars=True)
