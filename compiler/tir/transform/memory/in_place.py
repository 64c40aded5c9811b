"""Whether a statement can compute in place, over the buffer it reads."""

from __future__ import annotations

import math

from compiler.arith.analyzer import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Ramp, Var, const
from compiler.ir.functor import Visitor
from compiler.ir.structural import structural_equal
from compiler.tir.expressions.builtin import ADDRESS_OF
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import BufferStore, For, Stmt


def can_store_in_place(stmt: Stmt, source: Var, target: Var) -> bool:
    """Return whether ``stmt`` computes the same if ``target`` is the memory of ``source``.

    That is so if one store alone writes ``target``, each element once, and everything that is read of ``source`` is the
    very element that this store overwrites. ``stmt`` is the last one to read ``source`` and the first one to write
    ``target``.
    """
    uses = _Uses(source, target)
    uses.visit(stmt)
    if uses.spoiled or len(uses.stores) != 1:
        return False
    store, loops = uses.stores[0]
    if any(
        load_store is not store or not structural_equal(load.indices, store.indices) for load, load_store in uses.loads
    ):
        return False
    return all(load.dtype == store.value.dtype for load, _ in uses.loads) and _each_once(store.indices, loops)


class _Uses(Visitor):
    """Collects stores to the target and loads of the source; any other use spoils it."""

    def __init__(self, source: Var, target: Var) -> None:
        self._source = source
        self._target = target
        self._loops: list[For] = []
        self._store: BufferStore | None = None
        self.stores: list[tuple[BufferStore, list[For]]] = []
        self.loads: list[tuple[BufferLoad, BufferStore | None]] = []
        self.spoiled = False

    def visit_Var(self, n: Var) -> None:
        self.spoiled |= n is self._source or n is self._target

    def visit_For(self, n: For) -> None:
        self._loops.append(n)
        self.visit_Node(n)
        self._loops.pop()

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer.data is self._source:
            self.spoiled = True
        if n.buffer.data is self._target:
            self.stores.append((n, list(self._loops)))
        self._store = n
        self.visit(n.value)
        self._store = None
        for index in n.indices:
            self.visit(index)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if n.buffer.data is self._target:
            self.spoiled = True
        if n.buffer.data is self._source:
            self.loads.append((n, self._store))
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        self.spoiled |= n.op is ADDRESS_OF
        self.visit_Node(n)


def _each_once(indices: tuple[PrimExpr, ...], loops: list[For]) -> bool:
    """Return whether the loops visit each index once: a number in a mixed radix, one digit a loop."""
    if len(indices) != 1:
        return False
    ramp, width = indices[0], 1
    index = ramp
    if isinstance(ramp, Ramp):
        if not isinstance(ramp.stride, IntImm) or ramp.stride.value != 1 or dt.is_scalable(ramp.dtype):
            return False
        index, width = ramp.base, dt.lanes(ramp.dtype)
    coefficients = detect_linear_equation(index, [loop.loop_var for loop in loops])
    if len(coefficients) != len(loops) + 1:
        return False
    return _is_mixed_radix([(c, loop.extent) for c, loop in zip(coefficients, loops, strict=False)], width)


def _is_mixed_radix(digits: list[tuple[PrimExpr, PrimExpr]], width: int) -> bool:
    """Return whether numbers with these digits (what one is worth, how many values it has) are all different."""
    analyzer = Analyzer()
    reach: PrimExpr = const(width, digits[0][0].dtype) if digits else const(width)
    rest = [(worth, count) for worth, count in digits if not (isinstance(count, IntImm) and count.value <= 1)]
    rest.sort(key=lambda digit: digit[0].value if isinstance(digit[0], IntImm) else math.inf)
    while rest:
        lowest = next((digit for digit in rest if analyzer.can_prove(digit[0] >= reach)), None)
        if lowest is None:
            return False
        worth, count = lowest
        reach = analyzer.simplify(reach + worth * (count - 1))
        rest.remove(lowest)
    return True
