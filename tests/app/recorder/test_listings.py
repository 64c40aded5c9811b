"""LLVM IR and assembly are linked to the loop IR that they came from, and shown without the links themselves."""

from __future__ import annotations

import pytest

import compiler as tvm
from app.artifacts import AssemblyFilter
from app.recorder.assembly_listing import from_assembly
from app.recorder.listings import FinalListing, from_builder, from_llvm
from app.recorder.origins import OriginRows
from compiler import te
from compiler.ir.expr.primexpr import Add, Var
from compiler.ir.origin import OriginTable, derived_from, recording
from compiler.ir.printing.text import TextBuilder
from compiler.target.assembly_summary import assembly_summary
from compiler.tir.printing import printer


@pytest.fixture
def printed() -> tuple[TextBuilder, OriginTable]:
    """Return the text ``y = (a + b)`` on line 2, its sum with an origin."""
    table = OriginTable()
    a, b = Var("a", "int32"), Var("b", "int32")
    with derived_from(table.mint("source", "sum", None, frozenset())):
        total = Add(a, b)
    out = TextBuilder()
    out.line("begin")
    out.write("y = ")
    with out.at(total):
        out.write("(a + b)")
    out.newline()
    return out, table


@pytest.fixture
def final(printed: tuple[TextBuilder, OriginTable]) -> tuple[FinalListing, OriginRows]:
    out, table = printed
    rows = OriginRows(table)
    return FinalListing(out, "f", rows, {}), rows


def test_a_printed_node_is_a_region_with_the_users_origin(printed: tuple[TextBuilder, OriginTable]) -> None:
    listing = from_builder(printed[0], "f", {})
    assert [line.text for line in listing.lines] == ["begin", "y = (a + b)"]
    assert listing.lines[1].origins == [0]
    (region,) = listing.lines[1].regions
    assert (region.start, region.end, region.origins) == (4, 11, [0])
    assert listing.linked == 0.5


def test_each_node_of_the_final_listing_has_a_row_that_names_its_place(final: tuple[FinalListing, OriginRows]) -> None:
    listing, rows = final
    row = listing.row_at((2, 5))
    (minted,) = [r for r in rows.rows() if r.level == "loop"]
    assert minted.id == row
    assert (minted.label, minted.line, minted.column, minted.parents) == ("(a + b)", 2, 5, [0])
    assert listing.row_at((2, 99)) == row, "an unknown column falls back to the line"
    assert listing.row_at((1, 1)) is None


def test_a_place_knows_the_memory_that_it_accesses() -> None:
    """It is not an origin of the place: a load is not made from the placeholder that it reads."""
    table = OriginTable()
    with recording(table, process_wide=True):
        a = te.placeholder((8,), name="a")
        b = te.compute((8,), lambda i: a[i] * 2.0, name="b")
        module = tvm.lower(te.create_schedule(b.op), [a, b])
    rows = OriginRows(table)
    FinalListing(printer.script(module), "main", rows, {})
    of_level = {level: [row for row in rows.rows() if row.level == level] for level in ("source", "memory", "loop")}
    assert [row.label for row in of_level["memory"]] == ["a", "b"]
    load = next(row for row in of_level["loop"] if row.label == "a[i]")
    (made, read) = sorted(load.parents)
    assert [made] == sorted(b.op.span)
    memory = next(row for row in of_level["memory"] if row.id == read)
    assert memory.parents == sorted(a.op.span)


LLVM = """\
; ModuleID = "f"
source_filename = "<string>"
define i32 @f(i32 %a, i32 %b) !dbg !4 {
entry:
  %sum = add i32 %a, %b, !dbg !5
  ret i32 %sum
}


!llvm.dbg.cu = !{!1}
!4 = distinct !DISubprogram(name: "f", unit: !1)
!5 = !DILocation(line: 2, column: 5, scope: !4)
"""


def test_llvm_instructions_name_the_node_and_lose_their_metadata(final: tuple[FinalListing, OriginRows]) -> None:
    listing = from_llvm(LLVM, "f", final[0])
    texts = [line.text for line in listing.lines]
    assert "  %sum = add i32 %a, %b" in texts
    assert not any("!dbg" in text or "DILocation" in text or "ModuleID" in text for text in texts)
    linked = {line.text: line.origins for line in listing.lines if line.origins}
    assert linked == {"  %sum = add i32 %a, %b": [final[0].row_at((2, 5))]}
    assert listing.summary["instructions"] == 2


