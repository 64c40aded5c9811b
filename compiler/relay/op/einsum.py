"""Einstein summation: ``einsum``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import STRING
from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, Tuple, TupleGetItem
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Input, RelationError, Types, call_op
from compiler.relay.ty import TensorType, TupleType
from compiler.topi import einstein as topi


class EinsumAttrs(Attrs):
    equation: str = attr_field(STRING, "Labels of the axes of each tensor and of the result, such as ``ij,jk->ik``.")


def _operands(t: Type) -> list[TensorType]:
    if not isinstance(t, TupleType) or not t.fields:
        raise RelationError(f"data must be a tuple of tensors, got {t}")
    operands = [tensor(f, f"element {n} of data") for n, f in enumerate(t.fields)]
    if any(f.dtype != operands[0].dtype for f in operands):
        raise RelationError(f"all tensors must have one data type, got {t}")
    return operands


def _labels(attrs: EinsumAttrs, types: list[TensorType]) -> topi.Labels:
    return topi.read_equation(attrs.equation, [len(t.shape) for t in types])


def _relation(types: Types, attrs: EinsumAttrs) -> Type:
    """A tensor with an axis for each label of the result."""
    operands = _operands(types[0])
    labels = _labels(attrs, operands)
    extents = topi.label_extents(labels, [t.dims for t in operands])
    return TensorType(tuple(extents[c] for c in labels.result), operands[0].dtype)


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    """The gradient of a factor is the sum of the gradient times all other factors, over what the factor lacks."""
    data = call.args[0]
    operands = _operands(data.checked_type)
    labels = _labels(EinsumAttrs.of(call), operands)
    values = [TupleGetItem(data, n) for n in range(len(operands))]
    gradients = []
    for n, own in enumerate(labels.operands):
        others = [o for m, o in enumerate(labels.operands) if m != n]
        if len(set(own)) < len(own) or not set(own) <= set(labels.result).union(*others):
            raise ArgumentError(
                f"gradient of einsum: every axis of {own!r} must be in the result or another operand, each once"
            )
        rest = [v for m, v in enumerate(values) if m != n]
        equation = f"{','.join([labels.result, *others])}->{own}"
        gradients.append(call_op("einsum", Tuple((grad, *rest)), equation=equation))
    return [Tuple(tuple(gradients))]


einsum = register(
    "einsum",
    doc="Return the sum of products over labelled axes: Einstein's summation.",
    inputs={"data": Input("A tuple of tensors of one data type.", is_list=True)},
    attrs=EinsumAttrs,
    relation=_relation,
    compute=lambda attrs, inputs, out_type: [topi.einsum(attrs.equation, *inputs)],
    reference=lambda attrs, parts: np.asarray(np.einsum(attrs.equation, *parts)).astype(parts[0].dtype),
    gradient=_gradient,
)
