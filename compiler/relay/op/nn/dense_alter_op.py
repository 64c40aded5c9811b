"""Packing of the weights of dense layers: ``tvm.topi.x86.dense_alter_op``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor

__all__ = ["PANEL", "pack_dense", "panel_layout"]

PANEL = 16
"""Columns of a weight that stand together."""


def pack_dense(attrs: Attrs, inputs: Sequence[RelayExpr], out_dtype: str, group: int = 1, width: int = PANEL) -> Call:
    """Return a dense layer that takes its weight in panels of ``width`` columns, with ``group`` inputs of a unit side
    by side."""
    values = {"units": attrs["units"], "out_dtype": out_dtype, "weight_layout": panel_layout(group, width)}
    return call_op("nn.contrib_dense_pack", *inputs, **values)


def panel_layout(group: int, width: int = PANEL) -> str:
    """Return the layout of a weight in panels of ``width`` columns, with ``group`` inputs of a unit side by side."""
    return f"NC{width}n{group}c" if group > 1 else f"NC{width}n"


def _alter_dense_layout(
    attrs: Attrs, inputs: Sequence[RelayExpr], tinfos: Sequence[Tensor], out_type: Type
) -> Call | None:
    """Return a dense layer that takes its weight in panels, as ``FTVMAlterOpLayout`` takes it."""
    _, weight = tinfos
    units = weight.shape[0]
    if not isinstance(units, IntImm) or units.value % PANEL or not isinstance(out_type, TensorType):
        return None
    return pack_dense(attrs, inputs, out_type.dtype)
