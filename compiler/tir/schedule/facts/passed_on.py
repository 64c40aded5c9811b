"""Which blocks in a loop read what others write in other iterations of the loop, which must then run in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache

from compiler.arith import Analyzer, IterMapLevel
from compiler.arith.int_set import union
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.ir.expr.primexpr import IntImm, Not, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.tir.analysis.block_access import get_block_read_write_region
from compiler.tir.expressions.op import floordiv
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.dependencies import accessed_buffers
from compiler.tir.schedule.facts.initial_values import scatters
from compiler.tir.schedule.facts.regions import Box, accessed_box, covers, merged
from compiler.tir.schedule.facts.stored_elements import stored_boxes
from compiler.tir.schedule.facts.thread_scope import is_shared_among
from compiler.tir.schedule.tree import loop_range
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import For, IfThenElse, Stmt

Bounds = tuple[Var, PrimExpr, PrimExpr]
"""A variable, its first value, and the number of its values."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossIterationRead:
    """A block that may read what another one writes in another iteration of a loop."""

    reader: Block
    writer: Block
    buffer: Buffer


@lru_cache(maxsize=1024)
def passed_on(loop: Bounds, body: Stmt, around: tuple[Bounds, ...], thread_tag: str) -> tuple[CrossIterationRead, ...]:
    """Return what blocks directly inside of a loop may read of other iterations.

    ``thread_tag`` is the axis of threads that its iterations are, empty if they are none: threads wait for each other
    before they read memory of theirs.
    """
    if is_const_int(loop[2], 1):
        return ()
    users = _Users()
    users.visit(body)
    known = (*around, loop)
    found: list[CrossIterationRead] = []
    for at, reader in enumerate(users.found):
        for buffer in accessed_buffers(reader.block)[0]:
            writers = [user for user in users.found if user is not reader and user.writes(buffer)]
            if writers and buffer not in users.own and not _is_waited_for(buffer, thread_tag):
                before = [user for user in users.found[:at] if user.writes(buffer)]
                found += _read_of_others(_Read(reader, buffer, loop, known), before, writers)
    return tuple(found)


def _is_waited_for(buffer: Buffer, thread_tag: str) -> bool:
    if not thread_tag or buffer.storage_scope.startswith("global"):
        return False
    return is_shared_among(buffer.storage_scope, thread_tag)


@dataclass(frozen=True, slots=True, eq=False)
class _User:
    """A block under all conditions on it, the loops around it that run, innermost first, and those that do not."""

    realize: BlockRealize
    loops: dict[Var, Range]
    fixed: dict[Var, Range] = field(default_factory=dict)

    @property
    def block(self) -> Block:
        return self.realize.block

    def within(self, outside: Set[Var]) -> _User:
        """Return the block without some of the loops around it, for one iteration of them."""
        parts: tuple[dict[Var, Range], dict[Var, Range]] = ({}, {})
        for var, bounds in self.loops.items():
            parts[var in outside][var] = bounds
        return _User(self.realize, *parts)

    def writes(self, buffer: Buffer) -> bool:
        return buffer in accessed_buffers(self.block)[1]

    def facts(self, known: Sequence[Bounds]) -> Analyzer:
        """Return what is known inside of the loops."""
        analyzer = Analyzer()
        for var, first, extent in known:
            analyzer.bind(var, Range.from_fields(first, extent), override=True)
        for var, bounds in (*reversed(self.fixed.items()), *reversed(self.loops.items())):
            analyzer.bind(var, bounds, override=True)
        return analyzer


