"""Programs as text: what a text can hold, what it refuses, and what a reader never lets through."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from compiler import te, tir
from compiler.driver.lower import lower
from compiler.ir.error import BoundError, DTypeError, ScheduleError, TVMError
from compiler.ir.expr.primexpr import Call, CommReducer, Let, Var, const
from compiler.ir.op import CallEffect, registered_ops
from compiler.ir.structural import structural_equal
from compiler.te.program import MAX_BYTES, NotExpressible, ProgramError, read_program, write_program
from compiler.te.program.kinds import KINDS, callable_operators
from compiler.te.scheduling.schedule import Schedule

Args = list[Any]
TRUE, EXP = const(True, "bool"), registered_ops()["tir.exp"]


def elementwise(
    define: Callable[[Any], Any], dtype: str = "float32", shape: Any = (8,), names: Sequence[str] = "AB"
) -> tuple[Schedule, Args]:
    """Return the schedule of one computation over the elements of a tensor."""
    a = te.placeholder(shape, dtype, name=names[0])
    b = te.compute(a.shape, lambda *i: define(a(*i)), name=names[1])
    return te.create_schedule(b.op), [a, b]


def again(schedule: Schedule, args: Args) -> None:
    """Write, read and lower a program, and compare the loops."""
    read = read_program(write_program(schedule, args))
    assert structural_equal(lower(schedule, args), lower(read.schedule, list(read.args)))


def document(schedule: Schedule, args: Args) -> Any:
    return json.loads(write_program(schedule, args))


def matmul() -> tuple[Schedule, Args]:
    a, b = (te.placeholder((16, 16), name=name) for name in "AB")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    schedule = te.create_schedule(c.op)
    cached = schedule.cache_write(c, "local")
    outer, inner = schedule[c].split(c.op.axis[0], factor=4)
    schedule[cached].compute_at(schedule[c], outer)
    copy = schedule.cache_read(a, "shared", [cached])
    schedule[copy].compute_at(schedule[cached], schedule[cached].op.reduce_axis[0])
    schedule[c].reorder(c.op.axis[1], inner)
    schedule[c].pragma(inner, "auto_unroll_max_step", 16)
    schedule[copy].storage_align(schedule[copy].op.axis[0], 8, 1)
    return schedule, [a, b, c]


def argmax() -> tuple[Schedule, Args]:
    a = te.placeholder((4, 30), name="A")
    k = te.reduce_axis((0, 30), name="k")
    largest = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda i, v: (te.const(-1, i), te.min_value(v)),
    )
    place, value = te.compute((4,), lambda i: largest((k, a[i, k]), axis=k), name="M")
    schedule = te.create_schedule(place.op)
    _, inner = schedule[place].split(k, 5)
    schedule.rfactor(place, inner)
    return schedule, [a, place, value]


def threads() -> tuple[Schedule, Args]:
    """A thread axis that two stages share, and a condition on it."""
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((64,), lambda i: b[i] * 2.0, name="C")
    schedule = te.create_schedule(c.op)
    thread = te.thread_axis((0, 16), "threadIdx.x")
    outer, inner = schedule[c].split(c.op.axis[0], nparts=4)
    schedule[c].bind(outer, te.thread_axis("blockIdx.x"))
    schedule[c].bind(inner, thread)
    schedule[b].set_scope("shared")
    schedule[b].compute_at(schedule[c], outer)
    schedule[b].bind(schedule[b].op.axis[0], thread)
    schedule[c].set_store_predicate(thread.var < 12)
    return schedule, [a, c]


def symbolic() -> tuple[Schedule, Args]:
    n, m = te.size_var("n"), te.var("m")
    a = te.placeholder((n, m + 1), name="A")
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k + 1], axis=k), name="B")
    schedule = te.create_schedule(b.op)
    schedule[b].split(b.op.axis[0], factor=m)
    return schedule, [n, a, b, m]


def shared_axis() -> tuple[Schedule, Args]:
    """One axis over which two stages reduce."""
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((2, 8), name="k")
    b = te.compute((8,), lambda i: te.max(a[i, k], axis=k), name="B")
    c = te.compute((8,), lambda i: te.sum(a[i, k] - b[i], axis=k, where=k > 3), name="C")
    schedule = te.create_schedule(c.op)
    schedule[b].split(k, 2)
    schedule[c].split(k, 3)
    return schedule, [a, c]


def unread() -> tuple[Schedule, Args]:
    schedule, args = elementwise(lambda e: e + 1)
    return schedule, [te.placeholder((3,), name="unread"), *args]


@pytest.mark.parametrize("make", [matmul, argmax, threads, symbolic, shared_axis, unread])
def test_programs_are_the_same_after_they_were_text(make: Callable[[], tuple[Schedule, Args]]) -> None:
    again(*make())


@pytest.mark.parametrize("value", [0.1, -0.0, math.inf, -math.inf, 1e-300])
def test_constants_keep_their_bits(value: float) -> None:
    schedule, args = elementwise(lambda e: te.max(e, te.const(value, "float64")), "float64")
    again(schedule, args)


def test_lets_and_intrinsics() -> None:
    x = Var("x", "float32")
    again(*elementwise(lambda e: Let(x, e * e, te.exp(x) + te.reinterpret("float32", te.reinterpret("int32", x)))))
    again(*elementwise(lambda e: te.popcount(e) + te.clz(e) + (e << 2) + (e & 3) + ~e, "int32"))


@pytest.mark.parametrize("name", sorted(callable_operators()))
def test_what_may_be_called_only_computes_a_value(name: str) -> None:
    op = registered_ops()[name]
    assert op.effect is CallEffect.PURE
    assert op.reference is not None or name in ("tir.if_then_else", "tir.reinterpret", "tir.clz")


@pytest.mark.parametrize(
    "call",
    [
        lambda e: tir.call_pure_extern("float32", "expf", e),
        lambda e: tir.call_extern("float32", "system", e),
        lambda e: tir.call_packed("clock", e),
        lambda e: Call("float32", registered_ops()["tir.undef"], ()),
    ],
)  # fmt: skip
def test_a_call_of_anything_else_is_not_written_and_not_read(call: Callable[[Any], Any]) -> None:
    schedule, args = elementwise(lambda e: te.exp(e))
    with pytest.raises(NotExpressible, match="not a pure intrinsic"):
        write_program(*elementwise(lambda e: call(e).astype("float32")))
    for name in ("tir.call_extern", "tir.call_pure_extern", "tir.call_packed", "tir.tvm_access_ptr", "tir.address_of"):
        damaged = json.dumps(document(schedule, args)).replace("tir.exp", name)
        with pytest.raises(ProgramError, match="not a pure intrinsic"):
            read_program(damaged)


def test_shared_parts_are_written_once_and_depth_does_not_matter() -> None:
    def squared(e: Any) -> Any:
        for _ in range(12):
            e = e * e
        return e

    assert len(write_program(*elementwise(squared))) < 1_500

    def long(e: Any) -> Any:
        total = e
        for n in range(3_000):
            total = total + e * n
        return total

    text = write_program(*elementwise(long))
    read = read_program(text)
    assert write_program(read.schedule, read.args) == text


def edited(change: Callable[[Any], None]) -> str:
    """Return the text of a program after a change."""
    a = te.placeholder((8, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    b = te.compute((8,), lambda i: te.sum(a[i, k] + 1.0, axis=k), name="B")
    schedule = te.create_schedule(b.op)
    schedule[b].split(b.op.axis[0], factor=2)
    made = document(schedule, [a, b])
    change(made)
    return json.dumps(made)


def rows(made: Any) -> Any:
    return made["operations"][1]["rows"]


def rewrite(kind: str, *new: object) -> Callable[[Any], None]:
    """Return what replaces the last row of a kind."""

    def change(made: Any) -> None:
        place = max(i for i, row in enumerate(rows(made)) if row[0] == kind)
        rows(made)[place] = list(new)

    return change


def setting(*path: Any, to: object) -> Callable[[Any], None]:
    def change(made: Any) -> None:
        for key in path[:-1]:
            made = made[key]
        made[path[-1]] = to

    return change


REFUSED: list[tuple[Callable[[Any], None], type[TVMError], str]] = [
    (setting("version", to=2), ProgramError, "expected version 1, got 2"),
    (setting("operations", to={}), ProgramError, "operations must be a list"),
    (setting("operations", 0, "dtype", to="float33"), DTypeError, "float33"),
    (setting("operations", 0, "dtype", to="handle"), DTypeError, "handle"),
    (setting("operations", 1, "axes", to=["i", "j"]), TVMError, "varargs_names must be 1"),
    (setting("outputs", to=[1]), ProgramError, "Operation"),
    (setting("outputs", to=[99]), ProgramError, r"outputs\[0\] must be at least 0 and less than"),
    (setting("primitives", 0, "primitive", to="checkpoint"), ProgramError, "a primitive of a stage"),
    (setting("primitives", 0, "primitive", to="__class__"), ProgramError, "a primitive of a stage"),
    (setting("primitives", 0, "named", to={"factr": 2}), ProgramError, "factr"),
    (setting("primitives", 0, "named", to={"factor": -2}), TVMError, "factor must be a positive int"),
    (setting("primitives", 0, "label", to="split(i, factor=3) -> i.outer, i.inner"), ProgramError, "recorded as"),
    (setting("primitives", 0, "arguments", to=[{"axis": 0}, 3]), ProgramError, "multiple values for argument"),
    (setting("primitives", 0, "arguments", to=[{"value": 1}]), TVMError, "expected an axis"),
    (setting("operations", 0, "placeholder", to=3), ProgramError, "a string of at most 1,000 characters"),
    (setting("operations", 0, "placeholder", to="x" * 1_001), ProgramError, "a string of at most 1,000 characters"),
    (setting("operations", 0, "placeholder", to="\ud800"), ProgramError, "a string of at most 1,000 characters"),
    (setting("operations", 1, "body", to=[0.5]), ProgramError, "an integer"),
    (setting("operations", 1, "body", to=[-1]), ProgramError, "at least 0 and less than"),
    (setting("operations", 1, "shape", "roots", to=[True]), ProgramError, "an integer"),
    (setting("variables", to=[["n", "int32"]]), ProgramError, "a name, a data type, and whether it is a size"),
    (setting("variables", to=[["n", "int32", 1]]), ProgramError, "true or false"),
    (setting("axes", 0, "domain", "roots", to=[0]), ProgramError, "two expressions"),
    (setting("axes", 0, "kind", to="data"), ProgramError, "the axis of threads, or of a reduction over a domain"),
    (lambda made: made["axes"][0].pop("domain"), ProgramError, "the axis of threads, or of a reduction over a domain"),
    (setting("primitives", 0, "named", to=[]), ProgramError, "an object"),
    (setting("primitives", 0, "stage", to=2), ProgramError, "a stage or a group of 2 and 0"),
    (setting("primitives", 0, "stage", to=-1), ProgramError, "a stage or a group of 2 and 0"),
    (setting("primitives", 0, "arguments", to=[{"unheard": 0}]), ProgramError, "an argument of a primitive"),
    (setting("arguments", 0, to=3), ProgramError, "a tensor or a variable"),
    (rewrite("Add", "Add", 0), ProgramError, "a kind of expression and its fields"),
    (rewrite("Reduce", "Cast", "float32", 0), ProgramError, "must be"),
    (rewrite("FloatImm", "IntImm", "int32", 1), DTypeError, "Add takes values of one data type, got float32 and int32"),
    (rewrite("FloatImm", "FloatImm", "float32", "one"), ProgramError, "must be a number"),
    (rewrite("ProducerLoad", "ProducerLoad", 1, [0]), BoundError, "expected 2 indices, got 1"),
    (rewrite("Add", "Adds", 0, 0), ProgramError, "a kind of expression and its fields"),
    (rewrite("Add", "Add", 0, 77), ProgramError, "less than"),
    (rewrite("Add", "StringImm", "x"), TVMError, "Reduce takes"),
    (rewrite("CommReducer", "CommReducer", [], [], [], []), DTypeError, "CommReducer"),
]


@pytest.mark.parametrize(("change", "error", "words"), REFUSED)
def test_a_wrong_text_is_refused_with_what_is_wrong(
    change: Callable[[Any], None], error: type[TVMError], words: str
) -> None:
    read_program(edited(lambda made: None))
    with pytest.raises(error, match=words):
        read_program(edited(change))


@pytest.mark.parametrize("text", ["", "[", "null", "[]", "{}", "[" * 100_000, '{"version": 1}', "1" * 5_000, "\ud800"])
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(ProgramError):
        read_program(text)


def test_a_text_is_bounded() -> None:
    with pytest.raises(ProgramError, match="expected at most"):
        read_program(" " * (MAX_BYTES + 1))

    with pytest.raises(NotExpressible, match="bytes as data"):
        write_program(*elementwise(lambda e: e + 1, names=("A", "B" * (MAX_BYTES + 1))))


def test_a_reader_applies_the_checks_of_every_primitive() -> None:
    schedule, args = elementwise(lambda e: e + 1)
    schedule[args[1]].vectorize(args[1].op.axis[0])
    made = document(schedule, args)
    made["primitives"][0]["stage"] = 0
    with pytest.raises((ScheduleError, ProgramError)):
        read_program(json.dumps(made))


X, Y, N, M = (Var(*v) for v in (("x", "float32"), ("y", "float32"), ("n", "int32"), ("m", "int32")))
HOLDS = Var("holds", "bool")
TEXT, WIDE = tir.StringImm("x"), Var("wide", "float32x4")
SUM = CommReducer((X,), (Y,), (X + Y,), (const(0.0),))
AXIS, OVER = te.reduce_axis((0, 4), "k"), te.thread_axis("threadIdx.x")


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("And", (N, M), "And takes conditions, got int32"),
        ("Or", (N, M), "Or takes conditions, got int32"),
        ("Add", (TEXT, TEXT), "Add takes numbers, got handle"),
        ("Add", (WIDE, WIDE), "Add takes numbers, got float32x4"),
        ("Add", (X, N), "Add takes values of one data type, got float32 and int32"),
        ("Not", (N,), "Not takes a condition, got int32"),
        ("Select", (N, X, Y), "Select takes a condition, got int32"),
        ("Select", (HOLDS, X, N), "Select takes values of one data type"),
        ("Select", (HOLDS, WIDE, WIDE), "Select takes numbers, got float32x4"),
        ("Cast", ("float32x4", X), "expected the data type of a number, got float32x4"),
        ("Cast", ("handle", X), "expected the data type of a number, got handle"),
        ("Cast", ("float32", TEXT), "Cast takes numbers, got handle"),
        ("Let", (X, N, X), "Let takes values of one data type, got float32 and int32"),
        ("Let", (X, Y, TEXT), "Let takes numbers, got handle"),
        ("IntImm", ("float32", 1), "IntImm takes an integer type, got float32"),
        ("FloatImm", ("int32", 1.0), "FloatImm takes a floating-point type, got int32"),
        ("Var", ("x", "handle"), "expected the data type of a number, got handle"),
        ("Call", ("float32", EXP, (X, Y)), "tir.exp: too many positional arguments, got 2 arguments"),
        ("Call", ("float64", EXP, (X,)), "tir.exp gives float32, got float64"),
        ("Call", ("float32", EXP, (WIDE,)), "tir.exp takes numbers, got float32x4"),
        ("CommReducer", ((X,), (N,), (X,), (X,)), "CommReducer combines values of the types"),
        ("CommReducer", ((X,), (Y,), (N,), (X,)), "CommReducer combines values of the types"),
        ("CommReducer", ((X,), (Y,), (X,), (N,)), "CommReducer combines values of the types"),
        ("Reduce", (SUM, (N,), (AXIS,), TRUE, 0, ()), "Reduce takes values of the types"),
        ("Reduce", (SUM, (X,), (AXIS,), TRUE, 0, (N,)), "Reduce takes values of the types"),
        ("Reduce", (SUM, (X,), (), TRUE, 0, ()), "Reduce takes axes of reductions, each once"),
        ("Reduce", (SUM, (X,), (AXIS, AXIS), TRUE, 0, ()), "Reduce takes axes of reductions, each once"),
        ("Reduce", (SUM, (X,), (OVER,), TRUE, 0, ()), "Reduce takes axes of reductions, each once"),
        ("Reduce", (SUM, (X,), (AXIS,), TRUE, 1, ()), "Reduce has 1 values, got value_index 1"),
        ("Reduce", (SUM, (X,), (AXIS,), TRUE, -1, ()), "Reduce has 1 values, got value_index -1"),
        ("Reduce", (SUM, (X,), (AXIS,), N, 0, ()), "Reduce takes a condition, got int32"),
    ],
)
def test_values_that_do_not_go_together_make_no_expression(kind: str, fields: tuple[Any, ...], words: str) -> None:
    with pytest.raises((DTypeError, ProgramError), match=words):
        KINDS[kind].make(*fields)


def test_operations_with_a_statement_are_not_written() -> None:
    a = te.placeholder((8,), name="A")
    scan = te.extern((8,), [a], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="E")
    with pytest.raises(NotExpressible, match="ExternOp"):
        write_program(te.create_schedule(scan.op), [a, scan])
