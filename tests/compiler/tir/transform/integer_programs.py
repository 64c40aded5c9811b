"""Random programs over small buffers of integers, in which much is known of their elements."""

from __future__ import annotations

import random

import numpy as np

from compiler.ir.expr.primexpr import And, Or, PrimExpr, Var, const
from compiler.tir.interpreter import interpret
from compiler.tir.statements.buffer import Buffer, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, IfThenElse, Stmt, seq
from tests.compiler.tir.transform.programs import function

SIZE = 8


class IntegerPrograms:
    """Programs of loops, branches and stores over small buffers of integers, in which much is known."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.buffers: list[Buffer] = [decl_buffer((SIZE,), "int32", name) for name in "ABC"]

    def index(self, scope: list[Var]) -> PrimExpr:
        """Return an index that stays inside for all loops, whose variables are below four."""
        if not scope or self.choose.random() < 0.15:
            return const(self.choose.randint(0, SIZE - 1))
        var = self.choose.choice(scope)
        other = self.choose.choice(scope)
        return self.choose.choice([var, var + self.choose.randint(0, 4), const(7) - var, var * 2, var + other])

    def load(self, scope: list[Var]) -> PrimExpr:
        return self.choose.choice(self.buffers)[self.index(scope)]

    def value(self, scope: list[Var]) -> PrimExpr:
        constant = const(self.choose.randint(0, 2))
        options = [constant, constant, self.load(scope), self.load(scope) + constant]
        options.append(self.load(scope) + self.load(scope) * self.load(scope))
        return self.choose.choice([*options, *scope])

    def condition(self, scope: list[Var]) -> PrimExpr:
        a = self.choose.choice([self.load(scope), *scope, *scope])
        b = self.choose.choice([const(self.choose.randint(0, 3)), *scope])
        return self.choose.choice([a < b, a.equal(b), a != b, a >= b, a <= b])

    def statement(self, scope: list[Var], depth: int) -> Stmt:
        kind = self.choose.random()
        if depth == 0 or kind < 0.3:
            index = self.index(scope)
            return BufferStore(self.choose.choice(self.buffers), self.value(scope), [index])
        if kind < 0.65:
            var = Var("ijkl"[len(scope)], "int32")
            body = self.statements([*scope, var], depth - 1)
            return For(var, 0, self.choose.choice([1, 3, 4]), self.choose.choice(_KINDS), body)
        other = self.statements(scope, depth - 1) if self.choose.random() < 0.5 else None
        condition = self.condition(scope)
        if self.choose.random() < 0.3:
            condition = self.choose.choice([And, Or])(condition, self.condition(scope))
        return IfThenElse(condition, self.statements(scope, depth - 1), other)

    def statements(self, scope: list[Var], depth: int) -> Stmt:
        return seq([self.statement(scope, depth) for _ in range(self.choose.randint(1, 3))])

    def filling(self, buffer: Buffer) -> Stmt:
        """Return a loop that gives most elements a value."""
        var = Var("i", "int32")
        return For(var, 0, SIZE - 1, ForKind.SERIAL, BufferStore(buffer, self.choose.choice([const(0), var]), [var]))

    def function(self) -> PrimFunc:
        fillings = [self.filling(buffer) for buffer in self.buffers[:2]]
        return function(seq([*fillings, self.statements([], 3)]), *self.buffers)


_KINDS = [ForKind.SERIAL, ForKind.SERIAL, ForKind.UNROLLED]


def final_elements(func: PrimFunc, seed: int) -> list[np.ndarray]:
    """Return what the buffers hold after a run."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 3, SIZE).astype("int32") for _ in range(3)]
    interpret(func, arrays)
    return arrays
