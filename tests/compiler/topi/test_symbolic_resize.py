"""Images whose extents are symbolic are resized to the same values as those whose extents are constants."""

import numpy as np
import pytest

from compiler import te, topi
from compiler.driver.build import build
from compiler.ir.error import UnavailableError
from compiler.runtime.arrays.ndarray import array
from compiler.te.definition.tensor import Tensor

MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def resized(data: Tensor, size: tuple[object, object], layout: str, method: str, mode: str) -> Tensor:
    resize: Tensor = topi.image.resize2d(data, (0.0,) * 4, size, layout, method, mode)
    return resize


def run(data: Tensor, result: Tensor, image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    out = array(np.zeros(shape, "float32"))
    build(te.create_prim_func([data, result]), target="llvm")(array(image), out)
    return out.numpy()


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("method", "layout"), [("linear", "NCHW"), ("nearest_neighbor", "NHWC")])
def test_symbolic_extents_give_the_values_of_constant_ones(method: str, layout: str, mode: str) -> None:
    h, w, new_h, new_w = (te.var(name) for name in ("h", "w", "new_h", "new_w"))
    shape, new = ((1, 2, 5, 7), (1, 2, 8, 4)) if layout == "NCHW" else ((1, 5, 7, 2), (1, 8, 4, 2))
    named = {5: h, 7: w}
    image = np.random.default_rng(0).random(shape, dtype="float32")
    symbolic = te.placeholder([named.get(extent, extent) for extent in shape], name="A")
    fixed = te.placeholder(shape, name="A")
    expected = run(fixed, resized(fixed, (8, 4), layout, method, mode), image, new)
    given = run(symbolic, resized(symbolic, (new_h, new_w), layout, method, mode), image, new)
    np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-6)


def test_cubic_interpolation_needs_constant_extents() -> None:
    data = te.placeholder((1, 2, te.var("h"), 7), name="A")
    with pytest.raises(UnavailableError, match="resize2d: extents must be constant for cubic interpolation"):
        resized(data, (8, 4), "NCHW", "cubic", "half_pixel")
