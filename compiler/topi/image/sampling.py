"""Grid sampling under the name of ``tvm.topi.image``."""

from __future__ import annotations

from compiler.ir.error import expected
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.sampling import grid_sample as sampled

__all__ = ["grid_sample"]


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """Return ``data`` of layout NCHW or NCDHW, of a float type and with constant extents, at the places of a grid.

    The grid is ``(N, rank, out…)``: coordinates from -1 to 1, those of the last dimension first. Where
    ``align_corners``, they span the centres of the outermost elements, else their outer edges.
    """
    if layout not in ("NCHW", "NCDHW"):
        expected("grid_sample", "layout", "'NCHW' or 'NCDHW'", layout)
    return sampled(data, grid, method, padding_mode, bool(align_corners))
