"""Loops and stores point at the lines of the script that caused them."""

from __future__ import annotations

from typing import Any

from compiler.ir.origin import OriginTable, recording
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.printing.printer import script

SCRIPT = """
from compiler import te
A = te.placeholder((64, 64), name="A")
B = te.placeholder((64, 64), name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute(
    (64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
CC = s.cache_write(C, "local")
io, ii = s[C].split(C.op.axis[0], factor=30)
jo, ji = s[C].split(C.op.axis[1], factor=32)
s[C].reorder(io, jo, ii, ji)
s[C].vectorize(ji)
s[CC].compute_at(s[C], jo)
ko, ki = s[CC].split(k, factor=5)
s[CC].unroll(ki)
"""
LINES = {text.split("(")[0].strip(): number for number, text in enumerate(SCRIPT.split("\n"), 1) if text}


def _line(start: str) -> int:
    return next(number for text, number in LINES.items() if text.startswith(start))


def _lines_of_loops() -> dict[str, set[int]]:
    """Return which lines of the script each line of the loops points at."""
    table = OriginTable()
    with recording(table):
        names: dict[str, Any] = {}
        exec(compile(SCRIPT, "user.py", "exec"), names)
        func = schedule_to_prim_func(names["s"], [names["A"], names["B"], names["C"]])
    found = {}
    for line in script(func).lines:
        rows = [table.rows[i] for i in table.ancestors(line.span)]
        found[line.text.strip()] = {row.location.line for row in rows if row.location is not None}
    return found


def _of(found: dict[str, set[int]], text: str) -> set[int]:
    return next(lines for line, lines in found.items() if text in line)


def test_every_line_points_at_what_made_it() -> None:
    found = _lines_of_loops()
    compute, cache = _line("C = te.compute"), _line("CC = s.cache_write")
    split_i, split_j, split_k = _line("io, ii"), _line("jo, ji"), _line("ko, ki")
    assert {compute, split_i, split_j, _line("s[C].reorder")} <= _of(found, "for i_outer")
    assert _line("s[C].vectorize") in _of(found, "for j_inner in T.vectorized")
    assert split_i not in _of(found, "for j_inner in T.vectorized")
    assert {compute, split_k, _line("k = te.reduce_axis")} <= _of(found, "for k_outer")
    assert _line("s[CC].unroll") in _of(found, "for k_inner in T.unroll")
    assert _line("s[CC].unroll") not in _of(found, "for k_outer")
    assert {cache, _line("s[CC].compute_at")} <= _of(found, "T.realize(C_local")
    assert {compute, cache, split_k} <= _of(found, "= C_local[i_c + i_outer * 30, j_c + j_outer * 32] +")
    assert split_k in _of(found, "if T.likely(k_inner + k_outer * 5 < 64)")
    assert {_line("A = "), _line("B = "), compute} <= _of(found, "def main")


def test_only_the_head_of_the_text_is_nobody_s() -> None:
    nobody = [line for line, lines in _lines_of_loops().items() if not lines and line]
    assert all(line.startswith(("#", "@", "T.func_attr")) for line in nobody)


def test_without_a_recorder_nothing_is_recorded() -> None:
    names: dict[str, Any] = {}
    exec(compile(SCRIPT, "user.py", "exec"), names)
    func = schedule_to_prim_func(names["s"], [names["A"], names["B"], names["C"]])
    assert not any(line.span for line in script(func).lines)
