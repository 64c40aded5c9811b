"""Planning storage: which allocations share memory."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.primexpr import IntImm, PrimExpr, Var
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType
from compiler.tir.stmt import Allocate, Stmt
from compiler.tir.transform.in_place import can_store_in_place
from compiler.tir.transform.storage_lifetime import Lifetime

MATCH_RANGE = 16
"""Memory is not shared by buffers whose sizes differ by more than this factor."""


class Storage:
    """Memory that is allocated once, with the buffers that share it, in the order in which they live."""

    def __init__(self, first: Lifetime) -> None:
        self.members = [first]
        self.region: Stmt | None = first.region
        self.var: Var = first.alloc.buffer_var
        self.dtype: str = first.alloc.dtype
        self.extents: tuple[PrimExpr, ...] = first.alloc.extents
        self.size = constant_size(first.alloc)

    @property
    def last(self) -> Lifetime:
        """The member that lives last so far."""
        return self.members[-1]

    def add(self, life: Lifetime) -> None:
        """Let one more buffer live here; the memory grows if it is larger."""
        self.members.append(life)
        size = constant_size(life.alloc)
        if size is not None and self.size is not None and size > self.size:
            self.size = size
            self.extents = life.alloc.extents


def constant_size(alloc: Allocate) -> int | None:
    """Return the number of elements of an allocation, None where it is not constant."""
    size = 1
    for extent in alloc.extents:
        if not isinstance(extent, IntImm):
            return None
        size *= extent.value
    return size


def scope_of(alloc: Allocate) -> str:
    """Return the storage scope of an allocation."""
    kind = alloc.buffer_var.type_annotation
    return kind.storage_scope if isinstance(kind, PointerType) else "global"


def plan(lives: list[Lifetime]) -> list[Storage]:
    """Give each buffer memory, in the order in which they come to life (linear scan).

    A buffer takes the memory of one that is dead by then: preferably of one that dies in the very statement that
    brings it to life and can be overwritten element by element, else the smallest that is large enough, else the
    largest that can grow.

    Parameters
    ----------
    lives : list of Lifetime
        Only those that can be allocated at their region.
    """
    storages: list[Storage] = []
    for life in sorted(lives, key=lambda x: x.first):
        storage = _in_place(storages, life) or _free(storages, life)
        if storage is None:
            storages.append(Storage(life))
        else:
            storage.add(life)
    return storages


def _shares(alloc: Allocate) -> bool:
    """Return whether memory is worth passing on; single values and private arrays are better kept in registers."""
    size = constant_size(alloc)
    small = size is not None and size * dt.bits(alloc.dtype) * dt.lanes(alloc.dtype) <= 32
    return not small and not scope_of(alloc).startswith(("local", "warp"))


def _fits(storage: Storage, life: Lifetime) -> bool:
    alloc = life.alloc
    first = storage.members[0].alloc
    if storage.region is not life.region or scope_of(first) != scope_of(alloc):
        return False
    if dt.bits(storage.dtype) != dt.bits(alloc.dtype) or dt.lanes(storage.dtype) != dt.lanes(alloc.dtype):
        return False
    size = constant_size(alloc)
    if size is None or storage.size is None:
        return structural_equal(storage.extents, alloc.extents)
    return storage.size <= size * MATCH_RANGE and size <= storage.size * MATCH_RANGE


def _in_place(storages: list[Storage], life: Lifetime) -> Storage | None:
    for storage in storages:
        old = storage.last
        if old.last_stmt is not life.first_stmt or life.first_stmt is None or not _fits(storage, life):
            continue
        same = constant_size(old.alloc) == constant_size(life.alloc) and old.alloc.dtype == life.alloc.dtype
        if same and can_store_in_place(life.first_stmt, old.alloc.buffer_var, life.alloc.buffer_var):
            return storage
    return None


def _free(storages: list[Storage], life: Lifetime) -> Storage | None:
    if not _shares(life.alloc):
        return None
    candidates = [s for s in storages if s.last.last < life.first and _shares(s.last.alloc) and _fits(s, life)]
    size = constant_size(life.alloc)
    if size is None:
        return candidates[0] if candidates else None
    large = [s for s in candidates if s.size is not None and s.size >= size]
    if large:
        return min(large, key=lambda s: s.size or 0)
    return max(candidates, key=lambda s: s.size or 0, default=None)
