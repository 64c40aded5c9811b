"""ToMixedPrecision: computes in another floating-point type where that is safe."""

from __future__ import annotations

from compiler.classic.relay.transform.quantization.mixed_precision import (
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_FOLLOW,
    MIXED_PRECISION_NEVER,
    Conversion,
    conversion_of,
)
from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import traversing
from compiler.ir.transform import PassContext, register_config_option
from compiler.ir.types import Type
from compiler.relay.analysis import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Let, Tuple, TupleGetItem, Var, expect
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.operator import call_op, op_name
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import TensorType, TupleType

_KEEP_DTYPE = "relay.ToMixedPrecision.keep_orig_output_dtype"
register_config_option(_KEEP_DTYPE, bool)

_EXACT = "float32"
"""What operators compute in that are to lose nothing."""
_REFUSED, _SILENT = 0, 2
"""Modes for operators that are not listed: an error, or following their operands; mode 1 does the latter too."""


class ToMixedPrecision(FunctionPass, required=("InferType",)):
    """Compute in another floating-point type what gains by it, and what only passes such values on.

    Level 0; requires InferType.  Operators are of three kinds, see
    :mod:`~compiler.classic.relay.transform.quantization.mixed_precision`: they always compute in the chosen type, or
    where all their arguments come in it, or never. Raises ArgumentError if a program has an operator without a kind in
    mode 0.

    Parameters
    ----------
    mixed_precision_type : str
        The floating-point type.
    missing_op_mode : int
        What becomes of operators without a kind: 0 refuses them, 1 and 2 let them follow their operands.

    Examples
    --------
    ``ToMixedPrecision('float16')``::

        def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) { nn.relu(nn.dense(%x, %w, units=3)) }
        ->
        def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]) {
          nn.relu(nn.dense(
            cast(%x, dtype="float16"), cast(%w, dtype="float16"), units=3, out_dtype="float16"
          ))
        }
    """

    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        mixer = _Mixer(mod, self.mixed_precision_type, self.missing_op_mode)
        result = expect(Function, mixer.rewrite(func))
        if ctx.config.get(_KEEP_DTYPE) and isinstance(func.body.checked_type_, Type):
            return rebuild(result, body=mixer.as_type(result.body, func.body.checked_type_), ret_type=None)
        return result


_FILLED = frozenset({"full", "ones", "zeros", "dyn.full", "dyn.ones", "dyn.zeros"})


class _Mixer(ExprMutator):
    def __init__(self, mod: IRModule, dtype: str, missing_op_mode: int) -> None:
        super().__init__()
        self._mod = mod
        self._dtype = dtype
        self._missing_op_mode = missing_op_mode
        self._casts: dict[tuple[RelayExpr, str], RelayExpr] = {}
        self._lets: dict[Var, Let] = {}

    def rewrite(self, func: Function) -> RelayExpr:
        """Return a function with its body rewritten, of any depth."""
        with traversing():
            parts = post_order(func, _value_before_variable)
            self._lets = {part.var: part for part in parts if isinstance(part, Let)}
            for part in parts:
                self.visit(part)
        return self.memo_map[func]

    def visit_function(self, fn: Function) -> RelayExpr:
        body = self.visit(fn.body)
        return fn if body is fn.body else rebuild(fn, body=body, ret_type=None)

    def visit_var(self, var: Var) -> RelayExpr:
        """Return a variable, or one of another type where the value that it stands for has changed its type."""
        let = self._lets.get(var)
        value = None if let is None else self.memo_map.get(let.value)
        if let is None or value is None or value is let.value:
            return var
        return Var(var.name_hint, self._type(value), span=var.span)

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        return rebuild(op, tuple_value=self.visit(op.tuple_value))

    def visit_call(self, call: Call) -> RelayExpr:
        op = self.visit(call.op)
        args = [self.visit(arg) for arg in call.args]
        category, sums, result = self._conversion(call)
        if category == MIXED_PRECISION_FOLLOW:
            follows = all(self._can_follow(arg) for arg in args)
            category = MIXED_PRECISION_ALWAYS if follows else MIXED_PRECISION_NEVER
        dtype = self._dtype if category == MIXED_PRECISION_ALWAYS else _EXACT
        new = tuple(self._cast(arg, dtype) for arg in args)
        if category == MIXED_PRECISION_NEVER:
            return rebuild(call, op=op, args=new)
        made = Call(op, new, _with_sums(call, sums), span=call.span)
        return made if sums == result else self._cast(made, result)

    def _conversion(self, call: Call) -> Conversion:
        if not isinstance(call.op, Op):
            return MIXED_PRECISION_NEVER, _EXACT, _EXACT
        conversion = conversion_of(call, self._dtype)
        if conversion is None and self._missing_op_mode == _REFUSED:
            raise ArgumentError(f"ToMixedPrecision: operator {call.op.name} has no conversion to {self._dtype}")
        return conversion or (MIXED_PRECISION_FOLLOW, self._dtype, self._dtype)

    def _can_follow(self, arg: GraphExpr) -> bool:
        """Return whether an argument comes in the chosen type, or can do so at no cost."""
        return isinstance(arg, (Var, Constant)) or self._has_dtype(self._type(arg))

    def _has_dtype(self, t: Type) -> bool:
        if isinstance(t, TupleType):
            return all(self._has_dtype(field) for field in t.fields)
        return isinstance(t, TensorType) and (not _is_real(t.dtype) or t.dtype == self._dtype)

    def _type(self, expr: GraphExpr) -> Type:
        return infer_expr(expr, self._mod)

    def _cast(self, expr: RelayExpr, dtype: str) -> RelayExpr:
        """Return a value, or each of several values, in a floating-point type; integers stay."""
        t = self._type(expr)
        if isinstance(t, TupleType):
            fields = [TupleGetItem(expr, i) for i in range(len(t.fields))]
            new = tuple(self._cast(field, dtype) for field in fields)
            return expr if all(a is b for a, b in zip(new, fields, strict=True)) else Tuple(new)
        if not isinstance(t, TensorType) or not _is_real(t.dtype) or t.dtype == dtype:
            return expr
        key = (expr, dtype)
        if key not in self._casts:
            self._casts[key] = call_op("cast", expr, dtype=dtype)
            self._casts[self._casts[key], t.dtype] = expr  # casting back is not work
        return self._casts[key]

    def as_type(self, expr: RelayExpr, t: Type) -> RelayExpr:
        """Return a value in the data types that it had."""
        if isinstance(t, TupleType):
            fields = expr.fields if isinstance(expr, Tuple) else [TupleGetItem(expr, i) for i in range(len(t.fields))]
            return Tuple(tuple(self.as_type(field, each) for field, each in zip(fields, t.fields, strict=True)))
        return self._cast(expr, t.dtype) if isinstance(t, TensorType) else expr


def _value_before_variable(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what an expression is made of; the type of a let's variable is that of its value."""
    if isinstance(expr, Let):
        return (expr.value, expr.var, expr.body)
    return (*expr.params, expr.body) if isinstance(expr, Function) else operands(expr)


def _is_real(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _with_sums(call: Call, dtype: str) -> Attrs:
    """Return the attributes of a call whose result, or whose sums, are to be of a data type.

    What a program says of other results, such as indices, images of another type or sums of integers, stays.
    """
    op = op_name(call)
    if "out_dtype" in call.attrs and op.startswith("nn.") and _is_real(call.attrs["out_dtype"] or _EXACT):
        return call.attrs.with_values(out_dtype=dtype)
    if op in _FILLED and _is_real(call.attrs["dtype"] or _EXACT):
        return call.attrs.with_values(dtype=dtype)
    return call.attrs
