"""From an answer to panes: which step each shows, the words of the titles."""

from __future__ import annotations

import msgspec
import pytest

from app.artifacts import Answer, Console, Kernel, Loop, Measurement, Stage, Step, Unit
from app.panes import table
from app.panes.kernels import KernelTable, kernel_rows
from app.panes.limits import MAX_KERNELS, MAX_OPERATORS, MAX_STEPS, MAX_UNITS
from app.panes.listing_pane import PaneListing
from app.panes.numbers import busy, conditions, duration, how_measured, operations
from app.panes.page import Page, page
from app.panes.schedule import ScheduleNest
from app.panes.selection import PREVIOUS, View
from tests.app.fixtures import full_answer, listing


def listings(shown: Page) -> dict[str, PaneListing]:
    """Return the listings that are shown, by pane."""
    return {name: content for name, content in shown.contents.items() if isinstance(content, PaneListing)}


def kernel_table(shown: Page) -> KernelTable:
    content = shown.contents["kernels"]
    assert isinstance(content, KernelTable)
    return content


def test_each_pane_shows_the_last_step_unless_asked_otherwise() -> None:
    answer = full_answer()
    last = page(answer, View())
    assert {name: shown.label for name, shown in listings(last).items()} == {
        "loops": "clean-up · LowerParallel",
        "llvm": "optimised",
        "asm": "host",
    }
    earlier = page(answer, View(chosen={"loops": "lowering:Loops:0", "llvm": "llvm:as emitted:0"}))
    assert listings(earlier)["loops"].label == "loops · Loops"
    assert listings(earlier)["llvm"].label == "as emitted"


def test_of_several_functions_the_one_built_last_is_shown() -> None:
    first, second, third = Unit(name="first", built=True), Unit(name="second", built=True), Unit(name="third")
    answer = Answer(units=[first, second, third])
    assert page(answer, View()).function == second
    assert page(answer, View(unit=0)).function == first
    assert page(answer, View(unit=7)).function == second
    assert page(Answer(units=[third]), View()).function == third


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
        answer, units=[graph, *answer.units], listings={**answer.listings, graph_listing.key: graph_listing}
    )
    shown = page(answer, View())
    assert shown.graph == graph
    assert shown.function == answer.units[-1]
    assert listings(shown)["graph"].label == "FoldConstant"
    assert [group.name for group in shown.timeline] == ["graph", "schedule", "lowering", "llvm"]
    assert [button.caption for button in shown.timeline[0].buttons] == ["+6 operators", "+4 lines", "−2 operators"]
    assert [row.kernel.name for row in kernel_table(shown).rows] == ["b", "a"]


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


def test_a_graph_that_was_built_without_kernels_has_a_table_of_none() -> None:
    """As where its output is its input."""
    shown = page(Answer(units=[Unit(name="main", kind="graph", built=True)]), View())
    assert kernel_table(shown).facts == ["0 kernels"]
    assert page(Answer(units=[Unit(name="main", kind="graph")]), View()).contents["kernels"] is None


def test_a_step_that_is_gone_gives_way_to_the_last_one() -> None:
    assert (
        listings(page(full_answer(), View(unit=99, chosen={"loops": "lowering:Gone:0"})))["loops"].label
        == "clean-up · LowerParallel"
    )


def test_a_pass_is_compared_with_the_one_before() -> None:
    text = listings(page(full_answer(), View(chosen={"against": PREVIOUS})))["loops"]
    assert text.diff is not None
    assert (text.diff.added, text.diff.removed) == (1, 1)
    assert text.facts == ["+1 −1", "vectors · Simplify → clean-up · LowerParallel"]


def test_titles_say_what_counts() -> None:
    texts = listings(page(full_answer(), View()))
    assert texts["asm"].facts == ["1 FMA", "0 spills"]
    assert texts["asm"].traced == "60% traced to the script"
    assert texts["llvm"].facts == ["4 instructions"]


def test_one_of_a_kind_is_said_so() -> None:
    facts = {"vector bits": 0, "spills": 1, "instructions": 41_157, "branches": 1, "stores": 2}
    text = listing("asm", "gas", "retq", {}, **facts)
    pane = table.find("asm")
    assert pane is not None
    assert PaneListing(pane, text).facts == [*("scalar", "1 spill", "41,157 instructions", "1 branch", "2 stores")]


def test_source_code_in_the_place_of_llvm_ir_is_said_so() -> None:
    pane = table.find("llvm")
    assert pane is not None
    assert PaneListing(pane, listing("llvm", "c", "int main(void);", {})).facts == [
        "C source code: this target has no LLVM IR"
    ]


def test_an_empty_answer_has_empty_panes() -> None:
    empty = page(Answer(), View())
    assert empty.timeline == []
    assert {name for name, content in empty.contents.items() if content is not None} == {"source", "console"}


def test_a_text_for_which_there_was_no_time_is_not_said_to_be_of_nothing() -> None:
    steps = [Step(group="lowering", name="Loops", phase=0), Step(group="llvm", name="optimised", applied=False)]
    late = page(Answer(units=[Unit(name="f", built=True, steps=steps)]), View())
    empty = {pane.name: late.explained(pane).empty for pane in table.PANES}
    assert empty["loops"] == empty["loops-2"] == "No loop IR: there was no time to print it."
    assert empty["llvm"] == "No LLVM IR: no function was built for a CPU."
    hurried = page(Answer(units=[Unit(name="f", built=True, steps=steps)], hurried=True), View())
    [words] = {hurried.explained(pane).empty for pane in table.PANES if pane.name == "loops"}
    assert words == "No loop IR: there was no time to print it. The server was busy: the next compilation may have it."


