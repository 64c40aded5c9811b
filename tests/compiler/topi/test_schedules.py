"""Schedules of groups without one of their own: what they look like, and that they compute the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler
import compiler as tvm
from compiler import te, topi
from compiler.arith import Analyzer
from compiler.target import Target
from compiler.te.lowering.message_passing import pass_down_domain
from compiler.topi import extrema
from compiler.topi.nn.pad import pad_edge, pad_reflect, pad_wrap
from compiler.topi.schedules import schedule_injective, schedule_reduce, schedule_rule_for
from compiler.topi.schedules.kit import parallel, partition_partial_tile
from compiler.topi.tag import OpPattern

TARGET = Target("llvm -mcpu=haswell")
"""Eight lanes of float32."""


def _run(rule: Any, inputs: list[Any], outputs: list[Any]) -> tuple[str, list[Any], list[Any]]:
    """Return the loops, random arguments and the results."""
    text = str(compiler.lower(rule(outputs, TARGET), [*inputs, *outputs])["main"])
    function = compiler.build(rule(outputs, Target("llvm")), [*inputs, *outputs], target="llvm")
    rng = np.random.default_rng(0)
    arrays = [rng.random([int(d) for d in t.shape]).astype(t.dtype) for t in inputs]
    results = [compiler.nd.empty([int(d) for d in t.shape], t.dtype) for t in outputs]
    function(*map(compiler.nd.array, arrays), *results)
    return text, arrays, [r.numpy() for r in results]


def test_cheap_steps_are_inlined_and_loops_are_parallel_and_vectors() -> None:
    x = te.placeholder((64, 64, 24), name="x")
    text, (a,), (found,) = _run(schedule_injective, [x], [topi.add(topi.multiply(x, 2.0), 1.0)])
    assert text.count("T.parallel") == 1, "nothing is stored on the way"
    assert "T.Broadcast(T.float32(2.0), 8)" in text
    np.testing.assert_allclose(found, a * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "iterations"),
    [
        ((2, 128), 2 * 32),
        ((3, 7, 5), 3 * 7 * 5),
        ((100, 128), 100),
        ((5, 1 << 40), 5 * 16),
        ((5, 2147483647), 5 * 2147483647),
        ((0, 8), None),
        ((1, 1), None),
    ],
)
def test_of_the_last_loop_that_is_fused_there_are_as_few_parts_as_it_takes(
    shape: tuple[int, ...], iterations: int | None
) -> None:
    """A loop whose iterations cannot be divided by about what is needed, such as a large prime, is fused as a whole."""
    y = topi.exp(te.placeholder(shape, name="x"))
    stage = te.create_schedule(y.op)[y]
    loop = parallel(stage, y.op.axis)
    domains = {axis: axis.dom for axis in y.op.axis}
    pass_down_domain(stage, domains, Analyzer())
    assert (None if loop is None else domains[loop].extent.value) == iterations


def test_no_loop_is_fused_after_a_part_of_one_with_a_partial_tile() -> None:
    """Sixteen iterations are enough there: two of the first loop, eight parts of the 24 tiles."""
    y = topi.exp(te.placeholder((2, 95, 64), name="x"))
    stage = te.create_schedule(y.op)[y]
    batch, i, j = y.op.axis
    (io, ii), (jo, ji) = stage.split(i, factor=4), stage.split(j, factor=16)
    stage.reorder(batch, io, jo, ii, ji)
    partition_partial_tile(stage, i, io, 4)
    loop = parallel(stage, [batch, io, jo])
    domains = {axis: axis.dom for axis in y.op.axis}
    pass_down_domain(stage, domains, Analyzer())
    assert loop is not None
    assert domains[loop].extent.value == 2 * 8


def test_small_loops_stay_on_one_core() -> None:
    x = te.placeholder((4, 8), name="x")
    assert "parallel" not in [p.name for p in schedule_injective(topi.exp(x), TARGET).primitives]


def test_short_rows_of_one_shape_become_whole_vectors() -> None:
    x = te.placeholder((2, 16, 7, 7), name="x")
    schedule = schedule_injective(topi.nn.relu(x), TARGET)
    labels = [p.label for p in schedule.primitives]
    assert any("factor=8" in label for label in labels), "16 * 7 * 7 is a multiple of 8, 7 is not"
    _, (a,), (found,) = _run(schedule_injective, [x], [topi.nn.relu(x)])
    np.testing.assert_array_equal(found, np.maximum(a, 0))


@pytest.mark.parametrize(
    ("dtype", "make", "lanes"),
    [
        ("float32", lambda x: x * 2, 8),
        ("float32", topi.exp, 32),
        ("float32", lambda x: topi.exp(x) * 2, 32),  # exp is inlined
        ("float32", lambda x: te.compute(x.shape, lambda i: te.if_then_else(i < 9, x[i], 0.0)), 8),
        ("float64", topi.exp, 16),
        ("float16", topi.exp, 32),  # computed in single precision
        ("int8", lambda x: topi.cast(topi.exp(topi.cast(x, "float32")), "int8"), 32),  # four vectors of floats
        ("float16", lambda x: topi.cast(topi.exp(topi.cast(x, "float32")), "float16"), 32),
    ],
)
def test_functions_are_computed_for_several_vectors_at_once(dtype: str, make: Any, lanes: int) -> None:
    x = te.placeholder((512,), dtype, "x")
    labels = [p.label for p in schedule_injective(make(x), TARGET).primitives]
    assert any(f"factor={lanes})" in label for label in labels), labels


@pytest.mark.parametrize(("size", "lanes"), [(512, 32), (1008, 16), (1000, 8), (1001, 32)])
def test_fewer_vectors_of_functions_are_computed_at_once_where_rows_are_whole_then(size: int, lanes: int) -> None:
    x = te.placeholder((2, size), name="x")
    powers = te.compute((2, size), lambda i, j: te.exp(x[i, j] * 2.0))
    labels = [p.label for p in schedule_injective(powers, TARGET).primitives]
    assert any(f"factor={lanes})" in label for label in labels), labels
    _, (a,), (found,) = _run(schedule_injective, [x], [powers])
    np.testing.assert_allclose(found, np.exp(a * 2), rtol=1e-5)


@pytest.mark.parametrize(("shape", "fused"), [((), True), ((7,), False)])
def test_what_is_multiplied_by_a_scalar_has_one_shape(shape: tuple[int, ...], fused: bool) -> None:
    x = te.placeholder((2, 16, 7, 7), name="x")
    scale = te.compute(shape, lambda *i: te.const(0.5, "float32"), name="scale")
    result = topi.nn.relu(topi.multiply(x, scale))
    names = [p.name for p in schedule_injective(result, TARGET).primitives]
    assert ("fuse" in names) == fused
    _, (a,), (found,) = _run(schedule_injective, [x], [result])
    np.testing.assert_array_equal(found, np.maximum(a * 0.5, 0))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("around", [(2, 3), (0, 4), (5, 0)])
def test_rows_are_copied_between_what_pads_them(mode: str, around: tuple[int, int]) -> None:
    x = te.placeholder((3, 8, 40), name="x")
    low, high = (1, 1, around[0]), (0, 2, around[1])
    pads = {"edge": pad_edge, "wrap": pad_wrap, "reflect": pad_reflect, "symmetric": pad_reflect}
    mirrored = {"mode": mode.upper()} if pads[mode] is pad_reflect else {}
    text, (a,), (found,) = _run(schedule_injective, [x], [pads[mode](x, low, high, **mirrored)])
    np.testing.assert_array_equal(found, np.pad(a, [*zip(low, high, strict=True)], mode))
    assert all(f"range({size})" in text for size in (40, *filter(None, around))), text
    assert "if_then_else" not in text


@pytest.mark.parametrize(("width", "loops"), [(9, "2, 5, 2, 6, 8"), (16, "2, 5, 2, 6")])
def test_channels_leave_their_blocks_row_by_row(width: int, loops: str) -> None:
    x = te.placeholder((1, 2, 5, width, 6), name="x")
    text, (a,), (found,) = _run(schedule_injective, [x], [topi.layout_transform(topi.abs(x), "NCHW6c", "NCHW")])
    assert f"T.grid({loops})" in text, "blocks, rows, columns, channels of a block"
    np.testing.assert_array_equal(found, np.abs(a).transpose(0, 1, 4, 2, 3).reshape(found.shape))


@pytest.mark.parametrize(
    ("shape", "axes", "loops"),
    [((40, 64), (1, 0), "8, 5, 8"), ((3, 21, 37), (0, 2, 1), None), ((2, 9, 5, 24), (0, 3, 1, 2), None)],
)
def test_what_is_transposed_is_read_in_tiles(shape: tuple[int, ...], axes: tuple[int, ...], loops: str | None) -> None:
    """Eight rows of the result read what lies side by side, before the next column does."""
    x = te.placeholder(shape, name="x")
    text, (a,), (found,) = _run(schedule_injective, [x], [topi.add(topi.transpose(x, axes), 1.0)])
    if loops is not None:
        assert f"T.grid({loops})" in text
    np.testing.assert_array_equal(found, a.transpose(axes) + 1)


def test_what_is_transposed_is_found_behind_other_shapes() -> None:
    """Blocks of channels of slices, which become channels of a volume."""
    x = te.placeholder((6, 2, 5, 16, 8), name="x")
    images = topi.layout_transform(x, "NCHW8c", "NCHW")
    volume = topi.transpose(topi.reshape(images, (1, 6, 16, 5, 16)), (0, 2, 1, 3, 4))
    text, (a,), (found,) = _run(schedule_injective, [x], [topi.nn.relu(volume)])
    assert "T.grid(2, 6, 5, 2, 8)" in text, text
    wanted = a.transpose(0, 1, 4, 2, 3).reshape(1, 6, 16, 5, 16).transpose(0, 2, 1, 3, 4)
    np.testing.assert_array_equal(found, np.maximum(wanted, 0))


def test_what_is_read_in_very_many_ways_is_scheduled_all_the_same() -> None:
    """Of 2 to the 40 ways from the result to the fill, a few hundred are looked at."""
    value = topi.full((4, 4), "float32", te.var("v", "float32"))
    for _ in range(40):
        value = topi.add(value, value)
    assert schedule_injective([value], "llvm").outputs == [value.op]


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((3, 120, 160, 16), (1, 2)), ((20011, 24), (0,)), ((2, 3, 7000, 9), (0, 1, 2)), ((4096, 1), (0,))],
)
def test_a_long_sum_is_one_of_sums_of_parts(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    """Added one after another, all terms of 0.1 would be rounded up: the relative error of 20000 is about 1e-4."""
    x = te.placeholder(shape, name="x")
    total = topi.sum(x, axes)
    function = compiler.build(schedule_reduce(total, TARGET), [x, total], target="llvm")
    result = compiler.nd.empty([int(d) for d in total.shape])
    function(compiler.nd.array(np.full(shape, 0.1, "float32")), result)
    np.testing.assert_allclose(result.numpy(), float(np.float32(0.1)) * np.prod([shape[i] for i in axes]), rtol=3e-6)


@pytest.mark.parametrize(
    ("shape", "lanes"), [((500, 4096), 64), ((500, 64), 32), ((500, 24), 8), ((15, 4096), 8), ((500, 1000), 8)]
)
def test_long_reductions_of_columns_read_lines_of_a_row(shape: tuple[int, int], lanes: int) -> None:
    """Few columns are left to some cores; a row that is no multiple of several vectors has one at a time."""
    x = te.placeholder(shape, name="x")
    largest = topi.max(x, 0)
    target = Target("llvm -mcpu=haswell")
    text = str(compiler.lower(schedule_reduce(largest, target), [x, largest]))
    assert set(re.findall(r"max\[cse_var_1:cse_var_1 \+ (\d+)\]", text)) == {str(lanes)}
    found = compiler.nd.empty(shape[1:])
    a = np.random.default_rng(0).random(shape, "float32")
    compiler.build(schedule_reduce(largest, Target("llvm")), [x, largest], "llvm")(compiler.nd.array(a), found)
    np.testing.assert_array_equal(found.numpy(), a.max(0))


@pytest.mark.parametrize(("extents", "copied"), [((33, 200), True), ((31, 200), False), ((40, 40, 40), False)])
def test_long_parts_of_rows_are_copied_by_loops_of_their_own(extents: tuple[int, ...], copied: bool) -> None:
    parts = [te.placeholder((5, extent), name=f"x{i}") for i, extent in enumerate(extents)]
    text, arrays, (found,) = _run(schedule_injective, parts, [topi.concatenate(parts, 1)])
    assert all(f"range({extent})" in text for extent in extents) == copied, text
    np.testing.assert_array_equal(found, np.concatenate(arrays, 1))


@pytest.mark.parametrize("kind", ["windows", "truth values"])
def test_columns_of_windows_and_of_truth_values_are_read_vector_by_vector(kind: str) -> None:
    """Neighbours in the result are no neighbours in the data; bytes of conditions become bits of registers."""
    if kind == "windows":
        x = te.placeholder((1, 8, 132, 132), name="x")
        reduced = topi.nn.pool2d(x, (5, 5), (2, 2), (1, 1), (0, 0, 0, 0), "max")
    else:
        x = te.placeholder((500, 4096), name="x", dtype="bool")
        reduced = topi.all(x, 0)
    for processor, lanes in (("haswell", 8), ("x86-64-v2", 4)):
        most = lanes if kind == "windows" else 4 * lanes
        text = str(compiler.lower(schedule_reduce(reduced, Target(f"llvm -mcpu={processor}")), [x, reduced]))
        widths = set(re.findall(rf"{reduced.op.name}\w*\[\w+:\w+ \+ (\d+)\]", text))
        assert widths == {str(most)}, text


def test_a_reduction_over_neighbours_has_a_partial_result_in_each_lane() -> None:
    x = te.placeholder((6, 64), name="x")
    total = topi.sum(x, 1)
    names = [p.name for p in schedule_reduce(total, TARGET).primitives]
    assert "rfactor" in names
    _, (a,), (found,) = _run(schedule_reduce, [x], [total])
    np.testing.assert_allclose(found, a.sum(1), rtol=1e-5)


def test_axes_that_lie_behind_each_other_are_one_row_whose_end_may_fill_part_of_a_vector() -> None:
    for shape, axes, steps in (((5, 3, 7, 7), (2, 3), 7), ((5, 197), 1, 7), ((4, 6, 50), (0, 2), 7)):
        x = te.placeholder(shape, name="x")
        total = topi.sum(x, axes)
        schedule = schedule_reduce(total, TARGET)
        assert "rfactor" in [p.name for p in schedule.primitives], shape
        text, (a,), (found,) = _run(schedule_reduce, [x], [total])
        assert re.search(rf"\b(T\.grid\((\d+, )*|range\(){steps}\b", text), text
        np.testing.assert_allclose(found, a.sum(axes), rtol=1e-5)


@pytest.mark.parametrize("size", [8, 9, 13, 15, 16, 17, 20, 24, 28, 31])
def test_short_rows_are_reduced_in_vectors_that_some_register_holds(size: int) -> None:
    """Of ten or twelve lanes, a processor makes several times as many instructions."""
    x = te.placeholder((40, size), name="x")
    total = topi.sum(x, 1)
    schedule = schedule_reduce(total, Target("llvm -mcpu=skylake-avx512"))
    (lanes,) = (p.kwargs["factor"] for p in schedule.primitives if p.name == "split")
    assert lanes in (4, 8)
    function = compiler.build(schedule_reduce(total, Target("llvm")), [x, total], "llvm")
    a, found = np.random.default_rng(0).random((40, size), "float32"), compiler.nd.empty((40,))
    function(compiler.nd.array(a), found)
    np.testing.assert_allclose(found.numpy(), a.sum(1), rtol=1e-6)


def test_the_places_of_extremes_are_sought_in_lanes_over_long_rows() -> None:
    rng = np.random.default_rng(3)
    for size, in_lanes in ((512, True), (203, True), (20, False)):
        x = te.placeholder((6, size), name="x")
        result = extrema.argmax(x, 1, False, False, "int32")
        schedule = schedule_reduce(result, TARGET)
        assert ("rfactor" in [p.name for p in schedule.primitives]) == in_lanes
        a = rng.integers(0, 9, (6, size)).astype("float32")
        a[3, size - 2], a[4, :] = np.nan, -np.inf
        a[3, size - 1] = np.nan
        found = compiler.nd.empty((6,), "int32")
        compiler.build(schedule_reduce(result, Target("llvm")), [x, result], "llvm")(compiler.nd.array(a), found)
        np.testing.assert_array_equal(found.numpy(), a.argmax(1))


def test_what_a_row_needs_is_computed_before_it_two_rows_at_a_time() -> None:
    for rows, loops in ((64, "T.parallel(32)"), (65, "T.parallel(65)"), (2, "for i0_inner in range(2)")):
        x = te.placeholder((rows, 256), name="x")
        text, (a,), (found,) = _run(schedule_reduce, [x], [topi.nn.softmax(x)])
        assert text.count(loops) == 1 or rows == 2, text
        assert text.count("T.parallel") == (rows > 2), "few rows are no work for several cores"
        assert "pairs" in text, "both reductions have partial results, which are reduced in pairs"
        e = np.exp(a - a.max(1, keepdims=True))
        np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("columns", "lanes"), [(256, 32), (257, 32), (255, 8), (40, 8), (96, 32)])
def test_long_rows_have_partial_results_in_several_vectors_that_need_not_divide_them(columns: int, lanes: int) -> None:
    x = te.placeholder((8, columns), name="x")
    text, (a,), (found,) = _run(schedule_reduce, [x], [topi.nn.softmax(x)])
    assert f"pairs = T.allocate([{lanes // 2}]" in text, "the first halves and the second ones are pairs"
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("shape", "pairs"), [((4, 6, 9, 56), False), ((4, 9, 6, 56), True)])
def test_no_two_rows_are_computed_together_that_are_not_of_one_matrix(shape: tuple[int, ...], pairs: bool) -> None:
    """What they need would be computed for all rows of all matrices that they may be of."""
    x = te.placeholder(shape, name="x")
    text, (a,), (found,) = _run(schedule_reduce, [x], [topi.nn.softmax(x)])
    assert f"largest = T.allocate([{2 if pairs else 1}]" in text, "what is stored belongs to these rows"
    e = np.exp(a - a.max(-1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("columns", "lanes"), [(256, 16), (24, 8)])
def test_vectors_of_two_rows_are_computed_side_by_side(columns: int, lanes: int) -> None:
    x, bias = te.placeholder((64, columns), name="x"), te.placeholder((columns,), name="bias")
    k = te.reduce_axis((0, columns), name="k")
    total = te.compute((64,), lambda i: te.sum(x[i, k], axis=k), name="total")
    result = te.compute((64, columns), lambda i, j: x[i, j] * total[i] + bias[j], name="result")
    text, (a, b), (found,) = _run(schedule_reduce, [x, bias], [result])
    stores = re.findall(rf"result_1\[.*\] = .*T.Broadcast\(total_\d\[(\d)\], {lanes}\)", text)
    assert stores[:2] == ["0", "1"], text
    np.testing.assert_allclose(found, a * a.sum(1, keepdims=True) + b, rtol=1e-5)


@pytest.mark.parametrize(("rows", "loops"), [(1, ["64", "64"]), (4, ["4"]), (16, ["8"])])
def test_a_single_long_row_is_left_to_all_cores_step_by_step_and_pairs_are_of_many(rows: int, loops: list[str]) -> None:
    x = te.placeholder((rows, 65536), name="x")
    text, (a,), (found,) = _run(schedule_reduce, [x], [topi.nn.softmax(x)])
    assert re.findall(r"T\.parallel\((\d+)\)", text) == loops
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-4)


def test_what_is_of_other_rows_than_the_result_is_not_computed_with_these() -> None:
    x, k = te.placeholder((64, 256), name="x"), te.reduce_axis((0, 256), "k")
    total = te.compute((64,), lambda i: te.sum(x[i, k], axis=k), name="total")
    readers = {
        "the row below": te.compute((64, 256), lambda i, j: x[i, j] - total[63 - i]),
        "columns": te.compute((256, 64), lambda i, j: x[j, i] - total[j]),
        "the whole": te.compute((64,), lambda i: total[i] * 2.0),
        "few rows": te.compute((2, 64), lambda i, j: x[i, j] - total[i]),
    }
    for case, reader in readers.items():
        text, (a,), (found,) = _run(schedule_reduce, [x], [reader])
        t = a.sum(1)
        wanted = {
            "the row below": a - t[::-1, None], "columns": (a - t[:, None]).T, "the whole": t * 2,
            "few rows": a[:2, :64] - t[:2, None],
        }  # fmt: skip
        np.testing.assert_allclose(found, wanted[case], rtol=1e-4, atol=1e-4, err_msg=case)
        assert text.count("total_rf = T.allocate") == 1, case
        outer = text.split("total_rf = T.allocate")[0].splitlines()[-2:]
        assert "ax0" in "".join(outer), (case, "the sums have loops of their own")


def test_a_sum_along_rows_that_reads_a_number_of_each_row_is_in_vectors_of_neighbours() -> None:
    x, m = te.placeholder((8, 64), name="x"), te.placeholder((8,), name="m")
    k = te.reduce_axis((0, 64), "k")
    squares = te.compute((8,), lambda i: te.sum((x[i, k] - m[i]) * (x[i, k] - m[i]), axis=k), name="squares")
    text, (a, b), (found,) = _run(schedule_reduce, [x, m], [squares])
    assert "squares_rf" in text
    assert ":64]" not in text, "no vector takes an element of each row"
    np.testing.assert_allclose(found, ((a - b[:, None]) ** 2).sum(1), rtol=1e-5)


def test_a_reduction_over_rows_is_in_vectors_of_columns() -> None:
    x = te.placeholder((6, 64), name="x")
    total = topi.sum(x, 0)
    names = [p.name for p in schedule_reduce(total, TARGET).primitives]
    assert "rfactor" not in names
    assert "vectorize" in names
    _, (a,), (found,) = _run(schedule_reduce, [x], [total])
    np.testing.assert_allclose(found, a.sum(0), rtol=1e-5)


def test_extents_that_suit_no_vector() -> None:
    for shape in ((), (1,), (3,), (5, 3), (17, 13)):
        x = te.placeholder(shape, name="x")
        outputs = [topi.tanh(x), topi.sum(x), topi.mean(x, None, True)]
        for out, wanted in zip(outputs, (np.tanh, np.sum, np.mean), strict=True):
            _, (a,), (found,) = _run(schedule_reduce, [x], [out])
            np.testing.assert_allclose(found, np.reshape(wanted(a), found.shape), rtol=1e-5)


def test_several_outputs() -> None:
    x = te.placeholder((4, 6), name="x")
    _, (a,), found = _run(schedule_rule_for(OpPattern.INJECTIVE), [x], topi.split(topi.exp(x), 2, 1))
    for part, wanted in zip(found, np.split(np.exp(a), 2, 1), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-5)


def test_patterns_have_rules() -> None:
    assert schedule_rule_for(OpPattern.COMM_REDUCE) is schedule_reduce
    assert schedule_rule_for(OpPattern.ELEMWISE) is schedule_rule_for(OpPattern.OPAQUE) is schedule_injective


@pytest.mark.parametrize("package", [topi.generic, topi.x86])
def test_one_tensor_of_a_schedule_runs_over_its_elements(package: Any) -> None:
    x = te.placeholder((6, 16), name="x")
    doubled = te.compute((6, 16), lambda i, j: x[i, j] * 2.0, name="doubled")
    out = te.compute((6, 16), lambda i, j: doubled[i, j] + doubled[i, 15 - j], name="out")
    schedule = te.create_schedule(out.op)
    with tvm.target.Target("llvm"):
        assert package.schedule_injective_from_existing(schedule, out) is schedule
    data = np.arange(96, dtype="float32").reshape(6, 16)
    result = tvm.nd.array(np.zeros((6, 16), "float32"))
    tvm.build(schedule, [x, out], "llvm")(tvm.nd.array(data), result)
    np.testing.assert_array_equal(result.numpy(), data * 2 + data[:, ::-1] * 2)


def test_pools_are_scheduled_without_their_layout() -> None:
    x = te.placeholder((1, 2, 4, 4), name="x")
    pooled = topi.nn.global_pool(x, "avg")
    result = tvm.nd.array(np.zeros((1, 2, 1, 1), "float32"))
    data = np.random.default_rng(0).random((1, 2, 4, 4), "float32")
    tvm.build(topi.generic.schedule_adaptive_pool(pooled), [x, pooled], "llvm")(tvm.nd.array(data), result)
    np.testing.assert_allclose(result.numpy(), data.mean((2, 3), keepdims=True), rtol=1e-5)


def test_zeros_around_windows_are_put_where_an_iteration_reads_them() -> None:
    x = te.placeholder((2, 40, 9, 11), name="x")
    pool = topi.nn.pool2d(x, (3, 3), (2, 1), (1, 1), (1, 0, 1, 2), "max")
    text, (a,), (found,) = _run(schedule_reduce, [x], [pool])
    assert text.index("T.parallel") < text.index("= T.allocate("), "each iteration has its own"
    assert text.count("T.parallel") == 1
    assert "for i2, i3 in T.grid(11, 13)" in text, "rows are not divided into vectors of which one is partial"
    padded = np.pad(a, [(0, 0), (0, 0), (1, 1), (0, 2)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2]
    np.testing.assert_array_equal(found, windows.max((4, 5)))


def test_blocks_of_channels_are_copied_in_vectors_between_the_zeros_around_windows() -> None:
    """LLVM scattered the column of zeros before them, in thousands of instructions."""
    x = te.placeholder((1, 2, 40, 40, 16), name="x")
    pool = topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max", layout="NCHW16c")
    text, (a,), (found,) = _run(schedule_reduce, [x], [pool])
    assert re.search(r"for i2, i3, i4_outer in T.grid\(3, \d+, 2\):", text), "vectors of eight of 16 channels"
    padded = np.pad(a, [(0, 0), (0, 0), (1, 1), (1, 1), (0, 0)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(found, windows.max((5, 6)))
    for target in map(Target, ("llvm -mcpu=skylake-avx512", "llvm -mcpu=znver4")):
        code = compiler.build(schedule_reduce([pool], target), [x, pool], target).get_source("asm")
        assert "scatter" not in code
