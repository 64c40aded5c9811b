"""Proposals for TensorIR: what they write is a script that runs and schedules as they say; refusals have reasons."""

from __future__ import annotations

import random

import pytest

from app.proposals import Place
from tests.app.recorder.proposals.test_proposer import edited, labelled, loops, proposals, run
from tests.app.recorder.test_tir_schedules import MATMUL, SCHEDULED

BUILT = "f = tvm.build(sch.mod, target='llvm')\n"
NAIVE = MATMUL + "sch = tir.Schedule(matmul)\n" + BUILT
NAMED = NAIVE.replace("f = ", 'block = sch.get_block("C")\ni, j, k = sch.get_loops(block)\nf = ')
TWO = """\
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def blur(A: T.Buffer((34, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.alloc_buffer((34, 32))
    for y, x in T.grid(34, 32):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = A[vy, vx] * T.float32(2)
    for y, x in T.grid(32, 32):
        with T.block("C"):
            vy, vx = T.axis.remap("SS", [y, x])
            C[vy, vx] = B[vy, vx] + B[vy + 2, vx]


sch = tir.Schedule(blur)
f = tvm.build(sch.mod, target="llvm")
"""


def test_loops_without_a_name_get_one() -> None:
    split = labelled(proposals(NAIVE, 0, 1), "split by 8")
    script = edited(NAIVE, split.edit)
    defined = 'i, j, k = sch.get_loops(sch.get_block("C"))\njo, ji = sch.split(j, factors=[None, 8])\nf = '
    assert defined in script
    assert loops(run(script)[0]) == ["i", "j_0", "j_1", "k"]
    again = labelled(proposals(script, 0, 2), "move inside of k")
    assert "sch.reorder(k, ji)\nf = " in edited(script, again.edit)
    assert "independent neighbours" in again.gain


def test_a_reordering_takes_the_place_of_the_one_before() -> None:
    first = labelled(proposals(NAMED, 0, 2), "move outside of i")
    script = edited(NAMED, first.edit)
    assert first.onto == Place(stage=0, loop=0)
    assert loops(run(script)[0]) == ["k", "i", "j"]
    second = edited(script, labelled(proposals(script, 0, 0), "move inside of i").edit)
    assert second.count("reorder") == 1
    assert "sch.reorder(i, k, j)\n" in second
    assert loops(run(second)[0]) == ["i", "k", "j"]


def test_a_reordering_does_not_take_the_place_of_what_made_its_loops() -> None:
    split = NAMED.replace("f = ", "jo, ji = sch.split(j, factors=[None, 8])\nf = ")
    script = edited(split, labelled(proposals(split, 0, 2), "move inside of k").edit)
    assert "jo, ji = sch.split(j, factors=[None, 8])\nsch.reorder(k, ji)\n" in script


def test_long_loops_are_not_tried_one_iteration_after_another() -> None:
    for size, primitive, words in ((512, "unroll", "too many to unroll"), (4096, "vectorize", "too many to vectorize")):
        script = TWO.replace("34, 32", f"34, {size}").replace("32, 32", f"32, {size}")
        assert words in labelled(proposals(script, 0, 1), primitive).refused
    assert "would be written out 34 times" in labelled(proposals(TWO, 0, 0), "unroll").refused
    assert labelled(proposals(TWO, 0, 1), "unroll").edit is not None


def test_a_block_is_dropped_at_a_loop_of_its_consumer() -> None:
    places = proposals(TWO, 0)
    at = next(proposal for proposal in places if proposal.onto == Place(stage=1, loop=0))
    script = edited(TWO, at.edit)
    assert 'y, x = sch.get_loops(sch.get_block("C"))\nsch.compute_at(sch.get_block("B"), y)\n' in script
    assert run(script)[0].problems == []
    inlined = edited(TWO, labelled(places, "inline").edit)
    assert 'sch.compute_inline(sch.get_block("B"))\n' in inlined
    assert [stage.name for stage in run(inlined)[0].units[-1].schedule] == ["C"]
    back = next(p for p in proposals(TWO, 1) if p.onto == Place(stage=0, loop=0))
    assert back.primitive == "reverse_compute_at"


def test_refusals_say_why() -> None:
    refused = labelled(proposals(NAMED, 0, 2), "vectorize")
    assert refused.edit is None
    assert "'vk'" in refused.refused
    assert "build for a GPU" in labelled(proposals(NAMED, 0, 0), "bind to blockIdx.x").refused
    assert "output block" in labelled(proposals(NAMED, 0), "inline").refused


def test_reasons_are_those_of_the_loops() -> None:
    assert "no loop of C is parallel" in labelled(proposals(NAMED, 0, 0), "parallel").gain
    assert labelled(proposals(NAMED, 0, 1), "parallel").gain == ""
    scalar = NAMED.replace("f = ", "_, ji = sch.split(j, factors=[None, 8])\nsch.reorder(k, ji)\nf = ")
    assert "element by element" in labelled(proposals(scalar, 0, 3), "vectorize").gain
    [split] = proposals(NAMED, 0, 1, factor=5)
    assert "sch.split(j, factors=[None, 5])" in edited(NAMED, split.edit)


def test_a_sum_begins_before_a_loop() -> None:
    script = edited(NAMED, labelled(proposals(NAMED, 0, 2), "begin the sum before k").edit)
    assert "sch.decompose_reduction(block, k)\n" in script
    assert [stage.name for stage in run(script)[0].units[-1].schedule] == ["C_init", "C_update"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_walks_of_proposals_stay_legal(seed: int) -> None:
    """Whatever is proposed can be written, one after another, and the script still runs."""
    choose = random.Random(seed)
    script = [TWO, SCHEDULED, NAIVE][seed % 3]
    for _ in range(4):
        answer, _ = run(script)
        assert answer.problems == [], script
        stages = answer.units[-1].schedule
        stage = choose.randrange(len(stages))
        loop = choose.choice([None, *range(len(stages[stage].loops))])
        legal = [proposal for proposal in proposals(script, stage, loop) if proposal.edit]
        if legal:
            script = edited(script, choose.choice(legal).edit)
    assert run(script)[0].problems == [], script