class _Users(Visitor):
    """Finds the blocks with axes directly inside of a loop, and the buffers that each iteration has of its own."""

    def __init__(self) -> None:
        self.found: list[_User] = []
        self.own: set[Buffer] = set()
        self._loops: list[For] = []
        self._condition: PrimExpr = const(True, "bool")

    def visit_For(self, n: For) -> None:
        self._loops.append(n)
        self.visit(n.body)
        self._loops.pop()

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self._under(n.condition, n.then_case)
        if n.else_case is not None:
            self._under(Not(n.condition), n.else_case)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        """Note a block; one without axes stands for what is in it."""
        if not n.block.iter_vars:
            self.own.update(n.block.alloc_buffers)
            self._under(n.predicate, n.block.body)
            return
        loops = {loop.loop_var: loop_range(loop) for loop in reversed(self._loops)}
        self.found.append(_User(rebuild(n, predicate=conjunction(self._condition, n.predicate)), loops))

    def _under(self, condition: PrimExpr, body: Stmt) -> None:
        outside = self._condition
        self._condition = conjunction(outside, condition)
        self.visit(body)
        self._condition = outside


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A block that reads a buffer in a loop, and what is known there."""

    reader: _User
    buffer: Buffer
    loop: Bounds
    known: Sequence[Bounds]


def _read_of_others(read: _Read, before: Sequence[_User], writers: Sequence[_User]) -> Iterator[CrossIterationRead]:
    """Yield by which of some writers other iterations may change what a block reads in one of them."""
    for writer in writers:
        if writer not in before or not _makes_all(read, writer):
            accessed = [*_accessed(read.reader, read, is_read=True), *_accessed(writer, read, is_read=False)]
            if accessed and not _is_apart(read, accessed):
                yield CrossIterationRead(read.reader.block, writer.block, read.buffer)


def _makes_all(read: _Read, writer: _User) -> bool:
    """Return whether an iteration writes all that it reads, or even an iteration of the loops around both blocks."""
    shared = read.reader.loops.keys() & writer.loops.keys()
    return any(
        _holds(
            _written(writer.within(outside), read),
            _accessed(read.reader.within(outside), read, is_read=True),
            read.reader.facts(read.known),
        )
        for outside in (shared, frozenset[Var]())
    )


def _holds(boxes: Sequence[Box], needed: Sequence[Box], analyzer: Analyzer) -> bool:
    """Return whether boxes hold all elements of others."""
    outer = merged(boxes, analyzer)
    return all(any(covers(box, part, analyzer) for box in outer) for part in needed)


def _accessed(user: _User, read: _Read, *, is_read: bool) -> list[Box]:
    """Return boxes of the elements that a block accesses in one iteration; the whole buffer where it does not say.

    The signatures of parts of a loop say what all iterations of the part access: there its body says more.
    """
    buffer, analyzer = read.buffer, user.facts(read.known)
    regions = [r for r in (user.block.reads if is_read else user.block.writes) if r.buffer is buffer]
    if not uses_var(tuple(regions), {axis.var for axis in user.block.iter_vars}.__contains__):
        accessed = get_block_read_write_region(user.block, {buffer.data: buffer})[0 if is_read else 1]
        regions = [r for r in accessed if r.buffer is buffer] or regions
    whole = BufferRegion(buffer, tuple([Range.from_fields(const(0, dim.dtype), dim) for dim in buffer.shape]))
    boxes = [accessed_box(user.realize, region, user.loops, analyzer) for region in regions or [whole]]
    return [box for box in boxes if not any(side.is_nothing() for side in box)]


def _written(user: _User, read: _Read) -> list[Box]:
    """Return boxes of elements that a block is sure to write in one iteration, if it does so in any.

    Conditions do not matter that just keep axes to their values: what they leave out is written in no iteration.
    """
    if scatters(user.block, read.buffer):
        return []
    analyzer = user.facts(read.known)
    condition: PrimExpr = const(True, "bool")
    for part in conjuncts(user.realize.predicate):
        if not _keeps_to_domains(user.realize, part, analyzer):
            condition = conjunction(condition, part)
    return stored_boxes(rebuild(user.realize, predicate=condition), read.buffer, user.loops, analyzer)


def _keeps_to_domains(realize: BlockRealize, condition: PrimExpr, analyzer: Analyzer) -> bool:
    """Return whether a condition holds wherever the axes of a block have values that they may have."""
    with ExitStack() as scopes:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if axis.dom is not None:
                scopes.enter_context(analyzer.constraint_scope(value >= axis.dom.min))
                scopes.enter_context(analyzer.constraint_scope(value < axis.dom.min + axis.dom.extent))
        return analyzer.can_prove(condition)


def _is_apart(read: _Read, boxes: Sequence[Box]) -> bool:
    """Return whether what boxes hold in one iteration of a loop they hold in no other one."""
    var, first, extent = read.loop
    analyzer = _User(read.reader.realize, {}).facts(read.known)
    hull = [union(sides, analyzer) for sides in zip(*boxes, strict=True)]
    sides = [side for side in hull if side.is_bounded() and uses_var((side.min_value, side.max_value), var)]
    corner: list[PrimExpr] = []
    for side in sides:
        low, high = side.min_value, side.max_value
        following = {var: var + 1}
        if analyzer.can_prove(high < substitute(low, following)) or analyzer.can_prove(
            substitute(high, following) < low
        ):
            return True
        size = analyzer.simplify(high - low + 1)
        if isinstance(size, IntImm) and size.value > 0 and analyzer.can_prove_equal(low % size, 0):
            corner.append(analyzer.simplify(floordiv(low, size)))
    # Tiles, of which an iteration has the one whose numbers are parts of the variable.
    bounds = {var: Range.from_fields(first, extent)}
    return bool(detect_iter_map(corner, bounds, True, IterMapLevel.Bijective).indices)
