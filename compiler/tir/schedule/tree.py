"""Traversal of the loops and blocks of a scheduled program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TypeVar

from compiler.ir.expr.primexpr import Range, Var
from compiler.ir.functor import parts_of
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.stmt import For, SeqStmt, Stmt

S = TypeVar("S", bound=Stmt)
Body = TypeVar("Body", bound=For | Block)


def changed(n: S, **changes: object) -> S:
    """Return a statement with some of its fields changed; it comes from where the old one came from."""
    with derived_from(n.span):
        return rebuild(n, **changes)


def rewritten(n: S, **changes: object) -> S:
    """Return a statement that a primitive was called to change; it comes from the primitive's line as well."""
    with derived_from(n.span | current_span()):
        return rebuild(n, **changes)


def inner_statements(stmt: Stmt) -> list[Stmt]:
    """Return the statements directly inside of one; what a block does to begin a reduction is not among them."""
    return [stmt.body] if isinstance(stmt, (Block, For)) else parts_of(stmt, Stmt)


@lru_cache(maxsize=1024)
def children_of(stmt: Stmt) -> list[tuple[For | BlockRealize, int]]:
    """Return the outermost loops and blocks below a statement, with their places in its sequence, if there is one.

    The answers for the last statements are remembered: most of a program is as it was before a primitive.
    """
    return [found for inner in inner_statements(stmt) for found in _found_in(inner)]


def _found_in(stmt: Stmt) -> list[tuple[For | BlockRealize, int]]:
    if isinstance(stmt, (For, BlockRealize)):
        return [(stmt, -1)]
    if isinstance(stmt, SeqStmt):
        return [(node, index) for index, item in enumerate(stmt.seq) for node, _ in _found_in(item)]
    return [found for inner in inner_statements(stmt) for found in _found_in(inner)]


def with_child(stmt: Body, old: Stmt, new: Stmt) -> Body:
    """Return a loop or block in whose body a statement is replaced that lies in no inner loop or block.

    A block takes the place of a block, which keeps the values of its axes.
    """
    return changed(stmt, body=_replaced(stmt.body, old, new))


def _replaced(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    if stmt is old:
        return new
    if isinstance(stmt, BlockRealize):
        return changed(stmt, block=new) if stmt.block is old else stmt
    if isinstance(stmt, For):
        return stmt
    changes: dict[str, object] = {}
    for name in stmt.children:
        child = getattr(stmt, name)
        if isinstance(child, Stmt):
            changes[name] = _replaced(child, old, new)
        elif isinstance(child, tuple) and child and isinstance(child[0], Stmt):
            changes[name] = tuple([_replaced(item, old, new) for item in child])
    return changed(stmt, **changes)


def ancestors(sref: StmtSRef) -> Iterator[StmtSRef]:
    """Yield what is around a loop or block, innermost first."""
    above = sref.parent
    while above is not None:
        yield above
        above = above.parent


def scope_of(sref: StmtSRef) -> StmtSRef | None:
    """Return the innermost block around a loop or block, None for the root block of a function."""
    return next((above for above in ancestors(sref) if above.is_block), None)


def loops_above(sref: StmtSRef) -> list[StmtSRef]:
    """Return the loops around a loop or block, within the innermost block around it."""
    return list(takewhile(lambda above: not above.is_block, ancestors(sref)))[::-1]


def hold_only(loops: Sequence[StmtSRef], innermost: BlockRealize) -> bool:
    """Return whether each of some loops holds nothing but the next one, and the last one a block."""
    inner = [*[sref.loop for sref in loops[1:]], innermost]
    return all(sref.loop.body is stmt for sref, stmt in zip(loops, inner, strict=False))


def lowest_common_ancestor(srefs: list[StmtSRef]) -> StmtSRef:
    """Return the innermost loop or block that is around all of some, or one of them."""
    paths = [[*list(ancestors(sref))[::-1], sref] for sref in srefs]
    common = paths[0][0]
    for level in zip(*paths, strict=False):
        if any(sref is not level[0] for sref in level):
            break
        common = level[0]
    return common


def loop_range(loop: For) -> Range:
    """Return what the variable of a loop runs over."""
    return Range.from_fields(loop.min, loop.extent)


def loop_ranges(srefs: list[StmtSRef]) -> dict[Var, Range]:
    """Return what the variables of some loops run over."""
    return {sref.loop.loop_var: loop_range(sref.loop) for sref in srefs}


def blocks_below(stmt: Stmt) -> Iterator[BlockRealize]:
    """Yield the blocks below a loop or block that lie in no other block below it."""
    for child, _ in children_of(stmt):
        if isinstance(child, BlockRealize):
            yield child
        else:
            yield from blocks_below(child)


def blocks_in(stmt: Stmt) -> Iterator[BlockRealize]:
    """Yield the outermost blocks of a statement: itself, if it is one."""
    if isinstance(stmt, BlockRealize):
        yield stmt
    else:
        yield from blocks_below(stmt)


def matching_blocks(old: Stmt, new: Stmt) -> dict[Block, Block]:
    """Return which block of a rewritten statement takes the place of which, where the rewrite kept their order."""
    pairs = zip(all_blocks(old), all_blocks(new), strict=True)
    return {before: after for before, after in pairs if before is not after}


def all_blocks(stmt: Stmt) -> Iterator[Block]:
    """Yield the blocks of a statement, outer ones first; those that begin a reduction are not among them."""
    if isinstance(stmt, BlockRealize):
        stmt = stmt.block
    if isinstance(stmt, Block):
        yield stmt
    for child, _ in children_of(stmt):
        yield from all_blocks(child)
