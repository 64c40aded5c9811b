"""Schedules of the hard operators: what is fused with them, what does not divide, other targets, unknown extents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import relay, te, tir, topi
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.relay.inference import infer_expr
from compiler.target.target import Target
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import PanelProduct
from compiler.topi.nn.matmul import batch_matmul, dense, dense_pack, matmul
from compiler.topi.schedules.anchor import find_anchor
from compiler.topi.schedules.kit import tile_lanes
from compiler.topi.schedules.x86.conv import packed_tile
from compiler.topi.schedules.x86.matmul import schedule_matmul
from compiler.topi.tag import Tag
from tests.compiler.relay.op.nn.harness import Array, check, random, variables
from tests.machines import require

nn = relay.nn
TARGETS = ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"]


def fused(call: Any, arrays: list[Array], after: Callable[[Any], list[Any]], results: list[Array]) -> None:
    """Compile an operator with the steps after it as one kernel and compare the results."""
    infer_expr(call)
    inputs = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(arrays)]
    with compiler.target.Target("llvm") as target:
        outputs = after(call.op.compute(call.attrs, inputs, call.checked_type)[0])
        schedule = call.op.schedule(call.attrs, outputs, target)
        function = compiler.build(schedule, [*inputs, *outputs], target=target)
    found = [compiler.nd.empty(r.shape, str(r.dtype)) for r in results]
    function(*[compiler.nd.array(a) for a in arrays], *found)
    for f, r in zip(found, results, strict=True):
        np.testing.assert_allclose(f.numpy(), r, rtol=1e-4, atol=1e-4)


def relu(t: Any) -> Any:
    return te.compute(t.shape, lambda *i: te.max(t(*i), tir.const(0, t.dtype)), name="relu", tag="elemwise")


def doubled(t: Any) -> Any:
    return te.compute(t.shape, lambda *i: t(*i) * 2, name="doubled", tag="elemwise")


HARD = [
    (lambda x, w: nn.conv2d(x, w, padding=1), [(1, 6, 7, 9), (10, 6, 3, 3)]),
    (lambda x, w: nn.conv2d(x, w, padding=1, strides=2), [(1, 6, 17, 16), (8, 6, 3, 3)]),
    (lambda x, w: nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"), [(1, 7, 9, 6), (3, 3, 6, 20)]),
    (lambda x, w: nn.conv2d(x, w, groups=8), [(2, 8, 9, 20), (8, 1, 3, 3)]),
    (lambda x, w: nn.conv2d_transpose(x, w, strides=2), [(1, 6, 5, 4), (6, 4, 3, 3)]),
    (nn.dense, [(3, 16), (10, 16)]),
    (nn.dense, [(45, 20), (37, 20)]),
    (nn.dense, [(2, 3, 15), (64, 15)]),
    (nn.batch_matmul, [(3, 9, 10), (3, 18, 10)]),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("make", "shapes"), HARD)
def test_steps_after_the_hardest_one(make: Any, shapes: Any) -> None:
    arrays = [random(*s) for s in shapes]
    call = make(*variables(arrays))
    plain = call.op.reference(call.attrs, *arrays)
    fused(call, arrays, lambda t: [relu(doubled(t))], [np.maximum(plain * 2, 0)])
    fused(call, arrays, lambda t: [t, relu(t)], [plain, np.maximum(plain, 0)])


@pytest.mark.parametrize("target", TARGETS)
def test_other_targets(target: str) -> None:
    require(target)
    for make, shapes in (HARD[0], HARD[2], HARD[5], HARD[6]):
        check(make, [random(*s) for s in shapes], tolerance=1e-4, target=target)


@pytest.mark.sample(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("shape", "kernel", "groups"),
    [
        ((1, 3, 11, 17), (8, 3, 3, 3), 1),
        ((1, 24, 5, 2), (40, 24, 1, 1), 1),
        ((2, 16, 9, 30), (32, 16, 3, 3), 1),
        ((1, 8, 5, 7), (48, 8, 3, 3), 1),
        ((1, 4, 3, 3), (80, 4, 3, 3), 1),
        ((1, 32, 9, 31), (32, 1, 3, 3), 32),
        ((1, 12, 5, 7), (96, 4, 3, 3), 3),
        ((2, 64, 5, 7), (32, 32, 1, 1), 2),
        ((1, 58, 5, 6), (20, 58, 3, 3), 1),
        ((1, 29, 9, 13), (29, 1, 3, 3), 29),
    ],
)
def test_convolution_in_the_layout_of_the_target(target: str, shape: Any, kernel: Any, groups: int) -> None:
    require(target)
    x, w = random(*shape), random(*kernel)
    call = nn.conv2d(*variables([x, w]), padding=1, strides=(1, 1), groups=groups)
    infer_expr(call)
    packed = call.op.alter_layout(call, [a.checked_type for a in call.args], compiler.target.Target(target))
    assert packed.op.name == f"nn.contrib_{'depthwise_' if groups == shape[1] else ''}conv2d_NCHWc"
    blocked = [layout(packed.attrs.data_layout).from_plain(x, "NCHW")]
    blocked.append(layout(packed.attrs.kernel_layout).from_plain(w, "OIHW"))
    found = check(lambda *a: packed.op(*a, **packed.attrs), blocked, tolerance=1e-4, target=target)[0]
    wanted = call.op.reference(call.attrs, x, w)
    np.testing.assert_allclose(layout(packed.attrs.out_layout).to_plain(found, "NCHW"), wanted, rtol=1e-4, atol=1e-4)


def test_blocks_are_as_wide_as_vectors() -> None:
    call = nn.conv2d(relay.var("x", shape=(1, 24, 8, 8)), relay.var("w", shape=(64, 24, 3, 3)))
    infer_expr(call)
    types = [a.checked_type for a in call.args]
    found = {t: call.op.alter_layout(call, types, compiler.target.Target(t)).attrs for t in TARGETS[1:]}
    assert [a.data_layout for a in found.values()] == ["NCHW8c", "NCHW4c"]
    assert [a.kernel_layout for a in found.values()] == ["OIHW8i8o", "OIHW4i4o"]
    wide = call.op.alter_layout(call, types, compiler.target.Target("llvm -mcpu=skylake-avx512 -mattr=-prefer-256-bit"))
    assert (wide.attrs.data_layout, wide.attrs.kernel_layout) == ("NCHW24c", "OIHW24i16o")


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize(("channels", "block"), [(116, 29), (120, 40), (36, 12)])
def test_blocks_that_divide_the_channels_are_of_full_vectors_but_for_the_last(
    channels: int, block: int, depthwise: bool
) -> None:
    with Target("llvm -mcpu=skylake-avx512 -mattr=-prefer-256-bit") as target:
        shapes = (1, channels, 5, 9), (channels, 1 if depthwise else channels, 3, 3)
        call = nn.conv2d(*(relay.var("x", shape=s) for s in shapes), groups=channels if depthwise else 1)
        infer_expr(call)
        packed = call.op.alter_layout(call, [a.checked_type for a in call.args], target)
        names = (packed.attrs.data_layout, packed.attrs.kernel_layout)
        assert names == (f"NCHW{block}c", f"OIHW{1 if depthwise else block}i{block}o")
        inputs = [
            te.placeholder(layout(n).shape(dict(zip(letters, s, strict=True))), name="x")
            for n, letters, s in zip(names, ("NCHW", "OIHW"), shapes, strict=True)
        ]
        call = packed.op(*(relay.var("x", shape=i.shape) for i in inputs), **packed.attrs)
        infer_expr(call)
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        function = compiler.build(call.op.schedule(call.attrs, outputs, target), [*inputs, *outputs], target=target)
    products = re.findall(r"vfmadd\d+([ps])s", function.get_source("asm"))
    assert products.count("s") <= len(products) // 50, "sums of wide vectors would be in single elements"


def test_convolutions_that_stay_as_they_are() -> None:
    target = compiler.target.Target("llvm")

    def altered(data: Any, weight: Any, **attrs: Any) -> Any:
        call = nn.conv2d(relay.var("x", shape=data), relay.var("w", shape=weight), **attrs)
        infer_expr(call)
        return call.op.alter_layout(call, [a.checked_type for a in call.args], target)

    assert altered((1, 3, 8, 8), (3, 3, 3, 3)) is None
    assert altered((1, 8, 8, 8), (8, 2, 3, 3), groups=4) is None
    assert altered((1, 8, 8, 8), (3, 3, 8, 8), data_layout="NHWC", kernel_layout="HWIO") is None


ANY = "?"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("make", "shapes", "size"),
    [
        (lambda x, w: nn.conv2d(x, w, padding=1), [(ANY, 3, 8, 8), (8, 3, 3, 3)], 3),
        (lambda x, w: nn.conv2d(x, w, padding=1, strides=2), [(1, 3, ANY, ANY), (8, 3, 3, 3)], 9),
        (nn.dense, [(ANY, 32), (10, 32)], 5),
        (nn.dense, [(3, ANY), (10, ANY)], 5),
        (nn.batch_matmul, [(2, ANY, 16), (2, ANY, 16)], 5),
        (lambda x, w: nn.batch_matmul(x, w, transpose_b=False), [(ANY, 7, ANY), (ANY, ANY, 10)], 6),
    ],
)
def test_extents_that_only_the_program_knows(make: Any, shapes: Any, size: int) -> None:
    arrays = [random(*[size if d == ANY else d for d in s]) for s in shapes]
    n = te.size_var("n")
    call = make(*[relay.var("x", shape=[relay.Any() if d == ANY else d for d in s]) for s in shapes])
    infer_expr(call)
    inputs = [te.placeholder([n if d == ANY else d for d in s], name=f"x{i}") for i, s in enumerate(shapes)]
    with compiler.target.Target("llvm") as target:
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        function = compiler.build(call.op.schedule(call.attrs, outputs, target), [*inputs, *outputs], target=target)
    wanted = call.op.reference(call.attrs, *arrays)
    found = compiler.nd.empty(wanted.shape)
    function(*[compiler.nd.array(a) for a in arrays], found)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_known_weights_of_many_rows_stand_in_panels() -> None:
    target = compiler.target.Target("llvm")

    def altered(rows: Any, units: int, known: bool) -> Any:
        weight = relay.const(random(units, 20)) if known else relay.var("w", shape=(units, 20))
        call = nn.dense(relay.var("x", shape=(rows, 20)), weight)
        infer_expr(call)
        return call.op.alter_layout(call, [a.checked_type for a in call.args], target)

    assert altered(64, 32, True).attrs.weight_layout == "NC16n"
    assert altered(relay.Any(), 32, True) is not None
    assert altered(64, 12, True).attrs.units == 12
    assert altered(64, 32, False) is altered(1, 32, True) is altered(64, 11, True) is None
    x, w = random(64, 20), random(32, 20)
    packed = layout("NC16n").from_plain(w, "NC")
    check(lambda d, k: nn.contrib_dense_pack(d, k, "NC16n"), [x, packed], x @ w.T, 1e-4)


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "is_copied"),
    [
        (32, 1024, 1024, True),  # lines of one column stand in few sets of the second cache
        (31, 1024, 1024, False),
        (32, 1040, 1024, False),  # in all of them
        (32, 1024, 128, False),
        (128, 1040, 1024, True),  # from afar, and for many rows
        (127, 1040, 1024, False),
        (128, 512, 512, False),
        (128, 16, 1 << 16, False),  # a panel already
        (32, 1 << 16, 8, False),  # rows so far apart that all lines of a column stand in one set
        (32, 1 << 16, 9, True),
    ],
)
def test_columns_are_copied_into_panels_where_the_second_cache_would_not_keep_them(
    rows: int, columns: int, depth: int, is_copied: bool
) -> None:
    assert _has_panels(rows, columns, depth, "skylake-avx512") == is_copied


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "is_copied"),
    [
        (32, 512, 17, True),
        (32, 512, 16, False),  # the first cache has room for it
        (31, 512, 512, False),
        (32, 16, 1024, False),  # a panel already
    ],
)
def test_columns_are_copied_where_registers_hold_a_tile_of_one_line(
    rows: int, columns: int, depth: int, is_copied: bool
) -> None:
    assert _has_panels(rows, columns, depth, "haswell") == is_copied


def _has_panels(rows: int, columns: int, depth: int, mcpu: str) -> bool:
    args = [te.placeholder(shape, name=name) for name, shape in (("a", (rows, depth)), ("b", (depth, columns)))]
    with Target(f"llvm -mcpu={mcpu}") as target:
        product = matmul(*args)
        return "panels" in str(compiler.lower(schedule_matmul(None, [product], target), [*args, product]))


def test_panels_are_copied_along_the_rows_of_the_weight() -> None:
    args = [te.placeholder(shape, name=name) for name, shape in (("a", (128, 512)), ("b", (512, 768)))]
    with Target("llvm -mcpu=skylake-avx512") as target:
        product = matmul(*args)
        text = str(compiler.lower(schedule_matmul(None, [product], target), [*args, product]))
    assert "for k, p in T.grid(512, 3):" in text


@pytest.mark.parametrize(
    ("columns", "depth", "mcpu", "together"),
    [
        (1024, 768, "haswell", 4),
        (2048, 256, "haswell", 4),
        (4096, 256, "skylake-avx512", 1),
        (1024, 769, "haswell", 2),  # the second cache has room for three panels
        (1024, 2048, "haswell", 1),
        (512, 768, "haswell", 2),  # work for 16 cores
        (496, 768, "haswell", 1),
        (1008, 768, "haswell", 3),
        (1000, 768, "haswell", 1),  # the last panel is cut
        (1024, 768, "skylake-avx512", 1),  # a tile of four panels
    ],
)
def test_rows_are_multiplied_with_some_panels_before_the_next_rows_are(
    columns: int, depth: int, mcpu: str, together: int
) -> None:
    arrays = [random(50, depth), random(depth, columns)]
    args = [te.placeholder(array.shape, name=name) for name, array in zip("ab", arrays, strict=True)]
    with Target(f"llvm -mcpu={mcpu}") as target:
        product = matmul(*args)
        schedule = schedule_matmul(None, [product], target)
    text = str(compiler.lower(schedule, [*args, product]))
    passes = re.search(r"j_outer_inner in T.grid\(\d+, (\d)\):", text)
    assert ("j_outer_inner" in text) == (together > 1) == (passes is not None)
    assert passes is None or int(passes[1]) == together
    found = compiler.nd.empty((50, columns))
    compiler.build(schedule, [*args, product], "llvm")(*map(compiler.nd.array, arrays), found)
    np.testing.assert_allclose(found.numpy(), arrays[0] @ arrays[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("batch", "together"), [(1, 1), (4, 2), (16, 4)])
def test_matrices_of_a_batch_are_work_for_cores_as_well(batch: int, together: int) -> None:
    x, y = random(batch, 48, 96), random(batch, 96, 128)
    args = [te.placeholder(array.shape, name=name) for name, array in (("x", x), ("y", y))]
    with Target("llvm -mcpu=haswell") as target:
        product = batch_matmul(*args, transpose_b=False)
        text = str(compiler.lower(schedule_matmul(None, [product], target), [*args, product]))
    passes = re.search(r"j_outer_inner in T.grid\(\d+, (\d)\):", text)
    assert ("j_outer_inner" in text) == (together > 1) == (passes is not None)
    assert passes is None or int(passes[1]) == together
    check(lambda a, b: nn.batch_matmul(a, b, transpose_b=False), [x, y], x @ y, 1e-4)


@pytest.mark.parametrize(
    ("rows", "columns", "width"),
    [
        (32, 1000, 16),
        (31, 1000, 8),
        (32, 120, 16),
        (32, 196, 16),
        (32, 64, 16),
        (32, 40, 8),
        (32, 36, 16),
        (31, 36, 4),
        (32, 12, 4),
        (32, 37, 16),
        (32, 7, 8),
    ],
)
def test_panels_are_as_wide_as_vectors_where_few_lanes_are_wasted(rows: int, columns: int, width: int) -> None:
    a, b = random(rows, 20), random(20, columns)
    args = [te.placeholder(x.shape, name=name) for name, x in (("a", a), ("b", b))]
    with Target("llvm") as target:
        product = matmul(*args)
        schedule = schedule_matmul(None, [product], target)
        found = compiler.nd.empty((rows, columns))
        compiler.build(schedule, [*args, product], target=target)(compiler.nd.array(a), compiler.nd.array(b), found)
    assert PanelProduct.of(find_anchor([product], {Tag.MATMUL_PANELS}, "schedule_matmul")).width == width
    np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("target", "rows", "units", "dtype", "tile"),
    [
        ("skylake-avx512", 128, 768, "float32", (8, 3)),  # no row is left over
        ("skylake-avx512", 128, 512, "float32", (6, 4)),  # two are, which costs less than tiles of four
        ("skylake-avx512", 4, 768, "float32", (4, 6)),
        ("skylake-avx512", 1, 768, "float32", (1, 3)),
        ("skylake-avx512", None, 512, "float32", (6, 4)),
        ("skylake-avx512", 1024, 512, "float64", (6, 2)),
        ("haswell", 128, 768, "float32", (6, 1)),
        ("x86-64", 197, 768, "float32", (2, 1)),  # with three, sums and a row of the weight would fill the registers
        ("x86-64", 197, 768, "float64", (1, 1)),
    ],
)
def test_tiles_of_products_have_many_sums_and_leave_few_rows_over(
    target: str, rows: int | None, units: int, dtype: str, tile: tuple[int, int]
) -> None:
    shapes = (("x", (rows or te.var("n"), 64)), ("w", (units // 16, 64, 16)))
    inputs = [te.placeholder(s, dtype, n) for n, s in shapes]
    with Target(f"llvm -mcpu={target} -mattr=-prefer-256-bit") as current:
        product = dense_pack(*inputs)
        stage = schedule_matmul(None, [product], current)[product]
    columns, height, *_ = (relation.factor for relation in stage.relations if hasattr(relation, "factor"))
    assert (height, columns // 16) == tile


@pytest.mark.parametrize(
    ("target", "places"),
    [
        ("llvm -mcpu=haswell", ["+ 768])", "w_1[j_outer * 32768 + i_outer * 4096 + k // 8 * 16 + 32768])"]),
        ("llvm -mtriple=aarch64-linux-gnu", []),
    ],
)
def test_the_weight_of_a_product_is_fetched_ahead_where_that_was_measured(target: str, places: list[str]) -> None:
    """Before a row of the panel is multiplied, and, while eight tiles are, an eighth of the next panel by each."""
    inputs = [te.placeholder(s, name=n) for n, s in (("x", (48, 2048)), ("w", (64, 2048, 16)))]
    with Target(target):
        call = nn.contrib_dense_pack(*(relay.var(i.name, shape=i.shape) for i in inputs), weight_layout="NC16n")
        infer_expr(call)
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        schedule = call.op.schedule(call.attrs, outputs, Target(target))
    hints = re.findall(r"T\.prefetch\(.*", str(compiler.lower(schedule, [*inputs, *outputs])))
    assert len(hints) == len(places)
    assert all(place in hint for place, hint in zip(places, hints, strict=True)), "48 rows, and a panel"


@pytest.mark.parametrize(
    ("cpu", "dtype", "columns", "count"),
    [("haswell", "float32", 1024, 1), ("haswell", "float32", 256, 0), ("sapphirerapids", "bfloat16", 2048, 0)],
)
def test_what_is_packed_next_is_fetched_where_it_is_far_away(cpu: str, dtype: str, columns: int, count: int) -> None:
    """A weight of four megabytes, one that the second cache keeps, and one that is multiplied in tile registers."""
    inputs = [te.placeholder(s, dtype, name=n) for n, s in (("x", (48, 1024)), ("w", (columns, 1024)))]
    with Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}") as target:
        call = nn.dense(*(relay.var(i.name, shape=i.shape, dtype=dtype) for i in inputs), out_dtype="float32")
        infer_expr(call)
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        schedule = call.op.schedule(call.attrs, outputs, target)
    text = str(compiler.lower(schedule, [*inputs, *outputs]))
    hints = re.findall(r"T\.prefetch\(T\.address_of\(w_1\[(.*)\]\)", text)
    assert len(hints) == count
    assert all(re.fullmatch(r"j_outer\w* \* (\d+) .* \+ \1", hint) for hint in hints), "of the next panels"


@pytest.mark.sample(5)
@pytest.mark.parametrize("cpu", ["generic", "cortex-a53", "neoverse-n1", "apple-m1"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.dense(relay.var("x", shape=(60, 96)), relay.var("w", shape=(64, 96))),
        lambda: nn.batch_matmul(relay.var("x", shape=(2, 60, 64)), relay.var("w", shape=(2, 64, 64))),
        lambda: nn.conv1d(relay.var("x", shape=(1, 32, 240)), relay.var("w", shape=(16, 32, 9)), padding=4),
    ],
)
def test_sums_are_in_most_of_the_registers_of_arm_and_not_in_memory(make: Callable[[], Any], cpu: str) -> None:
    """Apple's cores begin four additions a cycle, each of which takes four: fewer than 16 sums leave them waiting."""
    call = make()
    function = relay.Function(call.args, call)
    target = f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}"
    text = relay.build(IRModule.from_expr(function), target).lib.get_source("asm")
    hot = max(re.split(r"^\.\w+:", text, flags=re.MULTILINE), key=lambda block: block.count("fmla"))
    assert len(set(re.findall(r"fmla\s+(v\d+)\.4s", hot))) >= 16
    assert "[sp" not in hot


