"""Products that statements add to the same vector one after another, in groups that an instruction multiplies.

Loops that are unrolled leave a statement for each product; instructions add two or four at once::

    c[0:16] = c[0:16] + a[k] * b[0:64:4]              c[0:16] = c[0:16] + a[k] * b[0:64:4]
    c[0:16] = c[0:16] + a[k + 1] * b[1:64:4]    →                       + a[k + 1] * b[1:64:4]
    …                                                                   + …

Sums of int32 wrap around, so that the result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, PrimExpr
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.target.codegen.llvm.selection.pair_products import Factors, factors
from compiler.target.cpu.cpu_features import integer_products
from compiler.target.target import Target
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import Stmt


class _Addition(NamedTuple):
    """A statement that adds a product to a vector, and what is multiplied."""

    stmt: BufferStore
    product: PrimExpr
    factors: Factors

    def is_followed_by(self, other: _Addition) -> bool:
        """Return whether another one adds to the same vector."""
        return other.stmt.buffer is self.stmt.buffer and structural_equal(other.stmt.indices, self.stmt.indices)


def grouped_products(stmts: Sequence[Stmt], target: Target) -> list[tuple[Stmt, Stmt]]:
    """Return statements of which each adds as many products as an instruction of the target does.

    With each is the first of those that it stands for, which has a line in the printed program.
    """
    machine = target.triple, target.cpu, target.llvm_features
    made, group = list[tuple[Stmt, Stmt]](), list[_Addition]()
    for stmt in stmts:
        addition = _addition(stmt)
        if group and (addition is None or not group[0].is_followed_by(addition)):
            made += [(each.stmt, each.stmt) for each in group]
            group = []
        if addition is None:
            made.append((stmt, stmt))
            continue
        group.append(addition)
        if len(group) == integer_products(*machine, *(dt.element(factor.dtype) for factor in addition.factors)):
            made.append((_sum(group), group[0].stmt))
            group = []
    return [*made, *((each.stmt, each.stmt) for each in group)]


def _addition(stmt: Stmt) -> _Addition | None:
    if not isinstance(stmt, BufferStore) or stmt.predicate is not None or not isinstance(stmt.value, Add):
        return None
    before, product = stmt.value.a, stmt.value.b
    if dt.element(stmt.value.dtype) != "int32" or dt.lanes(stmt.value.dtype) == 1 or not isinstance(before, BufferLoad):
        return None
    if before.buffer is not stmt.buffer or not structural_equal(before.indices, stmt.indices):
        return None
    found, loads = factors(product), [load for e in (product, *stmt.indices) for load in nodes_of(e, BufferLoad)]
    if found is None or any(load.buffer.data is stmt.buffer.data for load in loads):
        return None
    return _Addition(stmt, product, found)


def _sum(group: Sequence[_Addition]) -> Stmt:
    first, *others = (each.stmt for each in group)
    return rebuild(first, value=reduce(lambda total, other: rebuild(other.value, a=total), others, first.value))
