"""Of which data types the numbers are that a function calculates with: what a processor's peak rate depends on."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, BinaryOp, Cast, CmpOp, Div, IntImm, Max, Min, Mul, PrimExpr, Sub
from compiler.ir.functor import Visitor
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For


class Arithmetic(NamedTuple):
    """The data types of two operands, before they are widened, and of what is calculated."""

    first: str
    second: str
    result: str


def usual_arithmetic(func: PrimFunc) -> Arithmetic | None:
    """Return the kind of most of a function's arithmetic; None if it has none.

    ``int32(a) * int32(b)`` of bytes are products of ``int8`` and ``int8`` in ``int32``.  A product counts twice, so
    that it and the addition that follows are its kind.  Loops whose extents are not known count as one iteration.
    """
    counter = _Counter()
    counter.visit(func.body)
    return max(counter.counts, key=lambda kind: counter.counts[kind], default=None)


class _Counter(Visitor):
    """Counts the operations of what is stored, not those of indices and conditions."""

    def __init__(self) -> None:
        self.counts: Counter[Arithmetic] = Counter()
        self._iterations = 1
        self._seen: set[int] = set()

    def visit(self, n: Any, *args: Any) -> Any:
        """Count what is used several times in one expression once: it is computed once."""
        if isinstance(n, PrimExpr):
            if id(n) in self._seen:
                return None
            self._seen.add(id(n))
        return super().visit(n, *args)

    def visit_For(self, n: For) -> None:
        outside = self._iterations
        self._iterations *= n.extent.value if isinstance(n.extent, IntImm) else 1
        self.visit(n.body)
        self._iterations = outside

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        self.visit(n.block.body)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.visit(n.value)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        """Its indices are none of the numbers that are calculated with."""

    def visit_CmpOp(self, n: CmpOp) -> None:
        """Comparisons say where something is calculated."""

    def visit_BinaryOp(self, n: BinaryOp) -> None:
        if isinstance(n, (Add, Sub, Mul, Div, Min, Max)):
            product, result = isinstance(n, Mul), dt.element(n.dtype)
            operands = (_before_widening(n.a), _before_widening(n.b)) if product else (result, result)
            self.counts[Arithmetic(*operands, result)] += self._iterations * dt.lanes(n.dtype) * (2 if product else 1)
        Visitor.visit_Node(self, n)


def _before_widening(e: PrimExpr) -> str:
    is_widened = isinstance(e, Cast) and dt.bits(e.value.dtype) < dt.bits(e.dtype)
    return dt.element(e.value.dtype if is_widened and isinstance(e, Cast) else e.dtype)
