"""Lowers cross-thread reductions to shuffles or shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, Cast, CommReducer, IntImm, IterVar, PrimExpr, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.tir.expressions.builtin import THREAD_ALLREDUCE, if_then_else, storage_sync
from compiler.tir.expressions.device_ops import WARP_ACTIVEMASK, WARP_SHUFFLE, WARP_SHUFFLE_DOWN
from compiler.tir.statements.allocations import allocated
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, Evaluate, IfThenElse, Stmt, seq, stored_at_once
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

WARP_KINDS = ("cuda", "rocm", "metal")
"""Kinds of targets whose warps can wait for their own threads only."""
SHUFFLING_KINDS = ("cuda", "metal")
"""Those whose threads of a warp can pass values to each other, see :func:`_shuffled`."""


class LowerThreadAllreduce(FunctionRewrite):
    """Carry out the reductions across threads.

    Where the threads are a part of a warp, or some full warps, and the target can shuffle, values pass between
    registers; otherwise they pass through shared memory, half as many threads at each step.  The block waits for each
    step, or the warp, where all threads that still take part are of one::

        reduce_scope(x + y):                             T.tvm_storage_sync("shared")
            T.tvm_thread_allreduce(1, a, True,           red_buf0[threadIdx_x] = a
                                   r[0], threadIdx_x)    T.tvm_storage_sync("shared")
        B[0] = r[0]                                 →    if threadIdx_x < 2:
                                                             red_buf0[threadIdx_x] = red_buf0[threadIdx_x]
                                                                                     + red_buf0[threadIdx_x + 2]
                                                         …
                                                         B[0] = red_buf0[0]

    Raises LoweringError if the extent of a thread axis is not a constant, or a reduction is over something else than
    thread axes.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        target = func.attrs.get("target")
        kind = "" if target is None else str(target.kind)
        warp = int(target.thread_warp_size) if target is not None and kind in WARP_KINDS else 1
        return func.with_body(_Lower(warp, kind in SHUFFLING_KINDS).visit(func.body))


@dataclass
class _Plan:
    """One reduction: who takes part, what is combined how."""

    combiner: CommReducer
    values: tuple[PrimExpr, ...]
    index: PrimExpr
    """The position of a thread among those that reduce together."""
    extent: int
    """How many threads reduce together."""
    group: PrimExpr
    """The position of a thread's group among those of the block."""
    groups: int
    statements: list[Stmt] = field(default_factory=list)
    results: list[BufferLoad] = field(default_factory=list)
    scratch: list[Buffer] = field(default_factory=list)

    def add(self, *statements: Stmt) -> None:
        """Continue with some statements."""
        self.statements += statements

    def memory(self, size: int, name: str, scope: str) -> list[Buffer]:
        """Return memory for a value of each kind."""
        return [decl_buffer((size,), e.dtype, f"{name}{i}", scope=scope) for i, e in enumerate(self.values)]

    def combine(self, into: Sequence[BufferLoad], others: Sequence[PrimExpr]) -> Stmt:
        """Return the statement that combines elements with other values, all at once."""
        variables = (*self.combiner.lhs, *self.combiner.rhs)
        operands: dict[Var, PrimExpr] = dict(zip(variables, (*into, *others), strict=True))
        return stored_at_once(into, [substitute(e, operands) for e in self.combiner.result], "{}_next")


class _Registers(NamedTuple):
    """What a thread needs to reduce with its warp."""

    # its values, and those of another thread
    own: list[BufferLoad]
    others: list[BufferLoad]
    mask: BufferLoad

    @staticmethod
    def of(plan: _Plan) -> _Registers:
        """Return registers for the values of a plan."""
        own, others = ([_element(b, const(0)) for b in plan.memory(1, name, "local")] for name in ("red_buf", "t"))
        return _Registers(own, others, _element(decl_buffer((1,), "uint32", "mask", scope="local"), const(0)))

    @property
    def scratch(self) -> list[Buffer]:
        """The memory that no result is in."""
        return [self.mask.buffer, *[e.buffer for e in self.others]]


