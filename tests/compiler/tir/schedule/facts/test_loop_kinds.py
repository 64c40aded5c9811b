"""Every primitive does with loops and ``T.init`` what its row in the table of loop kinds says."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.schedule.facts.loop_kinds import LOOP_KINDS, Effect, Init, LoopEffects
from compiler.tir.schedule.registry import Primitive, primitives
from compiler.tir.script import from_source
from compiler.tir.script import tir as T
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind
from compiler.tir.statements.stmt_functor import post_order_visit

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _stages(A: T.Buffer((8, 4, 6), "int32"), C: T.Buffer((8, 4), "int32")):
    D = T.alloc_buffer((8, 4), "int32")
    E = T.alloc_buffer((8, 4), "int32")
    P = T.alloc_buffer((10, 4), "int32")
    B = T.alloc_buffer((8, 4), "int32")
    for i, j in T.grid(8, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj, 0]
    for i, j in T.grid(8, 4):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = D[vi, vj]
    for i, j in T.grid(10, 4):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi >= 1 and vi < 9, A[vi - 1, vj, 1], 0)
    for i, j, k in T.grid(8, 4, 6):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = 0
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk] * E[vi, vj]
    for i, j in T.grid(8, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1


@T.prim_func
def _convolved(
    D: T.Buffer((2, 6, 6), "float32"), W: T.Buffer((3, 2, 3, 3), "float32"), Y: T.Buffer((3, 4, 4), "float32")
):
    for o, h, w, c, i, j in T.grid(3, 4, 4, 2, 3, 3):
        with T.block("Y"):
            vo, vh, vw, vc, vi, vj = T.axis.remap("SSSRRR", [o, h, w, c, i, j])
            with T.init():
                Y[vo, vh, vw] = T.float32(0)
            Y[vo, vh, vw] = Y[vo, vh, vw] + D[vc, vh + vi, vw + vj] * W[vo, vc, vi, vj]


@T.prim_func
def _multiplied(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
    for i, j, k in T.grid(4, 8, 6):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def _blurred(A: T.Buffer((14, 10), "int32"), C: T.Buffer((12, 10), "int32")):
    B = T.alloc_buffer((14, 10), "int32")
    for i, j in T.grid(12, 10):
        for ax in range(3):
            with T.block("B"):
                vi = T.axis.spatial(14, i + ax)
                vj = T.axis.spatial(10, j)
                B[vi, vj] = A[vi, vj] + 1
        for k in range(3):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + B[vi + vk, vj]


@T.prim_func
def _copied_row(A: T.Buffer((4,), "int32", offset_factor=1), D: T.Buffer((4,), "int32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(D[0:4])
        for j in range(4):
            with T.block("row"):
                vj = T.axis.spatial(4, j)
                D[vj] = A[vj]


@T.prim_func
def _added(A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + A[vi, vj]


TensorIntrin.register("test.copied_row", _copied_row, _copied_row, override=True)

Step = Callable[[Any], object]
Place = tuple[str, int]


class Case(NamedTuple):
    """A call of a primitive; the loops that it is given, and that are its block's, each by a block and a number."""

    call: Step
    given: Place
    own: Place | None = None
    func: PrimFunc = _stages
    before: Step = lambda s: None


def at(s: Any, block: str, loop: int) -> Any:
    return s.get_loops(block)[loop]


