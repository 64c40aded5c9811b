"""The gradient of a function: ``relay.transform.gradient``."""

from __future__ import annotations

from compiler.ir.error import expected
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.relay.expr import GraphExpr
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.transform.derivatives.first_order_gradient import first_order
from compiler.relay.transform.derivatives.higher_order_gradient import higher_order

__all__ = [
    "gradient",
]

_MODES = {"first_order": first_order, "higher_order": higher_order}


def gradient(expr: GraphExpr, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Return the function that computes what a function computes, and the gradients of that.

    Parameters
    ----------
    expr : Function or GlobalVar
        With parameters that are tensors, or tuples of tensors.
    mode : str
        ``first_order`` for graphs of operators (A. Griewank and A. Walther, "Evaluating Derivatives", SIAM 2008,
        chapter 3); ``higher_order`` for programs with functions as values, branches, recursion, references and data
        types (F. Wang et al., "Demystifying differentiable programming: shift/reset the penultimate backpropagator",
        ICFP 2019).

    Returns
    -------
    Function
        Of the same parameters; its value is ``(result, (gradient of each parameter, …))``, where the result's elements
        are weighted with ones.  Where it is a tuple, mode ``higher_order`` differentiates its first tensor only.

    Raises
    ------
    ArgumentError
        If the program has something that the mode cannot differentiate.
    """
    if mode not in _MODES:
        expected("gradient", "mode", " or ".join(repr(m) for m in _MODES), mode)
    func = mod[expr] if isinstance(expr, GlobalVar) and mod is not None else expr
    if not isinstance(func, Function):
        expected("gradient", "expr", "a Function, or the GlobalVar of one in mod", expr)
    with derived_from(func.span):
        result = _MODES[mode](func, mod)
    infer_expr(result, mod)
    return result
