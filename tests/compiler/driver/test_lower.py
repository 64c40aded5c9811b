"""``lower`` runs the four phases in order, tells whoever watches, and takes a user's passes."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import te, tir
from compiler.driver.lower import lower
from compiler.ir.error import ArgumentError
from compiler.ir.functor import nodes_of
from compiler.ir.instrument import Instrument, instrumented, pass_instrument
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext, PassInfo
from compiler.tir.script import from_source
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform import prim_func_pass


def addition(n: int = 128) -> tuple[Any, list[Any]]:
    a = te.placeholder((n,), name="a")
    b = te.placeholder((n,), name="b")
    c = te.compute((n,), lambda i: a[i] + b[i], name="c")
    return te.create_schedule(c.op), [a, b, c]


def scheduled() -> tuple[Any, list[Any]]:
    s, args = addition(100)
    outer, inner = s[args[-1]].split(args[-1].op.axis[0], factor=16)
    s[args[-1]].parallel(outer)
    s[args[-1]].vectorize(inner)
    return s, args


class Log(Instrument):
    def __init__(self) -> None:
        self.entries: list[Any] = []

    def lower_begin(self, name: str, source: Any, args: Any) -> None:
        self.entries.append(("begin", name))

    def phase_end(self, phase: int, module: Any) -> None:
        self.entries.append(("phase", phase, module))

    def lower_end(self, module: Any) -> None:
        self.entries.append(("end", module))


def test_instruments_hear_of_each_phase() -> None:
    log = Log()
    with instrumented(log):
        s, args = scheduled()
        module = lower(s, args, name="add")
    assert [e[:2] for e in log.entries[:-1]] == [("begin", "add"), *(("phase", n) for n in range(4))]
    assert log.entries[-1] == ("end", module)
    raw, flat = log.entries[1][2], log.entries[2][2]
    assert "T.realize(c[0:100])" in str(raw)
    assert "T.realize" not in str(flat)
    assert "T.vectorized" in str(flat)
    assert "T.vectorized" not in str(module)


def test_instruments_see_each_pass() -> None:
    names: list[str] = []

    @pass_instrument
    class Names:
        def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
            names.append(info.name)

    s, args = scheduled()
    with PassContext(instruments=[Names()]):
        lower(s, args)
    expected = ["StorageFlatten", "LoopPartition", "VectorizeLoop", "UnrollLoop", "CommonSubexprElimTIR"]
    assert [n for n in names if n.removeprefix("tir.") in expected] == ["tir." + n for n in expected]


def test_a_users_passes_run_at_the_end_of_their_phase() -> None:
    seen: list[tuple[int, str]] = []

    def note(phase: int) -> Any:
        def look(func: tir.PrimFunc, mod: IRModule, ctx: PassContext) -> tir.PrimFunc:
            seen.append((phase, str(func)))
            return func

        return look

    s, args = scheduled()
    passes = [(2, note(2)), (0, prim_func_pass(note(0), opt_level=0)), (7, note(7)), (1, note(1))]
    with PassContext(config={"tir.add_lower_pass": passes}):
        lower(s, args)
    assert [phase for phase, _ in seen] == [0, 1, 2, 7]
    assert "T.realize" in seen[0][1]
    assert "T.vectorized" in seen[1][1]
    assert "T.vectorized" not in seen[2][1]


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ([(-1, lambda f, m, c: f)], "phase must be an int from 0 to 3, got -1"),
        ([("1", lambda f, m, c: f)], "phase must be an int from 0 to 3, got '1'"),
        ([(1, "vectorize")], "expected a pass or a function"),
        ([lambda f, m, c: f], "expected pairs"),
        ([(1, lambda f, m, c: None)], "must return a PrimFunc, returned NoneType"),
    ],
)
def test_mistaken_passes_are_explained(passes: list[Any], message: str) -> None:
    s, args = addition()
    with PassContext(config={"tir.add_lower_pass": passes}), pytest.raises(ArgumentError, match=message):
        lower(s, args)


@pytest.mark.parametrize(
    ("option", "present"),
    [
        ("tir.disable_vectorize", "for i_outer, i_inner in T.grid(8, 16)"),
        ("tir.disable_cse_tir", "i_outer * 16:i_outer * 16 + 16"),
    ],
)
def test_options_switch_passes_off(option: str, present: str) -> None:
    s, args = addition()
    _, inner = s[args[-1]].split(args[-1].op.axis[0], factor=16)
    s[args[-1]].vectorize(inner)
    assert present not in str(lower(s, args))
    with PassContext(config={option: True}):
        assert present in str(lower(s, args))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"did you mean 'tir\.disable_vectorize'"):
        PassContext(config={"tir.disable_vectorise": True})


def test_simple_mode_shows_the_loop_notation() -> None:
    s, args = addition()
    module = lower(s, args, simple_mode=True)
    assert str(module) == "for (i, 0, 128) {\n  c[i] = a[i] + b[i]\n}"
    assert module.script() == lower(s, args).script()


def test_a_function_and_a_module_can_be_lowered() -> None:
    s, args = addition()
    once = lower(s, args)
    again = lower(once)
    assert str(again) == str(once)
    assert str(lower(once["main"], name="main")) == str(once)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower(addition()[0]), "args must be given with a schedule"),
        (lambda: lower(lower(*addition()), []), "args may only be given with a schedule"),
        (lambda: lower(3), "expected a schedule, a PrimFunc or an IRModule, got 3"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_lowered_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_parameters_may_overlap_if_the_context_says_so() -> None:
    s, args = addition()
    assert lower(s, args)["main"].attrs["tir.noalias"] is True
    with PassContext(config={"tir.noalias": False}):
        assert "tir.noalias" not in lower(s, args)["main"].attrs


def test_parameters_of_a_function_that_is_lowered_alone_are_different_memory() -> None:
    A = te.placeholder((4,), name="A")
    func = te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1)]).without_attr("tir.noalias")
    assert lower(func)["main"].attrs["tir.noalias"] is True
    assert "tir.noalias" not in lower(IRModule({"main": func}))["main"].attrs


@pytest.mark.parametrize(
    ("divisor", "dtype", "product"),
    [
        (3.0, "float32", "a[i] * T.float32(0.33333333333333331)"),
        (8.0, "float64", "a[i] * T.float64(0.125)"),
        (1e-40, "float32", "a[i] / "),
        (4.0, "float16", "a[i] / "),
    ],
)
def test_a_schedule_divides_by_a_constant_by_a_product_where_its_reciprocal_has_all_digits(
    divisor: float, dtype: str, product: str
) -> None:
    a = te.placeholder((4,), dtype, name="a")
    b = te.compute((4,), lambda i: a[i] / tir.const(divisor, dtype), name="b")
    assert product in str(lower(te.create_schedule(b.op), [a, b]))


def test_memory_of_a_thread_is_no_larger_where_a_loop_runs_around_all_threads():
    source = """
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), C: T.Buffer((64,), "float32")):
    L = T.alloc_buffer((64,), scope="local")
    for bx in T.thread_binding(2, "blockIdx.x"):
        for k in range(4):
            for tx in T.thread_binding(8, "threadIdx.x"):
                for j in range(4):
                    with T.block("sum"):
                        vj, vk = T.axis.spatial(64, bx * 32 + tx * 4 + j), T.axis.reduce(4, k)
                        with T.init():
                            L[vj] = 0.0
                        L[vj] = L[vj] + A[vk, vj]
        for tx in T.thread_binding(8, "threadIdx.x"):
            for j in range(4):
                with T.block("out"):
                    vj = T.axis.spatial(64, bx * 32 + tx * 4 + j)
                    C[vj] = L[vj]
"""
    (memory,) = nodes_of(lower(from_source(source))["main"].body, Allocate)
    assert [extent.value for extent in memory.extents] == [4]
