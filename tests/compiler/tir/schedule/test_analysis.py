"""Questions about blocks."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import te
from compiler.tir.schedule.analysis import has_block, is_output_block
from compiler.tir.statements.block import Block
from tests.compiler.tir.schedule.programs import CHAIN
from tests.compiler.tir.transform.programs import nodes, program


def test_blocks_and_outputs() -> None:
    sch = CHAIN.schedule()
    assert [has_block(sch, name) for name in ("B", "C", "D", "E", "root")] == [True, True, True, False, True]
    assert [is_output_block(sch, sch.get_block(name)) for name in "BCD"] == [False, False, True]


def test_dependences_of_blocks_without_a_schedule() -> None:
    func = program(
        """
    for i in range(64):
        with T.block("first"):
            v = T.axis.spatial(64, i)
            C[v] = A[v] + 1
        with T.block("second"):
            v = T.axis.spatial(64, i)
            A[v] = C[v] * 2
    """
    )
    info = tvm.tir.BlockDependenceInfo(func)
    first, second, root = (info.get_sref(block) for block in nodes(func, Block))
    depends = info.get_block_scope(root).get_deps_by_src(first)
    assert [(d.kind.name, d.dst) for d in depends] == [("RAW", second), ("WAR", second)]
    assert tvm.tir.BlockDependenceInfo(tvm.IRModule({"main": func})).get_sref(root.stmt) is not None
    with pytest.raises(TypeError, match="mod must be a PrimFunc or an IRModule, got int"):
        tvm.tir.BlockDependenceInfo(3)


def test_what_reads_a_single_element_finds_it_written() -> None:
    a, half = te.placeholder((4,), name="A"), te.compute((), lambda: tvm.tir.const(0.5, "float32"), name="half")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] * half(), name="B")])
    sch = tvm.tir.Schedule(func, debug_mask="all")
    root = sch.state._get_cached_flags(sch.get_sref(sch.get_block("root")))
    assert root.stage_pipeline  # as in classic TVM
    sch.cache_write("B", 0, "global")
    assert sch.state._get_cached_flags(sch.get_sref(sch.get_block("B"))).region_cover
