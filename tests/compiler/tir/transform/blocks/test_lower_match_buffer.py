"""LowerMatchBuffer checks what a view says about the place and the alignment of its region."""

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import LowerMatchBuffer

TILES = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(4, 4):
        with T.block():
            T.reads()
            T.writes(A[i * 4:i * 4 + 4, j * {step}:j * {step} + 4])
            s0 = T.int32()
            s1 = T.int32()
            B = T.match_buffer(
                A[i * 4:i * 4 + 4, j * {step}:j * {step} + 4], (4, 4), strides=[s0, s1], offset_factor={factor}{more}
            )
            T.evaluate(B.elem_offset)
"""


def lowered(step: int, factor: int, more: str = "") -> PrimFunc:
    source = TILES.format(step=step, factor=factor, more=more)
    return LowerMatchBuffer()(IRModule({"main": from_source(source)}))["main"]


@pytest.mark.parametrize(("step", "factor"), [(4, 1), (4, 4), (2, 2), (1, 1)])
def test_regions_begin_at_multiples_of_the_factor(step: int, factor: int) -> None:
    column = f"j * {step}" if step > 1 else "j"
    assert f"T.evaluate(i * 64 + {column})" in lowered(step, factor).script()


@pytest.mark.parametrize(("step", "factor"), [(4, 8), (2, 4), (1, 2), (4, 3)])
def test_other_regions_are_refused(step: int, factor: int) -> None:
    with pytest.raises(LoweringError, match=f"multiple of its offset_factor {factor}; its region begins at element"):
        lowered(step, factor)


def test_a_view_is_not_aligned_better_than_its_memory() -> None:
    with pytest.raises(LoweringError, match=r"'B' must be aligned to 128 bytes; its region is of 'A', which is .* 64"):
        lowered(4, 1, ", align=128")
