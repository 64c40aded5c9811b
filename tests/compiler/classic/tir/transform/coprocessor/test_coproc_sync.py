"""A host, a coprocessor and its units: who waits for whom."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from compiler import te
from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, IterVar, PrimExpr
from compiler.ir.expr.substitute import post_order_visit, substitute
from compiler.ir.op import register_op_attr
from compiler.tir import ir_builder
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, For, IfThenElse, SeqStmt, Stmt
from compiler.tir.transform import CoProcSync
from tests.compiler.tir.transform.programs import apply

for _name in ("sync", "read_barrier", "write_barrier", "dep_push", "dep_pop"):
    register_op_attr(f"tir.cop.coproc_{_name}", "TGlobalSymbol", f"coproc_{_name}")


def calls(stmt: Stmt) -> list[tuple[Any, ...]]:
    """Return the calls to the coprocessor's operators, each with its numbers."""
    made: list[tuple[Any, ...]] = []

    def note(n: Any) -> None:
        if isinstance(n, Call) and n.op.name.startswith("tir.cop."):
            numbers = [a.value if isinstance(a, IntImm) else str(a) for a in n.args]
            made.append((n.op.name.removeprefix("tir.cop.coproc_"), *numbers))

    post_order_visit(stmt, note)
    return made


def test_what_the_host_wrote_is_made_coherent_and_what_the_coprocessor_wrote_is_waited_for() -> None:
    ib = ir_builder.create()
    n, cop = te.size_var("n"), te.thread_axis((0, 1), "cop")
    A = ib.allocate("float32", 128, name="A", scope="global.cache")
    with ib.for_range(0, n, name="i") as i:
        A[i] = A[i] + 1.0
        with ib.for_range(0, 8, name="k") as k, ib.for_range(0, 10, name="j") as j:
            ib.scope_attr(cop, "coproc_scope", 1)
            A[j] = A[j + k * 10] + 2.0
    func = apply(PrimFunc((n,), ib.get()), CoProcSync())
    assert isinstance(func.body.body.body, SeqStmt)
    kinds = [calls(stmt) for stmt in func.body.body.body.seq]
    assert kinds == [[], [("read_barrier", "A", 32, 0, 80)], [], [("sync",)], [("write_barrier", "A", 32, 0, 10)]]


def test_a_function_without_a_coprocessor_stays() -> None:
    ib = ir_builder.create()
    ib.allocate("float32", 8, name="A")[0] = 1.0
    func = PrimFunc((), ib.get())
    assert apply(func, CoProcSync()) is func


def test_two_coprocessors_are_refused() -> None:
    ib = ir_builder.create()
    A = ib.allocate("float32", 8, name="A")
    for name in ("cop", "other"):
        with ib.new_scope():
            ib.scope_attr(te.thread_axis((0, 1), name), "coproc_scope", 1)
            A[0] = 1.0
    with pytest.raises(LoweringError, match="may use only one coprocessor, got cop, other"):
        apply(PrimFunc((), ib.get()), CoProcSync())


def random_program(draw: random.Random) -> PrimFunc:
    """Return loops and branches around the work of three units."""
    ib, cop = ir_builder.create(), te.thread_axis((0, 1), "cop")
    A = ib.allocate("float32", 128, name="A", scope="global.cache")

    def statements(loops: list[Any]) -> None:
        for _ in range(draw.randint(1, 3)):
            choice = draw.random()
            if len(loops) < 3 and choice < 0.4:
                with ib.for_range(0, draw.randint(1, 3), name="i") as i:
                    statements([*loops, i])
            elif 0 < len(loops) < 3 and choice < 0.6:
                with ib.if_scope(loops[-1] < 1):
                    statements(loops)
                with ib.else_scope():
                    statements(loops)
            else:
                with ib.new_scope():
                    ib.scope_attr(cop, "coproc_scope", draw.randint(1, 3))
                    A[0] = 1.0

    statements([])
    return PrimFunc((), ib.get())


class Units:
    """Carries out a function, and checks that each unit waits for the one that worked before it."""

    def __init__(self) -> None:
        self.tokens: Counter[tuple[int, int]] = Counter()
        self.popped: set[tuple[int | None, int]] = set()
        self.before: int | None = None

    def run(self, n: Stmt) -> None:
        """Carry out a statement."""
        if isinstance(n, SeqStmt):
            for stmt in n.seq:
                self.run(stmt)
        elif isinstance(n, For):
            for k in range(value(n.extent)):
                self.run(substitute(n.body, {n.loop_var: k}))
        elif isinstance(n, IfThenElse):
            case = n.then_case if value(n.condition) else n.else_case
            self.run(case or Evaluate(0))
        elif isinstance(n, Evaluate):
            for name, *numbers in calls(n):
                self.call(name, tuple(numbers))
        elif isinstance(n, AttrStmt) and isinstance(n.node, IterVar):
            self.work(value(n.value), n.body)
        else:
            self.run(getattr(n, "body", Evaluate(0)))

    def call(self, name: str, token: Any) -> None:
        """Push or pop a token."""
        if name == "dep_push":
            self.tokens[token] += 1
        elif name == "dep_pop":
            assert self.tokens[token] > 0, "a token is popped that nobody pushed"
            self.tokens[token] -= 1
            self.popped.add(token)

    def work(self, unit: int, body: Stmt) -> None:
        """Let a unit work: before that it must have popped what the unit before it pushed."""
        stmts = body.seq if isinstance(body, SeqStmt) else (body,)
        at = next(i for i, stmt in enumerate(stmts) if not calls(stmt))
        for stmt in stmts[:at]:
            self.run(stmt)
        assert self.before in (None, unit) or (self.before, unit) in self.popped
        self.popped, self.before = set(), unit
        for stmt in stmts[at + 1 :]:
            self.run(stmt)


def value(e: PrimExpr) -> int:
    """Return a constant."""
    result = Analyzer().simplify(e)
    assert isinstance(result, IntImm)
    return int(result.value)


@pytest.mark.parametrize("seed", range(12))
def test_units_wait_for_each_other_in_any_order_of_loops_and_branches(seed: int) -> None:
    units = Units()
    units.run(apply(random_program(random.Random(seed)), CoProcSync()).body)
    assert not +units.tokens, "tokens are left behind"
