"""``tensordot``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te
from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.tag import Tag

__all__ = ["tensordot"]

Axes = int | Sequence[int] | Sequence[Sequence[int]]


def tensordot(a: Tensor, b: Tensor, axes: Axes) -> Tensor:
    """Return the sum of products over pairs of axes, as ``numpy.tensordot`` does.

    ``axes`` says how many of the last axes of ``a`` are paired with the first of ``b``, or an axis of each, or several.
    The result has the axes of ``a``, then those of ``b``, without the pairs. Raises ArgumentError if an axis does not
    exist or is paired twice, or the extents of a pair differ.
    """
    left, right = _pairs(a, b, axes)
    sums = [te.reduce_axis((0, a.shape[i]), name=f"k{n}") for n, i in enumerate(left)]
    free_a = [i for i in range(len(a.shape)) if i not in left]
    free_b = [i for i in range(len(b.shape)) if i not in right]

    def element(*ax: Var) -> PrimExpr:
        at_a: dict[int, PrimExpr] = dict(zip(left, (k.var for k in sums), strict=True))
        at_b: dict[int, PrimExpr] = dict(zip(right, (k.var for k in sums), strict=True))
        at_a |= dict(zip(free_a, ax[: len(free_a)], strict=True))
        at_b |= dict(zip(free_b, ax[len(free_a) :], strict=True))
        product = a(*(at_a[i] for i in range(len(a.shape)))) * b(*(at_b[i] for i in range(len(b.shape))))
        return te.sum(product, axis=sums) if sums else product

    shape = [*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b)]
    return compute(shape, element, name="tensordot", tag=Tag.MATMUL)


def _pairs(a: Tensor, b: Tensor, axes: Axes) -> tuple[list[int], list[int]]:
    ranks = len(a.shape), len(b.shape)
    if isinstance(axes, int):
        if not 0 <= axes <= min(ranks):
            raise ArgumentError(f"tensordot: axes must be at most {min(ranks)}, the smaller rank, got {axes}")
        pairs = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
    else:
        if len(axes) != 2:
            raise ArgumentError(f"tensordot: axes must be a number or two lists of axes, got {show(axes)}")
        first, second = ([i] if isinstance(i, int) else list(i) for i in axes)
        pairs = _normal(first, ranks[0], axes), _normal(second, ranks[1], axes)
    if len(pairs[0]) != len(pairs[1]):
        raise ArgumentError(f"tensordot: axes must have the same number of axes for both tensors, got {show(axes)}")
    analyzer = Analyzer()
    for i, j in zip(*pairs, strict=True):
        if analyzer.can_prove(a.shape[i] != b.shape[j]):
            raise ArgumentError(
                f"tensordot: axis {i} of {a.op.name!r} has the extent {a.shape[i]}, its pair, axis {j} of "
                f"{b.op.name!r}, has {b.shape[j]}"
            )
    return pairs


def _normal(chosen: Sequence[int], rank: int, axes: Axes) -> list[int]:
    normal = [int(i) + rank if i < 0 else int(i) for i in chosen]
    if len(set(normal)) < len(normal) or any(not 0 <= i < rank for i in normal):
        raise ArgumentError(f"tensordot: axes must be distinct axes of {rank} dimensions, got {show(axes)}")
    return normal
