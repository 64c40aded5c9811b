"""Asynchronous stages of pipelines: what is committed has arrived when it is read, however late copies are."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import PrimExpr, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, SeqStmt, Stmt
from compiler.tir.transform import InjectSoftwarePipeline, Simplify
from tests.compiler.tir.transform.programs import apply, nodes, program

Arrays = dict[str, dict[tuple[int, ...], int]]
PARAMS = "A: T.Buffer((32,), 'int32'), B: T.Buffer((32,), 'int32'), C: T.Buffer((32,), 'int32')"


def pipeline(stages: list[int], order: list[int], extent: int = 8) -> PrimFunc:
    """Return a loop that loads ``A`` and ``B`` in asynchronous blocks, and adds them."""
    text = f"""
    for i in T.serial({extent}, annotations={{"software_pipeline_stage": {stages},
            "software_pipeline_order": {order}, "software_pipeline_async_stages": {sorted(set(stages[:2]))[:1]}}}):
        with T.block():
            X = T.alloc_buffer((1,), "int32")
            Y = T.alloc_buffer((1,), "int32")
            with T.block():
                X[0] = A[i]
            with T.block():
                Y[0] = B[i]
            with T.block():
                C[i] = X[0] + Y[0]
    """
    return program(text, params=PARAMS)


LOOP = """
X = T.alloc_buffer((2, 1), "int32")
Y = T.alloc_buffer((2, 1), "int32")
for i in range(7):
    with T.block():
        T.reads(A[i + 1], B[i + 1])
        T.writes(X[(i + 1) % 2, 0], Y[(i + 1) % 2, 0])
        with T.attr(0, "async_commit_queue_scope", 0):
            with T.attr(0, "async_scope", 1):
                X[(i + 1) % 2, 0] = A[i + 1]
            with T.attr(0, "async_scope", 1):
                Y[(i + 1) % 2, 0] = B[i + 1]
    with T.block():
        T.reads(X[i % 2, 0], Y[i % 2, 0])
        T.writes(C[i])
        with T.attr(0, "async_wait_queue_scope", 0):
            with T.attr(0, "async_wait_inflight_count", 1):
                C[i] = X[i % 2, 0] + Y[i % 2, 0]
"""


class _Late:
    """Runs a program, and lets asynchronous stores arrive no sooner than they are waited for."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays: Arrays = defaultdict(lambda: defaultdict(lambda: -999), arrays)
        self.queues: dict[int, list[list[Any]]] = defaultdict(list)
        self.group: list[Any] | None = None
        self.is_async = False
        self.queue = 0

    def run(self, n: Stmt) -> None:
        getattr(self, f"run_{type(n).__name__}")(n)

    def run_For(self, n: For) -> None:
        for i in range(number(n.min), number(n.min) + number(n.extent)):
            self.run(substitute(n.body, {n.loop_var: const(i)}))

    def run_SeqStmt(self, n: SeqStmt) -> None:
        for each in n.seq:
            self.run(each)

    def run_BlockRealize(self, n: BlockRealize) -> None:
        if number(n.predicate):
            self.run(n.block.body)

    def run_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "async_commit_queue_scope":
            self.group = []
            self.run(n.body)
            self.queues[number(n.value)].append(self.group)
            self.group = None
        elif n.attr_key == "async_scope":
            self.is_async = True
            self.run(n.body)
            self.is_async = False
        elif n.attr_key == "async_wait_queue_scope":
            self.queue = number(n.value)
            self.run(n.body)
        else:
            assert n.attr_key == "async_wait_inflight_count"
            queue = self.queues[self.queue]
            while len(queue) > max(number(n.value), 0):
                for array, at, value in queue.pop(0):
                    array[at] = value
            self.run(n.body)

    def run_BufferStore(self, n: BufferStore) -> None:
        value = number(_Loaded(self.arrays).visit(n.value))
        array, at = self.arrays[n.buffer.name], tuple(map(number, n.indices))
        if self.is_async:
            assert self.group is not None
            self.group.append((array, at, value))
        else:
            array[at] = value


class _Loaded(Mutator):
    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return const(self._arrays[n.buffer.name][tuple(map(number, n.indices))])


def number(value: Any) -> int:
    return int(Analyzer().simplify(value))


def late(func: PrimFunc, extent: int) -> None:
    """Check that a pipeline computes the sum when its copies are as late as they may be."""
    arrays: Arrays = {name: {(i,): i * scale for i in range(32)} for name, scale in (("A", 1), ("B", 100), ("C", 0))}
    _Late(arrays).run(func.body)
    assert [arrays["C"][i,] for i in range(extent)] == [101 * i for i in range(extent)]


@settings(max_examples=12)
@given(st.integers(1, 3), st.integers(0, 1), st.permutations([0, 1, 2]), st.integers(1, 6))
def test_copies_have_arrived_when_they_are_read(depth: int, second: int, order: list[int], extent: int) -> None:
    stages = [0, min(second, depth - 1), depth]
    late(apply(pipeline(stages, order, extent), InjectSoftwarePipeline(separate_commits=True)), extent)


def test_a_wait_between_two_commits_is_too_short_at_first_without_separate_commits() -> None:
    func = pipeline([0, 0, 3], [0, 2, 1])
    late(apply(func, InjectSoftwarePipeline(separate_commits=True)), 8)
    with pytest.raises(AssertionError):
        late(apply(func, InjectSoftwarePipeline()), 8)


def test_a_stage_commits_what_the_next_iteration_waits_for() -> None:
    (loop,) = nodes(apply(pipeline([0, 0, 1], [0, 1, 2]), InjectSoftwarePipeline(), Simplify()), For)
    (expected,) = nodes(program(LOOP, params=PARAMS), For)
    assert str(loop) == str(expected)
