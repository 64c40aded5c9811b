"""Runs kernels thread by thread, in random order between barriers: what a GPU may do with them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.primexpr import And, BinaryOp, Call, IterVar, Or, PrimExpr, StringImm, Var
from compiler.ir.substitute import post_order_visit
from compiler.tir.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.evaluation import numpy_dtype
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

WARP = 32
Steps = Generator[tuple[str, Any], Any, Any]
"""A thread that runs: it tells what it waits for, and gets what the others have for it."""


class BarrierError(Exception):
    """Some threads of a block wait where others never come."""


def run_threads(func: PrimFunc, arrays: Sequence[Any], seed: int = 0) -> None:
    """Run a function whose kernels bind thread axes, and change the arrays in place.

    Threads take turns at random after each store; memory begins with arbitrary values.  So a missing barrier shows as
    a wrong result for nearly every seed.
    """
    values: dict[Var, Any] = {}
    memory: dict[Var, Any] = {}
    for param, value in zip(func.params, arrays, strict=True):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            values[param] = value
        else:
            memory[buffer.data] = value.reshape(-1)
    host = _Thread(values, [memory, {}, {}, {}], random.Random(seed), {})
    for _ in host.run(func.body):
        pass


def thread_extents(body: Stmt) -> dict[str, PrimExpr]:
    """Return the thread axes that a kernel launches, with their extents."""
    extents: dict[str, PrimExpr] = {}

    def note(n: Any) -> None:
        if isinstance(n, AttrStmt) and n.attr_key == "thread_extent":
            extents[n.node.thread_tag] = n.value
        elif isinstance(n, For) and n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None:
            extents[n.thread_binding.thread_tag] = n.extent

    post_order_visit(body, note)
    return extents


class _Thread:
    """One thread: its variables, and its memories: of all, of its block, of its warp, its own."""

    def __init__(self, values: dict[Var, Any], memories: list[dict[Var, Any]], rng: Any, axes: dict[str, int]) -> None:
        self.values = dict(values)
        self.memories = memories
        self.rng = rng
        self.axes = axes

    # statements

    def run(self, n: Stmt) -> Steps:
        yield from getattr(self, f"run_{type(n).__name__}")(n)

    def run_SeqStmt(self, n: SeqStmt) -> Steps:
        for stmt in n.seq:
            yield from self.run(stmt)

    def run_AttrStmt(self, n: AttrStmt) -> Steps:
        if n.attr_key != "thread_extent" or not isinstance(n.node, IterVar):
            yield from self.run(n.body)
        else:
            yield from self._bound(n, n.node.thread_tag, n.node.var)

    def run_For(self, n: For) -> Steps:
        if n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None:
            yield from self._bound(n, n.thread_binding.thread_tag, n.loop_var)
            return
        low, extent = (yield from self.value(n.min)), (yield from self.value(n.extent))
        for i in range(low, low + extent):
            self.values[n.loop_var] = i
            yield from self.run(n.body)

    def _bound(self, n: AttrStmt | For, tag: str, var: Var) -> Steps:
        if not self.axes:
            self._launch(n)
            return
        self.values[var] = self.axes[tag]
        if isinstance(n, For):
            self.values[n.thread_binding.var] = self.axes[tag]  # type: ignore[union-attr]
        yield from self.run(n.body)

    def _launch(self, n: Stmt) -> None:
        """Run the blocks of a kernel one after the other."""
        extents = {tag: _now(self.value(extent)) for tag, extent in thread_extents(n).items()}
        blocks = [tag for tag in extents if not tag.startswith("threadIdx")]
        threads = sorted((tag for tag in extents if tag.startswith("threadIdx")), reverse=True)  # x runs fastest
        for block in itertools.product(*[range(extents[tag]) for tag in blocks]):
            shared = _copied(self.memories[1])
            group = []
            for position, thread in enumerate(itertools.product(*[range(extents[tag]) for tag in threads])):
                if position % WARP == 0:
                    warp = _copied(self.memories[2])
                axes = dict(zip((*blocks, *threads), (*block, *thread), strict=True))
                memories = [self.memories[0], shared, warp, _copied(self.memories[3])]
                group.append(_Thread(self.values, memories, self.rng, axes).run(n))
            _run_block(group, self.rng)

    def run_Allocate(self, n: Allocate) -> Steps:
        scope = getattr(n.buffer_var.type_annotation, "storage_scope", "") or "global"
        place = 1 if scope.startswith("shared") else 2 if scope == "warp" else 0 if scope == "global" else 3
        if self.axes and place == 0:
            place = 3
        memory = self.memories[place]
        size = 1
        for extent in n.extents:
            size *= yield from self.value(extent)
        if n.buffer_var not in memory or place == 3:
            if scope == "warp":
                size *= WARP
            kind = numpy_dtype(n.dtype)
            memory[n.buffer_var] = np.array([self.rng.randrange(100) for _ in range(size)]).astype(kind)
        yield from self.run(n.body)

    def run_DeclBuffer(self, n: DeclBuffer) -> Steps:
        yield from self.run(n.body)

    def run_IfThenElse(self, n: IfThenElse) -> Steps:
        if (yield from self.value(n.condition)):
            yield from self.run(n.then_case)
        elif n.else_case is not None:
            yield from self.run(n.else_case)

    def run_LetStmt(self, n: LetStmt) -> Steps:
        self.values[n.var] = yield from self.value(n.value)
        yield from self.run(n.body)

    def run_BufferStore(self, n: BufferStore) -> Steps:
        value = yield from self.value(n.value)
        place = yield from self._place(n.buffer, n.indices)
        self._memory(n.buffer)[place] = value
        yield ("step", None)

    def run_Evaluate(self, n: Evaluate) -> Steps:
        if isinstance(n.value, Call) and n.value.op.name == "tir.tvm_storage_sync":  # type: ignore[union-attr]
            scope = n.value.args[0]
            assert isinstance(scope, StringImm)
            yield (f"barrier {scope.value}", None)
        else:
            yield from self.value(n.value)

    # memory

    def _memory(self, buffer: Buffer) -> Any:
        memory = next(memory[buffer.data] for memory in reversed(self.memories) if buffer.data in memory)
        kind = numpy_dtype(buffer.dtype)
        return memory if memory.dtype == kind else memory[: memory.nbytes // kind.itemsize * kind.itemsize].view(kind)

    def _place(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> Steps:
        place = 0
        for extent, index in zip(buffer.shape, indices, strict=True):
            i = yield from self.value(index)
            size = (yield from self.value(extent)) if len(indices) > 1 else len(self._memory(buffer))
            assert np.all((i >= 0) & (i < size)), f"{buffer.name}[{i}] is outside of {size}"
            place = place * size + i
        return place

    # expressions

    def value(self, n: PrimExpr) -> Steps:
        """Evaluate an expression; a shuffle waits for the other threads of the warp."""
        if isinstance(n, BinaryOp) and not isinstance(n, (And, Or)):
            a, b = (yield from self.value(n.a)), (yield from self.value(n.b))
            return type(n).evaluate(a, b)
        return (yield from getattr(self, f"value_{type(n).__name__}")(n))

    def value_IntImm(self, n: Any) -> Steps:
        yield from ()
        return n.value

    value_FloatImm = value_StringImm = value_IntImm

    def value_Var(self, n: Var) -> Steps:
        yield from ()
        return self.values[n]

    def value_Cast(self, n: Any) -> Steps:
        value = yield from self.value(n.value)
        return np.asarray(value).astype(numpy_dtype(n.dtype)).item() if dt.lanes(n.dtype) == 1 else value

    def value_And(self, n: Any) -> Steps:
        return bool((yield from self.value(n.a)) and (yield from self.value(n.b)))

    def value_Or(self, n: Any) -> Steps:
        return bool((yield from self.value(n.a)) or (yield from self.value(n.b)))

    def value_Not(self, n: Any) -> Steps:
        return not (yield from self.value(n.a))

    def value_Select(self, n: Any) -> Steps:
        chosen = n.true_value if (yield from self.value(n.condition)) else n.false_value
        return (yield from self.value(chosen))

    def value_Let(self, n: Any) -> Steps:
        self.values[n.var] = yield from self.value(n.value)
        return (yield from self.value(n.body))

    def value_Ramp(self, n: Any) -> Steps:
        base, stride = (yield from self.value(n.base)), (yield from self.value(n.stride))
        return base + stride * np.arange(dt.lanes(n.dtype))

    def value_Broadcast(self, n: Any) -> Steps:
        return np.full(dt.lanes(n.dtype), (yield from self.value(n.value)))

    def value_BufferLoad(self, n: BufferLoad) -> Steps:
        place = yield from self._place(n.buffer, n.indices)
        element = self._memory(n.buffer)[place]
        return element.item() if np.ndim(element) == 0 else element

    def value_Call(self, n: Call) -> Steps:
        name = n.op.name.removeprefix("tir.")  # type: ignore[union-attr]
        if name == "if_then_else":
            chosen = n.args[1] if (yield from self.value(n.args[0])) else n.args[2]
            return (yield from self.value(chosen))
        args = []
        for arg in n.args:
            args.append((yield from self.value(arg)))
        if name == "likely":
            return args[0]
        if name == "tvm_warp_activemask":
            return 2**WARP - 1
        assert name.startswith("tvm_warp_shuffle"), name
        _, value, lane, width, _ = args
        lanes = yield (f"exchange {name}", value)
        own = lanes["own"]
        first = own // width * width
        moved = {"tvm_warp_shuffle": first + lane % width, "tvm_warp_shuffle_down": own + lane}[name]
        return lanes["values"][moved] if first <= moved < first + width else value


def _copied(memory: dict[Var, Any]) -> dict[Var, Any]:
    """Return memory that is allocated around a kernel, for a block, a warp or a thread of it."""
    return {var: array.copy() for var, array in memory.items()}


def _now(steps: Steps) -> Any:
    """Return the value of an expression that waits for nobody."""
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    raise BarrierError("the host waits for nobody")


def _run_block(threads: list[Steps], rng: Any) -> None:
    """Run the threads of a block, each as far as it comes, in random order."""
    waiting: dict[int, tuple[str, Any]] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(threads)))
    alive = set(answers)
    while alive:
        ready = sorted(alive - waiting.keys())
        if ready:
            i = rng.choice(ready)
            try:
                event = threads[i].send(answers[i])
            except StopIteration:
                alive.remove(i)
                continue
            answers[i] = None
            if event[0] != "step":
                waiting[i] = event
            continue
        _release(waiting, answers, alive)


def _release(waiting: dict[int, tuple[str, Any]], answers: dict[int, Any], alive: set[int]) -> None:
    """Let those go on who wait for the same, all of their warp or block."""
    for first in sorted(waiting):
        kind = waiting[first][0]
        whole = kind.startswith("barrier shared")
        group = [i for i in sorted(alive) if whole or i // WARP == first // WARP]
        if all(waiting.get(i, ("",))[0] == kind for i in group):
            values = [waiting[i][1] for i in group]
            for own, i in enumerate(group):
                del waiting[i]
                answers[i] = {"own": own, "values": values} if kind.startswith("exchange") else None
            return
    raise BarrierError(f"threads wait for different things: {sorted({kind for kind, _ in waiting.values()})}")
