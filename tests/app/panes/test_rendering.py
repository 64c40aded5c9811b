"""From an answer to panes: which step each shows, the words of the titles."""

from __future__ import annotations

import msgspec
import pytest

from app.artifacts import Answer, Console, Kernel, Loop, Measurement, Stage, Step, Unit
from app.panes.rendering import (
    KERNELS_MOST,
    OPERATORS_MOST,
    PREVIOUS,
    STEPS_MOST,
    UNITS_MOST,
    Text,
    View,
    conditions,
    duration,
    how_measured,
    kernel_rows,
    operations,
    page,
)
from tests.app.fixtures import full_answer, listing


def test_each_pane_shows_the_last_step_unless_asked_otherwise() -> None:
    answer = full_answer()
    last = page(answer, View())
    assert {name: text.label for name, text in last.texts.items()} == {
        "graph": "",
        "loops": "phase 3 · LowerParallel",
        "llvm": "optimised",
        "asm": "host",
    }
    earlier = page(answer, View(loops="lowering:Loops:0", llvm="llvm:as emitted:0"))
    assert earlier.texts["loops"].label == "phase 0 · Loops"
    assert earlier.texts["llvm"].label == "as emitted"


def test_of_several_functions_the_one_built_last_is_shown() -> None:
    first, second, third = Unit(name="first", built=True), Unit(name="second", built=True), Unit(name="third")
    answer = Answer(units=[first, second, third])
    assert page(answer, View()).unit == second
    assert page(answer, View(unit=0)).unit == first
    assert page(answer, View(unit=7)).unit == second
    assert page(Answer(units=[third]), View()).unit == third


def test_a_graph_stands_beside_its_kernels() -> None:
    graph_listing = listing("graph", "relay", "def @main", {})
    steps = [
        Step(group="graph", name="Graph", listing=graph_listing.key, delta={"operators": 6, "lines": 8}),
        Step(group="graph", name="FuseOps", listing=graph_listing.key, delta={"operators": 0, "lines": 4}),
        Step(group="graph", name="FoldConstant", listing=graph_listing.key, delta={"operators": -2, "lines": -2}),
    ]
    kernels = [Kernel(name="a", operators=["add"], flops=10.0), Kernel(name="b", operators=["nn.dense"], flops=90.0)]
    answer = full_answer()
    graph = Unit(name="main", kind="graph", steps=steps, kernels=kernels)
    answer = msgspec.structs.replace(
        answer,
        units=[graph, *answer.units],
        listings={**answer.listings, graph_listing.key: graph_listing},
    )
    shown = page(answer, View())
    assert shown.graph == graph
    assert shown.unit == answer.units[-1]
    assert shown.texts["graph"].label == "FoldConstant"
    assert [row.key for row in shown.rows] == ["graph", "schedule", "lowering", "llvm"]
    assert [chip.small for chip in shown.rows[0].chips] == ["+6", "+4", "−2"]
    assert [row.kernel.name for row in shown.kernels] == ["b", "a"]


def test_kernels_are_sorted_by_what_they_cost() -> None:
    rows = kernel_rows(
        [
            Kernel(name="tvmgen_default_fused_add", operators=[], seconds=1e-3, flops=1e6),
            Kernel(name="conv", operators=[], seconds=3e-3, flops=9e6, calls=2),
        ]
    )
    assert [(row.name, row.share, row.heat) for row in rows] == [("conv", 0.75, 4), ("add", 0.25, 4)]
    assert rows[0].gflops == pytest.approx(6.0)
    assert kernel_rows([Kernel(name="add", operators=[])])[0].gflops is None


def test_a_step_that_is_gone_gives_way_to_the_last_one() -> None:
    assert page(full_answer(), View(loops="lowering:Gone:0", unit=99)).texts["loops"].label == "phase 3 · LowerParallel"


def test_a_pass_is_compared_with_the_one_before() -> None:
    text = page(full_answer(), View(against=PREVIOUS)).texts["loops"]
    assert text.diff is not None
    assert (text.diff.added, text.diff.removed) == (1, 1)
    assert text.facts == ["+1 −1", "phase 2 · Simplify → phase 3 · LowerParallel"]


