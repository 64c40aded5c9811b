"""FakeQuantizationToInteger: computes in integers between dequantize and quantize."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from compiler.classic.relay.transform.quantization.fake_quantization import (
    TensorAffineType,
    TupleAffineType,
    TypeMap,
    rule_of,
)
from compiler.classic.relay.transform.quantization.fake_quantization import (
    register_fake_quantization_to_integer as register_fake_quantization_to_integer,
)
from compiler.classic.relay.transform.quantization.fake_quantization import (
    register_optional_fake_quantization_to_integer as register_optional_fake_quantization_to_integer,
)
from compiler.classic.relay.transform.quantization.fake_quantization_rules import (
    register_binary_identity,
    register_binary_qnn,
    register_unary_identity,
    register_unary_qnn,
    requantized,
)
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.transform import PassContext
from compiler.relay.analysis import bottom_up, operands, post_order, with_operands
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, expect
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.operator import call_of, call_op, op_name
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import TensorType

__all__ = [
    "FakeQuantizationToInteger", "register_binary_identity", "register_binary_qnn", "register_unary_identity",
    "register_unary_qnn",
]  # fmt: skip

_QUANTIZE, _DEQUANTIZE = "qnn.quantize", "qnn.dequantize"


class FakeQuantizationToInteger(FunctionPass, required=("InferType",)):
    """Compute on integers what stands between ``qnn.dequantize`` and ``qnn.quantize``.

    Level 0; requires InferType.  A region is what one ``qnn.quantize`` is computed from, up to ``qnn.dequantize`` and
    constants; it stays as it is if an operator in it has no rule, and with ``hard_fail`` that is an error.

    Parameters
    ----------
    use_qat : bool
        Whether regions that no ``qnn.quantize`` ends are computed on integers too, as far as the rules allow.
    optional_qnn_ops : sequence of str, optional
        Operators that are computed on integers only where they are named here, such as ``nn.softmax``.

    Examples
    --------
    ``FakeQuantizationToInteger()``::

        def @main(%x: Tensor[(1, 8), int8], %w: Tensor[(4, 8), int8]) {
          %0 = nn.dense(qnn.dequantize(%x, 2f, 0), qnn.dequantize(%w, 0.5f, 0), units=None);
          qnn.quantize(%0, 4f, 3, out_dtype="int8")
        }
        ->
        def @main(%x: Tensor[(1, 8), int8], %w: Tensor[(4, 8), int8]) {
          %0 = qnn.dense(%x, %w, 0, 0, 2f, 0.5f);
          qnn.requantize(%0, 1f, 0, 4f, 3, axis=1, out_dtype="int8")
        }
    """

    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: Sequence[str] | None = None

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        result: Function = bottom_up(_Rewriter(self.hard_fail, self.optional_qnn_ops or ()), func)
        if self.use_qat:
            infer_expr(result, mod)
            result = bottom_up(_Forward(), result)
        return result


def _input_type(dequantize: Call) -> TensorAffineType:
    data, scale, zero_point = dequantize.args
    t = infer_expr(data)
    assert isinstance(t, TensorType)
    return TensorAffineType(scale, zero_point, t.dtype, dequantize.attrs["axis"])


class _Rewriter(ExprMutator):
    """Rewrites each region that ends in ``qnn.quantize``, the inner ones first."""

    def __init__(self, hard_fail: bool, optional: Collection[str]) -> None:
        super().__init__()
        self._hard_fail = hard_fail
        self._optional = optional

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        end = call_of(new, _QUANTIZE)
        region = None if end is None else _region(end.args[0])
        if end is None or region is None:
            return new
        strange = next((part for part in region if isinstance(part, Call) and not self._has_rule(part)), None)
        if strange is not None and self._hard_fail:
            raise ArgumentError(f"FakeQuantizationToInteger: there is no rule for {op_name(strange)}")
        if strange is not None:
            return new
        rewritten = _on_integers(end, region, self._optional)
        return new if rewritten is None else rewritten

    def _has_rule(self, call: Call) -> bool:
        return op_name(call) == _DEQUANTIZE or rule_of(call, self._optional) is not None


def _region(expr: GraphExpr) -> list[GraphExpr] | None:
    """Return what a value is computed from, operands first; None if that are not integers and numbers only."""
    parts = post_order(expr, lambda e: () if op_name(e) == _DEQUANTIZE else operands(e))
    allowed = (Call, Constant, Tuple, TupleGetItem, Op)
    if not all(isinstance(part, allowed) for part in parts):
        return None
    inputs = any(op_name(part) == _DEQUANTIZE for part in parts)
    works = any(isinstance(part, Call) and op_name(part) != _DEQUANTIZE for part in parts)
    return parts if inputs and (works or op_name(expr) == _DEQUANTIZE) else None


def _on_integers(end: Call, region: list[GraphExpr], optional: Collection[str]) -> RelayExpr | None:
    """Return a region computed on integers; None if a rule refuses."""
    _, scale, zero_point = end.args
    wanted = TensorAffineType(scale, zero_point, end.attrs["out_dtype"], end.attrs["axis"])
    types: TypeMap = {}
    new: dict[GraphExpr, Any] = {}
    for part in region:
        made = _integers(part, new, types, wanted, optional)
        if made is None:
            return None
        new[part] = made
    result = new[region[-1]]
    t = types.get(result)
    return requantized(result, t, wanted) if isinstance(t, TensorAffineType) else None


def _integers(
    part: Any, new: dict[GraphExpr, Any], types: TypeMap, wanted: TensorAffineType, optional: Collection[str]
) -> GraphExpr | None:
    """Return one expression of a region on integers, and enter what they stand for; None if its rule refuses."""
    if op_name(part) == _DEQUANTIZE:
        t = _input_type(part)
        # The same integers may stand for different numbers at different places; then there is no one type.
        return part.args[0] if types.setdefault(part.args[0], t) == t else None
    if isinstance(part, (Op, Constant)):
        return part
    made: RelayExpr = with_operands(part, [new[p] for p in operands(part)])
    if isinstance(made, Tuple):
        fields = [types.get(f) for f in made.fields]
        tensors = [f for f in fields if isinstance(f, TensorAffineType)]
        if len(tensors) == len(fields):
            types[made] = TupleAffineType(tensors)
    elif isinstance(made, TupleGetItem):
        whole = types.get(made.tuple_value)
        if not isinstance(whole, TupleAffineType):
            return None
        types[made] = whole.types[made.index]
    else:
        rule = rule_of(part, optional)
        types[made] = wanted
        result = rule(expect(Call, made), types) if rule is not None else None
        if result is None:
            return None
        made, types[result[0]] = result
    return made


class _Forward(ExprMutator):
    """Moves ``qnn.dequantize`` behind operators whose results on integers need no given type."""

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        rule = rule_of(new)
        inputs = [call_of(arg, _DEQUANTIZE) for arg in new.args]
        if rule is None or not any(inputs) or op_name(new) in (_QUANTIZE, _DEQUANTIZE):
            return new
        types: TypeMap = {i.args[0]: _input_type(i) for i in inputs if i is not None}
        args = [arg if i is None else i.args[0] for arg, i in zip(new.args, inputs, strict=True)]
        result = rule(Call(new.op, tuple(args), new.attrs), types)
        if result is None or not isinstance(result[1], TensorAffineType):
            return new
        made, t = result
        return call_op(_DEQUANTIZE, made, t.scale, t.zero_point, axis=t.axis)
