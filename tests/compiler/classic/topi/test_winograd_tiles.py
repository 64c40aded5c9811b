"""The sizes of tiles of volumes are under TVM's path."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import topi


@pytest.mark.parametrize(("height", "tile"), [(7, 2), (8, 4), (12, 2), (16, 4)])
def test_tiles_of_four_where_they_fit(height: int, tile: int) -> None:
    module = topi.cuda.conv3d_winograd
    assert module._infer_tile_size(np.zeros((1, 4, 7, height, 9)), np.zeros((8, 4, 3, 3, 3))) == tile
