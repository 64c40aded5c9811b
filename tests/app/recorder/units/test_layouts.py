"""Where packed buffers hold their elements: against what the copy stores when it runs, and against the index map."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import msgspec
import numpy as np
import pytest

from app.artifacts import Layout
from app.recorder.units.layouts import block_layouts, schedule_layouts
from compiler import te, topi
from compiler.driver.build import build
from compiler.ir.expr.primexpr import IntImm, PrimExpr
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array
from compiler.te.definition.tensor import Tensor, TensorSlice
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc


def packed_weights(W: Tensor) -> Tensor:
    return te.compute((3, 5, 16, 4), lambda n, k, lane, q: W[n * 16 + lane, k * 4 + q], name="packed")


STAGES: list[tuple[tuple[int, ...], str, Callable[[Tensor], Tensor]]] = [
    ((48, 20), "int8", packed_weights),
    ((7, 48), "float32", lambda B: te.compute((3, 7, 16), lambda p, k, c: B[k, p * 16 + c], name="packed")),
    ((2, 24, 5, 3), "float32", lambda D: topi.layout_transform(D, "NCHW", "NCHW8c")),
    ((30, 16, 3, 2), "float16", lambda W: topi.layout_transform(W, "OIHW", "OIHW4i16o")),
    ((2, 5, 3, 4), "float32", lambda D: topi.transpose(D, (0, 2, 3, 1))),
    ((48,), "float32", lambda A: te.compute((3, 16), lambda p, c: A[c * 3 + p], name="packed")),
    ((48,), "float32", lambda A: te.compute((3, 16), lambda p, c: A[p * 16 + c], name="packed")),
]


def check_drawn_part(layout: Layout, place_of: dict[int, int]) -> None:
    """Compare the drawn part of a tensor with the place of each of its elements."""
    assert len(layout.offsets) == layout.rows * layout.columns
    strides = [prod(layout.shape[axis + 1 :]) for axis in range(len(layout.shape))]
    for row in range(layout.rows):
        for column in range(layout.columns):
            element = row * strides[layout.axes[0]] + column * strides[layout.axes[1]]
            assert layout.offsets[row * layout.columns + column] == place_of[element]


@pytest.mark.parametrize(("shape", "dtype", "pack"), STAGES)
def test_stages_store_elements_where_the_drawing_says(
    shape: tuple[int, ...], dtype: str, pack: Callable[[Tensor], Tensor]
) -> None:
    source = te.placeholder(shape, dtype, "source")
    packed = pack(source)
    schedule = te.create_schedule(packed.op)
    [layout] = schedule_layouts(schedule)
    sizes = [extent.value for extent in packed.shape if isinstance(extent, IntImm)]
    assert (layout.shape, layout.packed, layout.source, layout.dtype) == (list(shape), sizes, "source", dtype)
    result = np.zeros(sizes, np.int64)
    for digit in range(2):  # two runs, as an element of 8 bits has no room for its own number
        given = (np.arange(prod(shape)) + 1) // 100**digit % 100
        stored = array(np.zeros(sizes, dtype))
        build(schedule, [source, packed], "llvm")(array(given.reshape(shape).astype(dtype)), stored)
        result += stored.numpy().astype(np.int64) * 100**digit
    elements = (result.reshape(-1) - 1).tolist()  # -1 is padding
    assert layout.memory == elements[: len(layout.memory)]
    assert len(layout.memory) == min(len(elements), 1024 // layout.element)
    check_drawn_part(layout, {element: place for place, element in enumerate(elements) if element >= 0})


MAPS: list[Callable[..., tuple[object, ...]]] = [
    lambda i, j: (i // 8, j, i % 8),
    lambda i, j: (j // 16, i // 4, i % 4, j % 16),
    lambda i, j: (i, (j // 8 ^ i % 8) * 8 + j % 8),
]


@pytest.mark.parametrize("index_map", MAPS)
@pytest.mark.parametrize("where", ["copy", "result", "only"])
def test_layouts_of_programs_are_those_of_the_index_map(index_map: Callable[..., tuple[int, ...]], where: str) -> None:
    A = te.placeholder((32, 64), "float32", "A")
    B = te.compute((32, 64), lambda i, j: A[i, j] * 2.0, name="B")
    schedule = Schedule(te.create_prim_func([A, B]))
    block = schedule.get_block("B")
    if where == "copy":
        block = schedule.cache_read(block, 0, "global")
    elif where == "result":
        schedule.cache_write(block, 0, "global")
    schedule.transform_layout(block, ("write", 0), index_map, assume_injective_transform=True)
    [layout] = block_layouts(schedule.mod)
    assert layout.name == {"copy": "A_global", "result": "B_global", "only": "B"}[where]
    place_of = {
        i * 64 + j: int(np.ravel_multi_index(index_map(i, j), layout.packed)) for i in range(32) for j in range(64)
    }
    check_drawn_part(layout, place_of)
    element_at = {place: element for element, place in place_of.items()}
    assert layout.memory == [element_at[place] for place in range(256)]


def test_copies_in_their_own_order_are_no_layouts() -> None:
    A = te.placeholder((8, 16), "float32", "A")
    slices = te.compute((4, 16), lambda i, j: A[i + 2, j], name="part")
    padded = te.compute((10, 16), lambda i, j: te.if_then_else(te.all(i > 0, i < 9), A[i - 1, j], 0.0), name="padded")
    windows = te.compute((6, 3, 16), lambda i, r, j: A[i + r, j], name="windows")  # an element has several places
    for stage in (slices, padded, windows):
        assert schedule_layouts(te.create_schedule(stage.op)) == []
        assert block_layouts(IRModule.from_expr(te.create_prim_func([A, stage]))) == []


def test_a_copy_in_another_order_is_a_layout_as_a_stage_and_as_a_block() -> None:
    A = te.placeholder((8, 16), "float32", "A")
    turned = topi.transpose(A)
    [stage], [block] = (
        schedule_layouts(te.create_schedule(turned.op)),
        block_layouts(IRModule.from_expr(te.create_prim_func([A, turned]))),
    )
    assert (stage.offsets, stage.memory) == (block.offsets, block.memory)


def test_copies_that_are_no_layouts_of_programs() -> None:
    """The last of several elements stays, a place is not known before the program runs, a tensor is too large."""
    for store, shape in (
        ("B[vi] = A[vi, vk]", 8),
        ("B[vi] = A[vi, n]", 8),
        ("B[vi] = A[7 - vi // 2, n]", 8),
        ("B[vi] = A[vi // 2, vk]", 1 << 62),
        ("B[vk * 8 + vi] = A[vi, vk]", 1 << 62),
    ):
        program = from_source(f"""
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer(({shape},), "float32"), n: T.int32):
    for i, k in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            {store}
