"""Layouts of stages: where elements lie in memory, in what order they are computed, and that values stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import build, lower, nd, te, tir
from compiler.ir.error import ArgumentError, LoweringError, ScheduleError
from compiler.ir.expr.substitute import post_order_visit
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.stmt import BufferStore

Mapping = Callable[..., Any]
Program = tuple[te.Tensor, te.Tensor, te.Tensor]

MAPPINGS: dict[str, Mapping] = {
    "tiled": lambda i, j: [j // 4, i, j % 4],
    "transposed": lambda i, j: [j, i],
    "flat": lambda i, j: [i * 32 + j],
    "two tiles": lambda i, j: [i // 8, j // 4, i % 8, j % 4],
    "separated": lambda i, j: [j // 8, te.AXIS_SEPARATOR, i, j % 8],
    "any number": lambda *indices: list(reversed(indices)),
}
A_VALUES = np.arange(512, dtype="float32").reshape(16, 32)


@pytest.fixture
def program() -> Program:
    a = te.placeholder((16, 32), name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1, name="B")
    return a, b, te.compute(a.shape, lambda i, j: b[i, j] * 2, name="C")


def laid_out(values: np.ndarray, mapping: Mapping) -> np.ndarray:
    """Return an array in the layout of a map, by assigning each element to its place."""
    places = {at: [p for p in mapping(*at) if p != te.AXIS_SEPARATOR] for at in np.ndindex(*values.shape)}
    result = np.full(np.max(list(places.values()), axis=0) + 1, np.nan, values.dtype)
    for at, place in places.items():
        result[tuple(place)] = values[at]
    return result


def run(s: te.Schedule, args: list[te.Tensor], a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    result = nd.array(np.zeros(shape, "float32"))
    build(s, args)(nd.array(a), result)
    return result.numpy()


@pytest.mark.parametrize("mapping", MAPPINGS.values(), ids=MAPPINGS)
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_values_lie_where_the_map_says(program: Program, name: str, mapping: Mapping) -> None:
    a, _, c = program
    s = te.create_schedule(c.op)
    stage = {t.op.name: s[t] for t in program}[name]
    stage.transform_layout(mapping)
    given = laid_out(A_VALUES, mapping) if name == "A" else A_VALUES
    expected = (A_VALUES + 1) * 2
    expected = laid_out(expected, mapping) if name == "C" else expected
    np.testing.assert_array_equal(run(s, [a, c], given, expected.shape), expected)


def test_loops_run_over_the_dimensions_of_the_layout(program: Program) -> None:
    _, b, c = program
    s = te.create_schedule(c.op)
    axes = s[b].transform_layout(lambda i, j: [j // 4, i, te.AXIS_SEPARATOR, j % 4])
    assert [axis.dom.extent.value for axis in axes] == [8, 16, 4]
    assert list(s[b].leaf_iter_vars) == axes
    assert s[program[0]].transform_layout(lambda i, j: [j, i]) is None


def test_parameters_have_the_shape_and_separators_of_the_layout(program: Program) -> None:
    a, _, c = program
    s = te.create_schedule(c.op)
    s[a].transform_layout(lambda i, j: [i // 4, te.AXIS_SEPARATOR, j, i % 4])
    s[c].transform_layout(lambda i, j: [j // 4, i, te.AXIS_SEPARATOR, j % 4])
    buffers = list(lower(s, [a, c])["main"].buffer_map.values())
    assert [[d.value for d in buffer.shape] for buffer in buffers] == [[4, 32, 4], [8, 16, 4]]
    assert [[d.value for d in buffer.axis_separators] for buffer in buffers] == [[1], [2]]


@pytest.mark.parametrize("vectorized", [0, 1, 2])
def test_parameters_with_separators_are_accessed_by_an_index_for_each_group(program: Program, vectorized: int) -> None:
    a, _, c = program
    s = te.create_schedule(c.op)
    s[a].transform_layout(lambda i, j: [i // 4, te.AXIS_SEPARATOR, j, i % 4])
    axes = s[c].transform_layout(lambda i, j: [j // 4, i, te.AXIS_SEPARATOR, j % 4])
    s[c].reorder(*[axis for axis in axes if axis is not axes[vectorized]], axes[vectorized])
    s[c].vectorize(axes[vectorized])
    lowered = lower(s, [a, c])
    accesses: list[BufferLoad | BufferStore] = []
    post_order_visit(
        lowered["main"].body, lambda n: accesses.append(n) if isinstance(n, (BufferLoad, BufferStore)) else None
    )
    of_parameters = [n for n in accesses if n.buffer.name in ("A", "C")]
    assert {(n.buffer.name, *[d.value for d in n.buffer.shape]) for n in of_parameters} == {
        ("A", 4, 128),
        ("C", 128, 4),
    }
    assert {len(n.indices) for n in of_parameters} == {2}
    given = nd.array(laid_out(A_VALUES, lambda i, j: [i // 4, te.AXIS_SEPARATOR, j, i % 4]))
    expected = laid_out((A_VALUES + 1) * 2, lambda i, j: [j // 4, i, te.AXIS_SEPARATOR, j % 4])
    out = nd.array(np.zeros_like(expected))
    build(lowered, target="llvm")(given, out)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_a_region_is_stored_in_the_layout(program: Program) -> None:
    a, b, c = program
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], 4)
    s[b].compute_at(s[c], outer)
    s[b].transform_layout(lambda i, j: [j // 4, i, j % 4])
    assert "allocate B[float32 * 128]" in str(lower(s, [a, c], simple_mode=True))
    np.testing.assert_array_equal(run(s, [a, c], A_VALUES, (16, 32)), (A_VALUES + 1) * 2)


def test_a_stage_is_computed_at_a_loop_of_the_layout(program: Program) -> None:
    a, b, c = program
    s = te.create_schedule(c.op)
    tile, _, inner = s[c].transform_layout(MAPPINGS["tiled"])
    s[b].compute_at(s[c], tile)
    s[b].transform_layout(MAPPINGS["transposed"])
    s[c].vectorize(inner)
    assert "allocate B[float32 * 64]" in str(lower(s, [a, c], simple_mode=True))
    expected = laid_out((A_VALUES + 1) * 2, MAPPINGS["tiled"])
    np.testing.assert_array_equal(run(s, [a, c], A_VALUES, expected.shape), expected)


def test_transformations_follow_one_another(program: Program) -> None:
    a, _, c = program
    s = te.create_schedule(c.op)
    s[c].transform_layout(lambda i, j: [i, j // 4, j % 4])
    axes = s[c].transform_layout(lambda i, tile, j: [tile, i, j])
    assert list(s[c].leaf_iter_vars) == axes
    expected = laid_out((A_VALUES + 1) * 2, MAPPINGS["tiled"])
    np.testing.assert_array_equal(run(s, [a, c], A_VALUES, expected.shape), expected)


@pytest.mark.parametrize("split_first", [False, True])
def test_a_reduction_has_another_layout(split_first: bool) -> None:
    a = te.placeholder((16, 32), name="A")
    k = te.reduce_axis((0, 8), "k")
    d = te.compute((16, 4), lambda i, j: te.sum(a[i, j * 8 + k], axis=k), name="D")
    s = te.create_schedule(d.op)
    if split_first:
        outer, _ = s[d].split(k, 3)
        s[d].reorder(outer, *d.op.axis)
    mapping = lambda i, j: [j, i // 4, i % 4]  # noqa: E731
    s[d].transform_layout(mapping)
    expected = laid_out(A_VALUES.reshape(16, 4, 8).sum(axis=2), mapping)
    np.testing.assert_array_equal(run(s, [a, d], A_VALUES, expected.shape), expected)


def test_a_placeholder_may_have_gaps() -> None:
    a = te.placeholder((14,), name="A")
    b = te.compute((14,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    s[a].transform_layout(lambda i: [i // 4, i % 4])
    values = np.arange(16, dtype="float32").reshape(4, 4)
    np.testing.assert_array_equal(run(s, [a, b], values, (14,)), np.arange(14) + 1)


def test_a_cache_is_copied_into_the_layout(program: Program) -> None:
    a, _, c = program
    s = te.create_schedule(c.op)
    s[c].transform_layout(MAPPINGS["transposed"])
    s.cache_write(c, "local")
    np.testing.assert_array_equal(run(s, [a, c], A_VALUES, (32, 16)), ((A_VALUES + 1) * 2).T)


def test_the_record_names_the_map_and_can_be_applied_again(program: Program) -> None:
    a, b, c = program
    s = te.create_schedule(c.op)
    s[b].transform_layout(lambda i, j: [j // 4, i, j % 4])
    assert s.primitives[-1].label.endswith("lambda i, j: …) -> [axis0, axis1, axis2]")
    replayed, _ = s.replay(1)
    assert str(lower(replayed, [a, c])) == str(lower(s, [a, c]))


@pytest.mark.parametrize(
    ("mapping", "error", "message"),
    [
        (5, ArgumentError, "mapping_function must be a function, got 5"),
        (lambda i: [i], ArgumentError, "transform_layout: .*2 indices, got one of 1"),
        (lambda i, j: [i, i], ScheduleError, "bijective over the shape \\(16, 32\\) of stage 'B'"),
        (lambda i, j: [i + j, j], ScheduleError, "bijective"),
        (lambda i, j: [i, j // 5, j % 5], ScheduleError, "bijective"),
        (lambda i, j: [i, j * 2], ScheduleError, "leaves unused elements in the layout \\(16, 64\\) of stage 'B'"),
    ],
)
def test_maps_that_are_refused(program: Program, mapping: Mapping, error: type[Exception], message: str) -> None:
    s = te.create_schedule(program[2].op)
    with pytest.raises(error, match=message):
        s[program[1]].transform_layout(mapping)
    assert not s[program[1]].relations
    assert not s[program[1]].layout_transforms


def test_axes_must_not_be_split_before(program: Program) -> None:
    _, b, c = program
    s = te.create_schedule(c.op)
    s[b].split(b.op.axis[0], 4)
    with pytest.raises(ScheduleError, match="transform_layout: axis 'i' of stage 'B' has already been split"):
        s[b].transform_layout(MAPPINGS["transposed"])


def test_buffers_of_others_keep_their_layouts(program: Program) -> None:
    a, b, c = program
    s = te.create_schedule(c.op)
    s[a].transform_layout(MAPPINGS["transposed"])
    with pytest.raises(LoweringError, match=r"the layout of 'A' is transformed, so binds may not have a buffer for it"):
        lower(s, [a, c], binds={a: tir.decl_buffer(a.shape, a.dtype, "A")})
    s = te.create_schedule(c.op)
    s[b].storage_align(b.op.axis[0], 8, 1)
    s[b].transform_layout(MAPPINGS["transposed"])
    with pytest.raises(LoweringError, match=r"the layout of 'B' cannot be transformed.*buffer_dim_align"):
        lower(s, [a, c])


def test_the_statement_over_tensors_has_no_layouts(program: Program) -> None:
    s = te.create_schedule(program[2].op)
    s[program[1]].transform_layout(MAPPINGS["transposed"])
    normalized = s.normalize()
    with pytest.raises(ScheduleError, match="ScheduleOps: the layout of stage 'B' is transformed"):
        te.schedule.ScheduleOps(normalized, te.schedule.InferBound(normalized))


def test_a_layout_is_not_defined_for_more_elements_than_the_tensor_has() -> None:
    n = te.size_var("n")
    y = te.placeholder((n * 4,), name="Y")
    z = te.compute((n * 4,), lambda i: y[i] + 1, name="Z")
    w = te.compute((n * 4,), lambda i: z[i] * 2, name="W")
    s = te.create_schedule(w.op)
    s[z].transform_layout(lambda i: [i // 4, i % 4])
    s[z].compute_at(s[w], s[w].split(w.op.axis[0], 8)[0])
    with pytest.raises(ScheduleError, match=r"8 values of axis 'i' are computed, and the layout is defined for n \* 4"):
        lower(s, [y, w])


def test_what_is_computed_into_the_buffer_of_another_stage_keeps_its_layout() -> None:
    a, state = te.placeholder((4, 8), name="A"), te.placeholder((4, 8), name="S")
    init = te.compute((1, 8), lambda _, i: a[0, i], name="I")
    update = te.compute((4, 8), lambda t, i: state[t - 1, i] + a[t, i], name="U")
    total = te.scan(init, update, state, name="C")
    s = te.create_schedule(total.op)
    s[update].transform_layout(lambda i, j: [j, i])
    with pytest.raises(LoweringError, match="the layout of 'U' cannot be transformed: it is computed into the buffer"):
        lower(s, [a, total])
