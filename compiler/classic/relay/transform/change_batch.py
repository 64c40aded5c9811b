"""ChangeBatch: changes the batch size of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.analysis import bottom_up
from compiler.relay.expr import Var
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.ty import TensorType


class ChangeBatch(FunctionPass):
    """Change the extent of one axis of some variables, and all types that follow from it.

    Level 0.  ``data`` gives each variable, or name of a parameter, the axis of its samples.  A shape that an attribute
    spells out, as of ``reshape``, stays; it must be meant for any batch.

    Examples
    --------
    ``ChangeBatch(data={'x': 0}, batch_size=8)``::

        def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }
        ->
        def @main(%x: Tensor[(8, 3), float32]) { nn.relu(%x) }
    """

    data: Mapping[Any, int]
    batch_size: int = 16

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        named = {param: self.data[param.name_hint] for param in func.params if param.name_hint in self.data}
        mutator = _NewBatch({**named, **self.data}, self.batch_size)
        params = tuple(map(mutator.visit_bound, func.params))
        return Function(params, bottom_up(mutator, func.body), None, func.type_params, func.attrs)


class _NewBatch(ExprMutator):
    def __init__(self, axes: Mapping[Any, int], batch_size: int) -> None:
        super().__init__()
        self._axes = axes
        self._batch_size = batch_size

    def visit_var(self, var: Var) -> RelayExpr:
        axis = self._axes.get(var)
        if axis is None:
            return var
        t = var.type_annotation
        if not isinstance(t, TensorType) or not -len(t.shape) <= axis < len(t.shape):
            raise ArgumentError(f"ChangeBatch: {var.name_hint} is of type {t}, which has no axis {axis}")
        shape = list(t.shape)
        shape[axis] = self._batch_size
        return Var(var.name_hint, TensorType(tuple(shape), t.dtype))
