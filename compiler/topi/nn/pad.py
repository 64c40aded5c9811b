"""Padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, Index, Scalar, dims
from compiler.topi.tag import Tag

__all__ = ["dilate", "mirror_pad", "pad", "pad_edge", "pad_reflect", "pad_wrap"]

Source: TypeAlias = Callable[[PrimExpr, Extent], PrimExpr]
"""``(index, extent)`` of a padded element, counted from the first one of the data, to the index that it is read at."""


def pad(
    data: Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    pad_value: Scalar = 0.0,
    name: str = "PadInput",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor:
    """Return ``data`` with a constant around it; ``data`` itself where nothing is added.

    ``pad_before`` elements are added in front of each axis, ``pad_after`` behind it, as many by default; negative
    numbers take elements away.
    """
    before, after = pad_before, pad_before if pad_after is None else pad_after
    if not any(before) and not any(after):
        return data
    shape = dims(data)
    fill = tir.const(pad_value, data.dtype) if isinstance(pad_value, (bool, int, float)) else pad_value

    def element(*at: Var) -> PrimExpr:
        inside: list[PrimExpr] = []
        for i, low, high, extent in zip(at, before, after, shape, strict=True):
            inside += [i >= low] if low > 0 else []
            inside += [i < extent + low] if high > 0 else []
        source = data(*[i - low if low else i for i, low in zip(at, before, strict=True)])
        return te.if_then_else(te.all(*inside), source, fill) if inside else source

    padded = [extent + low + high for extent, low, high in zip(shape, before, after, strict=True)]
    return te.compute(tuple(padded), element, name, Tag.PAD, attrs)


def pad_edge(data: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Return ``data`` with its outermost elements repeated, so many on each axis."""
    return _gathered(data, before, after, lambda i, extent: te.max(te.min(i, extent - 1), 0))


def pad_reflect(
    data: Tensor, before: Sequence[int], after: Sequence[int], mode: str = "REFLECT", name: str = "pad"
) -> Tensor:
    """Return ``data`` mirrored at its ends, with fewer elements more on each side than there are.

    ``SYMMETRIC`` repeats the element at the mirror, ``REFLECT`` does not.
    """
    again = 1 if mode == "SYMMETRIC" else 0

    def source(i: PrimExpr, extent: Extent) -> PrimExpr:
        left = te.max(i, -i - again)
        return te.max(te.min(left, 2 * extent - 2 + again - left), 0)

    return _gathered(data, before, after, source, name)


def mirror_pad(
    data: Tensor,
    pad_before: Sequence[int],
    pad_after: Sequence[int] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """Return ``data`` mirrored at its ends, as :func:`pad_reflect` does; as many at the ends as in front by default."""
    after = pad_before if pad_after is None else pad_after
    return pad_reflect(data, [int(n) for n in pad_before], [int(n) for n in after], mode, name)


def pad_wrap(data: Tensor, before: Sequence[int], after: Sequence[int]) -> Tensor:
    """Return ``data`` continued by itself from its other end, so many elements on each axis."""
    return _gathered(data, before, after, lambda i, extent: i % extent)


def _gathered(data: Tensor, before: Sequence[int], after: Sequence[int], source: Source, name: str = "pad") -> Tensor:
    """Return ``data`` with its own elements around it: rows end with some of them, and in between they are copies."""
    shape = dims(data)
    has_ends = any(before[-1:]) or any(after[-1:])

    def element(*at: Var) -> PrimExpr:
        indices: list[Index] = []
        for i, low, high, extent in zip(at, before, after, shape, strict=True):
            indices.append(source(i - low, extent) if low or high else i)
        around = data(*indices)
        if not has_ends:
            return around
        low, end = before[-1], shape[-1] + before[-1]
        inside = data(*indices[:-1], at[-1] - low)
        inside = te.if_then_else(at[-1] < end, inside, around) if after[-1] > 0 else inside
        return te.if_then_else(at[-1] >= low, inside, around) if low > 0 else inside

    padded = [extent + low + high for extent, low, high in zip(shape, before, after, strict=True)]
    return compute(padded, element, name=name, tag=Tag.COPIES if has_ends else Tag.PAD)


def dilate(data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "dilate") -> Tensor:
    """Return ``data`` with a number between its elements: element ``i`` moves to ``i * stride``."""
    if all(s == 1 for s in strides):
        return data
    shape = tuple((extent - 1) * s + 1 for extent, s in zip(dims(data), strides, strict=True))

    def element(*at: Var) -> PrimExpr:
        there = [(i % s).equal(0) for i, s in zip(at, strides, strict=True) if s > 1]
        source = data(*[i if s == 1 else i // s for i, s in zip(at, strides, strict=True)])
        return te.if_then_else(te.all(*there), source, tir.const(dilation_value, data.dtype))

    return compute(shape, element, name=name, tag=Tag.DILATE)