CASES = {
    "split": Case(lambda s: s.split(at(s, "B", 0), [2, 4]), ("B", 0), ("B", 1)),
    "fuse": Case(lambda s: s.fuse(at(s, "B", 0), at(s, "B", 1)), ("B", 0), ("C", 0)),
    "merge": Case(lambda s: s.merge(at(s, "D", 1), at(s, "E", 1)), ("D", 1), ("D", 0)),
    "loop_partition": Case(lambda s: s.loop_partition(at(s, "B", 0), [2, None]), ("B", 0), ("B", 1)),
    "reorder": Case(lambda s: s.reorder(at(s, "B", 1), at(s, "B", 0)), ("B", 0), ("B", 1)),
    "add_unit_loop": Case(lambda s: s.add_unit_loop(at(s, "B", 0)), ("B", 0), ("B", 1)),
    "parallel": Case(lambda s: s.parallel(at(s, "B", 0)), ("B", 0)),
    "vectorize": Case(lambda s: s.vectorize(at(s, "B", 0)), ("B", 0)),
    "unroll": Case(lambda s: s.unroll(at(s, "B", 0)), ("B", 0)),
    "bind": Case(lambda s: s.bind(at(s, "B", 0), "blockIdx.x"), ("B", 0)),
    "compute_at": Case(lambda s: s.compute_at("E", at(s, "B", 0)), ("B", 0), ("E", 1)),
    # Threads wait for each other before they read memory that they share, but not for what is in global memory.
    "reverse_compute_at": Case(
        lambda s: s.reverse_compute_at("C", at(s, "B", 0)),
        ("B", 0),
        ("C", 1),
        before=lambda s: s.set_scope("B", 0, "shared"),
    ),
    "compute_inline": Case(lambda s: s.compute_inline("E"), ("B", 0), ("E", 0)),
    "reverse_compute_inline": Case(lambda s: s.reverse_compute_inline("E"), ("D", 0), ("E", 0)),
    "blockize": Case(lambda s: s.blockize(at(s, "B", 0)), ("B", 0), ("B", 1)),
    "tensorize": Case(lambda s: s.tensorize(at(s, "E", 1), "test.copied_row"), ("E", 1), ("E", 0)),
    "decompose_reduction": Case(lambda s: s.decompose_reduction("B", at(s, "B", 0)), ("B", 0), ("B", 1)),
    "decompose_padding": Case(lambda s: s.decompose_padding("P", at(s, "P", 0)), ("P", 0), ("P", 1)),
    "rfactor": Case(
        lambda s: s.rfactor(at(s, "B", 2), 0), ("B", 2), ("B", 1), before=lambda s: s.split(at(s, "B", 2), [2, 3])
    ),
    "cache_read": Case(lambda s: s.cache_read("B", 0, "local"), ("B", 0)),
    "cache_write": Case(lambda s: s.cache_write("B", 0, "local"), ("B", 0)),
    "cache_inplace": Case(lambda s: s.cache_inplace("B", 0, "local"), ("B", 0), None, _added),
    "cache_index": Case(lambda s: s.cache_index("P", "global", 0), ("P", 0)),
    "read_at": Case(lambda s: s.read_at(at(s, "B", 0), "B", 0, "local"), ("B", 0), ("B", 1)),
    "write_at": Case(lambda s: s.write_at(at(s, "D", 0), "D", 0, "local"), ("D", 0), ("D", 1)),
    "reindex": Case(lambda s: s.reindex("B", ("read", 0)), ("B", 0)),
    "reindex_cache_read": Case(lambda s: s.reindex_cache_read("D", 0, "local", lambda i, j: (j, i)), ("D", 0)),
    "reindex_cache_write": Case(lambda s: s.reindex_cache_write("D", 0, "local", lambda i, j: (j, i)), ("D", 0)),
    "transform_layout": Case(lambda s: s.transform_layout("D", ("write", 0), lambda i, j: (j, i)), ("D", 0)),
    "transform_block_layout": Case(lambda s: s.transform_block_layout("D", lambda i, j: (i * 4 + j,)), ("D", 0)),
    "set_axis_separator": Case(lambda s: s.set_axis_separator("D", ("write", 0), [1]), ("D", 0)),
    "pad_einsum": Case(lambda s: s.pad_einsum("B", [16, 4, 8]), ("B", 0)),
    "strassen": Case(lambda s: s.strassen("Y"), ("Y", 0), ("Y", 2), _multiplied),
    "winograd": Case(lambda s: s.winograd("Y", 2), ("Y", 0), ("Y", 3), _convolved),
    "rolling_buffer": Case(lambda s: s.rolling_buffer("B", 0), ("B", 0), ("B", 1), _blurred),
    "annotate": Case(lambda s: s.annotate(at(s, "B", 0), "note", 1), ("B", 0)),
    "unannotate": Case(
        lambda s: s.unannotate(at(s, "B", 0), "note"), ("B", 0), before=lambda s: s.annotate(at(s, "B", 0), "note", 1)
    ),
    "annotate_buffer_access": Case(
        lambda s: s.annotate_buffer_access("D", 0, "write", lambda i, j: ((i, i + 1), (j, j + 1))), ("D", 0)
    ),
    "reorder_block_iter_var": Case(lambda s: s.reorder_block_iter_var("B", [1, 0, 2]), ("B", 0)),
    "unsafe_hide_buffer_access": Case(lambda s: s.unsafe_hide_buffer_access("D", "read", [0]), ("D", 0)),
    "storage_align": Case(lambda s: s.storage_align("D", 0, 0, 8, 0), ("D", 0)),
    "set_scope": Case(lambda s: s.set_scope("D", 0, "shared"), ("D", 0)),
    "unsafe_set_dtype": Case(lambda s: s.unsafe_set_dtype("D", 0, "float32"), ("D", 0)),
    "enter_postproc": Case(lambda s: s.enter_postproc(), ("B", 0)),
}

