"""Regions of blocks that users say."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import tir
from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.ir.error import ArgumentError
from compiler.ir.structural import assert_structural_equal
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import from_source
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import BLUR, CHAIN

# mypy: disable-error-code="valid-type,no-untyped-def"


def annotated() -> Any:
    sch = BLUR.schedule()
    sch.annotate_buffer_access("C", 0, "read", lambda vi, vj, vk: ((vi, vi + 3), vj))
    sch.annotate_buffer_access("C", 0, "read", lambda vi, vj, vk: ((vi, vi + 4), vj))
    sch.annotate_buffer_access("C", 0, "write", lambda vi, vj, vk: (vi, vj))
    return sch


def test_regions_and_marks() -> None:
    sch = annotated()
    block = sch.get(sch.get_block("C"))
    vi, vj, _ = [axis.var for axis in block.iter_vars]
    (rows, columns) = block.reads[0].region
    assert (rows.min, rows.extent.value, columns.min, columns.extent.value) == (vi, 4, vj, 1)
    assert {key: list(value) for key, value in block.annotations.items()} == {
        "explicit_read_region": [0],
        "explicit_write_region": [0],
    }
    BLUR.check(sch, compiled=False)


def test_traces_and_their_text() -> None:
    sch = annotated()
    verify_trace_roundtrip(sch, BLUR.func)
    line = str(sch.trace).splitlines()[3]
    assert line.endswith('buf_type="read", gen_new_ranges=lambda vi, vj, vk: [(vi, vi + 3), (vj, vj + 1)])')
    again = tir.Schedule(BLUR.func)
    names = {"tir": tir}
    exec(str(sch.trace), names)
    names["apply_trace"](again)  # type: ignore[operator]
    assert_structural_equal(again.mod, sch.mod)


def test_what_is_refused() -> None:
    sch = CHAIN.schedule()
    with pytest.raises(ScheduleError, match=r"should be in \[0, 1\), got 1"):
        sch.annotate_buffer_access("B", 1, "read", lambda vi, vj: (vi, vj))
    with pytest.raises(ScheduleError, match="has 2 dimensions, got a region of 1"):
        sch.annotate_buffer_access("B", 0, "read", lambda vi, vj: (vi,))
    with pytest.raises(ArgumentError, match="buf_type must be 'read' or 'write', got 'both'"):
        sch.annotate_buffer_access("B", 0, "both", lambda vi, vj: (vi, vj))
    with pytest.raises(ArgumentError, match="a lambda with a list of pairs"):
        sch.annotate_buffer_access("B", 0, "read", "lambda vi, vj: (vi, vj)")


@T.prim_func
def _symbolic(a: T.handle, b: T.handle, C: T.Buffer(())):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(8)))
    B = T.match_buffer(b, (n, T.int64(8)))
    for i, j in T.grid(n, T.int64(8)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i in range(1):
        with T.block("C"):
            vi = T.axis.spatial(1, i)
            C[()] = A[vi, 0]


@pytest.mark.parametrize(
    "region",
    [
        lambda n: lambda i, j: [(0, n), (0, 8)],
        lambda n: lambda i, j: [(0, n), (0, tir.IntImm("int64", 8))],
        lambda n: lambda i, j: [(i, tir.min(i + 2, n)), (tir.max(j - 1, 0), j + 1)],
        lambda n: lambda i, j: [(i // 2 * 2, i // 2 * 2 + 2), j],
    ],
)
def test_saved_regions_use_the_sizes_of_buffers(region: Any) -> None:
    sch = Schedule(_symbolic)
    rows = _symbolic.buffer_map[_symbolic.params[0]].shape[0]
    sch.annotate_buffer_access("B", 0, "read", region(rows))
    verify_trace_roundtrip(sch, _symbolic, text_format="json")
    assert_structural_equal(from_source(sch.mod.script()), sch.mod)


def test_a_saved_region_may_have_no_dimensions() -> None:
    sch = Schedule(_symbolic)
    sch.annotate_buffer_access("C", 0, "write", lambda i: [])
    verify_trace_roundtrip(sch, _symbolic, text_format="json")
