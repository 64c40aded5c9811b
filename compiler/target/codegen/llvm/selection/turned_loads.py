"""Loads of elements that are far apart, in a loop over their neighbours: rows are loaded and turned in registers.

Each iteration takes one element of each of several rows; as many iterations take whole vectors of them::

    for k in range(64):                                   for k in range(0, 64, 16):
        P[k * 16 : k * 16 + 16] = A[k : k + 1024 : 64]        rows = [A[r * 64 + k : … + 16] for r in range(16)]
                                                  →           columns = turned(rows)
                                                              for c in range(16):
                                                                  P[(k + c) * 16 : …] = columns[c]

Of 100 iterations, the last 16 begin at 84, and twelve are done again, where that changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llvmlite import ir

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Ramp, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import nodes_of
from compiler.target.codegen.llvm.memory import flat_index
from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.types import lane_mask
from compiler.target.cpu.vector_registers import vector_bits
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import BufferStore, For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import ir_transform

_WIDTHS, _BITS = (16, 8, 4, 2), (8, 16, 32, 64)
_NEAR = 4
"""Elements that are so near are chosen from whole vectors anyway."""


class TurnedLoad(NamedTuple):
    """A load ``buffer[base + r * stride for each lane r]``, whose base goes from neighbour to neighbour.

    Rows have as many elements as are turned at once, the ``width``, of which the lanes are a multiple.
    """

    load: BufferLoad
    base: PrimExpr
    stride: PrimExpr
    lanes: int
    width: int

    def replaced(self, store: Stmt, value: Var) -> Stmt:
        """Return the store with a value in place of the load."""
        return ir_transform(store, None, lambda n: value if n is self.load else None, ["tir.BufferLoad"])

    def rows(self, loop_var: Var, first: PrimExpr) -> list[BufferLoad]:
        """Return loads of what ``width`` iterations from the first one on take, row by row."""
        base = substitute(self.base, {loop_var: first})
        one = const(1, base.dtype)
        starts = [base + self.stride * row for row in range(self.lanes)]
        return [BufferLoad(self.load.buffer, (Ramp(start, one, self.width),)) for start in starts]


def turned_load(n: For, state: FunctionState) -> TurnedLoad | None:
    """Return the load that can be turned in a loop that stores a vector in each iteration; None if there is none."""
    store = n.body
    if n.kind is not ForKind.SERIAL or not isinstance(store, BufferStore) or store.predicate is not None:
        return None
    if any(call.op is IF_THEN_ELSE for call in nodes_of(store.value, Call)):
        return None  # it may guard the load
    again = not any(_may_overlap(store, load, state) for load in nodes_of(store, BufferLoad))
    again &= not has_effect(store.value) and not uses_var(store.value, store.buffer.data)
    found = [load for each in nodes_of(store.value, BufferLoad) if (load := _across(each, n, state, again))]
    return found[0] if len(found) == 1 and not _may_overlap(store, found[0].load, state) else None


def _may_overlap(store: BufferStore, load: BufferLoad, state: FunctionState) -> bool:
    own, other = store.buffer.data, load.buffer.data
    return own is other or not {own, other} & state.distinct


def _across(load: BufferLoad, n: For, state: FunctionState, again: bool) -> TurnedLoad | None:
    """Return a load that can be turned; None of others.  Iterations may be done ``again`` at the end."""
    target, index, bits = state.shared.target, flat_index(load.buffer, load.indices), dt.bits(load.buffer.dtype)
    if load.predicate is not None or not isinstance(index, Ramp) or dt.is_vector(load.buffer.dtype):
        return None
    lanes, stride = dt.lanes(index.dtype), index.stride
    if bits not in _BITS or not isinstance(n.extent, IntImm) or n.extent.value < 1 or uses_var(stride, n.loop_var):
        return None
    most = vector_bits(target.triple, target.cpu, target.llvm_features) // bits
    most = min(most, n.extent.value)
    width = next((w for w in _WIDTHS if w <= most and not lanes % w and (again or not n.extent.value % w)), 0)
    step = Analyzer().simplify(substitute(index.base, {n.loop_var: n.loop_var + 1}) - index.base)
    if not width or not is_const_int(step, 1) or (isinstance(stride, IntImm) and abs(stride.value) <= _NEAR):
        return None
    return TurnedLoad(load, index.base, stride, lanes, width)


def columns(state: FunctionState, rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the columns of some rows, which are as many as a row has elements or a multiple of that."""
    width = rows[0].type.count
    squares = [_turned(state.builder, rows[at : at + width]) for at in range(0, len(rows), width)]
    return [state.joined(list(parts)) for parts in zip(*squares, strict=True)]


def _turned(builder: ir.IRBuilder, rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the columns of a square of rows.

    Each of the steps, as many as the lanes can be halved, puts the first half of the rows between the second half::

        a0 a1 a2 a3                    a0 c0 a1 c1                    a0 b0 c0 d0
        b0 b1 b2 b3   a with c,        a2 c2 a3 c3   first with       a1 b1 c1 d1
        c0 c1 c2 c3   b with d    →    b0 d0 b1 d1   third, …    →    a2 b2 c2 d2
        d0 d1 d2 d3                    b2 d2 b3 d3                    a3 b3 c3 d3
    """
    count = len(rows)
    between = [lane // 2 + lane % 2 * count for lane in range(count)]
    low, high = lane_mask(between), lane_mask([lane + count // 2 for lane in between])
    now = list(rows)
    for _ in range(count.bit_length() - 1):
        pairs = zip(now[: count // 2], now[count // 2 :], strict=True)
        now = [builder.shuffle_vector(a, b, mask) for a, b in pairs for mask in (low, high)]
    return now
