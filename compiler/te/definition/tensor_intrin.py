"""Tensor intrinsics: the computation an intrinsic performs on regions, and the code that calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, PrimExpr, Range, Var, as_exprs, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import Node, node
from compiler.ir.origin import derived_from, mint_source
from compiler.te.definition.operation import ComputeOp, PlaceholderOp
from compiler.te.definition.tensor import IntrinsicCall, Operation, Tensor, TensorSlice
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Evaluate, Stmt

__all__ = ["TensorIntrin", "TensorIntrinCall", "decl_tensor_intrin"]

Code: TypeAlias = PrimExpr | Stmt | None
"""A call or a statement; None for one that does not exist."""


@node
class TensorIntrin(Node):
    """An intrinsic on regions of tensors, whose buffers stand for inputs and then outputs.

    Made by :func:`decl_tensor_intrin`.  For a reduction, ``reduce_init`` stores the initial values, and
    ``reduce_update`` adds to the outputs.
    """

    unique_instance: ClassVar[bool] = True

    name: str
    op: Operation
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    scalar_params: tuple[Var, ...]
    body: Stmt | None
    reduce_init: Stmt | None
    reduce_update: Stmt | None

    def __call__(
        self, *args: TensorSlice | ExprLike, reduce_axis: IterVar | Sequence[IterVar] = ()
    ) -> TensorIntrinCall:
        """Call the intrinsic in the definition of a tensor, whose last dimensions it computes.

        Arguments are regions such as ``A[i, 0:16]`` for the inputs, and numbers for the scalar parameters, in their
        orders.
        """
        regions = tuple(a for a in args if isinstance(a, TensorSlice))
        scalars = as_exprs([a for a in args if not isinstance(a, TensorSlice)])
        if len(regions) != len(self.inputs) or len(scalars) != len(self.scalar_params):
            raise ArgumentError(
                f"{self.name}: expected {len(self.inputs)} regions of tensors and {len(self.scalar_params)} numbers, "
                f"got {len(regions)} and {len(scalars)}"
            )
        axes = (reduce_axis,) if isinstance(reduce_axis, IterVar) else tuple(reduce_axis)
        return TensorIntrinCall(self, regions, scalars, axes)

    def with_scalars(self, values: Mapping[Var, PrimExpr]) -> TensorIntrin:
        """Return the intrinsic with numbers in place of its scalar parameters."""
        if not values:
            return self
        body, init, update = (
            None if code is None else substitute(code, values)
            for code in (self.body, self.reduce_init, self.reduce_update)
        )
        return TensorIntrin(self.name, self.op, self.inputs, self.buffers, (), body, init, update)

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name})"

    __str__ = __repr__


@dataclass(frozen=True, eq=False)
class TensorIntrinCall(IntrinsicCall):
    """The call of an intrinsic on regions of tensors."""

    intrin: TensorIntrin
    slices: tuple[TensorSlice, ...]
    scalar_inputs: tuple[PrimExpr, ...]
    reduce_axis: tuple[IterVar, ...]

    def operation(
        self, name: str, tag: str, attrs: Mapping[str, object], axes: Sequence[IterVar], shape: Sequence[PrimExpr]
    ) -> Operation:
        tensors = tuple(s.tensor for s in self.slices)
        regions = tuple(s.region() for s in self.slices)
        intrin = self.intrin.with_scalars(dict(zip(self.intrin.scalar_params, self.scalar_inputs, strict=True)))
        inner = (
            IterVar(Range.from_fields(const(0, d.dtype), d), Var(f"ax{i}", d.dtype), IterVar.DimInfo)
            for i, d in enumerate(shape[len(axes) :])
        )
        return TensorComputeOp(name, tag, attrs, (*axes, *inner), self.reduce_axis, len(axes), intrin, tensors, regions)


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """Declare an intrinsic, for ``Stage.tensorize`` and for calls in definitions of tensors.

    Raises ArgumentError if ``op`` is not a computation of placeholders, or ``fcompute`` returns something else.

    Parameters
    ----------
    op : Operation
        What the intrinsic computes: a computation of placeholders.
    fcompute : callable
        ``fcompute(ins, outs)`` takes lists of buffers, and with ``scalar_params`` the list of these; it returns a call
        or a statement, or three of them: the whole computation, the initial values of a reduction (None if the whole
        computation of the first part stands for it), and the update.
    binds : mapping of Tensor to Buffer, optional
        Buffers for some inputs and outputs, e.g. with strides that are variables; compact ones by default.
    scalar_params : sequence of Var, optional
        Numbers that ``op`` computes with and that a call gives.
    default_buffer_params : mapping of str to object, optional
        Further arguments of ``decl_buffer`` for the other buffers, e.g. ``{"offset_factor": 16}``.

    Examples
    --------
    >>> x, y = (te.placeholder((16,), name=n) for n in "xy")
    >>> z = te.compute((16,), lambda i: x[i] + y[i], name="z")
    >>> def call(ins, outs):
    ...     return tir.call_extern("int32", "vadd16", *(b.access_ptr("r") for b in ins), outs[0].access_ptr("w"))
    >>> vadd = te.decl_tensor_intrin(z.op, call, default_buffer_params={"offset_factor": 16})
    """
    if not isinstance(op, ComputeOp):
        raise ArgumentError(f"decl_tensor_intrin: op must be a computation, such as z.op, got {show(op)}")
    for t in op.input_tensors:
        if not isinstance(t.op, PlaceholderOp):
            raise ArgumentError(
                f"decl_tensor_intrin: {op.name!r} must read placeholders only, and {t.name!r} is not one"
            )
    with derived_from(mint_source(f"{name} = decl_tensor_intrin")):
        given, params = binds or {}, default_buffer_params or {}
        tensors = (*op.input_tensors, *op.outputs)
        buffers = [given[t] if t in given else decl_buffer(t.shape, t.dtype, t.op.name, **params) for t in tensors]
        count = len(op.input_tensors)
        scalars = tuple(scalar_params or ())
        result = fcompute(buffers[:count], buffers[count:], *([list(scalars)] if scalars else []))
        codes = list(result) if isinstance(result, (list, tuple)) else [result]
        if not 1 <= len(codes) <= 3:
            raise ArgumentError(f"decl_tensor_intrin: fcompute must return one statement or three, got {len(codes)}")
        statements = [_statement(code, name) for code in codes] + [None] * (3 - len(codes))
        return TensorIntrin(name, op, op.input_tensors, tuple(buffers), scalars, *statements)


def _statement(code: Code, name: str) -> Stmt | None:
    if isinstance(code, PrimExpr):
        return Evaluate(code)
    if code is None or isinstance(code, Stmt):
        return code
    raise ArgumentError(f"decl_tensor_intrin: fcompute must return a call or a statement, got {show(code)} ({name!r})")
