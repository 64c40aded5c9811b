"""Emulates warp shuffles through memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, Let, PrimExpr, Select, const
from compiler.ir.origin import user_place
from compiler.tir.expressions.builtin import storage_sync
from compiler.tir.expressions.device_ops import WARP_ACTIVEMASK, WARP_SHUFFLE, WARP_SHUFFLE_DOWN, WARP_SHUFFLE_UP
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Evaluate, For, IfThenElse, LetStmt, Stmt, While, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator

Lane = Callable[[PrimExpr, PrimExpr, PrimExpr], tuple[PrimExpr, PrimExpr]]


def _direct(own: PrimExpr, operand: PrimExpr, width: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    return operand % width, const(True)


def _down(own: PrimExpr, operand: PrimExpr, width: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    return own + operand, own + operand < width


def _up(own: PrimExpr, operand: PrimExpr, width: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    return own - operand, own >= operand


SHUFFLES: Mapping[object, Lane] = {WARP_SHUFFLE: _direct, WARP_SHUFFLE_DOWN: _down, WARP_SHUFFLE_UP: _up}
"""By operator: the place among ``width`` threads that a thread gets its value from, and whether there is one."""


class EmulateShuffles(StmtExprMutator):
    """Replaces shuffles by memory that the threads of a block share, with barriers before and after.

    For example, for a thread ``tx`` of 32::

        t[0] = T.tvm_warp_shuffle_down(mask, r[0], 16, 32, 32)     →     exchange[tx] = r[0]
                                                                         T.tvm_storage_sync("warp")
                                                                         t[0] = exchange[…tx + 16…]
                                                                         T.tvm_storage_sync("warp")

    A thread that has no partner gets its own value, as on a device. ``thread`` is the position of a thread in its
    block.
    """

    def __init__(self, thread: PrimExpr, threads: PrimExpr, warp_size: int) -> None:
        self._thread = thread
        self._warp_size = warp_size
        self._places = (threads + (warp_size - 1)) // warp_size * warp_size
        self._stores: list[Stmt] = []
        self.exchanges: list[Buffer] = []  # the memory that is used; an element for each thread of full warps

    def visit_Stmt(self, n: Stmt) -> Stmt:
        outer, self._stores = self._stores, []
        new: Stmt = self.visit_Node(n)
        stores, self._stores = self._stores, outer
        if not stores:
            return new
        if isinstance(n, (For, While)):
            raise LoweringError(f"emulation: the bounds of a loop{user_place(n.span)} are shuffled between threads")
        if isinstance(n, (IfThenElse, LetStmt)):
            return seq([*stores, _wait(), new])
        return seq([*stores, _wait(), new, _wait()])

    def visit_Let(self, n: Let) -> PrimExpr:
        before = len(self._stores)
        new: PrimExpr = self.visit_Node(n)
        if len(self._stores) > before:
            raise LoweringError(f"emulation: a shuffle within a let expression{user_place(n.span)} has no place")
        return new

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is WARP_ACTIVEMASK:
            return const((1 << min(self._warp_size, dt.bits(n.dtype))) - 1, n.dtype)
        lane = SHUFFLES.get(n.op)
        if lane is None:
            return self.visit_Node(n)
        _, value, operand, width, _ = (self.visit(arg) for arg in n.args)
        exchange = decl_buffer((self._places,), n.dtype, f"exchange{len(self.exchanges)}", scope="shared")
        self.exchanges.append(exchange)
        self._stores.append(BufferStore(exchange, value, (self._thread,)))
        own = self._thread % width
        source, exists = lane(own, operand, width)
        place = Select(exists, self._thread - own + source, self._thread)
        return BufferLoad(exchange, (place,))


def _wait() -> Stmt:
    return Evaluate(storage_sync("warp"))
