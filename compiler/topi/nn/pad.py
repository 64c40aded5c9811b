"""Padding: a tensor with more elements around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import te, tir
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def pad(data: Any, before: Sequence[int], after: Sequence[int], value: Any = 0, name: str = "pad") -> Any:
    """Return ``data`` with a constant around it; ``data`` itself where nothing is added.

    Parameters
    ----------
    before, after : sequence of int
        Elements to add on each axis; negative numbers take elements away.
    value : number or PrimExpr
    """
    if not any(before) and not any(after):
        return data
    shape = dims(data)
    fill = tir.const(value, data.dtype) if isinstance(value, (bool, int, float)) else value

    def element(*at: Any) -> Any:
        inside = []
        for i, low, high, extent in zip(at, before, after, shape, strict=True):
            inside += [i >= low] if low > 0 else []
            inside += [i < extent + low] if high > 0 else []
        source = data(*[i - low if low else i for i, low in zip(at, before, strict=True)])
        return te.if_then_else(te.all(*inside), source, fill) if inside else source

    padded = [extent + low + high for extent, low, high in zip(shape, before, after, strict=True)]
    return te.compute(tuple(padded), element, name=name, tag=Tag.PAD)


def pad_edge(data: Any, before: Sequence[int], after: Sequence[int]) -> Any:
    """Return ``data`` with its outermost elements repeated."""
    return _gathered(data, before, after, lambda i, extent: te.max(te.min(i, extent - 1), 0))


def pad_reflect(data: Any, before: Sequence[int], after: Sequence[int], mode: str = "REFLECT") -> Any:
    """Return ``data`` mirrored at its ends; ``SYMMETRIC`` repeats the element at the mirror, ``REFLECT`` does not."""
    again = 1 if mode == "SYMMETRIC" else 0

    def source(i: Any, extent: Any) -> Any:
        left = te.if_then_else(i < 0, -i - again, i)
        return te.if_then_else(left >= extent, 2 * extent - 2 + again - left, left)

    return _gathered(data, before, after, source)


def pad_wrap(data: Any, before: Sequence[int], after: Sequence[int]) -> Any:
    """Return ``data`` continued by itself from its other end."""
    return _gathered(data, before, after, lambda i, extent: i % extent)


def _gathered(data: Any, before: Sequence[int], after: Sequence[int], source: Any) -> Any:
    shape = dims(data)

    def element(*at: Any) -> Any:
        where = []
        for i, low, high, extent in zip(at, before, after, shape, strict=True):
            where.append(source(i - low, extent) if low or high else i)
        return data(*where)

    padded = [extent + low + high for extent, low, high in zip(shape, before, after, strict=True)]
    return te.compute(tuple(padded), element, name="pad", tag=Tag.PAD)


def dilate(data: Any, strides: Sequence[int]) -> Any:
    """Return ``data`` with zeros between its elements: element ``i`` moves to ``i * stride``."""
    if all(s == 1 for s in strides):
        return data
    shape = tuple((extent - 1) * s + 1 for extent, s in zip(dims(data), strides, strict=True))

    def element(*at: Any) -> Any:
        there = [(i % s).equal(0) for i, s in zip(at, strides, strict=True) if s > 1]
        source = data(*[i if s == 1 else i // s for i, s in zip(at, strides, strict=True)])
        return te.if_then_else(te.all(*there), source, tir.const(0, data.dtype))

    return te.compute(shape, element, name="dilate", tag=Tag.DILATE)