@pytest.mark.parametrize("raw", ["", "[]", "{", '{"unit": "x"}', '{"unit": true}', '{"loops": 3}', '{"loops": []}'])
def test_a_view_that_makes_no_sense_is_the_default(raw: str) -> None:
    view = View.read(raw)
    assert (view.unit, view.of_graph) == (-1, -1)
    assert page(full_answer(), view).contents == page(full_answer(), View()).contents


def test_data_for_the_scripts_is_plain() -> None:
    data = msgspec.to_builtins(page(full_answer(), View()).data)
    assert list(data["origins"][2]) == [2, "loop", 5, [0]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.2e-8, "32 ns"), (4.567e-6, "4.57 µs"), (9.996e-4, "1 ms"), (0.0123, "12.3 ms"), (2.5, "2.5 s")],
)
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_measurement_says_how_it_was_taken() -> None:
    m = Measurement(name="k", kind="kernel", seconds=0.01, spread=0.001, repeats=20, threads=2)
    assert how_measured(m) == "median of 20, ± 5.0%, 2 threads"
    busy = Measurement(name="k", kind="kernel", seconds=0.01, spread=0.001, repeats=20, disturbed=True)
    assert how_measured(busy) == "median of 20, ± 5.0%, 1 thread, disturbed: processor time"
    once = Measurement(name="k", kind="kernel", seconds=0.01, number=3)
    assert how_measured(once) == "single run of 3 calls, 1 thread"


def test_figures_of_a_busy_machine_have_no_tick() -> None:
    good = Measurement(name="k", kind="kernel", seconds=0.01, gflops=30.0, checked="ok")
    peak = Measurement(name="peak", kind="peak", seconds=0.0, gflops=98.0)
    assert (busy([good, peak]), conditions([good, peak])[1]) == ("", "✓ results of the unscheduled definition")
    for disturbed in (
        [msgspec.structs.replace(good, disturbed=True), peak],
        [good, msgspec.structs.replace(peak, disturbed=True)],
        [good, msgspec.structs.replace(peak, gflops=3.0)],
    ):
        assert busy(disturbed) == "measured while the machine was busy"
        assert conditions(disturbed)[1] == "same results as the unscheduled definition"


def test_a_benchmark_says_what_its_measurements_share() -> None:
    good = Measurement(name="k", kind="kernel", seconds=0.01, threads=2, cpu="Test CPU", checked="ok")
    unchecked = Measurement(name="k", kind="kernel", seconds=0.01, threads=2, cpu="Test CPU")
    clean = msgspec.structs.replace(good, source="server")
    known, right = ["2 threads", "Test CPU"], "✓ results of the unscheduled definition"
    assert conditions([good]) == [*known, right, "as the script reports"]
    assert conditions([good, unchecked]) == [*known, "as the script reports"]
    assert conditions([clean]) == [*known, right, "measured by this server"]
    assert conditions([good, clean]) == [*known, right]
    assert conditions([]) == []


def test_a_flood_is_cut_before_it_is_drawn() -> None:
    loops = [Loop(name="i", extent="1", kind="spatial")] * 10_000
    stages = [Stage(name="C", placement="root", loops=loops, body="")] * 1_000
    unit = Unit(name="flood", steps=[Step(group="schedule", name="split")] * 10_000, schedule=stages)
    flood = Answer(units=[unit] * 300, console=[Console("stdout", "x")] * 100_000)
    shown = page(flood, View())
    schedule = shown.contents["schedule"]
    assert isinstance(schedule, ScheduleNest)
    assert len(shown.answer.units) == MAX_UNITS
    assert len(schedule.primitives) == MAX_STEPS
    assert len(schedule.function.schedule) * len(schedule.function.schedule[0].loops) <= 10_000
    assert len(shown.answer.console) <= 1_000


def test_a_flood_of_kernels_is_cut_before_it_is_drawn() -> None:
    kernel = Kernel(name="k", operators=["add"] * 10_000, origins=list(range(10_000)), script="x" * 1_000_000)
    steps = [Step(group="graph", name="FuseOps")] * 10_000
    unit = Unit(name="main", kind="graph", steps=steps, kernels=[kernel] * 5_000, memory=["words"] * 5_000)
    shown = page(Answer(units=[unit]), View())
    assert shown.graph is not None
    assert len(shown.graph.steps) == MAX_STEPS
    assert len(kernel_table(shown).rows) == MAX_KERNELS
    assert len(kernel_table(shown).facts) <= 12
    assert kernel_table(shown).scripts == {"k": ""}
    first = kernel_table(shown).rows[0].kernel
    assert len(first.operators) == len(first.origins) == MAX_OPERATORS


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (800, "800"), (16_400, "16.4 k"), (2.65e8, "265 M"), (3.6e9, "3.6 G")]
)
def test_operations_have_a_unit(number: float, text: str) -> None:
    assert operations(number) == text


def test_an_old_links_view_chooses_the_same_steps() -> None:
    view = View.read('{"unit": 0, "loops": "lowering:Loops:0", "against": "previous", "closed": "bench", "zoom": 1.5}')
    shown = page(full_answer(), view)
    assert shown.function == full_answer().units[0]
    assert listings(shown)["loops"].label == "loops · Loops"
    assert listings(shown)["loops"].against == PREVIOUS


def test_kernels_are_drawn_while_a_run_goes_on_once_they_are_there() -> None:
    def live(answer: Answer) -> list[str]:
        return [pane.name for pane in page(answer, View()).live]

    timed = Kernel(name="fused_add", operators=["add"], seconds=1e-3)
    assert live(Answer()) == ["console"], "those of the run before stay until then"
    assert live(Answer(units=[Unit(name="main", kind="graph", built=True, kernels=[timed])])) == ["console", "kernels"]
