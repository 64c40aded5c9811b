"""Returning values, and calls between the functions of a module."""

import ctypes
import re

import numpy as np
import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.error import BuildError
from compiler.tir.script import ir as I
from compiler.tir.script import tir as T


def function(params, body, name="f", **attrs):
    func = tir.PrimFunc(params, body).with_attr("global_symbol", name)
    for key, value in attrs.items():
        func = func.with_attr(key, value)
    return func


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", -3),
        ("int32", -(2**31)),
        ("int64", 2**40),
        ("uint8", 255),
        ("uint64", 2**64 - 1),
        ("bool", True),
        ("bool", False),
        ("float16", 0.5),
        ("float32", -1.25),
        ("float64", 1e300),
    ],
)
def test_a_value_is_returned_as_a_number_of_its_kind(dtype, value):
    x = tir.Var("x", dtype)
    result = tvm.build(function([x], tir.Evaluate(tir.ret(x))), target="llvm")(value)
    assert result == value
    assert type(result) is type(value)


def test_a_function_without_return_gives_none():
    assert tvm.build(function([], tir.Evaluate(0)), target="llvm")() is None


def test_a_pointer_is_returned():
    a = tir.decl_buffer((4,), "float32")
    array = tvm.nd.array(np.zeros(4, "float32"))
    result = tvm.build(function([a], tir.Evaluate(tir.ret(a.data))), target="llvm")(array)
    assert isinstance(result, ctypes.c_void_p)
    assert result.value == array.address


def test_the_rest_of_the_function_is_left_out():
    a, n = tir.decl_buffer((4,), "int32"), tir.Var("n", "int32")
    i = tir.Var("i", "int32")
    leave = tir.IfThenElse(a.vload((i,)) == n, tir.Evaluate(tir.ret(i)), None)
    body = tir.SeqStmt([tir.For(i, 0, 4, tir.ForKind.SERIAL, leave), tir.Evaluate(tir.ret(tir.const(-1, "int32")))])
    find = tvm.build(function([a, n], body), target="llvm")
    array = np.array([7, 5, 3, 5], "int32")
    assert [find(array, n) for n in (7, 5, 3, 1)] == [0, 1, 2, -1]


def test_memory_of_the_heap_is_given_back_before_returning():
    data, n = tir.Var("data", tvm.ir.PointerType(tvm.ir.PrimType("int32"))), tir.Var("n", "int32")
    buffer = tir.decl_buffer((n,), "int32", data=data)
    inner = tir.SeqStmt([tir.BufferStore(buffer, 5, [n - 1]), tir.Evaluate(tir.ret(buffer.vload((n - 1,))))])
    body = tir.Allocate(data, "int32", [n], tir.const(True, "bool"), inner)
    built = tvm.build(function([n], body), target="llvm -opt-level=0")
    assert built(1000) == 5
    assert "call void @free" in built.get_source("ll")


def test_a_parallel_loop_cannot_return():
    i = tir.Var("i", "int32")
    body = tir.For(i, 0, 4, tir.ForKind.PARALLEL, tir.Evaluate(tir.ret(i)))
    with pytest.raises(BuildError, match="cannot return from inside a parallel loop"):
        tvm.build(function([], body), target="llvm").get_source()


def test_values_of_several_kinds_are_refused():
    n = tir.Var("n", "int32")
    body = tir.IfThenElse(n > 0, tir.Evaluate(tir.ret(n)), tir.Evaluate(tir.ret(tir.const(0.5, "float32"))))
    with pytest.raises(BuildError, match="returns values of different types, int64 and float32"):
        tvm.build(function([n], body), target="llvm").get_source()


@I.ir_module
class Calls:
    @T.prim_func
    def main(A: T.Buffer(4, "float32"), n: T.int32):
        T.func_attr({"global_symbol": "main"})
        Calls.fill(A.data, n)

    @T.prim_func(private=True)
    def fill(data: T.handle("float32"), n: T.int32):
        A = T.decl_buffer(4, "float32", data=data)
        for i in T.parallel(n):
            A[i] = 42.0


def test_a_function_calls_another_that_has_parallel_loops():
    array = np.zeros(4, "float32")
    tvm.build(Calls, target="llvm")["main"](array, 3)
    np.testing.assert_equal(array, [42, 42, 42, 0])


def test_an_extern_call_of_a_function_of_the_module_calls_it():
    x = tir.Var("x", "float32")
    y = tir.Var("y", "float32")
    twice = function([x], tir.Evaluate(tir.ret(x * 2.0)), "twice")
    call = tir.call_extern("float32", "twice", y)
    main = function([y], tir.Evaluate(tir.ret(call + 1.0)), "main")
    assert tvm.build(tvm.IRModule({"main": main, "twice": twice}), target="llvm")["main"](1.5) == 4.0


@pytest.mark.parametrize(
    ("name", "dtype", "wide", "result"),
    [("abs", "int8", 0x1FF, 1), ("abs", "int16", 0x1FFFE, 2), ("toupper", "uint8", 0x161, ord("A"))],
)
def test_narrow_arguments_of_c_fill_their_registers(name, dtype, wide, result):
    """``abs`` and ``toupper`` take an int, whose upper bits a conversion to fewer bits leaves as they were."""
    x = tir.Var("x", "int32")
    call = tir.call_extern("int32", name, x.astype(dtype))
    assert tvm.build(function([x], tir.Evaluate(tir.ret(call))), target="llvm")(wide) == result


def test_risc_v_extends_arguments_of_32_bits_by_their_sign():
    x = tir.Var("x", "uint32")
    call = tir.call_extern("int32", "f", x.astype("uint16"), x)
    target = "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d"
    source = tvm.build(function([x], tir.Evaluate(tir.ret(call))), target=target).get_source("ll")
    assert re.search(r"call i32 @f\(i16 zeroext %\S+, i32 signext %\S+\)", source), source


def test_a_call_with_another_number_of_arguments_is_refused():
    x = tir.Var("x", "float32")
    one = function([x], tir.Evaluate(tir.ret(x)), "one")
    main = function([], tir.Evaluate(tir.call_extern("float32", "one")), "main")
    with pytest.raises(BuildError, match="one: expected 1 argument, got 0"):
        tvm.build(tvm.IRModule({"main": main, "one": one}), target="llvm")
