"""The gradient of a function: ``relay.transform.gradient``.

Of the first order it is reverse-mode differentiation: the operators of the graph are gone through from the result to
the parameters; what an operator adds to the gradients of its arguments is part of its registration.  See Griewank and
Walther, "Evaluating Derivatives" (2008), chapter 3.
"""

from __future__ import annotations

from typing import Any

from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import extension_point
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import Type
from compiler.relay.analysis import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies, infer_expr
from compiler.relay.operator import RelayOp, call_op
from compiler.relay.transform.derivatives.gradient_values import ones, operator_gradient, zeros
from compiler.relay.transform.derivatives.higher_order_gradient import higher_order
from compiler.relay.transform.normal_form.beta_reduce import beta_reduced
from compiler.relay.transform.normal_form.to_graph_normal_form import graph_normal_form
from compiler.relay.ty import TupleType


class FirstOrderGradient(ModulePass):
    """Make every function return its result and the gradients of its parameters; see :func:`gradient`.

    Level 0.  The method is reverse accumulation (A. Griewank and A. Walther, "Evaluating Derivatives", SIAM 2008,
    chapter 3).

    Examples
    --------
    ``FirstOrderGradient()``::

        def @main(%x: Tensor[(3), float32]) { exp(%x) }
        ->
        def @main(%x: Tensor[(3), float32]) {
          %0 = exp(%x);
          (%0, (multiply(ones_like(%0), %0),))
        }
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = infer_copies(mod)
        functions = {var: first_order(f, mod) if isinstance(f, Function) else f for var, f in mod.items()}
        return infer_copies(mod.with_functions(functions))


def first_order(func: Function, mod: IRModule | None) -> Function:
    """Return the function of the result and gradients of a graph of operators and tuples; more than these is refused.

    Raises ArgumentError if the body is more than operators and tuples.
    """
    # Calls of function literals, such as fused kernels, are beta-reduced.
    body = beta_reduced(graph_normal_form(func.body, mod))
    infer_expr(body, mod)
    grads = _Accumulation(body, func.params)
    result = Tuple((body, Tuple(tuple(grads.total(p) for p in func.params))))
    return Function(func.params, result, None, func.type_params, func.attrs)


class _Accumulation:
    """The gradients of a result with respect to all that it is made of.

    Accumulated for each tensor: for a field of a tuple under the path of indices that leads to it.
    """

    def __init__(self, body: RelayExpr, params: tuple[Var, ...]) -> None:
        order = post_order(body)
        self._grads: dict[GraphExpr, dict[tuple[int, ...], Any]] = {}
        self._needed: set[GraphExpr] = set(params)
        for part in order:
            if any(p in self._needed for p in operands(part)):
                self._needed.add(part)
        self._add(body, (), ones(body), infer_expr(body))
        for part in reversed(order):
            if part in self._needed and part in self._grads:
                with derived_from(part.span):
                    self._go_through(part)

    def total(self, expr: RelayExpr, path: tuple[int, ...] = (), t: Type | None = None) -> RelayExpr:
        """Return the gradient with respect to an expression, or to a place in a tuple: zeros if nothing uses it."""
        t = infer_expr(expr) if t is None else t
        if isinstance(t, TupleType):
            return Tuple(tuple(self.total(expr, (*path, i), field) for i, field in enumerate(t.fields)))
        grad = self._grads.get(expr, {}).get(path)
        return zeros(_element(expr, path)) if grad is None else grad

    def _go_through(self, part: GraphExpr) -> None:
        match part:
            case Var() | Constant():
                return
            case Tuple():
                for (index, *rest), grad in self._grads[part].items():
                    self._add_at(part.fields[index], tuple(rest), grad)
            case TupleGetItem():
                for path, grad in self._grads[part].items():
                    self._add_at(part.tuple_value, (part.index, *path), grad)
            case Call(op=RelayOp()):
                for arg, grad in zip(part.args, operator_gradient(part, self.total(part)), strict=True):
                    if grad is not None:
                        self._add(arg, (), grad, infer_expr(arg))
            case _:
                what = f"the call of {part.op}" if isinstance(part, Call) else type(part).__name__
                raise ArgumentError(
                    f"gradient: mode 'first_order' differentiates operators and tuples only, not {what}"
                )

    def _add(self, expr: GraphExpr, path: tuple[int, ...], grad: RelayExpr, t: Type) -> None:
        if isinstance(t, TupleType):
            for i, field in enumerate(t.fields):
                self._add(expr, (*path, i), grad.fields[i] if isinstance(grad, Tuple) else TupleGetItem(grad, i), field)
        else:
            self._add_at(expr, path, grad)

    def _add_at(self, expr: GraphExpr, path: tuple[int, ...], grad: RelayExpr) -> None:
        if expr in self._needed:
            grads = self._grads.setdefault(expr, {})
            grads[path] = call_op("add", grads[path], grad) if path in grads else grad


def _element(expr: RelayExpr, path: tuple[int, ...]) -> RelayExpr:
    for index in path:
        expr = TupleGetItem(expr, index)
    return expr


extension_point("differentiation").add("first_order", lambda: first_order)


_MODES = {"first_order": first_order, "higher_order": higher_order}


def gradient(expr: GraphExpr, mod: IRModule | None = None, mode: str = "higher_order") -> Function:
    """Return the function that computes what a function computes, and the gradients of that.

    Raises ArgumentError if the program has something that the mode cannot differentiate.

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
