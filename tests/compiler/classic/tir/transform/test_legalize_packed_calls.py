"""LegalizePackedCalls: pointers that are passed to functions of the module become arrays."""

from __future__ import annotations

import textwrap

import pytest

from compiler.ir.error import ArgumentError, LoweringError
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.transform import LegalizePackedCalls

CALLEE = "A: T.Buffer((8, 4), 'float32'), k: T.int32, B: T.Buffer((8,), 'int8', strides=(2,)), resources: T.handle):"
NO_STRIDES = "T.reinterpret('handle', T.uint64(0))"
ARRAY = "T.tvm_stack_make_array({}, {}, {}, T.uint32({}), T.Cast('{}', 0), 0, dtype='handle')"
SHAPE = "T.tvm_stack_make_shape({}, dtype='handle')"


def _module(statement: str, callee: str = CALLEE) -> IRModule:
    body = textwrap.indent(f"p = T.allocate([32], 'float32', 'global')\n{statement}", "    ")
    main = from_source(f"@T.prim_func\ndef main(a: T.handle, n: T.int32, resources: T.handle):\n{body}")
    return IRModule({"main": main, "f": from_source(f"@T.prim_func\ndef f({callee}\n    T.evaluate(0)")})


def _call(*operands: str) -> str:
    return f"T.evaluate(T.tvm_call_cpacked('f', {', '.join(operands)}, dtype='int32'))"


def test_pointers_become_arrays_of_the_shapes_of_the_parameters() -> None:
    first = ARRAY.format("p", SHAPE.format("8, 4"), NO_STRIDES, 2, "float32")
    second = ARRAY.format("p", SHAPE.format("8"), SHAPE.format("2"), 1, "int8")
    after = LegalizePackedCalls()(_module(_call("p", "n + 1", "p", "resources")))
    assert_structural_equal(after["main"], _module(_call(first, "n + 1", second, "resources"))["main"])
    assert_structural_equal(LegalizePackedCalls()(after)["main"], after["main"])


@pytest.mark.parametrize("operands", [("a", "n", "a", "resources"), ("a", "2", "a", "p")])
def test_parameters_and_the_handle_of_resources_stay(operands: tuple[str, ...]) -> None:
    before = _module(_call(*operands))
    assert_structural_equal(LegalizePackedCalls()(before)["main"], before["main"])


def test_calls_that_do_not_fit_are_refused() -> None:
    with pytest.raises(LoweringError, match="'f' takes 4 arguments, got"):
        LegalizePackedCalls()(_module(_call("p", "resources")))
    with pytest.raises(ArgumentError, match="no function is named 'g'"):
        LegalizePackedCalls()(_module(_call("p", "resources").replace("'f'", "'g'")))
    symbolic = "x: T.handle, resources: T.handle):\n    m = T.int32()\n    A = T.match_buffer(x, (m,), 'float32')"
    with pytest.raises(LoweringError, match="parameter 'A' must have a constant shape"):
        LegalizePackedCalls()(_module(_call("p", "resources"), symbolic))
