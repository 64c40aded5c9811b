"""Layout helpers of ``tvm.topi.utils``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm
from compiler.tir.layout.data_layout import Layout, layout

__all__ = ["get_shape", "nchw_pack_layout", "nchw_xc_layout", "ncw_pack_layout", "ncw_xc_layout"]

_BLOCK = re.compile(r"\d+([a-z])")


def get_shape(src_shape: Sequence[int | IntImm], src_layout: str | Layout, dst_layout: str | Layout) -> tuple[int, ...]:
    """Return a shape with its axes in the order of another layout: ``(2, 32, 5, 7)`` → ``(2, 5, 7, 32)``.

    Raises ArgumentError if the layouts have different axes, or the shape has another number of them.
    """
    src, dst = (layout(str(name)) for name in (src_layout, dst_layout))
    if sorted(a.name for a in src.axes) != sorted(a.name for a in dst.axes):
        raise ArgumentError(f"get_shape: src_layout and dst_layout must have the same axes, got {src} and {dst}")
    if len(src_shape) != len(src):
        raise ArgumentError(f"get_shape: src_shape must have an extent for each axis of {src}, got {show(src_shape)}")
    return tuple(int(src_shape[src.index_of(a.name)]) for a in dst.axes)


def nchw_pack_layout(layout_info: str) -> bool:
    """Return whether a layout is ``NCHW`` with blocks of images and of channels, as ``NCHW4n16c``."""
    return _blocks(layout_info, "NCHW") == ["c", "n"]


def nchw_xc_layout(layout_info: str) -> bool:
    """Return whether a layout is ``NCHW`` with blocks of channels, as ``NCHW16c``."""
    return _blocks(layout_info, "NCHW") == ["c"]


def ncw_pack_layout(layout_info: str) -> bool:
    """Return whether a layout is ``NCW`` with blocks of sequences and of channels, as ``NCW4n16c``."""
    return _blocks(layout_info, "NCW") == ["c", "n"]


def ncw_xc_layout(layout_info: str) -> bool:
    """Return whether a layout is ``NCW`` with blocks of channels, as ``NCW16c``."""
    return _blocks(layout_info, "NCW") == ["c"]


def _blocks(layout_info: str, dimensions: str) -> list[str]:
    """Return the letters of what is in blocks, sorted; none where the layout has other dimensions."""
    if not layout_info.startswith(dimensions):
        return []
    return sorted(_BLOCK.findall(layout_info, len(dimensions)))
