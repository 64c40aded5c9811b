"""``winograd``: convolutions of any layout on transformed tiles compute the same, but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.ndarray import array
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import from_source

CHANNELS_FIRST = "n o h w | c i j | D[vn, vc, vh + vi, vw + vj] | W[vo, vc, vi, vj]"
LAYOUTS = {
    "channels first": CHANNELS_FIRST,
    "channels last": "n h w o | i j c | D[vn, vh + vi, vw + vj, vc] | W[vi, vj, vc, vo]",
    "channels in blocks": "n o h w p | c b i j | D[vn, vc, vi + vh, vj + vw, vb] | W[vo, vc, vi, vj, vb, vp]",
    "groups": "g o h w | c i j | D[vg, vc, vh + vi, vw + vj] | W[vg, vo, vc, vi, vj]",
    "an axis of extent 1": "n o h w | c i j | D[vn, vc, vh + vi, 0, vw + vj] | W[vo, vc, vi, vj]",
    "the weight first": "o h w | c i j | W[vo, vc, vi, vj] | D[vc, vw + vj, vh + vi]",
    "columns and rows": "o w h | c j i | D[vc, vh + vi, vw + vj] | W[vj, vi, vc, vo]",
}
EXTENTS = {"n": 2, "g": 2, "o": 3, "p": 2, "c": 4, "b": 2}


def convolution(layout: str, height: int = 8, width: int = 4, window: int = 3, dtype: str = "float64") -> Any:
    """Return a function that convolves, from its axes and its two operands."""
    spatial, reduced, first, second = layout.split(" | ")
    extents = {**EXTENTS, "h": height, "w": width, "i": window, "j": window}
    last = {f"v{name}": size - 1 for name, size in extents.items()}
    first_of_all = dict.fromkeys(last, 0)

    def shape(access: str) -> tuple[int, ...]:
        indices = access[2:-1].split(", ")
        return tuple(max(eval(at, {}, last), eval(at, {}, first_of_all)) + 1 for at in indices)

    own = ", ".join(f"v{name}" for name in spatial.split())
    names = f"{spatial} {reduced}".split()
    kinds = "S" * len(spatial.split()) + "R" * len(reduced.split())
    operands = sorted((first, second))
    params = ", ".join(f'{text[0]}: T.Buffer({shape(text)}, "{dtype}")' for text in operands)
    return from_source(f"""
@T.prim_func
def main({params}, Y: T.Buffer({tuple(extents[name] for name in spatial.split())}, "{dtype}")):
    for {", ".join(names)} in T.grid({", ".join(str(extents[name]) for name in names)}):
        with T.block("Y"):
            {", ".join(f"v{name}" for name in names)} = T.axis.remap("{kinds}", [{", ".join(names)}])
            with T.init():
                Y[{own}] = T.cast(0, "{dtype}")
            Y[{own}] = Y[{own}] + {first} * {second}
""")


def arguments(func: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [[int(dim) for dim in func.buffer_map[param].shape] for param in func.params]
    return [rng.normal(size=shape).astype(func.buffer_map[func.params[0]].dtype) for shape in shapes]


def results(func: Any) -> Any:
    given = arguments(func)
    interpret(func, given)
    return given[-1]


def transformed(func: Any, tile_size: int) -> Any:
    sch = Schedule(func, debug_mask="all")
    block = sch.get_block("Y")
    sch.winograd(block, tile_size)
    assert sch.get(block).name_hint == "Y", "the block is that of the products"
    again = Schedule(func)
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    assert again.mod["main"].script() == sch.mod["main"].script()
    return sch.mod["main"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tile_size", [2, 4])
def test_convolutions_of_any_layout_compute_the_same(layout: str, tile_size: int) -> None:
    func = convolution(LAYOUTS[layout])
    after = transformed(func, tile_size)
    np.testing.assert_allclose(results(after), results(func), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(results(from_source(after.script())), results(func), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("height", "width", "window", "tile_size"), [(7, 5, 3, 4), (1, 9, 3, 2), (6, 3, 2, 3), (5, 6, 5, 4)]
)
def test_tiles_may_reach_beyond_the_edge(height: int, width: int, window: int, tile_size: int) -> None:
    func = convolution(CHANNELS_FIRST, height, width, window)
    np.testing.assert_allclose(results(transformed(func, tile_size)), results(func), rtol=1e-9, atol=1e-9)


def test_there_are_fewer_products() -> None:
    text = transformed(convolution(CHANNELS_FIRST, 8, 8), 4).script()
    assert "T.grid(36, 2, 4, 3, 4)" in text, "36 points, 2 images, 4 tiles, 3 kernels, 4 channels"


def test_single_floats_stay_near() -> None:
    func = convolution(CHANNELS_FIRST, 12, 12, dtype="float32")
    given = [array(values) for values in arguments(func)]
    build(transformed(func, 4), target="llvm")(*given)
    np.testing.assert_allclose(given[-1].numpy(), results(func), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "layout",
    {
        "steps of 2": "n o h w | c i j | D[vn, vc, vh * 2 + vi, vw * 2 + vj] | W[vo, vc, vi, vj]",
        "windows with gaps": "n o h w | c i j | D[vn, vc, vh + vi * 2, vw + vj * 2] | W[vo, vc, vi, vj]",
        "rows alone": "n o h | c i | D[vn, vc, vh + vi] | W[vo, vc, vi]",
        "channels by themselves": "n c h w | i j | D[vn, vc, vh + vi, vw + vj] | W[vc, vi, vj]",
        "a weight that is turned": "n o h w | c i j | D[vn, vc, vh + vi, vw + vj] | W[vo, vc, 2 - vi, vj]",
        "data that is the same for all columns": "n o h w | c i j | D[vn, vc, vh + vi, vj] | W[vo, vc, vi, vj]",
    }.values(),
)
def test_other_blocks_are_refused(layout: str) -> None:
    with pytest.raises(ScheduleError, match="must add up products"):
        Schedule(convolution(layout)).winograd("Y")


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
def test_integers_and_numbers_of_few_digits_are_refused(dtype: str) -> None:
    with pytest.raises(ScheduleError, match="of float32 or float64"):
        Schedule(convolution(CHANNELS_FIRST, dtype=dtype)).winograd("Y")


@pytest.mark.parametrize("tile_size", [1, 7, -2])
def test_tiles_have_a_size_that_rounding_allows(tile_size: int) -> None:
    with pytest.raises(ArgumentError, match=r"tile_size must be from 2 to 6"):
        Schedule(convolution(CHANNELS_FIRST)).winograd("Y", tile_size)


def test_what_reads_the_result_is_as_it_was() -> None:
    d, w = te.placeholder((1, 4, 10, 10), name="d"), te.placeholder((6, 4, 3, 3), name="w")
    c, i, j = (te.reduce_axis((0, n), name) for n, name in ((4, "c"), (3, "i"), (3, "j")))
    y = te.compute((1, 6, 8, 8), lambda n, o, p, q: te.sum(d[n, c, p + i, q + j] * w[o, c, i, j], axis=[c, i, j]), "Y")
    func = te.create_prim_func([d, w, te.compute(y.shape, lambda *at: y(*at) * 2.0)])
    np.testing.assert_allclose(results(transformed(func, 4)), results(func), rtol=1e-3, atol=1e-4)
