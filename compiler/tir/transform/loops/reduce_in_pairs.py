"""Reduction of the elements of a loop in pairs, then these in pairs, instead of one after the other."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Add, IntImm, Max, Min, Mul, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import nodes_of
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import inheriting
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, Allocate, AttrStmt, BufferStore, For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass

PAIRWISE = "pragma_pairwise"


class ReduceInPairs(PrimFuncPass):
    """Reduce what a loop with the pragma ``pairwise`` goes over in pairs, again and again, in vectors.

    One element after the other, each addition waits for the one before.  In pairs only so many wait as the number of
    elements can be halved::

        for k in range(8):                          for k in T.vectorized(4):
            # pragma pairwise                           pairs[k] = A[k] + A[k + 4]
            C[i] = C[i] + A[k]              →       for k in T.vectorized(2):
                                                        pairs_1[k] = pairs[k] + pairs[k + 2]
                                                    C[i] = C[i] + (pairs_1[0] + pairs_1[1])

    It is the pragma that allows another order: of floating-point numbers it is another sum.  A loop that it cannot be
    done with stays as it is, without the pragma: of an odd or unknown number of iterations, within vectors or the
    threads of a GPU, or over anything but one sum, product, minimum or maximum.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if PAIRWISE not in features(func).attrs:
            return func
        return func.with_body(_Pairs().visit(func.body))


class _Pairs(StmtMutator):
    def __init__(self) -> None:
        self._is_in_lanes = False

    def visit_For(self, n: For) -> Stmt:
        return self._inside(n, n.kind in (ForKind.VECTORIZED, ForKind.THREAD_BINDING))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != PAIRWISE:
            return self._inside(n, n.attr_key in THREAD_KEYS)
        loop = self.visit(n.body)
        return loop if self._is_in_lanes else _in_pairs(loop)

    def _inside(self, n: For | AttrStmt, is_lane: bool) -> Stmt:
        outer, self._is_in_lanes = self._is_in_lanes, self._is_in_lanes or is_lane
        new = rebuild(n, body=self.visit(n.body))
        self._is_in_lanes = outer
        return new


def _in_pairs(loop: Stmt) -> Stmt:
    if not (isinstance(loop, For) and loop.kind is ForKind.SERIAL and isinstance(loop.body, BufferStore)):
        return loop
    store, extent = loop.body, loop.extent
    added = _reduced(loop.loop_var, store)
    if added is None or not isinstance(extent, IntImm) or extent.value < 2 or extent.value % 2:
        return loop
    with inheriting(loop.span):
        return _halved(loop, store, added, extent.value)


def _reduced(k: Var, store: BufferStore) -> PrimExpr | None:
    """Return what a store combines its element with in each iteration; None if it does something else."""
    value = store.value
    if not isinstance(value, (Add, Mul, Min, Max)) or any(uses_var(index, k) for index in store.indices):
        return None
    own, added = (value.a, value.b) if _reads(value.a, store) else (value.b, value.a)
    is_own = isinstance(own, BufferLoad) and own.buffer is store.buffer and [*own.indices] == [*store.indices]
    return added if is_own and not _reads(added, store) else None


def _reads(e: PrimExpr, store: BufferStore) -> bool:
    return any(load.buffer.data is store.buffer.data for load in nodes_of(e, BufferLoad))


def _halved(loop: For, store: BufferStore, added: PrimExpr, count: int) -> Stmt:
    k, begin = loop.loop_var, loop.min
    steps: list[Stmt] = []
    pairs: list[Buffer] = []

    def combine(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return rebuild(store.value, a=a, b=b)

    def at(place: PrimExpr) -> PrimExpr:
        return BufferLoad(pairs[-1], (place,)) if pairs else substitute(added, {k: begin + place})

    while count > 2 and not count % 2:
        count //= 2
        lane, made = Var(k.name, k.dtype), decl_buffer((count,), added.dtype, "pairs", scope="local")
        pair = combine(at(lane), at(lane + const(count, k.dtype)))
        stored = BufferStore(made, pair, (lane,))
        steps.append(For(lane, const(0, k.dtype), const(count, k.dtype), ForKind.VECTORIZED, stored))
        pairs.append(made)
    rest = at(const(0, k.dtype))
    for place in range(1, count):
        rest = combine(rest, at(const(place, k.dtype)))
    own = BufferLoad(store.buffer, store.indices)
    made_of: Stmt = seq([*steps, rebuild(store, value=combine(own, rest))])
    for each in pairs:
        made_of = Allocate(each.data, each.dtype, each.shape, const(True, "bool"), made_of)
    return made_of
