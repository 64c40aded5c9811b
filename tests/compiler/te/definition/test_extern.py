"""Operations whose statement the user writes, and calls of registered functions from built code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir.error import ArgumentError, TVMError
from compiler.runtime.modules.packed_func import register_func, remove_global_func
from compiler.tir.interpreter import interpret


@pytest.fixture
def called():
    """Register functions that extern operations call; yield the arguments that they got."""
    log = []

    def scale(x, factor, y):
        log.append(("scale", x.shape, factor))
        y[:] = x.numpy() * factor

    def fail(*args):
        raise ValueError("out of order")

    names = {"test.scale": scale, "test.fail": fail, "test.log": lambda *args: log.append(args)}
    for name, function in names.items():
        register_func(name, function)
    yield log
    for name in names:
        remove_global_func(name)


def _scaled(n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.extern((n,), [B], lambda ins, outs: tir.call_packed("test.scale", ins[0], 2.5, outs[0]), name="C")
    D = te.compute((n,), lambda i: C[i] - 3.0, name="D")
    return A, D, te.create_schedule(D.op)


def _run(function, *arrays):
    given = [tvm.nd.array(a) for a in arrays]
    function(*given)
    return [a.numpy() for a in given]


@pytest.mark.parametrize("n", [7, "symbolic"])
def test_a_registered_function_in_the_middle(called, n):
    A, D, s = _scaled(te.var("n") if n == "symbolic" else n)
    data = np.arange(7, dtype="float32")
    expected = (data + 1) * 2.5 - 3
    _, result = _run(tvm.build(s, [A, D]), data, np.zeros(7, "float32"))
    np.testing.assert_array_equal(result, expected)
    interpreted = np.zeros(7, "float32")
    interpret(tvm.lower(s, [A, D])["main"], [data, interpreted])
    np.testing.assert_array_equal(interpreted, expected)
    assert called == [("scale", (7,), 2.5)] * 2


def test_memory_of_intermediate_results_is_shared_between_calls(called):
    A = te.placeholder((8,), name="A")
    results, t = [], A
    for step in range(4):
        doubled = _double(t, step)
        t = te.extern(
            (8,), [doubled], lambda ins, outs: tir.call_packed("test.scale", ins[0], 3, outs[0]), name=f"e{step}"
        )
        results.append(t)
    D = te.compute((8,), lambda i: results[0][i] + results[1][i] + results[2][i] + results[3][i], name="D")
    data = np.arange(8, dtype="float32")
    _, result = _run(tvm.build(te.create_schedule(D.op), [A, D]), data, np.zeros(8, "float32"))
    np.testing.assert_array_equal(result, data * (6 + 36 + 216 + 1296))


def _double(t, step):
    return te.compute((8,), lambda i: t[i] * 2.0, name=f"d{step}")


def test_an_exception_of_the_function_ends_the_program(called):
    A = te.placeholder((8,), name="A")
    B = te.extern((8,), [A], lambda ins, outs: tir.call_packed("test.fail", ins[0], outs[0]), name="B")
    C = te.extern((8,), [B], lambda ins, outs: tir.call_packed("test.log", ins[0]), name="C")
    function = tvm.build(te.create_schedule(C.op), [A, C])
    with pytest.raises(ValueError, match="out of order"):
        _run(function, np.zeros(8, "float32"), np.zeros(8, "float32"))
    assert called == []


def test_a_function_that_is_not_registered():
    A = te.placeholder((8,), name="A")
    B = te.extern((8,), [A], lambda ins, outs: tir.call_packed("test.none", ins[0], outs[0]), name="B")
    with pytest.raises(TVMError, match=r"test\.none"):
        _run(tvm.build(te.create_schedule(B.op), [A, B]), np.zeros(8, "float32"), np.zeros(8, "float32"))


def test_arguments_of_all_kinds(called):
    n = te.var("n", "int64")
    A = te.placeholder((2, 3), "int16", name="A")
    B = te.extern(
        [(2, 3), (1,)],
        [A],
        lambda ins, outs: tir.call_packed("test.log", ins[0], "text", n, tir.const(-1, "int8"), 0.5, outs[1]),
        dtype=["int16", "float64"],
        name="B",
    )
    data = np.arange(6, dtype="int16").reshape(2, 3)
    function = tvm.build(te.create_schedule(B[0].op), [A, *B, n])
    function(*map(tvm.nd.array, (data, np.zeros((2, 3), "int16"), np.zeros(1))), 1 << 40)
    ((array, text, number, small, half, out),) = called
    assert (text, number, small, half) == ("text", 1 << 40, -1, 0.5)
    assert (array.shape, array.dtype, out.shape, out.dtype) == ((2, 3), "int16", (1,), "float64")


def test_calls_in_an_exported_library(called, tmp_path):
    A, D, s = _scaled(5)
    path = str(tmp_path / "scaled.so")
    tvm.build(s, [A, D]).export_library(path)
    data = np.arange(5, dtype="float32")
    _, result = _run(tvm.runtime.load_module(path), data, np.zeros(5, "float32"))
    np.testing.assert_array_equal(result, (data + 1) * 2.5 - 3)


def test_loops_of_the_builder_over_a_part_with_strides():
    """A buffer with offset and strides of its own is bound to the tensor that it stands for."""
    A = te.placeholder((4, 6), name="A")
    strided = tir.decl_buffer(
        (4, 6), "float32", "strided", strides=[te.var("ld"), te.var("step")], elem_offset=te.var("o")
    )

    def transpose(ins, outs):
        builder = tir.ir_builder.create()
        x, y = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 4, name="i") as i, builder.for_range(0, 6, name="j") as j:
            y[j, i] = x[i, j]
        return builder.get()

    T = te.extern((6, 4), [A], transpose, in_buffers=[strided], name="T")
    B = te.compute((6, 4), lambda i, j: T[i, j] + 1.0, name="B")
    data = np.arange(24, dtype="float32").reshape(4, 6)
    _, result = _run(tvm.build(te.create_schedule(B.op), [A, B]), data, np.zeros((6, 4), "float32"))
    np.testing.assert_array_equal(result, data.T + 1)


def test_a_function_over_loops_as_an_operation():
    X = te.placeholder((4,), name="X")
    Y = te.compute((4,), lambda i: X[i] * 2.0, name="Y")
    inner = tvm.lower(te.create_schedule(Y.op), [X, Y])["main"]
    A = te.placeholder((4,), name="A")
    B = te.extern_primfunc([A], inner, name="B")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    data = np.arange(4, dtype="float32")
    _, result = _run(tvm.build(te.create_schedule(C.op), [A, C]), data, np.zeros(4, "float32"))
    np.testing.assert_array_equal(result, data * 2 + 1)
    with pytest.raises(ArgumentError, match="dimension 0"):
        te.extern_primfunc([te.placeholder((5,), name="Z")], inner)


def _function(*params: tir.Buffer, body: Callable[[Any, Any], None]) -> tir.PrimFunc:
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4) as i:
        body([ib.buffer_ptr(buffer) for buffer in params], i)
    return tir.PrimFunc(list(params), ib.get())


def test_a_function_over_loops_reads_some_buffers_and_writes_others():
    A = te.placeholder((4,), name="A")
    x, y = tir.decl_buffer((4,), name="x"), tir.decl_buffer((4,), name="y")

    def copy(b: Any, i: Any) -> None:
        b[1][i] = b[0][i]

    def in_place(b: Any, i: Any) -> None:
        b[1][i] = b[0][i] + b[1][i]

    def fill(b: Any, i: Any) -> None:
        b[0][i] = 1.0

    def forget(b: Any, i: Any) -> None:
        b[0][i] + 1.0

    for primfunc, inputs, message in (
        ("f", [A], "primfunc must be a PrimFunc, got 'f'"),
        (_function(x, y, body=in_place), [A], "buffer 'y' must be read or written, and is both"),
        (_function(x, body=fill), [], "must read some buffers and write others"),
        (_function(x, body=forget), [A], "must read some buffers and write others"),
        (_function(x, y, body=copy), [A, A], "reads 1 buffers, got 2 tensors"),
        (_function(x, y, body=copy), [te.placeholder((4, 1), name="R")], "tensor 'R' does not fit buffer 'x'"),
        (_function(x, y, body=copy), [te.placeholder((4,), "int32", name="R")], "tensor 'R' does not fit buffer 'x'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            te.extern_primfunc(inputs, primfunc)


def test_arguments_of_extern():
    A, B = te.placeholder((4,), name="A"), te.placeholder((4,), "int32", name="B")
    with pytest.raises(ArgumentError, match="dtype must be given"):
        te.extern((4,), [A, B], lambda ins, outs: tir.call_packed("f"))
    with pytest.raises(ArgumentError, match="dtype must be 1 data types, got 2"):
        te.extern((4,), [A, B], lambda ins, outs: tir.call_packed("f"), dtype=["int32", "int8"])
    with pytest.raises(ArgumentError, match="inputs must be tensors, got 3"):
        te.extern((4,), [A, 3], lambda ins, outs: tir.call_packed("f"))
    with pytest.raises(ArgumentError, match="must return a call or a statement"):
        te.extern((4,), [A], lambda ins, outs: None)
    with pytest.raises(ArgumentError, match="in_buffers must be 1"):
        te.extern((4,), [A], lambda ins, outs: None, in_buffers=[tir.decl_buffer((4,))] * 2)
    first, second = te.extern([(4,), (5,)], [A], lambda ins, outs: tir.call_packed("f", *outs), name="E")
    assert (first.value_index, second.value_index, second.shape[0]) == (0, 1, 5)


def test_tags_of_a_block():
    A = te.placeholder((4,), name="A")
    assert te.tag.TagScope.get_current() is None
    with te.tag_scope(tag="mine") as scope:
        assert te.tag.TagScope.get_current() is scope
        B = te.compute((4,), lambda i: A[i], name="B")
        C = te.extern((4,), [A], lambda ins, outs: tir.call_packed("f"), name="C")
        with pytest.raises(ArgumentError, match="inside of tag_scope"):
            te.compute((4,), lambda i: A[i], name="D", tag="other")
        with pytest.raises(ArgumentError), te.tag_scope("inner"):
            pass

    with te.tag_scope("around"):
        assert (A + 1).op.tag == "elemwise"
        assert (A + A).op.tag == "broadcast"

    @te.tag_scope("theirs")
    def declare():
        return te.compute((4,), lambda i: A[i])

    assert (B.op.tag, C.op.tag, declare().op.tag, te.compute((4,), lambda i: A[i]).op.tag) == (
        "mine",
        "mine",
        "theirs",
        "",
    )


def test_a_call_of_no_data_type_returns_nothing() -> None:
    plain, named = (tir.call_extern(dtype, "f", 1) for dtype in ("", "void"))
    assert tvm.ir.structural_equal(plain, named)
    assert str(plain) == 'T.call_extern("void", "f", 1)'