def test_all_columns_of_tall_products_are_computed_from_rows_in_the_first_cache() -> None:
    arrays = [random(200, 24), random(3, 24, 16)]
    inputs = [te.placeholder(a.shape, name="x") for a in arrays]
    with Target("llvm -mcpu=haswell") as target:
        product = dense_pack(*inputs)
        text = str(compiler.lower(schedule_matmul(None, [product], target), [*inputs, product]))
    assert text.index("in T.parallel(33)") < text.index("for j_outer in range(3)"), (
        "tiles of six rows do not divide 200"
    )
    assert "prefetch" not in text
    expected = arrays[0] @ layout("NC16n").to_plain(arrays[1], "NC").T
    check(lambda x, w: nn.contrib_dense_pack(x, w, "NC16n"), arrays, expected, 1e-4)


def _packed(channels: int, filters: int, size: int, kernel: int, lanes: int, groups: int = 1) -> Any:
    """Return a convolution whose channels are in blocks of as many as a vector has."""
    names = {"data_layout": f"NCHW{lanes}c", "out_layout": f"NCHW{lanes}c"}
    data = relay.var("x", shape=(1, channels // lanes, size, size, lanes))
    inner = (1, kernel, kernel, 1, lanes) if groups > 1 else (channels // lanes, kernel, kernel, lanes, lanes)
    weight = relay.var("w", shape=(filters // lanes, *inner))
    make = nn.contrib_depthwise_conv2d_nchwc if groups > 1 else nn.contrib_conv2d_nchwc
    names["kernel_layout"] = f"OIHW1i{lanes}o" if groups > 1 else f"OIHW{lanes}i{lanes}o"
    padding = kernel // 2
    return make(data, weight, kernel_size=(kernel, kernel), padding=padding, channels=filters, groups=groups, **names)


def _lowered(call: Any, target: Target) -> str:
    """Return the loops of a call as it is scheduled."""
    infer_expr(call)
    inputs = [te.placeholder([int(d) for d in a.checked_type.shape], name="x") for a in call.args]
    outputs = call.op.compute(call.attrs, inputs, call.checked_type)
    return str(compiler.lower(call.op.schedule(call.attrs, outputs, target), [*inputs, *outputs]))


@pytest.mark.parametrize("cpu", ["llvm -mcpu=skylake-avx512", "llvm -mcpu=haswell", "llvm -mtriple=aarch64-linux-gnu"])
@pytest.mark.parametrize(
    "make",
    [
        lambda lanes: _packed(32, 16, 112, 1, lanes),
        lambda lanes: _packed(96, 32, 56, 1, lanes),
        lambda lanes: _packed(576, 96, 14, 1, lanes),
        lambda lanes: _packed(960, 160, 7, 1, lanes),
        lambda lanes: _packed(512, 512, 7, 3, lanes),
        lambda lanes: _packed(144, 144, 28, 3, lanes, groups=144),
        lambda lanes: _packed(192, 192, 10, 3, lanes, groups=192),
        lambda lanes: nn.contrib_dense_pack(
            relay.var("x", shape=(48, 512)), relay.var("w", shape=(6, 512, 2 * lanes)), f"NC{2 * lanes}n"
        ),
        lambda lanes: nn.contrib_dense_pack(
            relay.var("x", shape=(1, 768)), relay.var("w", shape=(256 // lanes, 768, 2 * lanes)), f"NC{2 * lanes}n"
        ),
        lambda lanes: nn.dense(relay.var("x", shape=(128, 768)), relay.var("w", shape=(128, 768))),
        lambda lanes: nn.batch_matmul(relay.var("x", shape=(2, 128, 64)), relay.var("y", shape=(2, 128, 64))),
        lambda lanes: nn.conv1d(relay.var("x", shape=(1, 32, 3760)), relay.var("w", shape=(16, 32, 9)), padding=4),
    ],
)
def test_there_is_a_part_for_each_of_many_cores(make: Callable[[int], Any], cpu: str) -> None:
    """A loop of few iterations, such as those over tiles of output channels, would leave most cores without work."""
    with Target(cpu) as target:
        text = _lowered(make(tile_lanes(target, "float32")), target)
    parallel = [int(count) for count in re.findall(r"T\.parallel\((\d+)\)", text)]
    assert min(parallel, default=1) >= 8


@pytest.mark.parametrize(
    "make",
    [
        lambda: _packed(16, 16, 8, 1, 16),
        lambda: _packed(16, 16, 8, 3, 16, groups=16),
        lambda: nn.conv1d(relay.var("x", shape=(1, 4, 100)), relay.var("w", shape=(4, 4, 3))),
        lambda: nn.dense(relay.var("x", shape=(16, 64)), relay.var("w", shape=(64, 64))),
    ],
)
def test_small_kernels_stay_on_one_core(make: Callable[[], Any]) -> None:
    """They take a few microseconds, and other cores may take longer to wake."""
    with Target("llvm -mcpu=skylake-avx512") as target:
        assert "T.parallel" not in _lowered(make(), target)


class Schedules(Instrument):
    """Counts the schedules that are created."""

    def __init__(self) -> None:
        self.created: list[te.Schedule] = []

    def schedule_created(self, schedule: te.Schedule) -> None:
        self.created.append(schedule)


@pytest.mark.parametrize(("depth", "columns", "at_once"), [(1040, 1152, 576), (1040, 1040, None), (1000, 512, None)])
def test_a_row_is_multiplied_with_a_large_weight_along_its_rows(depth: int, columns: int, at_once: int | None) -> None:
    x, w = random(1, depth), random(depth, columns)
    fused(nn.matmul(*variables([x, w])), [x, w], lambda t: [relu(t)], [np.maximum(x @ w, 0)])
    a, b = te.placeholder(x.shape, name="a"), te.placeholder(w.shape, name="b")
    with Target("llvm -mcpu=skylake-avx512") as target:
        product = matmul(a, b)
        text = str(compiler.lower(schedule_matmul(None, [product], target), [a, b, product]))
    lanes = tile_lanes(target, "float32")
    sums = {int(n) for n in re.findall(rf"T.allocate\(\[(\d+)\], \"float32x{lanes}\"", text)}
    assert ({at_once // lanes} if at_once else set()) == {n for n in sums if n > 16}, text


@pytest.mark.parametrize(("units", "columns"), [(512, 4), (513, 1)])
def test_a_row_is_multiplied_with_one_column_after_another_of_a_weight_from_afar(units: int, columns: int) -> None:
    x, w = te.placeholder((1, 512), name="x"), te.placeholder((units, 512), name="w")
    with Target("llvm -mcpu=skylake-avx512") as target:
        product = dense(x, w)
        text = str(compiler.lower(schedule_matmul(None, [product], target), [x, w, product]))
    sums = re.search(r"parts = T.allocate\(\[(\d+)\]", text)
    assert sums is not None
    assert int(sums[1]) == 16 * columns, "vectors of 16 sums"


def test_the_anchor_is_found_before_there_is_a_schedule() -> None:
    a, b = te.placeholder((40, 24), name="a"), te.placeholder((24, 48), name="b")
    product = matmul(a, b)
    out = relu(product)
    anchor = find_anchor([out], [Tag.MATMUL_PANELS], "schedule_matmul")
    assert anchor is product.op
    assert PanelProduct.of(anchor) == PanelProduct(width=16, is_shared=True, is_cut=False)
    schedules = Schedules()
    with instrumented(schedules):
        schedule = topi.x86.schedule_dense(out, "llvm -mcpu=haswell")
    assert schedules.created == [schedule]
    with pytest.raises(TVMError, match=r"schedule_conv: expected a computation tagged 'conv_packed', .* got panels"):
        topi.x86.schedule_conv2d_nchw(out)


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "llvm -mcpu=skylake-avx512 -mattr=-prefer-256-bit"])
@pytest.mark.parametrize("width", [7, 14, 56])
@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
def test_tiles_of_packed_convolutions_stay_in_registers(blocks: int, width: int, target: str) -> None:
    with Target(target) as chosen:
        lanes = tile_lanes(chosen)
        names = {"data_layout": "NCHW4c", "kernel_layout": f"OIHW4i{lanes}o", "out_layout": f"NCHW{lanes}c"}
        types = [((1, 16, 3, width, 4), "float32"), ((blocks, 16, 1, 1, 4, lanes), "float32")]
        call = nn.contrib_conv2d_nchwc(*[relay.var("x", shape=s, dtype=d) for s, d in types], kernel_size=1, **names)
        infer_expr(call)
        inputs = [te.placeholder(shape, dtype, name="x") for shape, dtype in types]
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        function = compiler.build(call.op.schedule(call.attrs, outputs, chosen), [*inputs, *outputs], target=chosen)
    assert not re.findall(r"vmov[au]ps\t%[yz]mm\d+, -?\d*\(%rsp\)", function.get_source("asm"))


@pytest.mark.parametrize(("blocks", "width", "tile"), [(25, 7, (5, 4)), (24, 7, (3, 7)), (25, 14, (1, 14))])
def test_blocks_of_narrow_images_that_three_does_not_divide(blocks: int, width: int, tile: tuple[int, int]) -> None:
    target = Target("llvm -mcpu=skylake-avx512 -mattr=-prefer-256-bit")
    assert packed_tile(blocks, 16, width, target, adds_pairs=False) == tile


@pytest.mark.parametrize(
    ("cpu", "inputs", "blocks", "sums"),
    [("znver4", 4, 6, 6), ("znver4", 4, 9, 6), ("znver4", 5, 6, 21), ("alderlake", 4, 6, 4)],
)
def test_few_products_of_bytes_are_summed_in_small_tiles(cpu: str, inputs: int, blocks: int, sums: int) -> None:
    names = {"data_layout": "NCHW16c", "kernel_layout": "OIHW4i16o4i", "out_layout": "NCHW16c", "out_dtype": "int32"}
    types = [((1, inputs, 8, 56, 16), "uint8"), ((blocks, inputs, 1, 1, 4, 16, 4), "int8")]
    with Target(f"llvm -mcpu={cpu}") as target:
        call = nn.contrib_conv2d_nchwc(*[relay.var("x", shape=s, dtype=d) for s, d in types], kernel_size=1, **names)
        infer_expr(call)
        given = [te.placeholder(shape, dtype, name="x") for shape, dtype in types]
        outputs = call.op.compute(call.attrs, given, call.checked_type)
        text = str(compiler.lower(call.op.schedule(call.attrs, outputs, target), [*given, *outputs]))
    assert {int(n) for n in re.findall(r"T\.allocate\(\[(\d+)\], \"int32x\d+\"", text)} == {sums}


@pytest.mark.parametrize(("blocks", "stride"), [(2, 1), (3, 2), (80, 1)])
def test_images_of_depthwise_convolutions_are_padded_by_strips(blocks: int, stride: int) -> None:
    arrays = [random(1, blocks, 60, 52, 8), random(blocks, 1, 3, 3, 1, 8)]
    names = {"data_layout": "NCHW8c", "kernel_layout": "OIHW1i8o", "out_layout": "NCHW8c"}
    size = {"channels": blocks * 8, "groups": blocks * 8, "kernel_size": 3, "padding": (1, 0, 2, 1), "strides": stride}

    def make(*given: Any) -> Any:
        return nn.contrib_depthwise_conv2d_nchwc(*given, **size, **names)

    call = make(*variables(arrays))
    infer_expr(call)
    inputs = [te.placeholder(a.shape, "float32", name="x") for a in arrays]
    with Target("llvm -mcpu=haswell") as target:
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        text = str(compiler.lower(call.op.schedule(call.attrs, outputs, target), [*inputs, *outputs]))
    (vectors,) = re.findall(r"data_pad = T\.allocate\(\[(\d+)\], \"float32x8\"", text)
    assert 3 * 53 < int(vectors) <= 2 * 1.25 * 65536 / 32, "a whole image has 3339 vectors for each block"
    assert text.index("T.parallel") < text.index("data_pad = ")
    if blocks < 80:
        check(make, arrays, tolerance=1e-4)


@pytest.mark.parametrize(("target", "half"), [("llvm -mcpu=haswell", 8 * 8), ("llvm -mcpu=skylake-avx512", 16 * 16)])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8])
def test_partial_sums_of_few_rows_take_half_of_the_registers(rows: int, target: str, half: int) -> None:
    a, b = te.placeholder((1, rows, 64), name="a"), te.placeholder((1, 32, 64), name="b")
    with Target(target):
        product = topi.nn.batch_matmul(a, b)
        text = str(compiler.lower(topi.x86.schedule_batch_matmul([product]), [a, b, product]))
    (sums,) = re.findall(r"parts = T\.allocate\(\[(\d+)\]", text)
    assert 0 < int(sums) <= half


@pytest.mark.parametrize("channels", [37, 53])
def test_tiles_of_rows_have_many_channels_whatever_number_there_is(channels: int) -> None:
    arrays = [random(1, 11, 50), random(channels, 11, 5)]
    call = nn.conv1d(*variables(arrays), padding=2)
    infer_expr(call)
    inputs = [te.placeholder(a.shape, name="x") for a in arrays]
    with Target("llvm -mcpu=haswell") as chosen:
        schedule = call.op.schedule(call.attrs, call.op.compute(call.attrs, inputs, call.checked_type), chosen)
    factors = [int(number) for p in schedule.primitives for number in re.findall(r"factor=(\d+)", p.label)]
    assert factors[0] >= 6, "the channels are split first"
    check(lambda x, w: nn.conv1d(x, w, padding=2), arrays, tolerance=1e-4)


@pytest.mark.parametrize(
    ("size", "stride", "blocks", "rows"), [(7, 1, 6, 2), (14, 2, 6, 2), (23, 1, 6, 6), (9, 1, 1, 0)]
)
def test_weights_that_fill_the_first_cache_are_multiplied_with_rows_in_parts(
    size: int, stride: int, blocks: int, rows: int
) -> None:
    data, kernel = random(2, blocks, size, size, 16), random(4, blocks, 3, 3, 16, 16)
    names = {"data_layout": "NCHW16c", "kernel_layout": "OIHW16i16o", "out_layout": "NCHW16c"}
    make = lambda x, w: nn.contrib_conv2d_nchwc(x, w, padding=1, strides=stride, kernel_size=(3, 3), **names)  # noqa: E731
    call = make(*variables([data, kernel]))
    infer_expr(call)
    inputs = [te.placeholder(a.shape, name="x") for a in (data, kernel)]
    with Target("llvm -mcpu=skylake-avx512") as chosen:
        outputs = call.op.compute(call.attrs, inputs, call.checked_type)
        text = str(compiler.lower(call.op.schedule(call.attrs, outputs, chosen), [*inputs, *outputs]))
    assert re.findall(r"for ic_outer, h_c.* in T\.grid\(\d+, (\d+)", text) == [str(rows)] * (rows > 0)
    assert bool(re.search(r"T\.prefetch\(.*ic_outer \* 2304 \+ h_c .* \+ 2304\]", text)) == (rows > 0), "the next part"
    check(make, [data, kernel], tolerance=1e-4)
