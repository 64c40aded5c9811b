"""What the rules derive computes what the definition says."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.driver.lower import scheduled_program
from compiler.ir.error import ArgumentError
from compiler.search.choices import Picker, Wishes, crossed, mutation
from compiler.search.features import NAMES, features
from compiler.search.machine import Machine
from compiler.search.rules import RULES, Derivation, Rule, reduction
from compiler.search.space import Numbers, ScheduleSpace, structure
from compiler.search.tuning import random_arrays
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.script import from_source
from tests.compiler.search.workloads import WORKLOADS, matrices, product, softmax

RUNNING_SUM = """@T.prim_func
def main(C: T.Buffer((8,), "int32")):
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi + 1] = C[vi + 1] + C[vi]
"""
MACHINE = Machine(vector_bits=256, registers=16, cores=2)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("seed", range(2))
def test_every_candidate_computes_the_definition(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    func, expected = WORKLOADS[name](rng)
    space = ScheduleSpace(func, MACHINE)
    first, second = space.sample(rng), space.sample(rng)
    arrays = random_arrays(func, seed)
    wanted = expected(*arrays[:-1])
    candidate = space.mutated(space.crossed(first, second, rng), rng) if seed else first
    tvm.build(space.program(candidate), target="llvm")(*arrays)
    np.testing.assert_allclose(arrays[-1], wanted, rtol=1e-3, atol=1e-4, err_msg=str(candidate))


def test_a_candidate_is_derived_again_with_all_checks_and_its_trace_replays() -> None:
    func, _ = product(random.Random(3))
    space = ScheduleSpace(func, MACHINE)
    candidate = space.sample(random.Random(1))
    schedule = space.schedule(candidate)
    assert tvm.ir.structural_equal(schedule.mod, space.program(candidate))
    again = Schedule(func)
    schedule.trace.apply_to_schedule(again, remove_postproc=False)
    assert tvm.ir.structural_equal(again.mod, schedule.mod)


def test_a_mutation_changes_one_choice_and_a_crossing_takes_blocks_as_they_are() -> None:
    def derived(picker: Picker) -> tuple[object, ...]:
        for block in ("A", "B"):
            for number in range(3):
                picker.pick(f"{block}.{number}", (1, 2, 4, 8))
        return picker.choices

    rng = random.Random(0)
    first, second = derived(Picker(rng)), derived(Picker(rng))
    for _ in range(20):
        changed = derived(mutation(first, rng))
        assert sum(a != b for a, b in zip(first, changed, strict=True)) == 1
        mixed = derived(crossed(first, second, rng))
        assert mixed[:3] in (first[:3], second[:3])
        assert mixed[3:] in (first[3:], second[3:])


def test_a_search_begins_with_what_differs_from_the_usual_numbers_in_one_and_least() -> None:
    func, _ = product(random.Random(3))

    def program(picker: Picker) -> Callable[[], tvm.IRModule]:
        picker.pick("rows", (4, 1, 2, 3, 5, 6, 7, 8))
        picker.pick("outside", (False, True))
        return lambda: tvm.IRModule({"main": func})

    usual, neighbours = ScheduleSpace(func, MACHINE, numbers=Numbers(program)).usual()
    assert usual == (("way", "numbers"), ("rows", 4), ("outside", False))
    assert [dict(each)["rows"] for each in neighbours] == [5, 3, 6, 7]
    assert all(dict(each) == dict(usual) | {"rows": dict(each)["rows"]} for each in neighbours)
    assert ScheduleSpace(func, MACHINE).usual() == (None, ())


def test_candidates_of_another_schedule_than_the_function_has_are_none() -> None:
    func, rng = matrices(8, 16, 4), random.Random(0)
    mine, theirs = (
        ScheduleSpace(func, MACHINE, numbers=Numbers(lambda picker: lambda: tvm.IRModule({}), way, is_written=True))
        for way in ("template 1", "template 2")
    )
    (usual, _), derived = theirs.usual(), ScheduleSpace(func, MACHINE).sample(rng)
    assert usual == (("way", "template 2"),)
    assert mine.like(usual, rng) is None
    assert ScheduleSpace(func, MACHINE).like(usual, rng) is None
    assert mine.like(derived, rng) == derived, "by rules it is as it were without a schedule"
    assert tvm.ir.structural_equal(mine.program(derived), ScheduleSpace(func, MACHINE).program(derived))
    assert {dict(mine.mutated(derived, rng)).get("way") for _ in range(80)} == {None, "template 1"}
    pinned = ScheduleSpace(
        func, MACHINE, Wishes({"way": "template 1"}), Numbers(lambda _: tvm.IRModule, "template 1", True)
    )
    assert pinned.mutated(derived, rng) == (("way", "template 1"),)
    with pytest.raises(ArgumentError, match=r"of another schedule than the function has \(template 2\)"):
        mine.schedule(usual)


def test_what_primitives_refuse_with_all_checks_is_not_sound() -> None:
    func = matrices(8, 16, 4)
    anything = Numbers(lambda picker: lambda: tvm.IRModule({}))
    rules, both = ScheduleSpace(func, MACHINE), ScheduleSpace(func, MACHINE, numbers=anything)
    derived, numbers = rules.sample(random.Random(0)), (("way", "numbers"),)
    assert rules.is_sound(derived)
    assert both.is_of_numbers(numbers)
    assert not both.is_of_numbers(derived)
    assert not rules.is_of_numbers(derived)
    assert both.is_sound(numbers), "it is the schedule that there is anyway"
    running = ScheduleSpace(from_source(RUNNING_SUM), MACHINE, Wishes({"C.lanes": 7}))
    assert not running.is_sound(running.sample(random.Random(0)))
    assert ["does not have compact dataflow" in text for _, text in running.refused] == [True]


def test_numbers_are_the_only_way_where_rules_take_long() -> None:
    """Then they are not a choice that a candidate notes."""
    a = te.placeholder((8, 8), name="A")
    before = topi.tanh(topi.exp(topi.nn.relu(topi.sqrt(a))))
    func = te.create_prim_func([a, topi.sum(before, axis=1)])
    space = ScheduleSpace(
        func, MACHINE, numbers=Numbers(lambda picker: picker.pick("rows", (1, 2)) and (lambda: tvm.IRModule({})))
    )
    candidate = space.sample(random.Random(0))
    assert [name for name, _ in candidate] == ["rows"]
    assert space.is_of_numbers(candidate)


def test_rules_that_are_left_out_derive_nothing_and_others_see_all_blocks() -> None:
    seen: list[str] = []

    def unrolled(d: Derivation, rv: BlockRV) -> None:
        seen.append(d.name(rv))
        if d.name(rv) == "C":
            d.sch = d.sch.copy()
            d.sch.unroll(d.sch.get_loops(rv)[d.choose("C.unrolled", (0, 1))])

    rule, func = Rule("unrolled", "", unrolled, is_of_scopes=True), WORKLOADS["layer"](random.Random(0))[0]
    space = ScheduleSpace(func, MACHINE, rules=(reduction("parts"), rule))
    candidate = dict(space.sample(random.Random(0)))
    assert seen[:4] == ["root", "E", "D", "C"]
    assert candidate["C.unrolled"] in (0, 1)
    assert "T.unroll" in space.program(tuple(candidate.items())).script()
    assert {ScheduleSpace(func, MACHINE, rules=()).sample(random.Random(n)) for n in range(3)} == {()}
    assert reduction("tiles").name == reduction("tiles", "parts").name == "reduce"


def test_choices_for_other_shapes_are_taken_over_as_near_as_they_can_be() -> None:
    picker = Picker(random.Random(0), {"tile": (4, 16), "width": 12, "gone": True})
    assert picker.pick("tile", [(1, 1), (3, 15), (30, 2)]) == (3, 15)
    assert picker.pick("width", (1, 4, 16)) == 16
    assert picker.pick("single", (7,)) == 7
    assert picker.choices == (("tile", (3, 15)), ("width", 16))


def test_the_same_seed_gives_the_same_candidates() -> None:
    func = matrices(8, 16, 12)

    def sampled(seed: int) -> list[object]:
        rng, space = random.Random(seed), ScheduleSpace(func, MACHINE)
        return [space.sample(rng) for _ in range(2)]

    assert sampled(7) == sampled(7)
    assert sampled(7) != sampled(8)


def test_features_tell_tiles_and_vectors_apart_and_shapes_have_a_structure() -> None:
    func = matrices(32, 64, 16)
    plain = dict(zip(NAMES, features(func, MACHINE), strict=True))
    space, rng = ScheduleSpace(func, MACHINE), random.Random(0)
    tiled = next(c for c in iter(lambda: space.sample(rng), None) if ("C.way", "tiles") in c)
    better = dict(zip(NAMES, features(space.program(tiled), MACHINE), strict=True))
    assert better["estimate"] < plain["estimate"]
    assert better["lanes"] > plain["lanes"] == 0
    begun = 32 * 64  # each element once, whatever the loop of the sum
    assert 2 ** plain["operations"] == pytest.approx(begun + 2 * begun * 16)
    assert structure(func) == structure(product(random.Random(4))[0]) != structure(WORKLOADS["layer"](rng)[0])
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_conditions_that_nearly_always_hold_cost_nothing() -> None:
    """Loops are partitioned where they hold."""
    x = te.placeholder((30,), name="x")
    y = te.compute((30,), lambda i: x[i] + 1.0)

    def guards(inner: int) -> float:
        s = te.create_schedule(y.op)
        s[y].split(y.op.axis[0], inner)
        loops = scheduled_program(s, [x, y], "main")
        assert ("likely" in loops.script()) is (inner == 8)
        return features(loops, MACHINE)[NAMES.index("guards")]

    assert guards(8) == guards(5)


def test_memory_that_is_read_in_short_runs_is_expected_to_take_longer() -> None:
    """The lines of a run are fetched ahead of their use, all but the first."""
    x = te.placeholder((512, 1024), name="x")
    y = te.compute((512, 1024), lambda i, j: x[i, j] + 1.0, name="y")

    def row(columns: int) -> dict[str, float]:
        s = te.create_schedule(y.op)
        outer, inner = s[y].split(y.op.axis[1], columns)
        s[y].reorder(outer, y.op.axis[0], inner)
        return dict(zip(NAMES, features(scheduled_program(s, [x, y], "main"), MACHINE), strict=True))

    short, long = row(64), row(256)
    assert short["L1_bytes"] == pytest.approx(long["L1_bytes"], abs=1e-3)
    assert short["L1_runs"] == pytest.approx(long["L1_runs"] + 2, abs=1e-3), "four times as many"
    assert short["estimate"] > long["estimate"]


def test_what_a_program_computes_again_is_expected_to_take_its_time() -> None:
    func, _ = softmax(random.Random(4))

    def estimate(depth: int) -> float:
        sch = Schedule(func)
        sums = sch.get_block("total")
        sch.compute_at(sums, sch.get_loops(sch.get_block("softmax"))[depth])
        return features(sch.mod, MACHINE)[NAMES.index("estimate")]

    assert estimate(0) < estimate(1) - 1


def test_what_is_pinned_and_banned_holds_for_every_candidate() -> None:
    func, rng = matrices(8, 16, 4), random.Random(5)
    wishes = Wishes({"C.way": "tiles", "C.unroll": False}, [("C.vector", 1), ("C.0.inner", 1)])
    space = ScheduleSpace(func, MACHINE, wishes)
    candidate = space.sample(rng)
    for _ in range(3):
        candidate = space.mutated(space.crossed(candidate, space.sample(rng), rng), rng)
        made = dict(candidate)
        assert made["C.way"] == "tiles"
        assert made.get("C.unroll", False) is False
        assert (made["C.vector"], made.get("C.0.inner")) not in [(1, 1), (0, 1)]
        assert made["C.vector"] == 0
        plain = ScheduleSpace(func, MACHINE)  # which knows nothing of what is wanted
        assert tvm.ir.structural_equal(plain.program(candidate), space.program(candidate))
    with pytest.raises(ArgumentError, match="leaves no choice"):
        ScheduleSpace(func, MACHINE, Wishes({"C.way": "nothing"})).sample(rng)


def test_what_early_rules_made_is_not_made_again_and_is_the_same() -> None:
    d, w = te.placeholder((1, 4, 6, 6), name="d"), te.placeholder((8, 4, 3, 3), name="w")
    func = te.create_prim_func([d, w, topi.nn.relu(topi.nn.conv2d_nchw(d, w, 1, 1, 1))])
    space = ScheduleSpace(func, MACHINE)
    made = [space.sample(random.Random(seed)) for seed in range(12)]
    assert len({value for candidate in made for name, value in candidate if name.endswith(".winograd")}) == 3
    for candidate in made:
        assert space.program(candidate)["main"].script() == space.schedule(candidate).mod["main"].script()


def test_no_more_beginnings_are_remembered_than_a_few() -> None:
    asked: list[BlockRV] = []

    def ask(d: Derivation, rv: BlockRV) -> None:
        asked.append(rv)
        d.choose("number", range(40))

    space = ScheduleSpace(matrices(4, 4, 4), MACHINE, rules=[Rule("ask", "", ask, is_early=True)])
    for number in (*range(32), *range(32), 32, 0):
        assert space.like((("number", number),), random.Random(0)) == (("number", number),)
    assert len(asked) == 34, "32 were remembered, then all were forgotten for the next one"