MARKS: dict[str, Callable[[Any, Any], object]] = {
    "parallel": lambda s, loop: s.parallel(loop),
    "vectorized": lambda s, loop: s.vectorize(loop),
    "unrolled": lambda s, loop: s.unroll(loop),
    "bound": lambda s, loop: s.bind(loop, "threadIdx.x"),
    "annotated": lambda s, loop: s.annotate(loop, "mark", 1),
}
KINDS = {
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unrolled": ForKind.UNROLLED,
    "bound": ForKind.THREAD_BINDING,
}


def loops_that_are(s: Any, mark: str) -> list[For]:
    found: list[For] = []

    def collect(n: object) -> None:
        if isinstance(n, For) and ("mark" in n.annotations if mark == "annotated" else n.kind == KINDS[mark]):
            found.append(n)

    post_order_visit(s.mod["main"].body, collect)
    return found


def initialised(s: Any) -> list[Block]:
    found: list[Block] = []
    post_order_visit(
        s.mod["main"].body, lambda n: found.append(n) if isinstance(n, Block) and n.init is not None else None
    )
    return found


def effect(case: Case, place: Place, mark: str) -> Effect | None:
    """Return what a call does to a loop that is something; None if the loop cannot be it."""
    s: Any = Schedule(case.func, debug_mask="all")
    case.before(s)
    loop = at(s, *place)
    try:
        MARKS[mark](s, loop)
    except ScheduleError:
        return None
    try:
        case.call(s)
    except ScheduleError:
        return Effect.REFUSED
    left = loops_that_are(s, mark)
    assert all(n.thread_binding is not None for n in left if n.kind == ForKind.THREAD_BINDING)
    if len(left) > 1:
        return Effect.COPIED
    return Effect.KEPT if left else Effect.SERIAL


def test_each_primitive_has_a_case() -> None:
    assert CASES.keys() == LOOP_KINDS.keys()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mark", MARKS)
def test_what_a_loop_is_stays_as_the_table_says(name: str, mark: str) -> None:
    case, line = CASES[name], LOOP_KINDS[name]
    for place, effects in ((case.given, line.given), (case.own, line.own)):
        if place is None:
            continue
        actual, expected = effect(case, place, mark), getattr(effects, mark)
        if expected is Effect.REPLACED:
            assert name in ("parallel", "vectorize", "unroll", "bind")
            expected = Effect.KEPT if mark == FORMS.get(name) else Effect.SERIAL
        assert actual in (None, expected), f"{name}: a loop {place} that is {mark}"


FORMS = {"parallel": "parallel", "vectorize": "vectorized", "unroll": "unrolled", "bind": "bound"}


def init_effect(name: str) -> Init:
    """Return what a call does to the initial values of a reduction."""
    case = CASES[name]
    s: Any = Schedule(case.func, debug_mask="all")
    case.before(s)
    before = initialised(s)
    case.call(s)
    after = initialised(s)
    if len(after) > len(before):
        return Init.COPIED
    return Init.KEPT if [b.name_hint for b in after] == [b.name_hint for b in before] else Init.MOVED


@pytest.mark.parametrize("name", [name for name, line in LOOP_KINDS.items() if line.init is Init.KEPT])
def test_initial_values_stay_where_they_are(name: str) -> None:
    assert init_effect(name) is Init.KEPT


