"""WidenHalfPrecision: accumulates float16 sums in float32."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext, register_config_option
from compiler.ir.types import Type
from compiler.relay.accumulation import ACCUMULATING, HALF_TYPES, widened_attrs
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, GraphExpr, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.operator import call_op, operator_of
from compiler.relay.transform.rewriter import (
    GraphMutator,
    RewritePass,
    dtype_of,
    op_name,
    outside_kernels,
    tensor_type,
    type_of,
)
from compiler.relay.ty import TensorType, TupleType
from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target

_IN_HALF = "relay.accumulate_in_half"
register_config_option(_IN_HALF, bool)
_PRODUCTS = frozenset({"nn.dense", "nn.batch_matmul", "nn.conv2d"})
_ARITHMETIC = {"avx512fp16", "fullfp16"}
"""Features of processors that compute with float16: of x86's and AArch64's."""


class WidenHalfPrecision(RewritePass, required=("InferType",)):
    """Compute sums and products of ``float16`` and ``bfloat16`` in ``float32``, and round their results once.

    Level 0; requires InferType.  The casts are fused into neighbouring kernels, or computed ahead of constant weights.
    Under ``PassContext(config={"relay.accumulate_in_half": True})``, dense layers, batched products and convolutions of
    images stay ``float16``, each addition rounded, as AVX512-FP16 and AArch64 compute; other targets are refused.

    Examples
    --------
    ``WidenHalfPrecision()``::

        def @main(%x: Tensor[(2, 8), float16]) { nn.relu(sum(%x, axis=[1])) }
        ->
        def @main(%x: Tensor[(2, 8), float16]) {
          nn.relu(cast(sum(cast(%x, dtype="float32"), axis=[1]), dtype="float16"))
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if not any(_accumulates_in_half(expr) for expr in post_order(func, outside_kernels)):
            return func
        return super().transform_function(func, mod, ctx)

    def mutator(self) -> GraphMutator:
        is_asked = bool(PassContext.current().config.get(_IN_HALF))
        if is_asked:
            _require_arithmetic(Target.current() or Target("llvm -mcpu=native"))
        return _Widener(_PRODUCTS if is_asked else frozenset())


class _Widener(GraphMutator):
    """Widens what accumulates, but not the operators ``kept`` where they are of float16 alone."""

    def __init__(self, kept: frozenset[str]) -> None:
        super().__init__()
        self._kept = kept

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if op_name(new) not in ACCUMULATING:
            return new
        if op_name(new) in self._kept and {dtype_of(e) for e in (call, *call.args)} == {"float16"}:
            return new
        args = [_widened(arg, type_of(old)) for arg, old in zip(new.args, call.args, strict=True)]
        if all(arg is old for arg, old in zip(args, new.args, strict=True)):
            return new
        wide = operator_of(new)(*args, **widened_attrs(new.attrs))
        result = tensor_type(call)
        assert result is not None
        return call_op("cast", wide, dtype=result.dtype) if result.dtype in HALF_TYPES else wide


def _require_arithmetic(target: Target) -> None:
    """Raise where each operation would be converted to float32 and back."""
    if target.kind != "llvm" or not _ARITHMETIC & used_features(target.triple, target.cpu, target.llvm_features):
        raise ArgumentError(
            f"{_IN_HALF}: the target {target} has no arithmetic of float16: choose a processor that has it, such as"
            " -mcpu=sapphirerapids, or add -mattr=+avx512fp16 (x86) or -mattr=+fullfp16 (AArch64)"
        )


def _accumulates_in_half(expr: GraphExpr) -> bool:
    """Return whether an expression adds or multiplies many values of half precision."""
    return isinstance(expr, Call) and op_name(expr) in ACCUMULATING and any(_is_half(type_of(a)) for a in expr.args)


def _is_half(t: Type) -> bool:
    if isinstance(t, TupleType):
        return any(map(_is_half, t.fields))
    return isinstance(t, TensorType) and t.dtype in HALF_TYPES


def _widened(arg: RelayExpr, t: Type) -> RelayExpr:
    """Return an argument with tensors of float32 for those of half precision; the very same if it has none."""
    if isinstance(t, TensorType):
        return call_op("cast", arg, dtype="float32") if t.dtype in HALF_TYPES else arg
    if not isinstance(t, TupleType):
        return arg
    fields = arg.fields if isinstance(arg, Tuple) else [TupleGetItem(arg, i) for i in range(len(t.fields))]
    new = [_widened(field, each) for field, each in zip(fields, t.fields, strict=True)]
    return arg if all(a is b for a, b in zip(new, fields, strict=True)) else Tuple(tuple(new))
