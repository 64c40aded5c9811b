"""The memory of fragments says which shape and layout tensor cores give it."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.error import LoweringError
from compiler.tir import AttrStmt, PrimFunc
from compiler.tir.transform import InferFragment
from tests.compiler.tir.transform.programs import apply, nodes, program


def kernel(*instructions: str) -> PrimFunc:
    """Return a kernel with three fragments ``a``, ``b`` and ``c``, and some instructions."""
    lines = "\n".join(f"    T.evaluate({each})" for each in instructions)
    return program(
        f"""
a = T.allocate([256], "float16", "wmma.matrix_a")
b = T.allocate([256], "float16", "wmma.matrix_b")
c = T.allocate([256], "float32", "wmma.accumulator")
with T.launch_thread("threadIdx.x", 32) as tx:
{lines}
"""
    )


def load(name: str, shape: str, layout: str) -> str:
    return f'T.tvm_load_matrix_sync({name}, {shape}, 0, A.data, 16, "{layout}")'


FILL = "T.tvm_fill_fragment(c, 16, 16, 16, 0, T.float32(0))"
MULTIPLY = "T.tvm_mma_sync(c, 0, a, 0, b, 0, c, 0)"
ROWS, COLUMNS = load("a", "16, 16, 16", "row_major"), load("b", "16, 16, 16", "col_major")


def attributes(func: PrimFunc) -> dict[tuple[str, str], Any]:
    return {
        (n.node.name, n.attr_key): n.value.value  # type: ignore[attr-defined]
        for n in nodes(func, AttrStmt)
        if n.attr_key.startswith("fragment")
    }


def test_shapes_and_layouts() -> None:
    inferred = attributes(apply(kernel(FILL, ROWS, COLUMNS, MULTIPLY), InferFragment()))
    shape = "16, 16, 16"
    assert inferred == {
        ("a", "fragment_shape"): shape,
        ("a", "fragment_layout"): "row_major",
        ("b", "fragment_shape"): shape,
        ("b", "fragment_layout"): "col_major",
        ("c", "fragment_shape"): shape,
    }
    func = kernel("0")
    assert apply(func, InferFragment()) is func


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        ((ROWS, load("a", "32, 8, 16", "row_major")), "fragment a has two shapes, 16, 16, 16 and 32, 8, 16"),
        ((ROWS, load("a", "16, 16, 16", "col_major")), "fragment a has two layouts, row_major and col_major"),
        ((FILL, ROWS, load("b", "32, 8, 16", "col_major"), MULTIPLY), "fragments of different shapes are multiplied"),
    ],
)
def test_conflicts(instructions: tuple[str, ...], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        apply(kernel(*instructions), InferFragment())