@pytest.mark.parametrize("name", ["blockize", "decompose_reduction", "rfactor"])
def test_initial_values_move_as_the_table_says(name: str) -> None:
    assert init_effect(name) is LOOP_KINDS[name].init


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("compute_inline", lambda s: s.compute_inline("B")),
        ("reverse_compute_inline", lambda s: s.reverse_compute_inline("C")),
        ("decompose_padding", lambda s: s.decompose_padding("B", at(s, "B", 0))),
    ],
)
def test_blocks_with_initial_values_are_refused_as_the_table_says(name: str, call: Step) -> None:
    assert LOOP_KINDS[name].init is Init.REFUSED
    with pytest.raises(ScheduleError, match="not a complete block"):
        call(Schedule(_stages))


def test_a_primitive_without_a_row_cannot_be_registered() -> None:
    def no_such_primitive(state: Any) -> None: ...

    with pytest.raises(TypeError, match=r"no_such_primitive: .*has a row"):
        Primitive(no_such_primitive, "NoSuchPrimitive", False, {})
    assert {name for name, made in primitives.items() if not made.kind.is_pure} == set(LOOP_KINDS)


def test_an_effect_is_that_of_what_a_loop_is() -> None:
    one = LoopEffects.all(Effect.KEPT)
    s: Any = Schedule(_stages)
    assert one.of(s.get(at(s, "B", 0))) is Effect.KEPT
    s.annotate(at(s, "B", 0), "note", 1)
    s.parallel(at(s, "B", 0))
    assert dataclasses.replace(one, annotated=Effect.REFUSED).of(s.get(at(s, "B", 0))) is Effect.REFUSED
    assert dataclasses.replace(one, parallel=Effect.SERIAL).of(s.get(at(s, "B", 0))) is Effect.SERIAL


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (lambda s, loop: s.bind(loop, "threadIdx.y"), "loop 'i' has annotation or .* thread binding threadIdx.y"),
        (lambda s, loop: s.annotate(loop, "pragma_note", 1), "loop 'i' has annotation or .* annotation pragma_note"),
    ],
)
@pytest.mark.parametrize("name", ["split", "fuse", "loop_partition"])
def test_a_refusal_names_the_loop_and_what_it_has(name: str, mark: Any, message: str) -> None:
    s: Any = Schedule(_stages)
    mark(s, at(s, "B", 0))
    with pytest.raises(ScheduleError) as caught:
        CASES[name].call(s)
    assert caught.match(message.replace("'i'", "tir.For#0"))
    assert "'i'" in caught.value.brief


@T.prim_func
def _rows(A: T.Buffer((8, 9), "int32"), C: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 9):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]


def check_rows(s: Any) -> None:
    a = np.random.default_rng(0).integers(-9, 9, (8, 9)).astype("int32")
    c = np.full(8, 1000, "int32")
    interpret(s.mod["main"], [a, c])
    np.testing.assert_array_equal(c, a.sum(1))
    compiled = array(np.full(8, 1000, "int32"))
    build(s.mod, target="llvm")(array(a), compiled)
    np.testing.assert_array_equal(compiled.numpy(), a.sum(1))


@pytest.mark.parametrize("mark", ["parallel", "vectorized", "unrolled"])
def test_a_loop_fused_with_a_reduction_is_serial(mark: str) -> None:
    s: Any = Schedule(_rows, debug_mask="all")
    i, k = s.get_loops("C")
    MARKS[mark](s, i)
    assert s.get(s.fuse(i, k)).kind == ForKind.SERIAL
    check_rows(s)


@pytest.mark.parametrize("factors", [[3, None], [20, 20, None], [1, None], [70, None], [9, 9, None]])
def test_every_part_of_a_fused_loop_begins_the_elements_that_begin_in_it(factors: list[int | None]) -> None:
    s: Any = Schedule(_rows, debug_mask="all")
    s.loop_partition(s.fuse(*s.get_loops("C")), factors)
    check_rows(s)


def test_parts_of_a_part_begin_the_elements_that_begin_in_them() -> None:
    s: Any = Schedule(_rows, debug_mask="all")
    _, rest = s.loop_partition(s.fuse(*s.get_loops("C")), [4, None])
    s.loop_partition(rest, [7, None])
    check_rows(s)


@pytest.mark.parametrize("inner", [2, 4, 5])
def test_parts_of_an_inner_loop_begin_the_elements_that_begin_in_them(inner: int) -> None:
    s: Any = Schedule(_rows, debug_mask="all")
    _, loop = s.split(s.fuse(*s.get_loops("C")), [None, inner])
    s.loop_partition(loop, [1, None])
    check_rows(s)


