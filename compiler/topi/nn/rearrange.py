"""Channels into pixels and back."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.topi.layout import layout
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def depth_to_space(x: Any, block: int, name: str, mode: str) -> Any:
    """Return ``x`` with each pixel's channels as ``block`` times ``block`` pixels.

    ``DCR`` takes a pixel's place in its block from the first part of the channel, ``CRD`` from the last.
    """
    where = layout(name)
    extents = where.extents(dims(x))
    channels = extents["C"] // (block * block)
    out = extents | {"C": channels, "H": extents["H"] * block, "W": extents["W"] * block}

    def element(*at: Any) -> Any:
        here = where.point(at)
        part = (here["H"] % block) * block + here["W"] % block
        channel = part * channels + here["C"] if mode == "DCR" else here["C"] * (block * block) + part
        return x(*where.indices(here | {"C": channel, "H": here["H"] // block, "W": here["W"] // block}))

    return te.compute(where.shape(out), element, name="depth_to_space", tag=Tag.INJECTIVE)


def space_to_depth(x: Any, block: int, name: str) -> Any:
    """Return ``x`` with blocks of pixels as channels of one, the place in the block before the channel."""
    where = layout(name)
    extents = where.extents(dims(x))
    channels = extents["C"]
    out = extents | {"C": channels * block * block, "H": extents["H"] // block, "W": extents["W"] // block}

    def element(*at: Any) -> Any:
        here = where.point(at)
        part = here["C"] // channels
        pixel = {"H": here["H"] * block + part // block, "W": here["W"] * block + part % block}
        return x(*where.indices(here | pixel | {"C": here["C"] % channels}))

    return te.compute(where.shape(out), element, name="space_to_depth", tag=Tag.INJECTIVE)
