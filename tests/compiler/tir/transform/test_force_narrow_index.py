"""ForceNarrowIndexToInt32: whatever counts in 64 bits counts in 32."""

from __future__ import annotations

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import ForceNarrowIndexToInt32

WIDE = """
@T.prim_func
def main(A: T.Buffer((T.int64(64),), "float32"), n: T.int64):
    B = T.alloc_buffer((T.int64(64),), "float32")
    for i, j in T.grid(T.int64(8), T.int64(8)):
        with T.block("b"):
            v = T.axis.spatial(T.int64(64), i * T.int64(8) + j)
            B[v] = T.Select(T.int64(1) <= v + n, A[v], T.Cast("float32", v))
"""


def _narrowed(source: str) -> PrimFunc:
    func: PrimFunc = ForceNarrowIndexToInt32()(IRModule({"main": from_source(source)}))["main"]
    return func


def test_all_of_a_program_is_narrowed() -> None:
    narrow = WIDE.replace("T.int64(64)", "64").replace("T.int64(8)", "8").replace("T.int64(1)", "1")
    assert_structural_equal(_narrowed(WIDE), from_source(narrow.replace("n: T.int64", "n: T.int32")), True)


@pytest.mark.parametrize(
    "line", ["B = T.alloc_buffer((4,), 'int64')\n    B[0] = T.int64(1)", "A[T.int64(4294967296) + n] = 0.0"]
)
def test_what_is_no_index(line: str) -> None:
    with pytest.raises(LoweringError, match="ForceNarrowIndexToInt32"):
        _narrowed(f"@T.prim_func\ndef main(A: T.Buffer((4,), 'float32'), n: T.int64):\n    {line}\n")
