"""``depth_to_space`` and ``space_to_depth``."""

from __future__ import annotations

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout as axes_of_layout
from compiler.topi.compute import compute
from compiler.topi.operands import dims
from compiler.topi.tag import Tag

__all__ = ["depth_to_space", "space_to_depth"]


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Return ``data`` with each pixel's channels as ``block_size`` times ``block_size`` pixels.

    ``DCR`` takes a pixel's place in its block from the first part of the channel, ``CRD`` from the last. Channels
    behind the last multiple of ``block_size * block_size`` are left out.
    """
    axes, block = axes_of_layout(layout), block_size
    extents = axes.extents(dims(data))
    channels = extents["C"] // (block * block)
    out = extents | {"C": channels, "H": extents["H"] * block, "W": extents["W"] * block}

    def element(*at: Var) -> PrimExpr:
        here = axes.point(at)
        part = (here["H"] % block) * block + here["W"] % block
        channel = part * channels + here["C"] if mode == "DCR" else here["C"] * (block * block) + part
        return data(*axes.indices(here | {"C": channel, "H": here["H"] // block, "W": here["W"] // block}))

    return compute(axes.shape(out), element, name="depth_to_space", tag=Tag.INJECTIVE)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Return ``data`` with blocks of pixels as channels of one, the place in the block before the channel.

    The height and width are multiples of ``block_size``.
    """
    axes, block = axes_of_layout(layout), block_size
    extents = axes.extents(dims(data))
    channels = extents["C"]
    out = extents | {"C": channels * block * block, "H": extents["H"] // block, "W": extents["W"] // block}

    def element(*at: Var) -> PrimExpr:
        here = axes.point(at)
        part = here["C"] // channels
        pixel = {"H": here["H"] * block + part // block, "W": here["W"] * block + part % block}
        return data(*axes.indices(here | pixel | {"C": here["C"] % channels}))

    return compute(axes.shape(out), element, name="space_to_depth", tag=Tag.INJECTIVE)