""")
        assert isinstance(program, PrimFunc)
        assert block_layouts(IRModule.from_expr(program)) == []


def _moved(i: PrimExpr, times: int) -> PrimExpr:
    """Return an index of a long text that is ``i``."""
    for _ in range(times):
        i = i // 2 * 2 + i % 2
    return i


def test_a_stage_that_takes_elements_apart_shows_where_they_were() -> None:
    A = te.placeholder((48,), "float32", "A")
    stage = te.compute((48,), lambda i: A[i % 2 * 24 + i // 2], name="stage")
    [layout] = schedule_layouts(te.create_schedule(stage.op))
    assert (layout.name, layout.source) == ("A", "stage")
    check_drawn_part(layout, {i: i % 2 * 24 + i // 2 for i in range(48)})


def test_a_source_of_many_axes_is_no_layout() -> None:
    A = te.placeholder((2,) * 13, "float32", "A")
    flat = te.compute((8192,), lambda i: A[tuple(i // 2**n % 2 for n in range(13))], name="flat")
    assert schedule_layouts(te.create_schedule(flat.op)) == []


STRANGE: list[tuple[str, tuple[int, ...], Callable[[Tensor], Callable[..., TensorSlice]], int]] = [
    ("b" * 300, (8, 16), lambda A: lambda i, j: A[j, i], 1),
    ("long_rule", (16, 16), lambda A: lambda i, j: A[_moved(j, 7), i], 1),
    ("many_axes", (2,) * 13, lambda A: lambda *axes: A[axes[::-1]], 0),
]


@pytest.mark.parametrize(("name", "shape", "rule", "drawn"), STRANGE, ids=["name", "rule", "axes"])
def test_names_rules_and_axes_of_any_length_are_in_an_answer_that_can_be_read(
    name: str, shape: tuple[int, ...], rule: Callable[[Tensor], Callable[..., TensorSlice]], drawn: int
) -> None:
    A = te.placeholder(shape, "float32", "a" * len(name))
    stage = te.compute(shape[::-1], rule(A), name=name)
    layouts = schedule_layouts(te.create_schedule(stage.op))
    assert len(layouts) == drawn
    assert msgspec.json.decode(msgspec.json.encode(layouts), type=list[Layout]) == layouts
