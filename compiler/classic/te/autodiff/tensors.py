"""Helper tensors of gradients: sums, zeros and the identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr.primexpr import PrimExpr, Var, const
from compiler.te.definition.operation import compute
from compiler.te.definition.tensor import Tensor
from compiler.tir.expressions import op as tir


def axis_names(count: int) -> list[str]:
    """Return names for the axes of a tensor."""
    return [f"ax{i}" for i in range(count)]


def sum_of(parts: Sequence[Tensor], name: str) -> Tensor:
    """Return the sum of tensors of one shape, by elements."""
    if len(parts) == 1:
        return parts[0]

    def total(*indices: Var) -> PrimExpr:
        first, *others = [part(*indices) for part in parts]
        for other in others:
            first = first + other
        return first

    return _computed(parts[0].shape, total, name)


def zeros(shape: Sequence[PrimExpr], dtype: str, name: str) -> Tensor:
    """Return a tensor of zeros."""
    return _computed(tuple(shape), lambda *_: const(0, dtype), name)


def identity(tensor: Tensor) -> Tensor:
    """Return the derivative of a tensor by itself: one where the first half of the indices is the second."""
    shape = (*tensor.shape, *tensor.shape)
    rank = len(tensor.shape)

    def element(*indices: Var) -> PrimExpr:
        one, zero = const(1, tensor.dtype), const(0, tensor.dtype)
        same = [i.equal(j) for i, j in zip(indices[:rank], indices[rank:], strict=True)]
        return tir.if_then_else(tir.all(*same), one, zero) if same else one

    return _computed(shape, element, "identity")


def _computed(shape: tuple[PrimExpr, ...], element: Callable[..., PrimExpr], name: str) -> Tensor:
    return compute(shape, element, name, varargs_names=axis_names(len(shape)))
