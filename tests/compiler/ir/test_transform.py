"""Passes run through one funnel: levels, instruments, requirements, options."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from compiler.ir import instrument
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    Sequential,
    module_pass,
    parse_pass,
    registered_passes,
)

log: list[str] = []


@pytest.fixture(autouse=True)
def _empty_log() -> None:
    log.clear()


def note(name: str, opt_level: int = 0, required: tuple[str, ...] = ()) -> Pass:
    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        log.append(name)
        return mod

    return module_pass(run, opt_level, name, required)


def test_a_pass_of_a_sequence_runs_if_the_level_lets_it() -> None:
    mod = IRModule()
    sequence = Sequential([note("always"), note("late", opt_level=3)])
    sequence(mod)
    assert log == ["always"]
    with PassContext(opt_level=3, disabled_pass=["always"]):
        sequence(mod)
    assert log == ["always", "late"]
    with PassContext(required_pass=["late"]):
        sequence(mod)
    assert log == ["always", "late", "always", "late"]


def test_a_pass_that_is_called_directly_runs_whatever_its_level() -> None:
    late = note("late", opt_level=3)
    late(IRModule())
    with PassContext(opt_level=0, disabled_pass=["late"]):
        late(IRModule())
    assert log == ["late", "late"]


def test_the_level_of_a_sequence_counts_within_another_one() -> None:
    inner = Sequential([note("pass")], opt_level=3)
    inner(IRModule())
    assert log == ["pass"]
    Sequential([inner])(IRModule())
    assert log == ["pass"]


def test_contexts_nest() -> None:
    with PassContext(opt_level=0) as outer:
        with PassContext(opt_level=3) as inner:
            assert PassContext.current() is inner
        assert PassContext.current() is outer
    assert PassContext.current().opt_level == 2


def test_a_sequence_runs_in_order_and_required_passes_before() -> None:
    note("before")
    Sequential([note("one", required=("before",)), note("two")])(IRModule())
    assert log == ["before", "one", "two"]


def test_a_direct_call_runs_no_required_passes_but_those_that_say_more_of_a_program() -> None:
    """As in TVM, where the program of a direct call is what it is given."""
    note("before")
    note("alone", required=("before",))(IRModule())
    assert log == ["alone"]
    facts = module_pass(lambda mod, ctx: log.append("facts") or mod, 0, "facts")
    type(facts).annotates = True
    note("informed", required=("facts", "before"))(IRModule())
    assert log == ["alone", "facts", "informed"]


@instrument.pass_instrument
class Guard:
    def __init__(self, skipped: str = "") -> None:
        self.skipped = skipped
        self.events: list[str] = []

    def enter_pass_ctx(self) -> None:
        self.events.append("enter")

    def exit_pass_ctx(self) -> None:
        self.events.append("exit")

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        return info.name != self.skipped

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.events.append(f"before {info.name}")

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.events.append(f"after {info.name}")


def test_instruments_see_and_skip_passes() -> None:
    guard = Guard(skipped="two")
    with PassContext(instruments=[guard]):
        Sequential([note("one"), note("two")], name="all")(IRModule())
    assert guard.events == ["enter", "before all", "before one", "after one", "after all", "exit"]
    assert log == ["one"]


def test_instruments_hear_why_a_pass_is_skipped() -> None:
    skipped: list[tuple[str, str]] = []

    @instrument.pass_instrument
    class Skipped:
        def pass_skipped(self, mod: IRModule, info: PassInfo, reason: str) -> None:
            skipped.append((info.name, reason))

    with PassContext(opt_level=1, disabled_pass=["one"], instruments=[Guard(skipped="three"), Skipped()]):
        Sequential([note("one"), note("two", opt_level=2), note("three"), note("four")])(IRModule())
    assert log == ["four"]
    assert skipped == [
        ("one", "disabled by the context"),
        ("two", "skipped: needs opt_level 2 (current: 1)"),
        ("three", "vetoed by an instrument"),
    ]


def test_instruments_hear_of_a_pass_that_fails() -> None:
    failed: list[tuple[str, str]] = []

    @instrument.pass_instrument
    class Failed:
        def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
            failed.append((info.name, str(error)))

    @module_pass(opt_level=0)
    def broken(mod: IRModule, ctx: PassContext) -> IRModule:
        raise ArgumentError("no")

    timing = instrument.PassTimingInstrument()
    with PassContext(instruments=[Failed(), timing]):
        with pytest.raises(ArgumentError, match="no"):
            Sequential([note("one"), broken], name="all")(IRModule())
        note("two")(IRModule())
        assert timing.render().splitlines()[-1].startswith("two")
    assert failed == [("broken", "no"), ("all", "no")]


def test_timing_is_rendered_by_nesting() -> None:
    timing = instrument.PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([note("one"), note("two")], name="all")(IRModule())
        lines = timing.render().splitlines()
    assert [line.split(":")[0] for line in lines] == ["all", "\tone", "\ttwo"]
    assert re.fullmatch(r"all: \d+us \[\d+us\] \(100\.00%; 100\.00%\)", lines[0])
    assert timing.render() == ""


def test_printing_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    printing = instrument.PassPrintingInstrument(["one"], ["two"])
    with PassContext(instruments=[printing]):
        Sequential([note("one"), note("two")])(IRModule())
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Print IR")] == ["Print IR before: one", "Print IR after: two"]


def test_printing_around_all_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with PassContext(instruments=[instrument.PrintBeforeAll(), instrument.PrintAfterAll()]):
        note("one")(IRModule())
    headings = [line for line in capsys.readouterr().out.splitlines() if "Running Pass" in line]
    assert [h.partition(", ")[0] for h in headings] == [
        "Before Running Pass: The meta data of the pass - pass name: one",
        "After Running Pass: The meta data of the pass - pass name: one",
    ]


def test_a_function_and_a_class_become_passes() -> None:
    @module_pass(opt_level=0)
    def rename(mod: IRModule, ctx: PassContext) -> IRModule:
        return IRModule({}, attrs={"renamed": True})

    @module_pass(opt_level=1, name="mark")
    class Marker:
        def __init__(self, value: int) -> None:
            self.value = value

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return IRModule({}, attrs={"mark": self.value})

    assert rename(IRModule()).attrs == {"renamed": True}
    assert (rename.info.name, Marker(3).info.name, Marker(3).value) == ("rename", "mark", 3)
    assert Marker(3)(IRModule()).attrs == {"mark": 3}
    assert (repr(rename), repr(Marker(3)), parse_pass("Marker(3)") == Marker(3)) == (
        "rename()",
        "Marker(value=3)",
        True,
    )


class Mark(ModulePass, name="test.Mark", opt_level=1, configurable=True):
    key: str
    values: tuple[int, ...] = (1, 2)
    depth: int | None = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod.with_attr(self.key, list(self.configured(ctx).values))


def test_the_options_of_a_pass_are_its_fields() -> None:
    mark = Mark("seen", depth=3)
    assert (mark.info, mark.options()) == (PassInfo(1, "test.Mark"), {"key": "seen", "values": (1, 2), "depth": 3})
    assert (mark == Mark("seen", (1, 2), 3), mark == Mark("seen"), hash(mark) == hash(Mark("seen", depth=3))) == (
        True,
        False,
        True,
    )
    with pytest.raises(FrozenInstanceError):
        mark.depth = 4  # type: ignore[misc]


def test_a_context_sets_the_options_of_a_pass() -> None:
    with PassContext(config={"test.Mark": {"values": (7,)}}):
        assert Mark("seen")(IRModule()).attrs == {"seen": [7]}
    with pytest.raises(AttributeError, match="there is no option 'valeus'; did you mean 'values'"):
        PassContext(config={"test.Mark": {"valeus": (7,)}})


def test_a_context_tells_all_options_of_a_pass() -> None:
    unrolling = PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}).config["tir.UnrollLoop"]
    assert unrolling == {"auto_max_step": 10}
    assert (unrolling.auto_max_step, unrolling.explicit_unroll) == (10, True)
    with pytest.raises(AttributeError, match="no 'steps'"):
        print(unrolling.steps)


def test_what_a_pass_is_says_so_as_in_tvm() -> None:
    assert str(PassInfo(2, "p", ("a", "b"))) == (
        "The meta data of the pass - pass name: p, opt_level: 2, required passes: [\na, b, ]\n"
    )


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (Mark("seen"), "Mark(key='seen', values=(1, 2), depth=None)"),
        (Sequential([Mark("a")]), "Sequential([Mark(key='a', values=(1, 2), depth=None)])"),
        (Sequential([], 2, "all", ["test.Mark"]), "Sequential([], opt_level=2, name='all', required=('test.Mark',))"),
        (note("noted"), "noted()"),
    ],
)
def test_a_pass_is_printed_and_read_back(made: Pass, text: str) -> None:
    assert repr(made) == text
    assert parse_pass(text) == made


def test_several_passes_are_a_sequence() -> None:
    note("one")
    assert parse_pass("one, test.Mark(key='a')") == Sequential([parse_pass("one()"), Mark("a")])


def test_what_a_program_defines_does_not_replace_a_pass_of_the_compiler() -> None:
    before = registered_passes()
    note("Sequential")
    assert registered_passes() == before


def test_a_pass_needs_its_method() -> None:
    with pytest.raises(ArgumentError, match="pass Idle: a ModulePass needs a method transform_module"):

        class Idle(ModulePass):
            pass


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test.Mrk(key='a')", "there is no pass 'test.Mrk'; did you mean 'test.Mark'?"),
        ("Mark(key='a', vales=())", "Mark: there is no option 'vales'; did you mean 'values'?"),
        ("Mark(key=1)", "Mark: key must be of type str, got 1"),
        ("Mark(key='a', values=('b',))", "Mark: values must be of type tuple of int, got"),
        ("Mark(key='a', depth=1.5)", "Mark: depth must be of type int or None, got 1.5"),
        ("Mark()", "missing a required argument: 'key'"),
        ("Mark('a', (), 1, 2)", "too many positional arguments"),
        ("Mark(**{})", "expected a pass or a literal"),
        ("Mark(key='a'", "cannot read"),
        ("", "expected the text of a pass"),
        (3, "expected a text, got 3"),
    ],
)
def test_a_text_that_cannot_be_read(text: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        parse_pass(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: note("one")("module"), "pass one: expected an IRModule, got str"),  # type: ignore[arg-type]
        (lambda: module_pass(lambda m, c: None, name="bad")(IRModule()), "must return an IRModule"),
        (lambda: module_pass(3, name="bad"), "pass bad: expected a function or a class, got 3"),
        (lambda: Sequential([print]), "expected passes, got builtin_function_or_method"),  # type: ignore[list-item]
        (lambda: note("one", required=("missing",))(IRModule()), "there is no pass 'missing'"),
        (lambda: PassContext(config={"tir.disable_vectorize": "yes"}), "must be of type bool or int, got 'yes'"),
        (lambda: module_pass(opt_level=0)(int), "class int needs a method transform_module"),
        (lambda: instrument.pass_instrument(int), "class int needs one of the methods"),
        (lambda: instrument.pass_instrument(3), "expected a class, got int"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_are_explained(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
