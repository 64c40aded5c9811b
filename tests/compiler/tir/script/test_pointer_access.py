"""Accesses through pointers, as older releases write them."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.structural import structural_equal, structural_hash
from compiler.tir.interpreter import interpret
from compiler.tir.script import ScriptError, from_source
from compiler.tir.script import tir as T

PARAMS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32")'


def program(body: str, name: str = "main") -> object:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return from_source(f"@T.prim_func\ndef {name}({PARAMS}):\n{lines}")


@pytest.mark.parametrize(
    "body",
    [
        'for i in range(32):\n    T.store(B.data, i, T.load("float32", A.data, i) + 1.0)',
        'for i in range(32):\n    B.data[i] = T.load("float32", A.data, i, True) + 1.0',
        "for i in range(32):\n    B.data[i] = A.data[i] + T.float32(1)",
        'for i in range(32):\n    T.store(B.data, i, T.load("float32", A.data, i, i < 32) + 1.0, i < 32)',
        'for i in range(4):\n    T.store(B.data, T.ramp(i * 8, 1, 8), T.load("float32x8", A.data, T.ramp(i * 8, 1, 8), '
        "T.broadcast(True, 8)) + T.broadcast(T.float32(1), 8), T.broadcast(True, 8))",
    ],
)
def test_a_pointer_counts_through_all_rows(body: str) -> None:
    a, b = np.random.default_rng(0).random((4, 8), "float32"), np.zeros(32, "float32")
    func = program(body)
    interpret(func, [a, b])  # type: ignore[arg-type]
    np.testing.assert_array_equal(b, a.reshape(-1) + np.float32(1))
    assert structural_equal(from_source(str(func)), func)


def test_what_is_not_loaded_is_zero_and_what_is_not_stored_stays() -> None:
    a, b = np.ones((4, 8), "float32"), np.full(32, 5, "float32")
    body = 'for i in range(32):\n    T.store(B.data, i, T.load("float32", A.data, i, i < 8), i < 16)'
    interpret(program(body), [a, b])  # type: ignore[arg-type]
    np.testing.assert_array_equal(b, [1] * 8 + [0] * 8 + [5] * 16)


def test_allocated_memory_is_reached_through_its_pointer() -> None:
    a, b = np.arange(32, dtype="float32").reshape(4, 8), np.zeros(32, "float32")
    body = 'p = T.allocate([4], "float32")\np[3] = A[1, 2] * 2.0\nB[0] = p[3]'
    interpret(program(body), [a, b])  # type: ignore[arg-type]
    assert b[0] == 20
    with pytest.raises(ScriptError, match="'p' is a pointer to elements of unknown type: declare"):
        from_source('@T.prim_func\ndef main(p: T.handle, B: T.Buffer((4,), "float32")):\n    B[0] = p[0]')


def test_what_is_stored_tells_the_type_of_a_bare_pointer() -> None:
    store = from_source("@T.prim_func\ndef main(p: T.handle):\n    p[3] = T.float16(1)").body
    assert (store.buffer.dtype, store.buffer.data.name) == ("float16", "p")


def test_a_block_states_what_it_accesses_by_pointers() -> None:
    block = "for i in range(4):\n    with T.block():\n        vi = T.axis.S(4, i)\n        {}B[vi] = {}"
    load = 'T.load("float32", A.data, vi)'
    with pytest.raises(
        ScriptError, match=r"uses 'A' by its pointer: declare what it accesses with T\.reads and T\.writes"
    ):
        program(block.format("", load))
    program(block.format("T.reads(A[0:4, 0:8])\n        T.writes(B[vi])\n        ", load))


def test_older_words() -> None:
    body = 'p = T.buffer_var("float32", "global")\nwith T.let(p, A.data):\n    p[0] = 1.0'
    assert type(program(body).body).__name__ == "LetStmt"  # type: ignore[attr-defined]
    with pytest.raises(ScriptError, match="an index must be an integer, got float32"):
        program("B[0.5] = 1.0")


def test_variables_are_no_pointers() -> None:
    with pytest.raises(ScriptError, match="'i' is not a pointer but a variable of int32"):
        program("for i in range(4):\n    B[i] = i[0]")
    with pytest.raises(ScriptError, match=r"T.load: expected a pointer|missing a required argument"):
        program("B[0] = T.load(A.data)")


def test_functions_that_are_only_defined_under_different_names_are_equal() -> None:
    first, second, changed = program("B[0] = 1.0", "first"), program("B[0] = 1.0", "second"), program("B[0] = 2.0")
    assert structural_equal(first, second)
    assert structural_hash(first) == structural_hash(second)
    assert structural_equal(first, first.without_attr("global_symbol"))  # type: ignore[attr-defined]
    assert not structural_equal(first, changed)


def test_a_name_that_a_program_states_counts() -> None:
    first, second = program("B[0] = 1.0", "first"), program("B[0] = 1.0", "second")
    stated = first.with_attr("global_symbol", "first")  # type: ignore[attr-defined]
    assert structural_equal(first, stated)
    assert structural_hash(first) == structural_hash(stated)
    assert not structural_equal(second, stated)
    assert not structural_equal(first.without_attr("global_symbol"), stated)  # type: ignore[attr-defined]


def test_words_for_tensor_cores_are_read() -> None:
    body = 'T.evaluate(T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(0), dtype="handle"))'
    func = program(body)
    assert structural_equal(from_source(str(func)), func)
    assert "tvm_fill_fragment" in dir(T)


@pytest.mark.parametrize(
    "reducer",
    [
        "lambda x, y: T.max(x, y), [T.float32(-1)]",
        "lambda a, b, x, y: (a + x, T.min(b, y)), [T.float32(0), T.int32(9)]",
    ],
)
def test_reducers_are_read_back(reducer: str) -> None:
    func = program(f'T.attr(T.comm_reducer({reducer}), "reduce_scope", T.int32(0))\nB[0] = 1.0')
    assert type(func.body.node).__name__ == "CommReducer"  # type: ignore[attr-defined]
    assert structural_equal(from_source(str(func)), func)


def test_reducers_need_parameters_for_all_values() -> None:
    with pytest.raises(ScriptError, match="expected 4 parameters, got 2"):
        program('T.attr(T.comm_reducer(lambda x, y: x, [1.0, 2.0]), "reduce_scope", 0)\nB[0] = 1.0')


@pytest.mark.parametrize(
    "annotation", ["T.Ptr[T.float32]", "T.Ptr(T.float32)", "T.Ptr('float32')", "T.handle('float32')"]
)
def test_a_parameter_points_to_elements_of_a_type(annotation: str) -> None:
    func = from_source(f"@T.prim_func\ndef f(p: {annotation}):\n    T.evaluate(p)")
    assert str(func.params[0].type_annotation) == 'T.handle("float32", "global")'


def test_a_parameter_points_to_memory_of_a_scope() -> None:
    func = from_source("@T.prim_func\ndef f(p: T.Ptr[T.int8, 'shared']):\n    T.evaluate(p)")
    assert str(func.params[0].type_annotation) == 'T.handle("int8", "shared")'


def test_a_parameter_that_is_accessed_flat_keeps_its_shape() -> None:
    func = from_source("""
@T.prim_func
def main(A: T.Buffer[32, "float32"], b: T.handle):
    B = T.match_buffer(b, [32], "float32")
    T.preflattened_buffer(A, [4, 8], dtype="float32", data=A.data)
    T.preflattened_buffer(B, [4, 8])
    for i, j in T.grid(4, 8):
        B[i * 8 + j] = A[i * 8 + j] + 1.0
""")
    assert [list(buffer.shape) for buffer in func.buffer_map.values()] == [[4, 8], [4, 8]]
    assert structural_equal(from_source(func.script()), func)
    a, b = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    interpret(func, [a, b])  # type: ignore[arg-type]
    np.testing.assert_array_equal(b, a + 1)
    with pytest.raises(ScriptError, match="buffer 'C' is not that of a parameter"):
        from_source("""
@T.prim_func
def main(A: T.Buffer((32,))):
    C = T.Buffer((32,), data=A.data)
    T.preflattened_buffer(C, [4, 8])
    C[0] = 1.0
""")
