"""Batches: who takes part, who is refused and why, and that each finds its own outputs unwritten."""

from __future__ import annotations

import json
from functools import cache

import pytest

from app.protocol import Failed, Measured, RecordedFunction, Request
from app.recorder.measuring import batch
from app.recorder.measuring.measure import Timing
from compiler.runtime.timing.clock import Duration
from tests.app.recorder.serving import served

DEFINITION = """
import tvm
from tvm import te
n = {n}
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[{index}], axis=k), name="C")
"""
TENSOR = "s = te.create_schedule(C.op)\n{}\nf = tvm.build(s, [A, B, C], target='llvm')\n"
BLOCKS = """
s = tvm.tir.Schedule(te.create_prim_func([A, B, C]))
i, j, k = s.get_loops(s.get_block("C"))
s.reorder(i, k, j)
s.vectorize(s.split(j, [None, 4])[1])
f = tvm.build(s.mod, target="llvm")
"""


@cache
def program(rest: str = TENSOR.format(""), n: int = 24, index: str = "k, j") -> str:
    script = DEFINITION.format(n=n, index=index) + rest
    recorded = [m for m in served(Request(mode="record", script=script)) if isinstance(m, RecordedFunction)]
    return recorded[-1].program


def measured(*contenders: str, numpy: str = "") -> tuple[dict[str, Measured], dict[str, str]]:
    """Return the measurements and the reasons of refusals by the places of contenders."""
    told = served(Request(mode="batch", program=program(), contenders=list(contenders), numpy=numpy, seed=5))
    refused = {m.label: m.problem.message for m in told if isinstance(m, Failed)}
    return {m.measurement.name: m for m in told if isinstance(m, Measured)}, refused


def test_schedules_of_both_kinds_take_part_in_one_batch() -> None:
    reordered = program(TENSOR.format("s[C].reorder(C.op.axis[0], k, C.op.axis[1])"))
    rows, refused = measured(program(), reordered, program(BLOCKS), numpy="lambda A, B: A @ B")
    assert refused == {}
    assert list(rows) == ["NumPy", "0", "1", "2"]
    assert rows["NumPy"].measurement.note == "lambda A, B: A @ B"
    measurements = [rows[name].measurement for name in ("0", "1", "2")]
    assert all(m.checked == "ok" and m.seconds > 0 and m.threads == 1 for m in measurements)
    assert len({m.repeats for m in measurements}) == 1, "they took turns"


def test_what_is_not_the_definition_under_a_schedule_is_refused() -> None:
    honest = json.loads(program(BLOCKS))
    skipping = honest["programs"][-1].replace("T.grid(24, 24, 6)", "T.grid(24, 24, 5)")
    assert skipping != honest["programs"][-1]
    forged = json.dumps({**honest, "programs": [*honest["programs"][:-1], skipping]})
    garbled = json.dumps({**honest, "trace": "[[1], 2]"})
    rows, refused = measured(program(n=16), program(index="j, k"), forged, garbled, "nonsense", program())
    assert list(rows) == ["NumPy", "5"]
    other = "it computes something else than the problem defines"
    follows = "its loops do not follow from the definition by the primitives that were recorded"
    assert [refused[place] for place in "0123"] == [other, other, follows, follows]
    assert "4" in refused


def test_who_is_too_slow_for_the_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "time_call", lambda call: (call(), Duration(batch.SLOWEST_SECONDS + 1))[1])
    rows, refused = measured(program())
    assert "a call takes 3.0 s" in refused["0"]
    assert "0" not in rows


def test_a_batch_is_measured_again_until_nobody_disturbs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = iter([[True, True], [False, True], [True, True]])

    def take(calls: object, firsts: object) -> list[Timing]:
        return [Timing([Duration(1.0 + disturbed, 0.5 if disturbed else None)], 1) for disturbed in next(attempts)]

    monkeypatch.setattr(batch, "time_in_turns", take)
    rows, _ = measured(program())
    assert [row.measurement.disturbed for row in rows.values()] == [False, True]
    assert list(attempts) == []
