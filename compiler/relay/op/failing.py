"""A value that cannot be computed: ``fail``."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import DTYPE, SHAPE, STRING
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import PrimExpr, StringImm
from compiler.ir.types import Type
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.stmt import AssertStmt, Stmt, no_op


class FailAttrs(Attrs):
    message: str = attr_field(STRING, "What the error says.")
    shape: tuple[int | PrimExpr, ...] = attr_field(SHAPE, "Shape of the tensor that there would be.", ())
    dtype: str = attr_field(DTYPE, "Data type of that tensor.", "float32")


def _relation(types: Types, attrs: FailAttrs) -> Type:
    """A tensor of shape ``shape`` and data type ``dtype``."""
    return TensorType(attrs.shape, attrs.dtype)


def _compute(attrs: FailAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    def statement(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return AssertStmt(tir.const(0, "bool"), StringImm(attrs.message), no_op())

    result = te.extern([attrs.shape], [], statement, name="fail", dtype=attrs.dtype)
    assert isinstance(result, Tensor)
    return [result]


def _reference(attrs: FailAttrs) -> Array:
    raise TVMError(attrs.message)


fail = register(
    "fail",
    doc="Raise an error when it is computed, in place of a tensor.",
    inputs={},
    attrs=FailAttrs,
    relation=_relation,
    compute=_compute,
    reference=_reference,
    stateful=True,
    waived={"gradient": "it has no inputs"},
)
