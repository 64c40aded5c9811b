"""WidenHalfPrecision: accumulates half-precision floats in float32."""

from __future__ import annotations

from typing import Any

from compiler.ir.types import Type
from compiler.relay.accumulation import ACCUMULATING, HALF_TYPES, widened_attrs
from compiler.relay.expr import Call, Tuple, TupleGetItem
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, op_name, tensor_type, type_of
from compiler.relay.ty import TensorType, TupleType

__all__ = [
    "WidenHalfPrecision",
]


class WidenHalfPrecision(RewritePass, required=("InferType",)):
    """Compute sums and products of ``float16`` and ``bfloat16`` in ``float32``, and round their results once.

    Level 0; requires InferType.  The casts are fused into neighbouring kernels, or computed ahead of constant weights.

    Examples
    --------
    ``WidenHalfPrecision()``::

        def @main(%x: Tensor[(2, 8), float16]) { nn.relu(sum(%x, axis=[1])) }
        ->
        def @main(%x: Tensor[(2, 8), float16]) {
          nn.relu(cast(sum(cast(%x, dtype="float32"), axis=[1]), dtype="float16"))
        }
    """

    def mutator(self) -> GraphMutator:
        return _Widener()


class _Widener(GraphMutator):
    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        if op_name(new) not in ACCUMULATING:
            return new
        args = [_widened(arg, type_of(old)) for arg, old in zip(new.args, call.args, strict=True)]
        if all(arg is old for arg, old in zip(args, new.args, strict=True)):
            return new
        wide = new.op(*args, **widened_attrs(new.attrs))
        result = tensor_type(call)
        assert result is not None
        return call_op("cast", wide, dtype=result.dtype) if result.dtype in HALF_TYPES else wide


def _widened(arg: Any, t: Type) -> Any:
    """Return an argument with tensors of float32 for those of half precision; the very same if it has none."""
    if isinstance(t, TensorType):
        return call_op("cast", arg, dtype="float32") if t.dtype in HALF_TYPES else arg
    if not isinstance(t, TupleType):
        return arg
    fields = arg.fields if isinstance(arg, Tuple) else [TupleGetItem(arg, i) for i in range(len(t.fields))]
    new = [_widened(field, each) for field, each in zip(fields, t.fields, strict=True)]
    return arg if all(a is b for a, b in zip(new, fields, strict=True)) else Tuple(tuple(new))