ASSEMBLY = """\
\t.text
\t.file\t"f"
\t.globl\tf
f:
.Lfunc_begin0:
\t.cfi_startproc
\t.loc\t1 2 5 prologue_end
\tleal\t(%rdi,%rsi), %eax
.LBB0_1:
\t.loc\t1 0 0
\tjne\t.LBB0_1
\tretq
.Lfunc_end0:
\t.section\t.debug_line,"",@progbits
\t.byte\t7
"""


def test_a_location_is_read_in_the_order_that_llvmlite_writes_too(final: tuple[FinalListing, OriginRows]) -> None:
    by_name = LLVM.replace("line: 2, column: 5, scope: !4", "column: 5, line: 2, scope: !4")
    assert from_llvm(by_name, "f", final[0]) == from_llvm(LLVM, "f", final[0])


def test_assembly_follows_loc_and_keeps_only_labels_that_are_jumped_to(final: tuple[FinalListing, OriginRows]) -> None:
    listing = from_assembly(ASSEMBLY, "f", final[0], {})
    assert [line.text.strip() for line in listing.lines] == [
        "f:",
        "leal        (%rdi,%rsi), %eax",
        ".LBB0_1:",
        "jne         .LBB0_1",
        "retq",
    ]
    assert [bool(line.origins) for line in listing.lines] == [False, True, False, False, False]


COMMENTED = """\
\t.text
\t.p2align\t4                               # -- Begin function f
f:                                      # @f
# %bb.0:
\tvmovups\t%ymm1, 32(%rsp)               # 32-byte Spill
.LBB0_1:                                # =>This Inner Loop Header: Depth=1
\tvfmadd231ps\t(%rdi), %ymm0, %ymm2
\tvmovups\t32(%rsp), %ymm1               # 32-byte Reload
\tjne\t.LBB0_1
.LBB0_2:
\tretq
.Lfunc_end0:
\t.size\tf, .Lfunc_end0-f
"""


@pytest.mark.parametrize(
    ("filters", "added", "left_out"),
    [
        ((), [], []),
        (("labels",), [".LBB0_2:"], []),
        (("directives",), [".text", ".p2align    4", ".size       f, .Lfunc_end0-f"], []),
        (("unspilled",), [], ["vmovups     %ymm1, 32(%rsp)", "vmovups     32(%rsp), %ymm1"]),
        (("hot",), [], ["f:", "vmovups     %ymm1, 32(%rsp)", "retq"]),
    ],
)
def test_filters_say_what_is_shown_of_assembly(
    filters: tuple[AssemblyFilter, ...], added: list[str], left_out: list[str]
) -> None:
    plain = [line.text.strip() for line in from_assembly(COMMENTED, "f", None, {}).lines]
    assert len(plain) == 7
    shown = [line.text.strip() for line in from_assembly(COMMENTED, "f", None, {}, filters).lines]
    assert [text for text in shown if text not in plain] == added
    assert [text for text in plain if text not in shown] == left_out


def test_facts_of_the_hot_loop_stand_beside_those_of_the_function() -> None:
    whole = assembly_summary(COMMENTED)
    listing = from_assembly(COMMENTED, "f", None, whole, ["hot", "unspilled"])
    assert (whole["instructions"], whole["spills"]) == (5, 2)
    assert listing.summary == whole
    loop = listing.loop_summary
    assert (loop["instructions"], loop["fma"], loop["spills"], loop["vector bits"]) == (3, 1, 1, 256)
    assert from_assembly(COMMENTED, "f", None, whole).loop_summary == {}


def test_where_nothing_loops_all_is_shown_and_it_is_said() -> None:
    straight = "f:\n\tretq\n"
    shown = [line.text.strip() for line in from_assembly(straight, "f", None, {}, ["hot"]).lines]
    assert shown == ["# nothing loops here: all of it is shown", "f:", "retq"]
    assert from_assembly(straight, "f", None, {}, ["hot"]).loop_summary == {}


def test_comments_are_llvm_s_own() -> None:
    shown = [line.text for line in from_assembly(COMMENTED, "f", None, {}, ["comments"]).lines]
    assert sum("Spill" in text or "Reload" in text for text in shown) == 2
    assert any("Inner Loop Header: Depth=1" in text for text in shown)
    assert "    # %bb.0:" in shown


def test_equal_listings_have_equal_keys_and_others_do_not(final: tuple[FinalListing, OriginRows]) -> None:
    assert from_llvm(LLVM, "f", None).key == from_llvm(LLVM, "f", None).key
    assert from_llvm(LLVM, "f", None).key != from_llvm(LLVM.replace("add", "sub"), "f", None).key
