"""FoldConstant: evaluates operators on constants at compile time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, Var, const
from compiler.relay.op.creation import NdarraySizeAttrs, ShapeOfAttrs
from compiler.relay.operator import Array, RelayOp
from compiler.relay.transform.rewriter import (
    ElementMutator,
    GraphMutator,
    RewritePass,
    call_of,
    outside_kernels,
    relay_op,
    type_of,
)
from compiler.relay.ty import TensorType, TupleType, Type

_ALWAYS_SMALL = 1 << 17
"""Elements of a result that is folded however few it is computed from."""
_GROWTH = 2
"""Elements of a larger result, for each of those that it is computed from."""


class FoldConstant(RewritePass, opt_level=2, required=("InferType",)):
    """Evaluate operators whose operands are constants, and decide branches whose condition is one.

    Level 2; requires InferType.  Values are computed by the operators' NumPy references.  What has effects stays, and
    so does what would only make the program bigger: results of more than 131,072 elements, and more than twice as many
    as they are computed from.  ``fold_qnn`` evaluates quantised operators as well, which passes that look for them
    would miss.  ``in_build`` evaluates operators without operands, such as ``zeros``, too, as builds do: what they make
    is in the program then, and what is computed from it as well.

    Examples
    --------
    ``FoldConstant()``::

        def @main(%x: Tensor[(3), float32]) { multiply(%x, add(1f, 2f)) }
        ->
        def @main(%x: Tensor[(3), float32]) { multiply(%x, 3f) }

    ``FoldConstant()``::

        def @main(%x: Tensor[(3), float32]) { if (less(1f, 2f)) { exp(%x) } else { tanh(%x) } }
        ->
        def @main(%x: Tensor[(3), float32]) { exp(%x) }
    """

    fold_qnn: bool = False
    in_build: bool = False

    def mutator(self) -> GraphMutator:
        return _Folder(self.fold_qnn, self.in_build)


def FoldConstantExpr(expr: GraphExpr, mod: IRModule | None = None, fold_qnn: bool = False) -> RelayExpr:
    """Return one expression with its constant parts folded: a constant, or a tuple of them, where all operands are.

    ``fold_qnn`` is that of :class:`FoldConstant`; ``mod`` is accepted for TVM's programs, nothing in it is looked into.
    """
    type_of(expr)
    return _Folder(fold_qnn, True).rewrite(expr)


_KEPT = frozenset({"nn.dropout", "on_device"})
"""Operators of constants that say more than their values: SimplifyInference and PlanDevices look for them."""


def _is_constant(expr: GraphExpr) -> bool:
    """Return whether an expression is a constant, or one that a device is said of."""
    annotated = call_of(expr, "on_device")
    return isinstance(expr if annotated is None else annotated.args[0], Constant)


Value: TypeAlias = "Array | tuple[Value, ...]"
"""What is known of an expression: an array, or of a tuple its fields."""


class _Folder(ElementMutator):
    def __init__(self, fold_qnn: bool, creations: bool) -> None:
        super().__init__()
        self._fold_qnn = fold_qnn
        self._creations = creations
        self._names: dict[GraphExpr, list[Var]] = {}

    def rewrite(self, expr: GraphExpr) -> RelayExpr:
        for part in post_order(expr, outside_kernels):
            if isinstance(part, Let):
                self._names.setdefault(part.value, []).append(part.var)
        return super().rewrite(expr)

    def visit(self, expr: GraphExpr) -> RelayExpr:
        result = super().visit(expr)
        if expr in self._names and _is_constant(result):
            # Values of names come before their uses, so that the uses find the constant.
            self.memo_map.update(dict.fromkeys(self._names[expr], result))
        return result

    def visit_let(self, let: Let) -> RelayExpr:
        return self.visit(let.body) if _is_constant(self.visit(let.value)) else super().visit_let(let)

    def visit_if(self, i: If) -> RelayExpr:
        cond = self.visit(i.cond)
        if isinstance(cond, Constant):
            return self.visit(i.true_branch if bool(cond.value) else i.false_branch)
        return super().visit_if(i)

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        op = relay_op(new)
        if op is None or op.stateful or op.name in _KEPT or (op.name.startswith("qnn.") and not self._fold_qnn):
            return new
        if is_custom(type_of(call)) or not (new.args or self._creations):
            return new
        from_type = _FROM_TYPES.get(op.name)
        if from_type is not None:
            return from_type(new, type_of(call.args[0])) or new
        values = [value for arg in new.args if (value := _known(arg)) is not None]
        if op.reference is None or len(values) < len(new.args) or _grows(type_of(call), values):
            return new
        return _evaluate(op, new, values, type_of(call))


def is_custom(t: Type) -> bool:
    """Return whether a result has numbers that only machine code computes with, as its own program says."""
    if isinstance(t, TupleType):
        return any(map(is_custom, t.fields))
    return isinstance(t, TensorType) and dt.is_custom(t.dtype)


def _evaluate(op: RelayOp, call: Call, values: list[Value], t: Type) -> RelayExpr:
    assert op.reference is not None
    try:
        with np.errstate(all="ignore"):
            return _as_constant(op.reference(call.attrs, *values), t)
    except IndexError:  # an index that is a constant is out of range, which is not a fault of the graph unless it runs
        return call


def _as_constant(value: Any, t: Type) -> RelayExpr:
    if isinstance(t, TupleType):
        return Tuple(tuple(_as_constant(v, part) for v, part in zip(value, t.fields, strict=True)))
    assert isinstance(t, TensorType)
    return const(np.asarray(value), t.dtype)


def _known(expr: GraphExpr) -> Value | None:
    if isinstance(expr, Constant):
        return expr.value
    if (annotated := call_of(expr, "on_device")) is not None:
        return _known(annotated.args[0])
    if not isinstance(expr, Tuple):
        return None
    values = [_known(f) for f in expr.fields]
    known = tuple(v for v in values if v is not None)
    return known if len(known) == len(values) else None


def _grows(t: Type, values: list[Value]) -> bool:
    """Return whether a result is much larger than its inputs; one of unknown size counts as small."""
    elements = _elements_of_type(t)
    return elements > _ALWAYS_SMALL and elements > _GROWTH * sum(_elements_of_value(v) for v in values)


def _elements_of_type(t: Type) -> int:
    if isinstance(t, TupleType):
        return sum(_elements_of_type(part) for part in t.fields)
    assert isinstance(t, TensorType)
    return math.prod(t.concrete_shape) if t.is_static else 0


def _elements_of_value(value: Value) -> int:
    return sum(_elements_of_value(v) for v in value) if isinstance(value, tuple) else int(value.size)


def _shape_of(call: Call, t: Type) -> Constant | None:
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    return const(np.asarray(t.concrete_shape), ShapeOfAttrs.of(call).dtype)


def _size_of(call: Call, t: Type) -> Constant | None:
    if not isinstance(t, TensorType) or not t.is_static:
        return None
    return const(np.asarray(np.prod(t.concrete_shape, dtype=np.int64)), NdarraySizeAttrs.of(call).dtype)


_FROM_TYPES: dict[str, Callable[[Call, Type], Constant | None]] = {"shape_of": _shape_of, "ndarray_size": _size_of}
"""Operators whose result follows from the type of their operand."""
