"""What the rules ask about blocks: programs of any form keep what they compute, and are offered what suits them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from compiler import build, lower, te, topi
from compiler.search.choices import Picker, Value, Wishes
from compiler.search.features import NAMES, features
from compiler.search.machine import Machine
from compiler.search.rules import RULES, Derivation, derive
from compiler.search.space import ScheduleSpace, structure
from compiler.search.tuning import random_arrays
from compiler.target.target import Target
from compiler.tir.interpreter import interpret
from compiler.tir.schedule.error import ScheduleError
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from tests.compiler.search.workloads import matrices
from tests.machines import require

MACHINE = Machine(vector_bits=256, registers=16, cores=2)
SUM = """for i, k in T.grid(8, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]"""
ACROSS = SUM.replace("A[vi, vk]", "A[vk % 8, vi]")
PROGRAMS = {
    "sums across rows": ACROSS,
    "a loop that is no axis": """for i, _ in T.grid(8, 2):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi, 0] * 2""",
    "an axis of two loops": """for i, j in T.grid(2, 4):
    with T.block("C"):
        vi = T.axis.spatial(8, i * 4 + j)
        C[vi] = A[vi, 0] * 2""",
    "axes that are other loops": """for k, i in T.grid(16, 8):
    with T.block("C"):
        vi = T.axis.spatial(8, 7 - i)
        vk = T.axis.reduce(16, k)
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]""",
    "a triangle": """for i in range(8):
    for k in range(i + 1):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]""",
    "sums in a block around": """for o in range(2):
    with T.block("outer"):
        vo = T.axis.spatial(2, o)
        for i, k in T.grid(4, 16):
            with T.block("C"):
                vi = T.axis.spatial(8, vo * 4 + i)
                vk = T.axis.reduce(16, k)
                with T.init():
                    C[vi] = 0
                C[vi] = C[vi] + A[vi, vk]""",
    "initial values of their own": """for i in range(8):
    with T.block("zero"):
        vi = T.axis.spatial(8, i)
        C[vi] = 0
for i, k in T.grid(8, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        C[vi] = C[vi] + A[vi, vk]""",
    "two results at once": """B = T.alloc_buffer((8,), "int32")
for i, k in T.grid(8, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = -1
            C[vi] = -100
        B[vi] = T.if_then_else(A[vi, vk] > C[vi], vk, B[vi])
        C[vi] = T.max(C[vi], A[vi, vk])
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        C[vi] = C[vi] + B[vi]""",
    "nothing written": """for i, j in T.grid(8, 16):
    with T.block("nothing"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.evaluate(vi)
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi, 0]""",
    "initial values, nothing reduced": """for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, 0]""",
    "iterations that depend on each other": """B = T.alloc_buffer((8,), "int32")
for i in range(8):
    with T.block("zero"):
        vi = T.axis.spatial(8, i)
        C[vi] = 1
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[T.max(vi - 1, 0)] + A[vi, 0]
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] * 2""",
    "a row of a product": """B = T.alloc_buffer((8, 8), "int32")
