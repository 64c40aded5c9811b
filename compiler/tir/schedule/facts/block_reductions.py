"""Recognises reductions in blocks, into one or several buffers (as in argmax)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import And, BinaryOp, Or, PrimExpr, Select, Var, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import nodes_of
from compiler.ir.structural import structural_equal
from compiler.tir.expressions.reducer import max_value, min_value
from compiler.tir.schedule.facts.reducers import is_identity, other_operand
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import BufferStore, LetStmt, SeqStmt, Stmt, stored_at_once


@dataclass(frozen=True, slots=True, eq=False)
class BlockReduction:
    """What a reduction block does: ``x = combine(x, y)``, where ``x`` are elements, one of each buffer."""

    stores: tuple[BufferStore, ...]  # the initial values, stored to the elements
    values: tuple[PrimExpr, ...]  # what is combined with the elements, `y`
    # the variables `x` and `y` of the combination
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    combination: tuple[PrimExpr, ...]  # each element combined, in terms of these variables

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that are reduced into."""
        return tuple([store.buffer for store in self.stores])

    def update(self, elements: Sequence[BufferLoad], values: Sequence[PrimExpr]) -> Stmt:
        """Return the statement that combines elements with values."""
        operands = {**dict(zip(self.left, elements, strict=True)), **dict(zip(self.right, values, strict=True))}
        return stored_at_once(elements, substitute(self.combination, operands), "v_{}")

    def initial(self, elements: Sequence[BufferLoad]) -> Stmt:
        """Return the statement that gives elements their initial values."""
        pairs = zip(self.stores, elements, strict=True)
        stores = [BufferStore(element.buffer, store.value, element.indices) for store, element in pairs]
        return stores[0] if len(stores) == 1 else SeqStmt(tuple(stores))


def reduction_of_block(block: Block) -> BlockReduction | None:
    """Return the reduction that a block makes.

    Known are a sum, product, minimum or maximum of each buffer's elements and other values, and the place and value of
    the first or any of the largest or smallest; None for others.
    """
    inits, updates = _stores(block.init), _final_stores(block.body)
    if not inits or updates is None or len(inits) != len(updates):
        return None
    by_buffer = {store.buffer: store for store in inits}
    if len(by_buffer) != len(updates) or any(store.buffer not in by_buffer for store in updates):
        return None
    inits = tuple([by_buffer[store.buffer] for store in updates])
    pairs = list(zip(inits, updates, strict=True))
    if any(not structural_equal(init.indices, updates[0].indices) for init in inits):
        return None
    if any(not structural_equal(update.indices, updates[0].indices) for update in updates):
        return None
    if all(isinstance(update.value, BinaryOp) for update in updates):
        return _of_each(pairs)
    return _of_places(inits, updates)


def _stores(stmt: Stmt | None) -> tuple[BufferStore, ...]:
    items = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
    stores = tuple([item for item in items if isinstance(item, BufferStore)])
    return stores if len(stores) == len(items) else ()


def _final_stores(body: Stmt) -> tuple[BufferStore, ...] | None:
    """Return the stores of a block with the values of its variables in them."""
    values: dict[Var, PrimExpr] = {}
    while isinstance(body, LetStmt):
        values[body.var] = body.value
        body = body.body
    stores = _stores(body)
    if values and not all(isinstance(store.value, Var) and store.value in values for store in stores):
        return None
    if not stores or (len(stores) > 1 and not values):
        return None
    if any(uses_var(value, values.__contains__) for value in values.values()):
        return None
    return tuple([BufferStore(store.buffer, substitute(store.value, values), store.indices) for store in stores])


def _operands(stores: Sequence[BufferStore], prefix: str) -> tuple[Var, ...]:
    return tuple([Var(f"{prefix}{at}", store.buffer.dtype) for at, store in enumerate(stores)])


def _independent(values: Sequence[PrimExpr], stores: Sequence[BufferStore]) -> bool:
    """Return whether no value reads what is reduced into."""
    loads = {n.buffer for value in values for n in nodes_of(value, BufferLoad)}
    return loads.isdisjoint(store.buffer for store in stores)


def _of_each(pairs: Sequence[tuple[BufferStore, BufferStore]]) -> BlockReduction | None:
    """Return the reduction whose elements are combined each on its own."""
    inits, updates = (tuple(side) for side in zip(*pairs, strict=True))
    left, right = _operands(updates, "x"), _operands(updates, "y")
    values: list[PrimExpr] = []
    combination: list[PrimExpr] = []
    for (init, update), x, y in zip(pairs, left, right, strict=True):
        assert isinstance(update.value, BinaryOp)
        value = other_operand(update.value, update)
        if value is None or not is_identity(init.value, type(update.value), dt.element(update.buffer.dtype)):
            return None
        values.append(value)
        combination.append(type(update.value)(x, y))
    if not _independent(values, updates):
        return None
    return BlockReduction(inits, tuple(values), left, right, tuple(combination))


def _of_places(inits: tuple[BufferStore, ...], updates: tuple[BufferStore, ...]) -> BlockReduction | None:
    """Return the reduction that finds where the largest or smallest value is, and that value."""
    selects = [update.value for update in updates]
    if len(updates) != 2 or not all(isinstance(value, Select) for value in selects):
        return None
    values = tuple([value.false_value for value in selects if isinstance(value, Select)])
    if not _independent(values, updates):
        return None
    left, right = _operands(updates, "x"), _operands(updates, "y")
    loads = [BufferLoad(update.buffer, update.indices) for update in updates]
    operands = {**dict(zip(left, loads, strict=True)), **dict(zip(right, values, strict=True))}
    initial = _simplified([init.value for init in inits])
    given = _simplified(selects)
    for combination, identities in _place_combinations(left, right):
        if structural_equal(_simplified(substitute(combination, operands)), given) and any(
            structural_equal(initial, identity) for identity in identities
        ):
            return BlockReduction(inits, values, left, right, combination)
    return None


def _simplified(values: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    return tuple([Analyzer().simplify(value) for value in values])


def _place_combinations(
    left: tuple[Var, ...], right: tuple[Var, ...]
) -> list[tuple[tuple[PrimExpr, ...], list[tuple[PrimExpr, ...]]]]:
    """Return how a place and its value are combined, and with what it may begin: the first or any of equals wins."""
    place, value = left
    other_place, other_value = right
    nowhere = const(-1, place.dtype)
    equal, earlier = value.equal(other_value), place < other_place
    somewhere = And(const(0, place.dtype) <= place, Or(other_place < 0, earlier))
    ways: list[tuple[tuple[PrimExpr, ...], list[tuple[PrimExpr, ...]]]] = []
    for better, better_or_equal, worst in (
        (value > other_value, value >= other_value, _lowest(value.dtype)),
        (value < other_value, value <= other_value, _highest(value.dtype)),
    ):
        first = Or(better, And(equal, earlier))
        first_set = Or(better, And(equal, somewhere))
        for at, of_value in ((better_or_equal, better_or_equal), (first, better), (first_set, first_set)):
            combination = (Select(at, place, other_place), Select(of_value, value, other_value))
            ways.append((combination, [(nowhere, bound) for bound in worst]))
    return ways


def _lowest(dtype: str) -> tuple[PrimExpr, ...]:
    """Return what a search for the largest value may begin with."""
    return (min_value(dtype), const(-math.inf, dtype)) if dt.is_float(dtype) else (min_value(dtype),)


def _highest(dtype: str) -> tuple[PrimExpr, ...]:
    """Return what a search for the smallest value may begin with."""
    return (max_value(dtype), const(math.inf, dtype)) if dt.is_float(dtype) else (max_value(dtype),)