class _Lower(StmtExprMutator):
    def __init__(self, warp: int, shuffles: bool) -> None:
        self._warp = warp
        self._shuffles = shuffles
        self._axes: list[tuple[IterVar, PrimExpr]] = []
        self._combiner: CommReducer | None = None
        self._replaced: dict[Var, BufferLoad] = {}
        self._analyzer = Analyzer()

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._axes.append((n.node, n.value))
            new = self.visit_Node(n)
            self._axes.pop()
            return new
        if n.attr_key != "reduce_scope" or not isinstance(n.node, CommReducer):
            return self.visit_Node(n)
        outer, self._combiner = self._combiner, n.node
        body = self.visit(n.body)
        self._combiner = outer
        return rebuild(n, body=body)

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        call = n.value
        if not isinstance(call, Call) or call.op is not THREAD_ALLREDUCE:
            return self.visit_Node(n)
        return self._reduction(rebuild(call, args=self._visit_tuple(call.args)))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        result = self._replaced.get(n.buffer.data)
        if result is None:
            return self.visit_Node(n)
        return result if result.dtype == n.dtype else Cast(n.dtype, result)  # bool, which lies in memory as int8

    def visit_Allocate(self, n: Allocate) -> Stmt:
        body = self.visit(n.body)
        result = self._replaced.get(n.buffer_var)
        if result is None:
            return rebuild(n, body=body)
        memory = result.buffer
        if memory.scope() == "shared":  # what other threads stored is read anew
            body = AttrStmt(memory.data, "volatile_scope", const(1), body)
        return Allocate(memory.data, memory.dtype, memory.shape, n.condition, body, n.annotations)

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        body = self.visit(n.body)
        result = self._replaced.get(n.buffer.data)
        return rebuild(n, body=body) if result is None else DeclBuffer(result.buffer, body)

    def _reduction(self, call: Call) -> Stmt:
        """Return what a reduction consists of; its results are read elsewhere from now on."""
        if self._combiner is None:
            raise LoweringError("LowerThreadAllreduce: a reduction across threads must be within a reduce_scope")
        count = call.args[0]
        assert isinstance(count, IntImm)
        size = count.value
        values, condition, results = call.args[1 : 1 + size], call.args[1 + size], call.args[2 + size : 2 + 2 * size]
        if not is_const_int(condition, 1):
            pairs = zip(values, self._combiner.identity_element, strict=True)
            values = tuple([if_then_else(condition, value, identity) for value, identity in pairs])
        plan = self._plan(values, call.args[2 + 2 * size :])
        self._carry_out(plan)
        for result, place in zip(results, plan.results, strict=True):
            self._replaced[_memory_of(result)] = place
        body = seq(plan.statements)
        for buffer in reversed(plan.scratch):
            body = allocated(buffer, body)
        return body

    def _plan(self, values: tuple[PrimExpr, ...], threads: Sequence[PrimExpr]) -> _Plan:
        """Sort the threads of a block by those that are reduced over and the others."""
        assert self._combiner is not None
        axes = {axis.thread_tag: (axis, extent) for axis, extent in self._axes if "threadIdx" in axis.thread_tag}
        missing = [thread for thread in threads if not any(axis.var is thread for axis, _ in axes.values())]
        if missing and not all(is_const_int(thread, 0) for thread in missing):
            raise LoweringError(f"LowerThreadAllreduce: expected thread axes to reduce over, got {show(missing[0])}")
        indices: dict[bool, PrimExpr] = {True: const(0), False: const(0)}
        extents = {True: 1, False: 1}
        for tag in sorted(axes):  # x runs fastest
            axis, extent = axes[tag]
            if not isinstance(extent, IntImm):
                raise LoweringError(f"LowerThreadAllreduce: the extent of {tag} must be a constant, got {show(extent)}")
            reduced = any(axis.var is thread for thread in threads)
            indices[reduced] = indices[reduced] + axis.var * extents[reduced]
            extents[reduced] *= extent.value
        index, group = (self._analyzer.simplify(indices[reduced]) for reduced in (True, False))
        return _Plan(self._combiner, values, index, extents[True], group, extents[False])

    def _carry_out(self, plan: _Plan) -> None:
        if plan.extent == 1:
            self._alone(plan)
        elif self._within_warps(plan):
            self._by_shuffles(plan)
        else:
            self._by_shared_memory(plan)

    def _within_warps(self, plan: _Plan) -> bool:
        """Return whether the threads are neighbours: all or a part of one warp, or so many full warps."""
        if not (self._shuffles and self._shares_warps(plan) and all(_shuffled(e.dtype) for e in plan.values)):
            return False
        return plan.extent <= self._warp or (plan.extent % self._warp == 0 and plan.extent <= self._warp**2)

    def _shares_warps(self, plan: _Plan) -> bool:
        """Return whether the first threads that reduce together, as many as a warp has, are of one warp."""
        if self._warp == 1 or not self._analyzer.can_prove_equal(plan.index, self._innermost(plan.extent)):
            return False
        return plan.groups == 1 or plan.extent % self._warp == 0 or self._warp % plan.extent == 0

    def _innermost(self, extent: int) -> PrimExpr:
        """Return the position of a thread in the block, if its first axes have as many threads as reduce."""
        position: PrimExpr = const(0)
        size = 1
        for axis, threads in sorted(self._axes, key=lambda item: item[0].thread_tag):
            if "threadIdx" in axis.thread_tag and size < extent and isinstance(threads, IntImm):
                position = position + axis.var * size
                size *= threads.value
        return position

    def _alone(self, plan: _Plan) -> None:
        places = [_element(buffer, const(0)) for buffer in plan.memory(1, "red_buf", "local")]
        plan.add(*[_store(place, value) for place, value in zip(places, plan.values, strict=True)])
        plan.results = places

    def _by_shared_memory(self, plan: _Plan) -> None:
        """Let each step combine the values of the upper half of the threads with those of the lower half."""
        buffers = plan.memory(plan.groups * plan.extent, "red_buf", "shared")
        begin = plan.group * plan.extent
        warp = self._warp if self._shares_warps(plan) else 1

        def places(offset: int) -> list[BufferLoad]:
            return [_element(b, self._analyzer.simplify(begin + plan.index + offset)) for b in buffers]

        def step(distance: int, active: int) -> None:
            waiting = _wait("warp" if 1 < distance <= warp else "shared")  # the next step reads what so many stored
            plan.add(IfThenElse(plan.index < active, plan.combine(places(0), places(distance))), waiting)

        plan.add(_wait(), *[_store(e, value) for e, value in zip(places(0), plan.values, strict=True)], _wait())
        width = 1 << (plan.extent.bit_length() - 1)
        if width < plan.extent:
            step(width, plan.extent - width)
        while width > 1:
            width //= 2
            step(width, width)
        plan.results = [_element(b, self._analyzer.simplify(begin)) for b in buffers]

    def _by_shuffles(self, plan: _Plan) -> None:
        """Reduce each warp, and then the results of the warps in one of them."""
        registers = _Registers.of(plan)
        own, mask = registers.own, registers.mask
        plan.add(*[_store(e, value) for e, value in zip(own, plan.values, strict=True)])
        self._reduce_warp(plan, registers, min(plan.extent, self._warp))
        if plan.extent <= self._warp:
            plan.scratch += registers.scratch
            plan.add(*[_store(e, self._shuffle(WARP_SHUFFLE, mask, e, plan.group * plan.extent)) for e in own])
            plan.results = own
        else:
            self._reduce_warps(plan, registers)

    def _reduce_warp(self, plan: _Plan, registers: _Registers, width: int) -> None:
        """Reduce the first ``width`` threads of each warp; its first thread has the result."""
        own, others, mask = registers.own, registers.others, registers.mask
        plan.add(_store(mask, Call("uint32", WARP_ACTIVEMASK, ())))
        while width > 1:
            distance = 1 << ((width - 1).bit_length() - 1)
            moved = [self._shuffle(WARP_SHUFFLE_DOWN, mask, e, const(distance)) for e in own]
            plan.add(*[_store(e, value) for e, value in zip(others, moved, strict=True)])
            combined = plan.combine(own, others)
            partnered = 2 * distance == width
            lane = plan.index if plan.extent <= self._warp else plan.index % self._warp
            plan.add(combined if partnered else IfThenElse(lane + distance < width, combined))
            width = distance

    def _reduce_warps(self, plan: _Plan, registers: _Registers) -> None:
        """Pass the results of the warps through shared memory to the first warp, and its result to all."""
        warps = plan.extent // self._warp
        staging = plan.memory(plan.groups * warps, "red_buf_staging", "shared")
        result = plan.memory(plan.groups, "red_result", "shared")
        own = registers.own
        plan.scratch += [*[e.buffer for e in own], *registers.scratch, *staging]
        simplify = self._analyzer.simplify
        places = [_element(b, simplify(plan.group * warps + plan.index // self._warp)) for b in staging]
        first_lane = (plan.index % self._warp).equal(0)
        plan.add(IfThenElse(first_lane, seq([_store(e, v) for e, v in zip(places, own, strict=True)])), _wait())
        places = [_element(b, simplify(plan.group * warps + plan.index)) for b in staging]
        plan.add(IfThenElse(plan.index < warps, seq([_store(e, v) for e, v in zip(own, places, strict=True)])))
        self._reduce_warp(plan, registers, warps)
        plan.results = [_element(b, plan.group) for b in result]
        last = seq([_store(e, value) for e, value in zip(plan.results, own, strict=True)])
        plan.add(IfThenElse(plan.index.equal(0), last), _wait())

    def _shuffle(self, op: Op, mask: BufferLoad, value: BufferLoad, lane: PrimExpr) -> PrimExpr:
        warp = const(self._warp)
        return Call(value.dtype, op, (mask, value, self._analyzer.simplify(lane), warp, warp))


def _shuffled(dtype: str) -> bool:
    """Return whether the threads of a warp pass such values to each other: registers of 32 bits or more, and halves."""
    return dt.bits(dtype) >= 32 or dtype == "float16"


def _memory_of(result: PrimExpr) -> Var:
    """Return the memory that gets a result, named by its pointer, or by an element, as which a bool is an int8."""
    element = result.value if isinstance(result, Cast) else result
    memory = element.buffer.data if isinstance(element, BufferLoad) else element
    if not isinstance(memory, Var):
        raise LoweringError(f"LowerThreadAllreduce: expected memory for the result, got {show(result)}")
    return memory


def _element(buffer: Buffer, index: PrimExpr) -> BufferLoad:
    return BufferLoad(buffer, (index,))


def _store(element: BufferLoad, value: PrimExpr) -> Stmt:
    return BufferStore(element.buffer, value, element.indices)


def _wait(scope: str = "shared") -> Stmt:
    return Evaluate(storage_sync(scope))
