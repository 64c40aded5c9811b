"""Storage planning: which allocations share memory."""

from __future__ import annotations

from math import lcm

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType
from compiler.tir.statements.memory_info import is_tagged, memory_info
from compiler.tir.statements.stmt import Allocate, Stmt
from compiler.tir.transform.memory.in_place import can_store_in_place
from compiler.tir.transform.memory.storage_lifetime import Lifetime

MATCH_RANGE = 16
"""Memory is not shared by buffers whose sizes differ by more than this factor."""
WORD = 32
"""User-defined memory is allocated in multiples of this many bits, unless its information says more."""


class Storage:
    """Memory that is allocated once, with the buffers that share it, in the order in which they live."""

    def __init__(self, first: Lifetime) -> None:
        self.members = [first]
        self.region: Stmt | None = first.region
        self.var: Var = first.alloc.buffer_var
        self.dtype: str = first.alloc.dtype
        self.extents: tuple[PrimExpr, ...] = first.alloc.extents
        self.bits = constant_bits(first.alloc)  # the size, None if it is not constant
        self.offsets: dict[Lifetime, int] = {}  # where each buffer begins, in bits, unless that is at the beginning

    @property
    def last(self) -> Lifetime:
        """The member that lives last so far."""
        return self.members[-1]

    @property
    def scope(self) -> str:
        """The storage scope."""
        return scope_of(self.members[0].alloc)

    def add(self, life: Lifetime) -> None:
        """Let one more buffer live here; the memory grows if it is larger."""
        self.members.append(life)
        bits = constant_bits(life.alloc)
        if bits is not None and self.bits is not None and bits > self.bits:
            self.bits = bits
            self.extents = life.alloc.extents


def element_bits(dtype: str) -> int:
    """Return the size of an element in bits."""
    return dt.bits(dtype) * dt.lanes(dtype)


def constant_bits(alloc: Allocate) -> int | None:
    """Return the size of an allocation in bits, None if it is not constant."""
    bits = element_bits(alloc.dtype)
    for extent in alloc.extents:
        if not isinstance(extent, IntImm):
            return None
        bits *= extent.value
    return bits


def scope_of(alloc: Allocate) -> str:
    """Return the storage scope of an allocation."""
    kind = alloc.buffer_var.type_annotation
    return kind.storage_scope if isinstance(kind, PointerType) else "global"


def plan(lives: list[Lifetime]) -> list[Storage]:
    """Give each buffer memory, in the order in which they come to life (linear scan).

    A buffer takes the memory of one that is dead by then: preferably of one that dies in the very statement that brings
    it to life and can be overwritten element by element, else the smallest that is large enough, else the largest that
    can grow.  All of a user-defined memory is one allocation in the end. Raises LoweringError if there is less of a
    user-defined memory than is needed, or its buffers have no constant size.
    """
    storages: list[Storage] = []
    for life in sorted(lives, key=lambda x: x.first):
        storage = _in_place(storages, life) or _free(storages, life)
        if storage is None:
            storages.append(Storage(life))
        else:
            storage.add(life)
    return _with_tagged_merged(storages)


def _with_tagged_merged(storages: list[Storage]) -> list[Storage]:
    """Return the storages, those of one user-defined memory as one."""
    merged: list[Storage] = []
    tagged: dict[tuple[Stmt | None, str], list[Storage]] = {}
    for storage in storages:
        if not is_tagged(storage.scope):
            merged.append(storage)
            continue
        key = (storage.region, storage.scope)
        if key not in tagged:
            merged.append(storage)
        tagged.setdefault(key, []).append(storage)
    for (_, scope), parts in tagged.items():
        _merge(scope, parts)
    return merged


def _merge(scope: str, parts: list[Storage]) -> None:
    """Make one allocation of several, one after the other: the first one grows."""
    info = memory_info(scope)
    elements = [element_bits(life.alloc.dtype) for part in parts for life in part.members]
    align = lcm(max(WORD if info is None else info.max_simd_bits, *elements), *elements)
    end = 0
    for part in parts:
        if part.bits is None:
            raise LoweringError(f"StorageRewrite: Special tagged memory must be const size ({scope!r})")
        for life in part.members:
            parts[0].offsets[life] = end
        end += -(-part.bits // align) * align
    if info is not None and end > info.max_num_bits:
        raise LoweringError(
            f"StorageRewrite: Allocation exceed bound of memory tag {scope!r}: {end} bits of {info.max_num_bits}"
        )
    first = parts[0]
    first.members = [life for part in parts for life in part.members]
    first.bits = end
    first.extents = (const(-(-end // element_bits(first.dtype)), first.extents[0].dtype if first.extents else "int32"),)


def _shares(alloc: Allocate) -> bool:
    """Return whether memory is worth passing on; single values and private arrays are better kept in registers."""
    scope = scope_of(alloc)
    if is_tagged(scope):
        return True
    bits = constant_bits(alloc)
    return not (bits is not None and bits <= 32) and not scope.startswith(("local", "warp"))


def _fits(storage: Storage, life: Lifetime) -> bool:
    alloc = life.alloc
    scope = scope_of(alloc)
    if storage.region is not life.region or storage.scope != scope:
        return False
    same_type = dt.bits(storage.dtype) == dt.bits(alloc.dtype) and dt.lanes(storage.dtype) == dt.lanes(alloc.dtype)
    if not same_type and not is_tagged(scope):
        return False
    bits = constant_bits(alloc)
    if bits is None or storage.bits is None:
        return structural_equal(storage.extents, alloc.extents)
    return storage.bits <= bits * MATCH_RANGE and bits <= storage.bits * MATCH_RANGE


def _in_place(storages: list[Storage], life: Lifetime) -> Storage | None:
    for storage in storages:
        old = storage.last
        if old.last_stmt is not life.first_stmt or life.first_stmt is None or not _fits(storage, life):
            continue
        same = constant_bits(old.alloc) == constant_bits(life.alloc) and old.alloc.dtype == life.alloc.dtype
        if same and can_store_in_place(life.first_stmt, old.alloc.buffer_var, life.alloc.buffer_var):
            return storage
    return None


def _free(storages: list[Storage], life: Lifetime) -> Storage | None:
    if not _shares(life.alloc):
        return None
    candidates = [s for s in storages if s.last.last < life.first and _shares(s.last.alloc) and _fits(s, life)]
    bits = constant_bits(life.alloc)
    if bits is None:
        return candidates[0] if candidates else None
    large = [s for s in candidates if s.bits is not None and s.bits >= bits]
    if large:
        return min(large, key=lambda s: s.bits or 0)
    return max(candidates, key=lambda s: s.bits or 0, default=None)
