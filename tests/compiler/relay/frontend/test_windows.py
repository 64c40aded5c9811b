"""Windows that are put back into an image, against NumPy, which adds them up one after another."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.shared.windows import sum_of_windows, windows_along


def _sums(x: np.ndarray, extents: tuple[int, ...], windows: list[np.ndarray]) -> np.ndarray:
    """Add the elements of windows up at their places."""
    counts, kernel = zip(*(each.shape for each in windows), strict=True)
    split = x.reshape(len(x), -1, *kernel, *counts)
    images = list(map(np.arange, split.shape[:2]))
    sums = np.zeros((*split.shape[:2], *extents))
    for element in product(*map(range, kernel)):
        at = [places[:, k] for places, k in zip(windows, element, strict=True)]
        inside = [np.flatnonzero((a >= 0) & (a < extent)) for a, extent in zip(at, extents, strict=True)]
        put = np.ix_(*images, *(a[i] for a, i in zip(at, inside, strict=True)))
        sums[put] += split[:, :, *element][np.ix_(*images, *inside)]
    return sums


@pytest.mark.parametrize(
    ("extents", "kernel", "strides", "dilations", "pads"),
    [
        ((9,), (3,), (1,), (1,), (0, 0)),
        ((7, 6), (3, 2), (2, 1), (1, 2), (1, 2, 0, 1)),
        ((5, 7, 4), (2, 3, 1), (3, 1, 2), (1, 1, 1), (0, 0, 0, 0, 0, 0)),
        ((36, 3), (18, 2), (1, 1), (1, 1), (0, 0, 0, 0)),  # many windows over one place
        ((6,), (2,), (3,), (1,), (0, 0)),  # places that no window covers
        ((4,), (2,), (1,), (5,), (1, 1)),  # all are outside but a few
    ],
)
def test_windows_are_added_up_where_they_overlap(
    extents: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> None:
    before, after = pads[: len(extents)], pads[len(extents) :]
    windows = list(map(windows_along, extents, kernel, strides, dilations, before, after))
    count = math.prod(len(each) for each in windows)
    x = np.random.default_rng(0).normal(size=(2, 3 * math.prod(kernel), count)).astype("float32")
    graph = relay.Function([given := relay.var("x", shape=x.shape)], sum_of_windows(given, extents, windows))
    result = relay.create_executor("graph", target="llvm").evaluate(graph)(x).numpy()
    np.testing.assert_allclose(result, _sums(x, extents, windows), rtol=1e-5, atol=1e-5)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("extents", "kernel"), [((1_000_000,), (2,)), ((224, 224), (16, 16))])
def test_patches_of_large_images_are_put_side_by_side(extents: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    windows = [windows_along(extent, size, size, 1, 0, 0) for extent, size in zip(extents, kernel, strict=True)]
    x = np.random.default_rng(0).random((1, 3 * math.prod(kernel), math.prod(map(len, windows))), "float32")
    graph = relay.Function([given := relay.var("x", shape=x.shape)], sum_of_windows(given, extents, windows))
    result = relay.create_executor("graph", target="llvm").evaluate(graph)(x).numpy()
    np.testing.assert_array_equal(result, _sums(x, extents, windows).astype("float32"))
