"""``tvm.arith._ffi_api``: the C++ functions that programs call directly."""

from typing import TYPE_CHECKING

from compiler.classic.arith.narrow_predicate import narrow_predicate_expression
from compiler.classic.arith.solve_linear_inequalities import solve_inequalities_as_condition
from compiler.ir.extension import public_module

__all__ = ["NarrowPredicateExpression", "SolveInequalitiesAsCondition"]

NarrowPredicateExpression = narrow_predicate_expression
SolveInequalitiesAsCondition = solve_inequalities_as_condition

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.arith._ffi_api", __all__)
