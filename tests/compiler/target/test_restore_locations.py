"""Locations that LLVM's optimiser dropped are found again by the names of values, of blocks, and of their users."""

from __future__ import annotations

import re

from compiler.target.codegen.llvm.tracing.restore_locations import restore_locations

EMITTED = """\
define void @f.parallel(ptr %a) !dbg !1 {
entry:
  br label %for.i
for.i:
  %i = phi i64 [0, %entry], [%.9, %for.i], !dbg !10
  %.7 = load float, ptr %a, !dbg !11
  %.9 = add i64 %i, 1, !dbg !10
  ret void
}
define void @f.thread(ptr %a) !dbg !2 {
entry:
  %.7 = load i64, ptr %a, !dbg !12
  ret void
}
!10 = !DILocation(column: 5, line: 3, scope: !1)
!11 = !DILocation(column: 9, line: 4, scope: !1)
!12 = !DILocation(column: 5, line: 2, scope: !2)
"""

OPTIMISED = """\
define void @f.thread(ptr %a) !dbg !2 {
entry:
  %.7 = load i64, ptr %a, align 8, !dbg !12
  %gep.i = getelementptr float, ptr %a, i64 %.7
  %.7.i = load float, ptr %gep.i, align 4
  %merged.i = fadd float %.7.i, %.7.i, !dbg !13
  br label %for.i.i
for.i.i:                                          ; preds = %for.i.i, %entry
  %indvars.iv.i = phi i64 [ 0, %entry ], [ %next.i, %for.i.i ]
  store float %merged.i, ptr %a, align 4, !dbg !14
  ret void
}
!12 = !DILocation(line: 2, column: 5, scope: !2)
!13 = !DILocation(line: 0, scope: !1, inlinedAt: !20)
!14 = !DILocation(line: 5, column: 9, scope: !1, inlinedAt: !20)
!20 = distinct !DILocation(line: 2, column: 5, scope: !2)
"""


def places() -> dict[str, tuple[int, int] | None]:
    """Return line and column of each value after restoration."""
    text = restore_locations(EMITTED, OPTIMISED)
    nodes = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^!(\d+) = .*line: (\d+), column: (\d+)", text, re.M)}
    found: dict[str, tuple[int, int] | None] = {}
    for match in re.finditer(r"^  %([\w.]+) = (.*)$", text, re.M):
        attached = re.search(r"!dbg !(\d+)", match[2])
        found[match[1]] = nodes[attached[1]] if attached else None
    return found


def test_a_hoisted_value_is_known_by_its_name() -> None:
    assert places()[".7.i"] == (4, 9)


def test_a_value_of_the_function_itself_is_not_taken_for_an_inlined_one() -> None:
    assert places()[".7"] == (2, 5)


def test_a_counter_is_known_by_its_block() -> None:
    assert places()["indvars.iv.i"] == (3, 5)


def test_an_address_serves_its_user() -> None:
    assert places()["gep.i"] == (4, 9)


def test_what_llvm_merged_serves_its_user() -> None:
    assert places()["merged.i"] == (5, 9)


def test_restored_code_keeps_the_inlined_scope() -> None:
    text = restore_locations(EMITTED, OPTIMISED)
    assert "!DILocation(line: 4, column: 9, scope: !1, inlinedAt: !20)" in text