def test_a_part_that_may_begin_elements_is_no_reduction_any_more() -> None:
    """Its initial values must not be set for the elements that an earlier part began."""
    s: Any = Schedule(_rows)
    _, loop = s.loop_partition(s.fuse(*s.get_loops("C")), [4, None])
    (block,) = s.get_child_blocks(loop)
    with pytest.raises(ScheduleError, match="not a reduction block"):
        s.decompose_reduction(block, loop)


@T.prim_func
def _total(A: T.Buffer((8,), "int32"), C: T.Buffer((1,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2
    for o, k in T.grid(1, 8):
        with T.block("C"):
            vo, vk = T.axis.remap("SR", [o, k])
            with T.init():
                C[vo] = 0
            C[vo] = C[vo] + B[vk]


@pytest.mark.parametrize("mark", ["parallel", "vectorized"])
def test_a_block_is_not_brought_under_a_loop_whose_iterations_it_would_make_dependent(mark: str) -> None:
    for func, call in (
        (_total, lambda s: s.reverse_compute_at("C", at(s, "B", 0))),
        (_blurred, lambda s: s.rolling_buffer("B", 0)),
    ):
        s: Any = Schedule(func)
        MARKS[mark](s, at(s, "B", 0))
        with pytest.raises(ScheduleError, match="neither data parallel"):
            call(s)
        assert len(loops_that_are(s, mark)) == 1
        unchecked: Any = Schedule(func, enable_check=False)
        with pytest.raises(ScheduleError, match="neither data parallel"):
            MARKS[mark](unchecked, unchecked.get_loops("C")[-1])
        MARKS[mark](unchecked, at(unchecked, "B", 0))
        call(unchecked)


@T.prim_func
def _totals(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32"), D: T.Buffer((6,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for j in range(4):
        for i, k in T.grid(6, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vk, vi]
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            C[vj] = B[vj] + A[vj, 0]
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = B[vi]


@pytest.mark.parametrize("mark", ["parallel", "vectorized"])
def test_a_reduction_that_each_iteration_repeats_is_not_seen_outside(mark: str) -> None:
    """Iterations that ran at the same time would add to each other's sums."""
    s: Any = Schedule(_totals)
    with pytest.raises(ScheduleError, match="reduce into the same elements of B"):
        MARKS[mark](s, at(s, "B", 0))
    alone: Any = Schedule(from_source(SUMS_OF_ONE_STAGE))
    MARKS[mark](alone, at(alone, "B", 0))
    assert loops_that_are(alone, mark)


@pytest.mark.parametrize("mark", ["parallel", "vectorized"])
def test_a_step_after_which_others_see_a_repeated_reduction_is_refused(mark: str) -> None:
    s: Any = Schedule(from_source(SUMS_OF_ONE_STAGE), debug_mask="all")
    loop = at(s, "B", 0)
    s.add_unit_loop(loop)
    MARKS[mark](s, loop)
    before = s.mod
    with pytest.raises(ScheduleError, match="reduce into the same elements of B_global"):
        s.write_at(at(s, "B", 0), s.get_block("B"), 0, "global")
    assert s.mod is before


def test_half_of_the_iterations_may_not_reduce_into_the_elements_of_the_others() -> None:
    s: Any = Schedule(from_source(HALVES))
    with pytest.raises(ScheduleError, match="reduce into the same elements of B"):
        s.parallel(at(s, "B", 0))


def test_parts_of_a_loop_within_a_parallel_one_have_elements_of_their_own() -> None:
    s: Any = Schedule(_stages, debug_mask="all")
    s.parallel(at(s, "B", 0))
    _, loop = s.loop_partition(at(s, "B", 1), [2, None])
    assert len(loops_that_are(s, "parallel")) == 1
    s.vectorize(loop)


SUMS_OF_ONE_STAGE = """@T.prim_func
def main(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((6,), "int32")
    for j in range(4):
        for i, k in T.grid(6, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] = B[vi] + A[vk, vi]
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            C[vj] = B[vj] + A[vj, 0]
"""
HALVES = """@T.prim_func
def main(A: T.Buffer((4, 6), "int32"), B: T.Buffer((4,), "int32")):
    for i, k in T.grid(8, 6):
        with T.block("B"):
            vi = T.axis.spatial(4, i // 2)
            vk = T.axis.reduce(6, k)
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
"""
