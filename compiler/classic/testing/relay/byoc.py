"""Annotations for external compilers, by hand: ``tvm.relay.testing.byoc``."""

from __future__ import annotations

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.operator import call_op, op_name

_COMPILER = "ccompiler"


def set_external_func_attr(func: Function, compile_name: str, symbol_name: str) -> Function:
    """Return a function as one that an external compiler gets, with the name of the function in its code."""
    return func.with_attr({"Primitive": 1, "Compiler": compile_name, "global_symbol": symbol_name})


class CcompilerAnnotator(ExprMutator):
    """Marks each product of a difference of a sum, ``(a + b - c) * d``, as one region of compiler ``ccompiler``."""

    def visit_call(self, call: Call) -> RelayExpr:
        chain = _chain(call)
        if chain is None:
            return super().visit_call(call)
        difference, total = chain
        first = call_op("add", *(self._begun(arg) for arg in total.args))
        second = call_op("subtract", first, self._begun(difference.args[1]))
        product = call_op("multiply", second, self._begun(call.args[1]))
        return call_op("annotation.compiler_end", product, compiler=_COMPILER)

    def _begun(self, arg: RelayExpr) -> Call:
        return call_op("annotation.compiler_begin", self.visit(arg), compiler=_COMPILER)


def _chain(call: Call) -> tuple[Call, Call] | None:
    """Return the difference and the sum that a product is made of; None if it is something else."""
    difference = call.args[0] if op_name(call) == "multiply" else None
    if not isinstance(difference, Call) or op_name(difference) != "subtract":
        return None
    total = difference.args[0]
    others = (difference.args[1], call.args[1])
    fits = isinstance(total, Call) and op_name(total) == "add" and all(isinstance(arg, Var) for arg in others)
    return (difference, total) if isinstance(total, Call) and fits else None
