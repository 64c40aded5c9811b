"""The recorder keeps functions and graphs with their passes, also where something fails on the way."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import compiler as tvm
from app.recorder.recorder import Recorder
from app.recorder.units.subjects import MAX_FUNCTIONS, FunctionSubject, GraphSubject, PassRecord, SubjectList
from compiler import relay, te
from compiler.ir.error import TVMError
from compiler.ir.instrument import instrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.ir.transform import PassContext, Sequential, module_pass

TYPED_AND_FUSED = ["InferType", "InferType", "FuseOps"]
"""Fusion requires types: the pass runs once more, and changes nothing."""


def addition(n: int = 8) -> tuple[Any, list[Any]]:
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="b")
    return te.create_schedule(b.op), [a, b]


def graph() -> IRModule:
    x: Any = relay.var("x", shape=(2, 3))
    return IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


@module_pass(opt_level=0, name="broken")
def broken(mod: IRModule, ctx: PassContext) -> IRModule:
    raise TVMError("no")


def test_a_function_is_kept_from_its_schedule_to_its_code() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        schedule, args = addition()
        built = tvm.build(schedule, args, target="llvm", name="add")
    [function] = recorder.functions
    assert (function.name, function.source, function.built) == ("add", schedule, built)
    assert {record.phase for record in function.passes} == {1, 2, 3}  # there is none in phase 0
    assert [code.form for code in function.codes] == ["emitted", "optimised", "assembly"]
    assert recorder.function_of(built) is function
    assert recorder.schedules == [function.schedule]


def test_source_code_is_kept_with_its_regions() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        schedule, args = addition()
        built = tvm.build(schedule, args, target="c", name="add")
    [function] = recorder.functions
    [code] = function.codes
    assert code.form == "c"
    assert code.printed is not None
    assert code.text + "\n" == built.get_source()
    assert any(line.regions for line in code.printed.lines if "for (" in line.text)


def test_lowering_again_takes_the_place_of_what_nobody_built() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        schedule, args = addition()
        tvm.lower(schedule, args)
        again = tvm.lower(schedule, args)
        schedule[args[1]].unroll(args[1].op.axis[0])
        tvm.lower(schedule, args)
    assert len(recorder.functions) == 2
    assert next(iter(recorder.functions)).lowered is again


def test_passes_continue_the_graph_that_they_are_given() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        first = graph()
        typed = relay.transform.InferType()(first)
        relay.transform.FuseOps(0)(typed)
        relay.transform.InferType()(graph())
    assert [[record.name for record in g.passes] for g in recorder.graphs] == [TYPED_AND_FUSED, ["InferType"]]


def test_a_sequence_is_its_members_whether_it_has_a_name_or_not() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        passes = [relay.transform.InferType(), relay.transform.FuseOps(0)]
        Sequential(passes)(graph())
        Sequential(passes, name="mine")(graph())
    assert [[record.name for record in g.passes] for g in recorder.graphs] == [TYPED_AND_FUSED] * 2


def test_a_pass_that_fails_does_not_take_the_next_ones_with_it() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        module = graph()
        with pytest.raises(TVMError, match="no"):
            Sequential([relay.transform.InferType(), broken])(module)
        relay.transform.InferType()(graph())
    assert [[record.name for record in g.passes] for g in recorder.graphs] == [["InferType"], ["InferType"]]


def test_functions_are_kept_after_a_build_that_fails() -> None:
    recorder = Recorder()
    with instrumented(recorder):
        with pytest.raises(TVMError):
            relay.build(graph(), target="llvm", params={"x": [1.0]})
        schedule, args = addition()
        with pytest.raises(TVMError):
            tvm.lower(schedule, [])
        tvm.build(schedule, args, target="llvm")
    assert [function.name for function in recorder.functions if function.built is not None] == ["main"]


def test_what_is_too_much_is_counted() -> None:
    functions: SubjectList[FunctionSubject] = SubjectList(MAX_FUNCTIONS)
    kept = [functions.add(FunctionSubject(str(n), None)) for n in range(MAX_FUNCTIONS + 2)]
    assert (sum(kept), len(functions), functions.left_out) == (MAX_FUNCTIONS, MAX_FUNCTIONS, 2)
    assert functions.last is not None
    assert functions.last.name == str(MAX_FUNCTIONS - 1)


def test_a_function_shows_a_pass_beside_its_members_and_a_graph_the_members_alone() -> None:
    before, after = IRModule(), IRModule()
    member, whole = PassRecord("member", after), PassRecord("composite", after)
    assert FunctionSubject("f", None).steps_of(whole, [member]) == [member, whole]
    assert GraphSubject("g", None, before).steps_of(whole, [member]) == [member]
    assert GraphSubject("g", None, before).steps_of(PassRecord("own", before), [member])[0].name == "own"


def test_threads_of_a_script_are_recorded_with_their_lines() -> None:
    recorder, table = Recorder(), OriginTable()
    with recording(table, process_wide=True), instrumented(recorder, process_wide=True):
        thread = threading.Thread(target=lambda: tvm.lower(*addition()))
        thread.start()
        thread.join()
    [function] = recorder.functions
    assert function.lowered is not None
    origins = table.ancestors(function.lowered["main"].body.span)
    assert {table.rows[row].level for row in origins} >= {"source"}
    after = len(table.rows)
    thread = threading.Thread(target=addition)
    thread.start()
    thread.join()
    assert (len(table.rows), len(recorder.schedules)) == (after, 1)
