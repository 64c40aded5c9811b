"""FlexibleShapeDispatch: dispatches a dynamic extent to specialised copies of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.classic.relay.transform.dynamic_to_static import DynamicToStatic
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import AnyDim
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import Type
from compiler.relay.binding import bind
from compiler.relay.expr import Call, If, Var, const
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import call_op, reshaped
from compiler.relay.transform.infer_type import InferType
from compiler.relay.ty import TensorType, TupleType


class FlexibleShapeDispatch(ModulePass, required=("InferType",)):
    """Let ``main`` ask for an extent of its inputs, and call a copy of itself for exactly that extent if there is one.

    Level 0; requires InferType.  Other extents are computed by the dynamic program, whose extent is ``?`` even where
    that of ``main`` is a number.

    Parameters
    ----------
    buckets : sequence of int
        The extents along ``axis`` that have copies.
    auto_pad : bool
        Whether inputs are lengthened, with ``pad_value``, to the next larger extent that has a copy.
    input_indices : sequence of int, optional
        Which parameters have that extent; the first one by default.
    affects_output : bool
        Whether the results have it too, along the same axis; those of lengthened inputs are then cut.

    Examples
    --------
    ``FlexibleShapeDispatch([2])``::

        def @main(%x: Tensor[(?, 3), float32]) { nn.relu(%x) }
        ->
        def @main(%x: Tensor[(?, 3), float32]) {
          if (equal(take(shape_of(%x, dtype="int32"), 0), 2)) {
            @main_2(reshape(%x, newshape=[2, 3]))
          } else {
            @main_dynamic(%x)
          }
        }
        def @main_2(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
        def @main_dynamic(%x: Tensor[(?, 3), float32]) { nn.relu(%x) }
    """

    buckets: Sequence[int]
    axis: int = 0
    auto_pad: bool = False
    pad_value: float = 0
    input_indices: Sequence[int] | None = None
    affects_output: bool = True

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        main, func = mod.get_global_var("main"), mod["main"]
        any_extent = _copy(func, self.axis, AnyDim(), self._indices)
        func = infer_module(mod.with_functions({**mod.functions, main: any_extent}))[main]
        copies = {
            bucket: (GlobalVar(f"main_{bucket}"), _copy(func, self.axis, bucket, self._indices))
            for bucket in self.buckets
        }
        dynamic = GlobalVar("main_dynamic")
        others = {var: other for var, other in mod.items() if var is not main}
        made = {**others, **dict(copies.values()), dynamic: func, main: self._dispatch(func, dynamic, copies)}
        return infer_module(DynamicToStatic()(mod.with_functions(made)))

    @property
    def _indices(self) -> Sequence[int]:
        return (0,) if self.input_indices is None else self.input_indices

    def _dispatch(
        self, func: Function, dynamic: GlobalVar, copies: Mapping[int, tuple[GlobalVar, Function]]
    ) -> Function:
        """Return the program that asks for the extent and calls a copy."""
        params = tuple(Var(p.name_hint, p.checked_type) for p in func.params)
        result: RelayExpr = Call(dynamic, params)
        shape = call_op("shape_of", params[self._indices[0]], dtype="int32")
        extent = call_op("take", shape, const(self.axis, "int32"))
        for bucket, (var, copy) in sorted(copies.items(), reverse=True):
            fits = call_op("less_equal" if self.auto_pad else "equal", extent, const(bucket, "int32"))
            args = [
                self._fixed(param, inner.type_annotation, extent, bucket) if i in self._indices else param
                for i, (param, inner) in enumerate(zip(params, copy.params, strict=True))
            ]
            result = If(fits, self._cut(Call(var, tuple(args)), func.ret_type, extent), result)
        return Function(params, result)

    def _fixed(self, data: Var, t: Any, extent: Call, bucket: int) -> Call:
        """Return an input as one of a known shape, lengthened where it must be."""
        if not self.auto_pad:
            return reshaped(data, t.dims)
        ends = np.zeros((len(t.dims), 2), "int32")
        ends[self.axis, 1] = 1
        widths = call_op("multiply", const(ends), call_op("subtract", const(bucket, "int32"), extent))
        padded = call_op("dyn.nn.pad", data, widths, const(self.pad_value, t.dtype), pad_mode="constant")
        return reshaped(padded, t.dims)

    def _cut(self, call: Call, result: Type | None, extent: Call) -> RelayExpr:
        """Return the part of a result that is of the input before it was lengthened."""
        if not self.auto_pad or not self.affects_output:
            return call
        if isinstance(result, TupleType):
            raise ArgumentError("FlexibleShapeDispatch: auto_pad supports a single tensor result, got a tuple")
        zero, one = const(0, "int32"), const(1, "int32")
        places = call_op("arange", zero, extent, one, dtype="int32")
        return call_op("take", call, places, axis=self.axis)


def _copy(func: Function, axis: int, dim: int | AnyDim, indices: Sequence[int]) -> Function:
    """Return a program for one extent of some of its parameters."""
    params = []
    for i, param in enumerate(func.params):
        t = param.checked_type
        if i in indices:
            if not isinstance(t, TensorType) or not -len(t.dims) <= axis < len(t.dims):
                raise ArgumentError(f"FlexibleShapeDispatch: parameter {i} has no axis {axis}, it is {t}")
            t = override_shape(t, axis, dim)
        params.append(Var(param.name_hint, t))
    return Function(tuple(params), bind(func.body, dict(zip(func.params, params, strict=True))), None)


def override_shape(tensor_type: TensorType, axis: int, dim: int | AnyDim) -> TensorType:
    """Return a type of tensors with another extent along ``axis``."""
    dims = list(tensor_type.dims)
    dims[axis] = dim
    return TensorType(tuple(dims), tensor_type.dtype)


def specialize_body(
    mod: IRModule,
    function: Function,
    axis: int,
    dim: int | AnyDim,
    input_indices: Sequence[int] = (0,),
    affects_output: bool = True,
) -> tuple[GlobalVar, list[TensorType]]:
    """Add a copy of a type-checked function for one extent of its inputs to a module.

    The parameters ``input_indices`` have the extent ``dim`` along ``axis``; with ``affects_output`` the result has it
    too, where the function states its type.

    Returns
    -------
    tuple of GlobalVar and list of TensorType
        The copy, ``main_4`` for an extent of 4, and the types of its parameters.
    """
    copy = _copy(function, axis, dim, input_indices)
    if isinstance(function.ret_type, TensorType):
        result = override_shape(function.ret_type, axis, dim) if affects_output else function.ret_type
        copy = Function(copy.params, copy.body, result)
    var = GlobalVar(f"main_{'dynamic' if isinstance(dim, AnyDim) else dim}")
    mod[var] = copy
    return var, [param.type_annotation for param in copy.params]  # type: ignore[misc]


def flexible_dispatch(
    mod: IRModule,
    buckets: Sequence[int],
    axis: int = 0,
    auto_pad: bool = False,
    pad_value: float = 0,
    input_indices: Sequence[int] | None = None,
    affects_output: bool = True,
) -> IRModule:
    """Return a module whose ``main`` goes on in copies for some extents; see :class:`FlexibleShapeDispatch`."""
    dispatch = FlexibleShapeDispatch(buckets, axis, auto_pad, pad_value, input_indices, affects_output)
    return dispatch(InferType()(mod))
