"""A search of a recorded program: candidates are told with their records, and open as scripts that run."""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import compiler as tvm
from app.artifacts import Options
from app.protocol import Failed, Message, Request
from app.recorder.measuring import searching
from app.recorder.measuring.searching import search_program, show_candidate
from app.recorder.units.block_text import write_blocks
from app.searches import CandidateTexts, Decision, Found, Searching, SearchSettings, Tried
from compiler import te
from compiler.classic import alias
from compiler.driver.lower import lower
from compiler.search import Evolution, Machine, ScheduleSpace, tune
from compiler.search.tuning import workload_of
from compiler.target.target import Target
from compiler.te.program import write_program
from compiler.tir.schedule.schedule import Schedule

OPTIONS = Options(target="llvm")
N, M = 6, 16


def recorded() -> tuple[str, ScheduleSpace]:
    a, b = te.placeholder((N, M), name="A"), te.placeholder((M, N), name="B")
    k = te.reduce_axis((0, M), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    space = ScheduleSpace(te.create_prim_func([a, b, c]), Machine.of(Target("llvm"), 1))
    return write_program(te.create_schedule(c.op), [a, b, c], "llvm", "product"), space


def tensor_program() -> str:
    a = te.placeholder((M,), name="A")
    b = te.compute((M,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=4)
    return write_program(s, [a, b], "llvm", "main")


def block_program() -> str:
    a = te.placeholder((M,), name="A")
    b = te.compute((M,), lambda i: a[i] + 1, name="B")
    schedule = Schedule(te.create_prim_func([a, b]))
    before = schedule.mod
    schedule.split(schedule.get_loops(schedule.get_block("B"))[0], [None, 4])
    return write_blocks([before, schedule.mod], ["split"], "llvm", "main", json.dumps(schedule.trace.as_json()))


def test_a_search_tells_each_candidate_and_what_it_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching, "tune", partial(tune, trials=2, evolution=Evolution(2)))
    measured: list[str] = []
    monkeypatch.setattr(searching.Ladder, "run_with_default", lambda self, name: measured.append(name))
    settings = SearchSettings(seconds=100, pinned=[("C.way", "tiles"), ("C.unroll", False)])
    told: list[Message] = []
    request = Request(mode="search", program=recorded()[0], options=OPTIONS, search=settings)
    search_program(request, told.append)
    assert measured == []
    records = [json.loads(message.record) for message in told if isinstance(message, Tried)]
    assert [record["choices"] is None for record in records] == [False, False, True]
    assert all(["C.way", "tiles"] in record["choices"] for record in records[:2])
    assert not any(["C.unroll", True] in record["choices"] for record in records[:2])
    (round_,) = [m for m in told if isinstance(m, Searching)]
    assert round_.trials == 2
    assert round_.default_seconds, "it is known while the search goes on; what is found is compared with it once more"
    found = told[-1]
    assert isinstance(found, Found)
    assert found.default_seconds == records[2]["seconds"]
    assert found.choices is None or found.seconds < found.default_seconds


@pytest.mark.parametrize("makes", [tensor_program, block_program])
def test_the_scripts_schedule_is_a_candidate_that_opens_as_a_script(
    makes: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching, "PER_ROUND", 1)
    monkeypatch.setattr(searching, "tune", partial(tune, trials=2, evolution=Evolution(2)))
    told: list[Message] = []
    program, settings = makes(), SearchSettings(seconds=100)
    search_program(Request(mode="search", program=program, options=OPTIONS, search=settings), told.append)
    records = [json.loads(message.record) for message in told if isinstance(message, Tried)]
    (own,) = [r for r in records if r["choices"] and "way" in dict(r["choices"])]
    (factor,) = [name for name, _ in own["choices"] if name != "way"]
    assert own["kind"] == "ok"
    choices = [tuple(each) for each in own["choices"]]
    for size in (4, 8):
        chosen = [(name, size if name == factor else value) for name, value in choices]
        show_candidate(Request(mode="candidate", program=program, options=OPTIONS, choices=chosen), told.append)
        texts = told[-1]
        assert isinstance(texts, CandidateTexts)
        assert texts.workload == own["workload"]
        alias.install()
        (tmp_path / "script.py").write_text(texts.script)
        made = runpy.run_path(str(tmp_path / "script.py"))
        lowered = lower(made["sch"].mod, name="main") if "sch" in made else lower(made["s"], made["args"], name="main")
        assert lowered.script() == texts.loops
        assert f"T.grid({M // size}, {size})" in texts.loops
    chosen = [(name, 3 if name == factor else value) for name, value in choices]
    show_candidate(Request(mode="candidate", program=program, options=OPTIONS, choices=chosen), told.append)
    assert isinstance(told[-1], Failed)
    assert f"have no choice 3 for {factor}" in told[-1].problem.message
    show_candidate(Request(mode="candidate", program=recorded()[0], options=OPTIONS, choices=choices), told.append)
    assert isinstance(told[-1], Failed)
    assert "the candidate is of another schedule than the function has" in told[-1].problem.message


def test_what_no_search_is_for_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[Message] = []
    program = recorded()[0].replace('"llvm"', '"cuda"')
    search_program(Request(mode="search", program=program, prefixes=True), told.append)
    (failed,) = told
    assert isinstance(failed, Failed)
    assert "for processors (llvm), not for cuda" in failed.problem.message


def test_a_candidate_of_other_choices_is_refused() -> None:
    told: list[Message] = []
    choices: list[Decision] = [("C.way", "tiles"), ("tile_x", [-1, 16])]
    show_candidate(Request(mode="candidate", program=recorded()[0], options=OPTIONS, choices=choices), told.append)
    (failed,) = told
    assert isinstance(failed, Failed)
    assert "have no choice (-1, 16) for tile_x" in failed.problem.message


def test_what_cannot_be_pinned_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(searching.Ladder, "run_with_default", lambda self, name: None)
    told: list[Message] = []
    settings = SearchSettings(seconds=100, pinned=[("C.way", "nothing")])
    search_program(Request(mode="search", program=recorded()[0], options=OPTIONS, search=settings), told.append)
    assert isinstance(told[-1], Failed)
    assert "what is pinned and banned leaves no choice for C.way" in told[-1].problem.message


def test_a_candidate_opens_as_a_script_that_runs_and_makes_the_same_loops(tmp_path: Path) -> None:
    program, space = recorded()
    candidate = space.sample(random.Random(2))
    choices = [(name, list(value) if isinstance(value, tuple) else value) for name, value in candidate]
    told: list[Message] = []
    show_candidate(Request(mode="candidate", program=program, options=OPTIONS, choices=choices), told.append)
    (texts,) = told
    assert isinstance(texts, CandidateTexts)
    alias.install()
    (tmp_path / "script.py").write_text(texts.script)
    schedule = runpy.run_path(str(tmp_path / "script.py"))["sch"]
    assert isinstance(schedule, tvm.tir.Schedule)
    assert tvm.ir.structural_equal(schedule.mod, space.program(candidate))
    assert lower(schedule.mod, name="main").script() == texts.loops
    assert ".text" in texts.assembly
    assert isinstance(space.func, tvm.tir.PrimFunc)
    assert texts.workload == workload_of(space.func, Target("llvm"), OPTIONS.threads)
