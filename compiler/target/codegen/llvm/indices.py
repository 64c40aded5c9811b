"""Code generation for indices in 64 bits.

Indices of elements do not overflow, so that 32-bit index arithmetic can be widened to 64 bits from the start.  LLVM
then need not prove that itself, which keeps compilation fast and the output small.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.expr.coercion import power_of_two
from compiler.ir.expr.primexpr import Add, Cast, FloorDiv, FloorMod, IntImm, Max, Min, Mul, PrimExpr, Sub, Var
from compiler.ir.functor import Functor
from compiler.target.codegen.llvm.selection.division import floor_division
from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.tracing.debug_locations import Locator
from compiler.target.codegen.llvm.types import I64, constant


class Indices(Functor):
    """Generates code for integer expressions in 64 bits."""

    def __init__(self, state: FunctionState, locator: Locator, narrow: Callable[[PrimExpr], ir.Value]) -> None:
        self._state = state
        self._locator = locator
        self._narrow = narrow

    def visit(self, n: PrimExpr, *args: object) -> ir.Value:
        """Return the value of an index; a vector of indices keeps its type."""
        if n.dtype not in ("int32", "int64"):
            return self._widened(n)
        before = self._locator.enter(n)
        value: ir.Value = Functor.visit(self, n)
        self._locator.leave(before)
        return value

    def _widened(self, n: PrimExpr) -> ir.Value:
        value = self._narrow(n)
        if dt.lanes(n.dtype) > 1 or value.type == I64:
            return value
        builder = self._state.builder
        return builder.sext(value, I64) if dt.is_int(n.dtype) else builder.zext(value, I64)

    def visit_Node(self, n: PrimExpr) -> ir.Value:
        return self._widened(n)

    def visit_IntImm(self, n: IntImm) -> ir.Value:
        return constant(I64, n.value)

    def visit_Var(self, n: Var) -> ir.Value:
        return self._state.wide[n] if n in self._state.wide else self._widened(n)

    def visit_Cast(self, n: Cast) -> ir.Value:
        if n.value.dtype == "int32" or n.value.dtype == n.dtype:
            return self.visit(n.value)
        return self._widened(n)

    def visit_Add(self, n: Add) -> ir.Value:
        return self._state.builder.add(self.visit(n.a), self.visit(n.b), flags=("nsw",))

    def visit_Sub(self, n: Sub) -> ir.Value:
        return self._state.builder.sub(self.visit(n.a), self.visit(n.b), flags=("nsw",))

    def visit_Mul(self, n: Mul) -> ir.Value:
        return self._state.builder.mul(self.visit(n.a), self.visit(n.b), flags=("nsw",))

    def visit_FloorDiv(self, n: FloorDiv | FloorMod) -> ir.Value:
        if not isinstance(n.b, IntImm) and power_of_two(n.b) is None:
            return self._widened(n)  # a 64-bit division is several times slower
        return floor_division(self._state.builder, n, self.visit)

    visit_FloorMod = visit_FloorDiv

    def visit_Min(self, n: Min | Max) -> ir.Value:
        a, b = self.visit(n.a), self.visit(n.b)
        order = "<" if isinstance(n, Min) else ">"
        return self._state.builder.select(self._state.builder.icmp_signed(order, a, b), a, b)

    visit_Max = visit_Min
