"""Grid sampling under the name of ``tvm.topi.image``."""

from __future__ import annotations

from compiler.ir.error import expected
from compiler.te.tensor import Tensor
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
    """Return ``data`` of a float type at the places of a grid.

    Parameters
    ----------
    grid : Tensor
        ``(N, rank, out…)``: coordinates from -1 to 1, those of the last dimension first.
    layout : {"NCHW", "NCDHW"}
        Of the data and of the result.
    align_corners : bool
        Whether -1 and 1 are the centres of the outermost elements, else their outer edges.
    """
    if layout not in ("NCHW", "NCDHW"):
        expected("grid_sample", "layout", "'NCHW' or 'NCDHW'", layout)
    return sampled(data, grid, method, padding_mode, bool(align_corners))
