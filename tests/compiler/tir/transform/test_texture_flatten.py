"""TextureFlatten: buffers in texture memory become columns and rows of vectors."""

from __future__ import annotations

import pytest

from compiler import te
from compiler.driver.build_module import schedule_to_module
from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.primexpr import Call
from compiler.tir.stmt import LetStmt
from compiler.tir.transform import TextureFlatten
from tests.compiler.tir.transform.programs import nodes


def staged(shape: tuple[int, ...], scope: str) -> IRModule:
    """``B = A * 2`` in memory of a scope, then ``C = B + 1``."""
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda *i: a(*i) * 2.0, name="B")
    c = te.compute(shape, lambda *i: b(*i) + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[b].set_scope(scope)
    return schedule_to_module(s, [a, c])


@pytest.mark.parametrize(
    ("shape", "scope", "columns_and_rows", "column", "row"),
    [
        ((6, 8, 4), "global.texture", "8, 6", "i1", "i0"),
        ((2, 6, 8, 4), "global.texture", "8, 12", "i2", "i0 * 6 + i1"),
        ((2, 6, 8, 3, 4), "global.texture-nhwc", "24, 12", "i2 * 3 + i3", "i0 * 6 + i1"),
        ((2, 6, 8, 4), "global.texture-weight", "48, 2", "i1 * 8 + i2", "i0"),
        ((6, 8, 1), "global.texture", "8, 6", "i1", "i0"),
    ],
)
def test_the_scope_says_which_dimensions_are_rows(
    shape: tuple[int, ...], scope: str, columns_and_rows: str, column: str, row: str
) -> None:
    text = TextureFlatten()(staged(shape, scope)).script()
    memory = f'T.nd_mem_alloc_with_scope("{scope}", T.int64(2), T.tvm_stack_make_shape({columns_and_rows}))'
    assert f'B: T.handle("float32", "{scope}") = {memory}' in text
    assert f"T.texture2d_store(B, {column}, {row}, A[" in text
    assert f"T.texture2d_load(B, {column}, {row}, {'0' if shape[-1] == 1 else f'i{len(shape) - 1}'}" in text


def test_loads_have_the_type_of_an_element() -> None:
    func = TextureFlatten()(staged((6, 8, 4), "global.texture"))["main"]
    loads = [n for n in nodes(func.body, Call) if n.op.name == "tir.texture2d_load"]
    assert {n.dtype for n in loads} == {"float32"}
    assert not nodes(TextureFlatten()(staged((6, 8, 4), "local"))["main"].body, LetStmt)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((6, 8, 3), "a last dimension of 1 or 4 elements .RGBA., got 3"), ((6, 4), "at least three dimensions, got 2")],
)
def test_other_shapes_are_refused(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        TextureFlatten()(staged(shape, "global.texture"))
