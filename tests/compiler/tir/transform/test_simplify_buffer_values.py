"""Simplify with what is known of the elements of buffers: random programs keep what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.expr.primexpr import Var, const
from compiler.ir.module import IRModule
from compiler.tir.expressions.builtin import assume
from compiler.tir.script import from_source
from compiler.tir.statements.buffer import Buffer, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, IfThenElse, Stmt, seq
from compiler.tir.transform.simplify import Simplify
from tests.compiler.tir.transform.integer_programs import IntegerPrograms, final_elements
from tests.compiler.tir.transform.programs import function, nodes

OPTIONS = {
    "propagate_knowns_to_prove_conditional": True,
    "propagate_knowns_to_simplify_expressions": True,
    "apply_constraints_to_boolean_branches": True,
    "transitively_prove_inequalities": True,
}


def _nodes(func: PrimFunc, kind: type) -> int:
    return len(nodes(func, kind))


def test_random_programs_keep_what_they_compute() -> None:
    fewer_branches = 0
    for seed in range(25):
        before = IntegerPrograms(seed).function()
        after = Simplify(**OPTIONS)(IRModule({"main": before}))["main"]
        for data in range(3):
            for left, right in zip(final_elements(before, data), final_elements(after, data), strict=True):
                np.testing.assert_array_equal(left, right, err_msg=f"seed {seed}")
        plain = Simplify()(IRModule({"main": before}))["main"]
        fewer_branches += _nodes(after, IfThenElse) < _nodes(plain, IfThenElse)
    assert fewer_branches >= 5  # the programs are such that something is known


BEGIN = "@T.prim_func\ndef main(A: T.Buffer((16,), 'int32'), B: T.Buffer((16,), 'int32')):\n"
ALL = "for i in range(16):"


def _decides_all(*lines: str) -> bool:
    """Return whether no branch is left of a program."""
    func = from_source(BEGIN + "".join(f"    {line}\n" for line in lines))
    return _nodes(Simplify(**OPTIONS)(IRModule({"main": func}))["main"], IfThenElse) == 0


@pytest.mark.parametrize(
    "lines",
    [
        ("A[0] = 3", "if A[0] == 3:", "    B[0] = 1"),
        (ALL, "    if i < 20:", "        A[i] = i"),
        ("A[0] = 3", "B[0] = A[0]", "A[0] = 4", "if B[0] == 3:", "    B[1] = 1"),
        (ALL, "    A[i] = i", ALL, "    if A[i] == i:", "        B[i] = 1"),
        ("for i, j in T.grid(4, 4):", "    A[i * 4 + j] = 1", ALL, "    if A[i] == 1:", "        B[i] = 1"),
        ("A[0] = 3", "T.evaluate(T.call_extern('int32', 'f', B.data))", "if A[0] == 3:", "    B[0] = 1"),
        ("A[0:4] = T.broadcast(2, 4)", "if A[3] == 2:", "    B[0] = 1"),
    ],
)
def test_branches_that_are_decided(lines: tuple[str, ...]) -> None:
    assert _decides_all(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("for i in range(15):", "    A[i] = 1", ALL, "    if A[i] == 1:", "        B[i] = 1"),
        ("A[0] = 3", "A[B[0]] = 4", "if A[0] == 3:", "    B[0] = 1"),
        ("A[0] = 3", "T.evaluate(T.call_extern('int32', 'f', A.data))", "if A[0] == 3:", "    B[0] = 1"),
        ("A[0] = 0", "for i in range(4):", "    if A[0] == 0:", "        B[i] = 1", "    A[0] = 1"),
        ("A[0] = 0", "while A[0] < 3:", "    if A[0] == 0:", "        B[0] = 1", "    A[0] = A[0] + 1"),
        ("A[0] = 0", "for i in T.parallel(4):", "    A[i] = 2", "    if A[0] == 0:", "        B[i] = 1"),
        ("A[0:4] = T.broadcast(2, 4)", "if A[4] == 2:", "    B[0] = 1"),
    ],
)
def test_branches_that_are_not_decided(lines: tuple[str, ...]) -> None:
    assert not _decides_all(*lines)


def guarded(n: Var, buffer: Buffer) -> Stmt:
    return IfThenElse(n.equal(0), BufferStore(buffer, const(1), [0]))


def test_an_assumption_about_variables_holds_in_its_scope_only() -> None:
    n = Var("n")
    a = decl_buffer((4,), "int32", "A")
    assumed = Evaluate(assume(n.equal(0)))
    scoped = IfThenElse(n < 5, seq([assumed, guarded(n, a)]))
    func = function(seq([scoped, guarded(n, a)]), a, scalars=(n,))
    after = Simplify(**OPTIONS)(IRModule({"main": func}))["main"]
    assert _nodes(after, IfThenElse) == 2
    assert isinstance(after.body.seq[1], IfThenElse)
