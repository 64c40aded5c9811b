"""Separates conversions from and to floating point into functions of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.relay.analysis import free_vars, operands, post_order, with_operands
from compiler.relay.expr import Call, Constant, GraphExpr, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import op_name
from compiler.relay.ty import TensorType

_CONVERSIONS = frozenset(("cast", "clip", "multiply", "round"))


class NotIntegralError(ArgumentError, AssertionError):
    """Something besides conversions is computed in floating point; an ``AssertionError`` too, as in TVM."""


def partition_conversions(mod: IRModule, quantized_dtypes: Set[str], ensure_fully_integral: bool) -> IRModule:
    """Split a quantized graph into what quantizes its inputs, what computes, and what dequantizes its outputs.

    The module has the functions ``quantize_inputs``, ``quantized_main``, ``dequantize_outputs``, and ``main``, which
    calls them.  With ``ensure_fully_integral``, nothing but conversions may be in floating point.
    """
    main = infer_module(mod)["main"]
    pre, main_inputs = _cut_inputs(main, quantized_dtypes)
    body = _replaced(main.body, main_inputs)
    infer_module(IRModule.from_expr(Function(tuple(main_inputs.values()), body)))
    ends = _last_quantized(body, quantized_dtypes)
    outputs = {end: Var(f"input{i}" if i else "input", end.checked_type) for i, end in enumerate(ends)}
    post = Function(tuple(outputs.values()), _replaced(body, outputs)) if ends else None
    mid = Function(tuple(main_inputs.values()), _one_or_tuple(ends) if ends else body)
    if post is None:
        result = Var("input", main.body.checked_type)
        post = Function((result,), result)
    if ensure_fully_integral:
        _check(pre, mid, post)
    return infer_module(_assembled(main, pre, mid, post))


def _cut_inputs(main: Function, dtypes: Set[str]) -> tuple[Function, dict[object, Var]]:
    """Return what quantizes the inputs, and the variables for what comes of it."""
    cuts = [e for e in post_order(main.body) if isinstance(e, Call) and _quantizes(e, dtypes)]
    starts = [cut for cut in cuts if not any(part in cuts for part in post_order(cut) if part is not cut)]
    rest = free_vars(_replaced(main.body, {cut: Var("x", cut.checked_type) for cut in starts}))
    direct = [param for param in main.params if param in rest]
    cut_off: list[RelayExpr] = [*starts, *direct]
    passed: dict[object, Var] = {value: Var(f"x{i}", value.checked_type) for i, value in enumerate(cut_off)}
    fresh = {param: Var(param.name_hint, param.checked_type) for param in main.params}
    fields = tuple(_replaced(value, fresh) for value in cut_off)
    return Function(tuple(fresh.values()), Tuple(fields)), passed


def _quantizes(expr: GraphExpr, dtypes: Set[str]) -> bool:
    """Return whether an expression converts from floating point to a quantized type."""
    if not isinstance(expr, Call) or op_name(expr) != "cast":
        return False
    return _dtype(expr) in dtypes and not dt.is_integral(_dtype(expr.args[0]))


def _dtype(expr: GraphExpr) -> str:
    t = expr.checked_type if isinstance(expr, RelayExpr) else None
    return t.dtype if isinstance(t, TensorType) else ""


def _last_quantized(body: RelayExpr, dtypes: Set[str]) -> list[RelayExpr]:
    """Return the quantized values that the outputs are made from, if they are made from nothing else."""
    ends: dict[RelayExpr, None] = {}
    for part in post_order(body, lambda e: () if _is_quantized(e, dtypes) else operands(e)):
        if isinstance(part, RelayExpr) and _is_quantized(part, dtypes):
            ends[part] = None
        elif isinstance(part, Var):
            return []
    return [] if any(_is_quantized(e, dtypes) for e in (body,)) else list(ends)


def _is_quantized(expr: GraphExpr, dtypes: Set[str]) -> bool:
    return isinstance(expr, (Call, Var, TupleGetItem)) and _dtype(expr) in dtypes


def _replaced(expr: RelayExpr, places: Mapping[Any, Any]) -> Any:
    """Return an expression with others in place of some of its parts."""
    new: dict[object, Any] = dict(places)
    for part in post_order(expr, lambda e: () if e in places else operands(e)):
        if part not in new:
            parts = [new[p] for p in operands(part)]
            new[part] = with_operands(part, parts) if parts else part
    return new[expr]


def _one_or_tuple(values: list[RelayExpr]) -> RelayExpr:
    return values[0] if len(values) == 1 else Tuple(tuple(values))


def _check(pre: Function, mid: Function, post: Function) -> None:
    for func in (pre, post):
        others = {op_name(e) for e in _calls(func)} - _CONVERSIONS
        if others:
            raise NotIntegralError(f"quantize: {', '.join(sorted(others))} is computed in floating point")
    real = {op_name(e) for e in _calls(mid) if not dt.is_integral(_dtype(e))}
    if real:
        raise NotIntegralError(f"quantize: {', '.join(sorted(real))} is computed in floating point")


def _calls(func: Function) -> Iterable[Call]:
    return (e for e in post_order(func.body) if isinstance(e, Call) and not isinstance(e, Constant))


def _assembled(main: Function, pre: Function, mid: Function, post: Function) -> IRModule:
    names = GlobalVar("quantize_inputs"), GlobalVar("quantized_main"), GlobalVar("dequantize_outputs")
    params = tuple(Var(param.name_hint, param.checked_type) for param in main.params)
    given, computed, result = Var("quantized_inputs"), Var("quantized_outputs"), Var("dequantized_outputs")
    fields = tuple(TupleGetItem(given, i) for i in range(len(mid.params)))
    outputs = (
        (computed,) if len(post.params) == 1 else tuple(TupleGetItem(computed, i) for i in range(len(post.params)))
    )
    body = Let(result, Call(names[2], outputs), result)
    body = Let(given, Call(names[0], params), Let(computed, Call(names[1], fields), body))
    functions = dict(zip(names, (pre, mid, post), strict=True))
    return IRModule({**functions, GlobalVar("main"): Function(params, body)})
