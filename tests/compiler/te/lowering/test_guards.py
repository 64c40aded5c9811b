"""What a piece of a stage computes beyond the stage's own elements."""

from __future__ import annotations

import re

import pytest

import compiler as tvm
from compiler import te, tir


@pytest.mark.parametrize(
    ("places", "shift", "allocated", "guarded"),
    [(10, 0, 8, None), (10, -1, 8, None), (10, -2, 8, None), (10, 2, 10, 6), (10, 3, 10, 5), (8, 2, 8, 6)],
)
def test_a_piece_is_cut_where_it_reaches_beyond_both_ends_and_guarded_beyond_one(
    places: int, shift: int, allocated: int, guarded: int | None
) -> None:
    """Eight elements are read at so many places: what is outside of them is cut, or else not computed."""
    data = te.placeholder((8,), name="data")
    doubled = te.compute((8,), lambda i: data[i] * 2, name="doubled")
    moved = te.compute(
        (places,),
        lambda i: tir.if_then_else(tir.all(i + shift >= 0, i + shift < 8), doubled[i + shift], 0.0),
        name="moved",
    )
    schedule = te.create_schedule(moved.op)
    outer, _ = schedule[moved].split(moved.op.axis[0], nparts=1)
    schedule[doubled].compute_at(schedule[moved], outer)
    text = str(tvm.lower(schedule, [data, moved]))
    assert f"T.allocate([{allocated}]" in text
    assert re.findall(r"if i < (\d+):", text) == ([] if guarded is None else [str(guarded)])
