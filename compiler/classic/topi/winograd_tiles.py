"""Tile sizes of Winograd convolutions over volumes: ``tvm.topi.cuda.conv3d_winograd``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from compiler.te.definition.tensor import Tensor

__all__: list[str] = []


def _infer_tile_size(data: Tensor | np.ndarray, kernel: Tensor | np.ndarray) -> int:
    """Return the extent of a tile of the result: 4 where the height of volumes NCDHW is divisible by 8, else 2."""
    height = data.shape[3]
    return 4 if height % 8 == 0 else 2