def test_titles_say_what_counts() -> None:
    texts = page(full_answer(), View()).texts
    assert texts["asm"].facts == ["1 FMA", "0 spills", "60\u202f% linked"]
    assert texts["llvm"].facts == ["4 instructions", "43\u202f% linked"]
    assert "vfmadd231ps" in texts["asm"].instructions


def test_one_of_a_kind_is_said_so() -> None:
    facts = {"vector bits": 0, "spills": 1, "instructions": 41_157, "branches": 1, "stores": 2}
    text = listing("asm", "gas", "retq", {}, **facts)
    assert Text("asm", text).facts == [
        *("scalar", "1 spill", "41,157 instructions", "1 branch", "2 stores"),
        "0\u202f% linked",
    ]


def test_an_empty_answer_has_empty_panes() -> None:
    empty = page(Answer(), View())
    assert empty.rows == []
    assert all(text.listing is None and text.facts == [] for text in empty.texts.values())


@pytest.mark.parametrize("raw", ["", "[]", "{", '{"unit": "x"}', '{"loops": 3}'])
def test_a_view_that_makes_no_sense_is_the_default(raw: str) -> None:
    assert View.read(raw) == View()


def test_data_for_the_scripts_is_plain() -> None:
    data = msgspec.to_builtins(page(full_answer(), View()).data)
    assert data["origins"][2] == [2, "loop", 5, [0]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.2e-8, "32 ns"), (4.567e-6, "4.57 µs"), (9.996e-4, "1 ms"), (0.0123, "12.3 ms"), (2.5, "2.5 s")],
)
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_measurement_says_how_it_was_taken() -> None:
    m = Measurement(name="k", kind="kernel", seconds=0.01, spread=0.001, repeats=20, threads=2)
    assert how_measured(m) == "median of 20, ± 5.0\u202f%, 2 threads"
    once = Measurement(name="k", kind="kernel", seconds=0.01, number=3)
    assert how_measured(once) == "one measurement of 3 calls, 1 thread"


def test_a_benchmark_says_what_its_measurements_share() -> None:
    good = Measurement(name="k", kind="kernel", seconds=0.01, threads=2, cpu="Test CPU", checked="ok")
    unchecked = Measurement(name="k", kind="kernel", seconds=0.01, threads=2, cpu="Test CPU")
    assert conditions([good]) == "2 threads · Test CPU · checked ✓"
    assert conditions([good, unchecked]) == "2 threads · Test CPU"
    assert conditions([]) == ""


def test_a_flood_is_cut_before_it_is_drawn() -> None:
    loops = [Loop(name="i", extent="1", kind="spatial")] * 10_000
    stages = [Stage(name="C", placement="root", loops=loops, body="")] * 1_000
    unit = Unit(name="flood", steps=[Step(group="schedule", name="split")] * 10_000, schedule=stages)
    flood = Answer(units=[unit] * 300, console=[Console("stdout", "x")] * 100_000)
    shown = page(flood, View())
    assert shown.unit is not None
    assert len(shown.answer.units) == UNITS_MOST
    assert len(shown.primitives) == STEPS_MOST
    assert len(shown.unit.schedule) * len(shown.unit.schedule[0].loops) <= 10_000
    assert len(shown.answer.console) <= 1_000


def test_a_flood_of_kernels_is_cut_before_it_is_drawn() -> None:
    kernel = Kernel(name="k", operators=["add"] * 10_000, origins=list(range(10_000)), script="x" * 1_000_000)
    steps = [Step(group="graph", name="FuseOps")] * 10_000
    unit = Unit(name="main", kind="graph", steps=steps, kernels=[kernel] * 5_000, memory=["words"] * 5_000)
    shown = page(Answer(units=[unit]), View())
    assert shown.graph is not None
    assert len(shown.graph.steps) == STEPS_MOST
    assert len(shown.kernels) == KERNELS_MOST
    assert len(shown.kernel_facts) <= 12
    assert shown.scripts == {"k": ""}
    assert len(shown.kernels[0].kernel.operators) == len(shown.kernels[0].kernel.origins) == OPERATORS_MOST


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (800, "800"), (16_400, "16.4 k"), (2.65e8, "265 M"), (3.6e9, "3.6 G")]
)
def test_operations_have_a_unit(number: float, text: str) -> None:
    assert operations(number) == text
