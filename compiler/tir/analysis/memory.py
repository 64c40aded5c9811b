"""Memory usage of functions."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.functor import nodes_of
from compiler.ir.memory import aligned
from compiler.ir.module import IRModule
from compiler.tir.statements.allocations import constant_count, pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AllocateConst, BufferStore, For, ForKind, SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import statements_of


def used_buffers(stmt: Stmt) -> tuple[list[Buffer], list[Buffer]]:
    """Return the buffers that a statement reads, and those that it writes, in order of first use."""
    read = dict.fromkeys(n.buffer for n in nodes_of(stmt, BufferLoad))
    written = dict.fromkeys(n.buffer for n in nodes_of(stmt, BufferStore))
    return list(read), list(written)


def calculate_allocated_bytes(func_or_mod: PrimFunc | IRModule) -> dict[str, dict[str, int]]:
    """Return how many bytes each function allocates in each storage scope, all allocations added up.

    A single function is called ``main``. Allocations whose size is not constant count as nothing.
    """
    if isinstance(func_or_mod, PrimFunc):
        return {"main": _allocated(func_or_mod.body)}
    return {var.name_hint: _allocated(func.body) for var, func in func_or_mod.items()}


def _allocated(body: Stmt) -> dict[str, int]:
    by_scope: dict[str, int] = {}
    for n in statements_of(body, Allocate):
        scope = pointer_scope(n.buffer_var)
        by_scope[scope] = by_scope.get(scope, 0) + allocation_bytes(n)
    return by_scope


def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """Return how many bytes a function needs at most at one time for its allocations, whatever their scopes.

    Each allocation takes a multiple of ``workspace_byte_alignment`` bytes; one whose size is not constant counts as
    nothing.
    """
    return _live_at_most(func.body, workspace_byte_alignment)


def calculate_constant_bytes(func: PrimFunc, constant_byte_alignment: int) -> int:
    """Return how many bytes the constants of a function take, each a multiple of ``constant_byte_alignment`` bytes."""
    sizes = map(allocation_bytes, statements_of(func.body, AllocateConst))
    return sum(aligned(size, constant_byte_alignment) for size in sizes)


def _live_at_most(stmt: Stmt, alignment: int) -> int:
    """Allocations live together only if one encloses the other; each iteration of a parallel loop has its own."""
    if isinstance(stmt, SeqStmt):
        return max(_live_at_most(s, alignment) for s in stmt.seq)
    own = 0
    if isinstance(stmt, Allocate):
        own = aligned(allocation_bytes(stmt), alignment)
    below = [getattr(stmt, name) for name in stmt.children]
    most = max((_live_at_most(s, alignment) for s in below if isinstance(s, Stmt)), default=0)
    if isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL and isinstance(stmt.extent, IntImm):
        most *= stmt.extent.value
    return own + most


def allocation_bytes(n: Allocate | AllocateConst) -> int:
    """Return the size of an allocation, 0 if it is not constant."""
    return (constant_count(n.extents) or 0) * dt.storage_bytes(n.dtype)
