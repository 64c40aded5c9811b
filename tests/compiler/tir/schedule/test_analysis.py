"""Questions about blocks."""

from __future__ import annotations

from compiler.tir.schedule.analysis import has_block, is_output_block
from tests.compiler.tir.schedule.programs import CHAIN


def test_blocks_and_outputs() -> None:
    sch = CHAIN.schedule()
    assert [has_block(sch, name) for name in ("B", "C", "D", "E", "root")] == [True, True, True, False, True]
    assert [is_output_block(sch, sch.get_block(name)) for name in "BCD"] == [False, False, True]