for i, j, k in T.grid(8, 8, 16):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = 0
        B[vi, vj] = B[vi, vj] + A[vi, vk] * A[vj, vk]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[1, vi]""",
    "a sum": SUM,
}
FLAT = """B = T.alloc_buffer((64,), "int32")
for i, j, k in T.grid(8, 8, 16):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi * 8 + vj] = 0
        B[vi * 8 + vj] = B[vi * 8 + vj] + A[vi, vk] * A[vj, vk]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi * 9]"""
SEVERAL = """B, D = T.alloc_buffer((8, 16), "int32"), T.alloc_buffer((8, 16), "int32")
for i, j in T.grid(8, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = A[vi, vj]
for i, j in T.grid(8, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi] = A[vi, vj]"""


def function(text: str) -> PrimFunc:
    head = '@T.prim_func\ndef main(A: T.Buffer((8, 16), "int32"), C: T.Buffer((8,), "int32")):\n'
    func = from_source(head + indent(text, "    "))
    assert isinstance(func, PrimFunc)
    return func


def computed(func: Any) -> Any:
    result = np.full(8, -7, "int32")
    interpret(func, [np.random.default_rng(0).integers(-9, 10, (8, 16)).astype("int32"), result])
    return result


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_any_form_keep_what_they_compute(program: str) -> None:
    func = function(PROGRAMS[program])
    space = ScheduleSpace(func, MACHINE)
    for seed in range(4):
        candidate = space.sample(random.Random(seed))
        np.testing.assert_array_equal(computed(space.program(candidate)["main"]), computed(func), str(candidate))


class _Noting(Picker):
    """Makes the choices of a candidate at random, and notes what there was to choose from."""

    def __init__(self) -> None:
        super().__init__(random.Random(0))
        self.offered: dict[str, set[Any]] = {}

    def pick(self, name: str, options: Iterable[Any]) -> Any:
        self.offered[name] = set(options := tuple(options))
        return super().pick(name, options)


def offered(func: PrimFunc) -> dict[str, set[Any]]:
    picker = _Noting()
    with suppress(ScheduleError):  # not all that is chosen at random can be carried out
        derive(Derivation(Schedule(func, enable_check=False), picker, MACHINE), RULES)
    return picker.offered


def test_tiles_are_for_what_is_read_for_several_elements_and_vectors_for_loops_over_one_block() -> None:
    assert offered(matrices(8, 16, 12))["C.way"] == {"tiles", "parts"}
    assert offered(function(SUM))["C.way"] == {"plain", "parts"}, "each element is read once"
    assert offered(function(ACROSS))["C.way"] == {"tiles"}, "neighbours are of other sums, which vectors hold"
    assert "C.lanes" in offered(function(SEVERAL))
    assert not {"B.lanes", "D.lanes"} & offered(function(SEVERAL)).keys()


def test_a_constant_is_inlined_by_the_row_of_inlining_alone_too() -> None:
    """As a program has it that brings rules of its own and takes this one from here."""
    two, a = te.compute((), lambda: 2.0, name="two"), te.placeholder((8, 8), name="A")
    c = te.compute((8, 8), lambda i, j: a[i, j] * two(), name="C")
    sch = Schedule(te.create_prim_func([a, c]))
    derive(Derivation(sch, Picker(random.Random(0)), MACHINE), [rule for rule in RULES if rule.name == "inline"])
    assert "two" not in sch.mod["main"].script()


def test_rows_that_read_sums_of_parts_go_a_few_at_a_time_and_parts_in_pairs() -> None:
    a, k = te.placeholder((8, 64), name="a"), te.reduce_axis((0, 64), "k")
    total = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="total")
    func = te.create_prim_func([a, te.compute((8, 64), lambda i, j: a[i, j] / total[i], name="share")])
    wishes = Wishes({"total.way": "parts", "total.parts": 16, "share.rows": 4, "total.at": 0, "total_rf.at": 1})
    space = ScheduleSpace(func, replace(MACHINE, cores=1), wishes)
    mod = space.program(space.sample(random.Random(0)))
    values = np.random.default_rng(0).normal(size=(8, 64)).astype("float32")
    found = np.zeros((8, 64), "float32")
    text = str(lower(mod))
    interpret(mod["main"], [values, found])
    np.testing.assert_allclose(found, values / values.sum(1, keepdims=True), rtol=1e-4)
    for expected in ("for i_0 in range(2)", "total = T.allocate([4]", "for ax1 in range(4)", "pairs"):
        assert expected in text


def test_convolutions_may_have_fewer_products() -> None:
    d, w = te.placeholder((1, 4, 10, 10), name="d"), te.placeholder((8, 4, 3, 3), name="w")
    func = te.create_prim_func([d, w, topi.nn.relu(topi.nn.conv2d_nchw(d, w, 1, 1, 1))])
    (name,) = [name for name in offered(func) if name.endswith(".winograd")]
    assert offered(func)[name] == {0, 2, 4}
    arrays = random_arrays(func, 0)
    expected, found = (arrays[-1].copy() for _ in range(2))
    interpret(func, [*arrays[:-1], expected])
    space = ScheduleSpace(func, MACHINE, Wishes({name: 4}))
    for seed in range(3):
        interpret(space.program(space.sample(random.Random(seed)))["main"], [*arrays[:-1], found])
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert not any(name.endswith(".winograd") for name in offered(matrices(8, 16, 12)))


@pytest.mark.parametrize(
    ("wishes", "near"),
    [
        ({"turned": False, "1.outer": (1, 1), "2.outer": (1, 1)}, "A_left"),
        ({"turned": True, "1.outer": (1, 1), "2.outer": (1, 1)}, "B_right"),
        ({"1.outer": (64, 1), "2.outer": (20, 1)}, ""),
    ],
)
def test_products_of_matrices_may_be_those_of_quarters(wishes: Any, near: str) -> None:
    func = matrices(512, 640, 512)
    (name,) = [name for name in offered(func) if name.endswith(".strassen")]
    for other in ((510, 640, 512), (512, 510, 512), (512, 640, 510), (513, 640, 512)):
        assert name not in offered(matrices(*other)), "quarters are whole, and large"
    block, arrays = name.removesuffix(".strassen"), random_arrays(func, 0)
    wishes = {"1.inner": 4, "2.inner": 16, **wishes}
    pinned = {name: True, **{f"{block}.{decision}": value for decision, value in wishes.items()}}
    space = ScheduleSpace(func, replace(MACHINE, cores=1), Wishes(pinned))
    for seed in range(4):
        candidate = space.sample(random.Random(seed))
        assert space.is_sound(candidate)
        names = {name for name, _ in candidate}
        assert not {f"{block}.way", f"{block}.vector", f"{block}.pack1", f"{block}_products_global.at"} & names
        assert {name for name in names if name.endswith(".near")} == ({f"{near}.near"} if near else set())
        build(space.program(candidate), target="llvm")(*arrays)
        np.testing.assert_allclose(arrays[-1], arrays[0] @ arrays[1], rtol=1e-3, atol=1e-3)
    assert not space.refused


def test_tiles_that_fill_registers_and_fit_caches_are_drawn_most_often() -> None:
    """Panels or tiles take 80 % of 32 KB, blocks of 1 MB."""
    machine = replace(MACHINE, cores=1, caches=(1 << 15, 1 << 20))
    wishes = Wishes({"C.strassen": False, "C.way": "tiles", "C.vector": 1})
    space, rng = ScheduleSpace(matrices(512, 2048, 1024), machine, wishes), random.Random(0)
    drawn = [dict(space.sample(rng)) for _ in range(60)]
    vectors = [int(each["C.1.inner"]) // 8 * int(each["C.0.inner"]) for each in drawn]
    panel = 0.8 * (1 << 15)
    panels = [int(each["C.1.inner"]) * int(each["C.r0.inner"]) * 4 for each in drawn]
    tiles = [int(each["C.0.inner"]) * int(each["C.r0.inner"]) * 4 for each in drawn]
    fitting = [any(1 << 13 <= size <= panel for size in sizes) for sizes in zip(panels, tiles, strict=True)]
    assert sum(count >= 7 for count in vectors) > 30
    assert sum(int(each["C.1.inner"]) > 8 for each in drawn) > 40, "by one vector more is loaded than multiplied"
    assert sum(fitting) > 30
    assert {True, False} == {*fitting}, "others are not left out"
    deep = [each for each, size in zip(drawn, panels, strict=True) if size > panel]
    shallow = [each for each, size in zip(drawn, panels, strict=True) if size <= panel]
    assert sum(size > panel and fits for size, fits in zip(panels, fitting, strict=True)) > 5
    assert _streamed(deep, "C.1.outer") > len(deep) // 2 > _streamed(deep, "C.0.outer"), "a tile stays"
    assert _streamed(shallow, "C.0.outer") > len(shallow) // 2 > _streamed(shallow, "C.1.outer"), "vectors stay"


@pytest.mark.parametrize(("bits", "registers"), [(256, 16), (512, 32), (128, 32)])
def test_registers_hold_the_sums_of_a_tile_and_the_vectors_that_they_are_made_of(bits: int, registers: int) -> None:
    machine = replace(MACHINE, vector_bits=bits, registers=registers)
    wishes = Wishes({"C.strassen": False, "C.way": "tiles", "C.vector": 1})
    space, rng = ScheduleSpace(matrices(96, 192, 96), machine, wishes), random.Random(0)
    for drawn in (dict(space.sample(rng)) for _ in range(40)):
        vectors = int(drawn["C.1.inner"]) * 32 // bits
        assert vectors * int(drawn["C.0.inner"]) + vectors + 1 <= registers


def test_rows_that_no_tile_for_the_registers_divides_leave_a_partial_one_which_is_a_loop_of_its_own() -> None:
    func, machine = matrices(64, 32, 16), replace(MACHINE, cores=1)
    wishes: dict[str, Value] = {"C.strassen": False, "C.way": "tiles", "C.vector": 1, "C.1.inner": 16}
    drawn = [dict(ScheduleSpace(func, machine, Wishes(wishes)).sample(random.Random(seed))) for seed in range(30)]
    assert {2, 4, 6} <= {each["C.0.inner"] for each in drawn} <= {1, 2, 4, 6}
    space = ScheduleSpace(func, machine, Wishes({**wishes, "C.0.inner": 6}))
    for seed in range(6):
        program = space.program(space.sample(random.Random(seed)))
        guards = NAMES.index("guards")
        assert features(program, machine)[guards] == features(func, machine)[guards]
        arrays = random_arrays(func, seed)
        build(program, target="llvm")(*arrays)
        np.testing.assert_allclose(arrays[2], arrays[0] @ arrays[1], rtol=1e-4, atol=1e-4)
        assert "if " not in lower(program).script()


def _streamed(drawn: Sequence[dict[str, Any]], name: str) -> int:
    """Return how many of the candidates read several tiles along an axis one after another."""
    return sum(each[name][1] > 1 for each in drawn)


def test_vectors_run_along_what_needs_the_least_moving_and_over_neighbours_only() -> None:
    a, b, k = te.placeholder((8, 64), name="A"), te.placeholder((96, 64), name="B"), te.reduce_axis((0, 64))
    panels = te.compute((6, 64, 16), lambda p, k, lane: b[p * 16 + lane, k], name="panels")

    def drawn(pinned: dict[str, Value], *args: te.Tensor) -> list[dict[str, Value]]:
        space, rng = ScheduleSpace(te.create_prim_func([*args]), MACHINE, Wishes(pinned)), random.Random(0)
        return [dict(space.sample(rng)) for _ in range(30)]

    c = te.compute((8, 96), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    along = [each["C.vector"] for each in drawn({"C.way": "tiles"}, a, b, c)]
    assert along.count(0) > along.count(1) > 0, "A is smaller than B, though the result is stored along B's rows"
    c = te.compute((8, 96), lambda i, j: te.sum(a[i, k] * panels[j // 16, k, j % 16], axis=k), name="C")
    pinned = {"C.way": "tiles", "C.vector": 1, "panels.inline": False}
    assert {each.get("C.1.inner", 8) for each in drawn(pinned, a, b, c)} == {8, 16}, "panels have 16 columns"


def test_what_is_packed_below_other_loops_goes_over_squares_and_whole_sums_begin_in_registers() -> None:
    a, b, k = te.placeholder((16, 64), name="A"), te.placeholder((32, 64), name="B"), te.reduce_axis((0, 64))
    c = te.compute((16, 32), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    chosen = {"vector": 1, "1.inner": 8, "0.inner": 4, "0.outer": (1, 4), "1.outer": (1, 1), "direct": True}
    func, placed = te.create_prim_func([a, b, c]), {"B_global.at": 0, "B_global.square": 8}

    def made(depth: int) -> str:
        pinned = {"C.way": "tiles", "C.r0.inner": depth, **{f"C.{name}": value for name, value in chosen.items()}}
        space = ScheduleSpace(func, replace(MACHINE, cores=1), Wishes({**pinned, **placed}))
        return str(space.program(space.sample(random.Random(0))))

    text = made(64)
    assert re.search(r"v1 = T.axis.spatial\(64, ax1_0 \* 8 \+ ax1_1\)", text), "eight columns of eight rows at a time"
    assert "i_0_init" not in text, "the sums of a tile begin right before they are summed up"
    assert "for i_0_init in range(4)" in made(32), "those in parts begin before the first part, of all tiles"


def test_what_is_read_along_another_axis_goes_over_squares() -> None:
    a = te.placeholder((32, 48), "int32", name="A")
    turned = te.create_prim_func([a, te.compute((48, 32), lambda i, j: a[j, i] * 2, name="turned")])
    assert offered(turned)["turned.square"] == {0, 3, 4, 6, 8, 12, 16}
    space = ScheduleSpace(turned, replace(MACHINE, cores=1), Wishes({"turned.square": 6, "turned.lanes": 8}))
    mod = space.program(space.sample(random.Random(0)))
    assert "T.grid(8, 4, 6)" in mod.script()
    values, found = np.arange(32 * 48, dtype="int32").reshape(32, 48), np.zeros((48, 32), "int32")
    interpret(mod["main"], [values, found])
    np.testing.assert_array_equal(found, values.T * 2)
    straight = te.create_prim_func([a, te.compute((32, 48), lambda i, j: a[i, j] * 2, name="straight")])
    assert "straight.square" not in offered(straight)


def test_vectors_of_rows_that_go_together_may_be_side_by_side() -> None:
    x = te.placeholder((6, 3, 32), name="x")
    func = te.create_prim_func([x, topi.nn.softmax(x)])
    wishes = Wishes({"total.way": "parts", "softmax.rows": 2, "softmax.abreast": True, "softmax.lanes": 8})
    space = ScheduleSpace(func, replace(MACHINE, cores=1), wishes)
    program = space.program(space.sample(random.Random(0)))
    assert re.search(r"in T.unroll\(2\):\s+for \w+ in T.vectorized\(8\):", program.script())
    arrays = random_arrays(func, 0)
    build(program, target="llvm")(*arrays)
    powers = np.exp(arrays[0])
    np.testing.assert_allclose(arrays[1], powers / powers.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("length", "parts"), [(64, {4, 8, 16, 32, 64}), (45, {45}), (122, {61}), (131, set())])
def test_rows_are_summed_up_in_parts_of_one_length_if_there_is_one(length: int, parts: set[int]) -> None:
    func = function(SUM.replace("16", str(length)))
    assert offered(func).get("C.parts", set()) == parts


def test_a_sum_in_parts_may_add_elements_up_as_they_are_made() -> None:
    x = te.placeholder((6, 64), name="x")
    func = te.create_prim_func([x, topi.nn.softmax(x)])
    wishes: dict[str, Value] = {
        "powers.inline": False,
        "powers.abreast": False,
        "total.way": "parts",
        "total.parts": 16,
    }
    wishes |= {"total_rf.follows": True, "powers.lanes": 16, "total_rf.lanes": 16}
    space = ScheduleSpace(func, replace(MACHINE, cores=1), Wishes(wishes))
    schedule = space.schedule(space.sample(random.Random(0)))
    around = [schedule.get_loops(block) for block in ("powers", "total_rf_update")]
    assert schedule.get_sref(around[0][-2]) is schedule.get_sref(around[1][-2])
    arrays = random_arrays(func, 0)
    build(schedule.mod, target="llvm")(*arrays)
    powers = np.exp(arrays[0])
    np.testing.assert_allclose(arrays[1], powers / powers.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(6, 64), (6, 3, 64), (8, 48)])
@pytest.mark.parametrize(("cores", "abreast"), [(1, False), (1, True), (2, False)])
def test_places_of_sums_their_parts_and_rows_are_offered_where_loops_can_still_be_ordered(
    shape: tuple[int, ...], cores: int, abreast: bool
) -> None:
    x = te.placeholder(shape, name="x")
    wishes = Wishes({"powers.inline": False, "total.way": "parts", "powers.abreast": True} if abreast else {})
    space = ScheduleSpace(te.create_prim_func([x, topi.nn.softmax(x)]), replace(MACHINE, cores=cores), wishes)
    for seed in range(40):
        space.sample(random.Random(seed))
    assert not [why for _, why in space.refused if "make the same elements" not in why]


@pytest.mark.parametrize(("at", "is_in_squares"), [(-1, True), (0, False)])
def test_what_is_read_across_goes_over_squares_unless_a_sum_is_computed_for_each_row(
    at: int, is_in_squares: bool
) -> None:
    x, k = te.placeholder((64, 64), name="x"), te.reduce_axis((0, 64), name="k")
    total = te.compute((64,), lambda i: te.sum(x[i, k], axis=k), name="total")
    turned = te.compute((64, 64), lambda i, j: x[j, i] * total[i], name="turned")
    wishes = Wishes({"total.way": "plain", "total.at": at}, banned={("turned.square", 0)})
    space = ScheduleSpace(te.create_prim_func([x, turned]), replace(MACHINE, cores=1), wishes)
    candidate = space.sample(random.Random(0))
    assert ("turned.square" in dict(candidate), space.refused) == (is_in_squares, {})


def test_only_sums_of_one_buffer_are_tiled_or_taken_in_parts() -> None:
    for program in ("initial values of their own", "two results at once", "initial values, nothing reduced"):
        assert "C.way" not in offered(function(PROGRAMS[program]))


@pytest.mark.parametrize(
    ("program", "known"),
    [
        ("a sum", "C:SR:n1:int32"),
        ("a loop that is no axis", "?"),
        ("an axis of two loops", "?"),
        ("axes that are other loops", "?"),
        ("a triangle", "?"),
        ("nothing written", "? C:S:n:int32"),
    ],
)
def test_what_is_known_of_blocks_is_known_of_those_whose_loops_are_their_axes(program: str, known: str) -> None:
    assert structure(function(PROGRAMS[program])) == known


def tiled(func: PrimFunc, block: str, **pinned: int) -> str:
    """Return a program in which a block is tiled, with some choices."""
    wishes = Wishes({f"{block}.way": "tiles", **{f"{block}.{name}": value for name, value in pinned.items()}})
    space = ScheduleSpace(func, MACHINE, wishes)
    return str(space.program(space.sample(random.Random(0))))


def test_sums_of_a_vector_are_neighbours_where_their_place_is_the_axes() -> None:
    assert "C_global = T.alloc_buffer((24, 8))" in tiled(matrices(8, 24, 5), "C", vector=0), "vectors run along rows"
    assert 'B_global = T.alloc_buffer((64,), "int32")' in tiled(function(FLAT), "B", vector=0)


def test_what_vectors_would_gather_is_packed_though_its_rows_were_cut_before() -> None:
    a, b, k = te.placeholder((8, 12), name="A"), te.placeholder((32, 12), name="B"), te.reduce_axis((0, 12))
    panels = te.compute((4, 12, 8), lambda p, k, i: b[p * 8 + i, k], name="panels")
    c = te.compute((8, 32), lambda i, j: te.sum(a[i, k] * panels[j // 8, k, j % 8], axis=k), name="C")
    func, wishes = te.create_prim_func([a, b, c]), Wishes({"panels.inline": True, "C.way": "tiles", "C.vector": 1})
    space, rng = ScheduleSpace(func, MACHINE, wishes), random.Random(0)
    programs = [str(space.program(space.sample(rng))) for _ in range(4)]
    assert all("B_global[" in program and "* B[" not in program for program in programs)


def test_what_is_laid_out_for_products_of_four_neighbours_stays_so() -> None:
    a, b = te.placeholder((8, 16), "uint8", name="A"), te.placeholder((16, 16), "int8", name="B")
    k = te.reduce_axis((0, 4))
    panels = te.compute((4, 16, 4), lambda k, j, s: b[j, k * 4 + s], name="panels")
    products = [lambda i, j, s=s: a[i, k * 4 + s].astype("int32") * panels[k, j, s].astype("int32") for s in range(4)]
    c = te.compute((8, 16), lambda i, j: te.sum(sum(p(i, j) for p in products), axis=k), name="C")
    known = offered(te.create_prim_func([a, b, c]))
    assert "panels.inline" not in known
    assert known["C.vector"] == {1}, "along the other axis the elements of A are rows apart, and it cannot be packed"


def bytes_product(first: str, second: str, transposed: bool, depth: int = 24) -> PrimFunc:
    """Return a product of matrices of narrow integers, of the rows of the second one if it is ``transposed``."""
    shape = (32, depth) if transposed else (depth, 32)
    a, b = te.placeholder((6, depth), first, name="A"), te.placeholder(shape, second, name="B")
    k = te.reduce_axis((0, depth), name="k")

    def element(i: Any, j: Any) -> Any:
        other = b[j, k] if transposed else b[k, j]
        return te.sum(a[i, k].astype("int32") * other.astype("int32"), axis=k)

    return te.create_prim_func([a, b, te.compute((6, 32), element, name="C")])


@pytest.mark.sample(4)
@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512", "icelake-server"])
@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("int16", "int16"), ("int8", "uint8")])
@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_narrow_integers_are_summed_in_groups(cpu: str, types: tuple[str, str], transposed: bool) -> None:
    require(f"llvm -mcpu={cpu}")
    target = Target(f"llvm -mcpu={cpu}")
    func = bytes_product(*types, transposed)
    space = ScheduleSpace(func, Machine.of(target, 1))
    a, b, result = random_arrays(func, 0)
    a, b = (np.random.default_rng(0).integers(-(2**15), 2**15, x.shape).astype(x.dtype) for x in (a, b))
    expected = a.astype("int64") @ (b.T if transposed else b).astype("int64")
    for seed in range(6):
        build(space.program(space.sample(random.Random(seed))), target=target)(a, b, result)
        np.testing.assert_array_equal(result, expected.astype("int32"), f"seed {seed}")


@pytest.mark.parametrize(
    ("cpu", "types", "depth", "group"),
    [
        ("icelake-server", ("uint8", "int8"), 24, 4),
        ("icelake-server", ("int8", "int8"), 24, 2),
        ("icelake-server", ("uint8", "int8"), 25, None),
        ("haswell", ("uint8", "int8"), 24, 2),
        ("haswell", ("int32", "int32"), 24, None),
    ],
)
def test_a_group_of_products_is_innermost_and_packed_side_by_side(
    cpu: str, types: tuple[str, str], depth: int, group: int | None
) -> None:
    func, wishes = bytes_product(*types, transposed=False, depth=depth), Wishes({"C.way": "tiles", "C.vector": 1})
    space, rng = ScheduleSpace(func, Machine.of(Target(f"llvm -mcpu={cpu}"), 1), wishes), random.Random(0)
    for _ in range(4):
        program = str(space.program(space.sample(rng)))
        copies = re.findall(r"B_global = T.alloc_buffer\(\((.*?)\)", program)
        assert group is None or [int(copy.split(", ")[-1]) for copy in copies] == [group], program
        innermost = re.findall(r"for \w+ in T.(\w+)\((\d+)\):\n\s+with T.block\(\"C_update\"\)", program)
        assert innermost == [("unroll", str(group))] if group else all(kind == "vectorized" for kind, _ in innermost)


def test_what_reads_a_product_element_by_element_is_computed_tile_by_tile() -> None:
    a, b = te.placeholder((8, 12), name="A"), te.placeholder((12, 16), name="B")
    k = te.reduce_axis((0, 12))
    product = te.compute((8, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    each = te.compute((8, 16), lambda i, j: product[i, j] + 1.0)
    summed = topi.sum(product, axis=1)
    for result, direct, is_copied in ((each, False, False), (summed, False, True), (summed, True, False)):
        func = te.create_prim_func([a, b, result])
        assert ("C_global" in tiled(func, "C", vector=1, **{"r0.inner": 12}, direct=direct)) is is_copied
    assert "C_global" in tiled(func, "C", **{"r0.inner": 6}, direct=True), "parts of sums are kept near"
    assert "B_global" in tiled(function(PROGRAMS["a row of a product"]), "B")
