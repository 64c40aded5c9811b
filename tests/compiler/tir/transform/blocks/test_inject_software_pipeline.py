"""Iterations overlap, and compute what they did one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compiler as tvm
from compiler.ir.error import ArgumentError
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For
from compiler.tir.transform import InjectSoftwarePipeline
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program

PARAMS = "A: T.Buffer((16, 16), 'int32'), C: T.Buffer((16, 16), 'int32'), n: T.int32"


def two_blocks(stages: list[int], order: list[int], extent: str = "16") -> str:
    return f"""
    for tx in range(4):
        for i in T.serial(0, {extent}, annotations={{
                "software_pipeline_stage": {stages}, "software_pipeline_order": {order}}}):
            with T.block("compute"):
                B = T.alloc_buffer((4, 1), "int32")
                with T.block():
                    B[tx, 0] = A[tx, i] * 2
                with T.block():
                    C[tx, i] = B[tx, 0] + 1
    """


def test_the_second_block_runs_an_iteration_later() -> None:
    expected = """
    for tx in range(4):
        with T.block():
            T.reads(A[tx, 0:16])
            T.writes(C[tx, 0:16])
            B = T.alloc_buffer((2, 4, 1), "int32")
            with T.block():
                T.reads(A[tx, 0])
                T.writes(B[0, tx, 0])
                B[0, tx, 0] = A[tx, 0] * 2
            with T.block():
                T.reads(A[tx, 1:16], B[0:2, tx, 0])
                T.writes(B[0:2, tx, 0], C[tx, 0:15])
                for i in range(15):
                    with T.block():
                        T.reads(A[tx, i + 1])
                        T.writes(B[(i + 1) % 2, tx, 0])
                        B[(i + 1) % 2, tx, 0] = A[tx, i + 1] * 2
                    with T.block():
                        T.reads(B[i % 2, tx, 0])
                        T.writes(C[tx, i])
                        C[tx, i] = B[i % 2, tx, 0] + 1
            with T.block():
                T.reads(B[1, tx, 0])
                T.writes(C[tx, 15])
                C[tx, 15] = B[1, tx, 0] + 1
    """
    assert_pass(InjectSoftwarePipeline(), two_blocks([0, 1], [0, 1]), expected, params=PARAMS)


def test_a_buffer_that_is_read_before_the_next_store_has_one_version() -> None:
    func = apply(program(two_blocks([0, 1], [1, 0]), params=PARAMS), InjectSoftwarePipeline())
    assert "B = T.alloc_buffer((4, 1)" in str(func)
    assert_same(program(two_blocks([0, 1], [1, 0]), params=PARAMS), func, scalars={"n": 0})


@pytest.mark.parametrize("number", [0, 1, 2, 3, 9])
def test_the_number_of_iterations_may_be_a_variable(number: int) -> None:
    func = program(two_blocks([0, 3], [0, 1], "n"), params=PARAMS)
    assert_same(func, apply(func, InjectSoftwarePipeline()), scalars={"n": number})


def test_other_loops_and_annotations_stay() -> None:
    plain = "for i in range(16):\n    C[0, i] = A[0, i]"
    assert_pass(InjectSoftwarePipeline(), plain, params=PARAMS)
    text = two_blocks([0, 1], [0, 1]).replace("annotations={", 'annotations={"pragma_x": 1,')
    loops = nodes(apply(program(text, params=PARAMS), InjectSoftwarePipeline()), For)
    assert {"pragma_x": 1} in [dict(loop.annotations) for loop in loops]
    assert not [loop for loop in loops if any("software" in key for key in loop.annotations)]


@pytest.mark.parametrize(
    ("stages", "order", "message"),
    [
        ([0], [0, 1], "has 2 blocks, got 1 numbers in software_pipeline_stage"),
        ([0, 1], [0], "has 2 blocks, got 1 numbers in software_pipeline_order"),
        ([0, 1], [1, 1], "two blocks have the same position"),
        ([1, 0], [0, 1], "block 1 depends on block 0"),
        ([0, 0], [1, 0], "block 1 depends on block 0"),
        ([-1, 0], [0, 1], "stages must begin at 0"),
    ],
)
def test_what_cannot_be_is_refused(stages: list[int], order: list[int], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        apply(program(two_blocks(stages, order), params=PARAMS), InjectSoftwarePipeline())


@given(st.data())
def test_random_pipelines_compute_the_same(data: st.DataObject) -> None:
    """A chain of blocks, each of which reads buffers of earlier ones."""
    count = data.draw(st.integers(2, 4))
    stages = sorted(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    order = list(data.draw(st.permutations(range(count))))
    for i in range(count):  # blocks of one stage keep their order
        same = [k for k in range(count) if stages[k] == stages[i]]
        for k, position in zip(same, sorted(order[k] for k in same), strict=True):
            order[k] = position
    func = _chain(data, stages, order)
    assert_same(func, apply(func, InjectSoftwarePipeline()), scalars={"n": data.draw(st.integers(0, 9))})


def _chain(data: st.DataObject, stages: list[int], order: list[int]) -> PrimFunc:
    count, low, extent = len(stages), data.draw(st.integers(0, 3)), data.draw(st.sampled_from(["1", "2", "8", "n"]))
    text = f"""for i in T.serial({low}, {low} + {extent}, annotations={{
        "software_pipeline_stage": {stages}, "software_pipeline_order": {order}}}):
    with T.block():
"""
    for k in range(count - 1):
        text += f"        B{k} = T.alloc_buffer((2,), 'int32')\n"
    for k in range(count):
        sources = [f"B{data.draw(st.integers(0, k - 1))}[0]", f"B{k - 1}[1]"] if k else []
        value = " + ".join(["A[1, i]", *sources])
        text += "        with T.block():\n"
        if k < count - 1:
            text += f"            for j in range(2):\n                B{k}[j] = {value} * (j + {k} + 1)\n"
        else:
            text += f"            C[0, i] = {value}\n"
    return program(text, params=PARAMS)


def test_a_pipelined_loop_is_built() -> None:
    built = tvm.build(program(two_blocks([0, 1], [0, 1]), params=PARAMS))
    source = np.arange(256, dtype="int32").reshape(16, 16)
    target = tvm.nd.array(np.zeros_like(source))
    built(tvm.nd.array(source), target, 0)
    np.testing.assert_array_equal(target.numpy()[:4], source[:4] * 2 + 1)
