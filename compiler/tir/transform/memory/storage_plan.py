"""Storage planning: which allocations share memory."""

from __future__ import annotations

import math
from math import lcm

from compiler.arith.analyzer import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Ramp, Var, const
from compiler.ir.functor import Visitor
from compiler.ir.memory import aligned
from compiler.ir.structural import structural_equal
from compiler.tir.expressions.builtin import ADDRESS_OF
from compiler.tir.statements.allocations import constant_count, pointer_scope
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.memory_info import is_tagged, memory_info
from compiler.tir.statements.stmt import Allocate, BufferStore, For, Stmt
from compiler.tir.transform.memory.storage_lifetime import Lifetime


def can_store_in_place(stmt: Stmt, source: Var, target: Var) -> bool:
    """Return whether ``stmt`` computes the same if ``target`` is the memory of ``source``.

    That is so if one store alone writes ``target``, each element once, and everything that is read of ``source`` is the
    very element that this store overwrites. ``stmt`` is the last one to read ``source`` and the first one to write
    ``target``.
    """
    uses = _Uses(source, target)
    uses.visit(stmt)
    if uses.spoiled or len(uses.stores) != 1:
        return False
    store, loops = uses.stores[0]
    if any(
        load_store is not store or not structural_equal(load.indices, store.indices) for load, load_store in uses.loads
    ):
        return False
    return all(load.dtype == store.value.dtype for load, _ in uses.loads) and _each_once(store.indices, loops)


class _Uses(Visitor):
    """Collects stores to the target and loads of the source; any other use spoils it."""

    def __init__(self, source: Var, target: Var) -> None:
        self._source = source
        self._target = target
        self._loops: list[For] = []
        self._store: BufferStore | None = None
        self.stores: list[tuple[BufferStore, list[For]]] = []
        self.loads: list[tuple[BufferLoad, BufferStore | None]] = []
        self.spoiled = False

    def visit_Var(self, n: Var) -> None:
        self.spoiled |= n is self._source or n is self._target

    def visit_For(self, n: For) -> None:
        self._loops.append(n)
        self.visit_Node(n)
        self._loops.pop()

    def visit_BufferStore(self, n: BufferStore) -> None:
        if n.buffer.data is self._source:
            self.spoiled = True
        if n.buffer.data is self._target:
            self.stores.append((n, list(self._loops)))
        self._store = n
        self.visit(n.value)
        self._store = None
        for index in n.indices:
            self.visit(index)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if n.buffer.data is self._target:
            self.spoiled = True
        if n.buffer.data is self._source:
            self.loads.append((n, self._store))
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        self.spoiled |= n.op is ADDRESS_OF
        self.visit_Node(n)


def _each_once(indices: tuple[PrimExpr, ...], loops: list[For]) -> bool:
    """Return whether the loops visit each index once: a number in a mixed radix, one digit a loop."""
    if len(indices) != 1:
        return False
    ramp, width = indices[0], 1
    index = ramp
    if isinstance(ramp, Ramp):
        if not isinstance(ramp.stride, IntImm) or ramp.stride.value != 1 or dt.is_scalable(ramp.dtype):
            return False
        index, width = ramp.base, dt.lanes(ramp.dtype)
    coefficients = detect_linear_equation(index, [loop.loop_var for loop in loops])
    if len(coefficients) != len(loops) + 1:
        return False
    return _is_mixed_radix([(c, loop.extent) for c, loop in zip(coefficients, loops, strict=False)], width)


def _is_mixed_radix(digits: list[tuple[PrimExpr, PrimExpr]], width: int) -> bool:
    """Return whether numbers with these digits (what one is worth, how many values it has) are all different."""
    analyzer = Analyzer()
    reach: PrimExpr = const(width, digits[0][0].dtype) if digits else const(width)
    rest = [(worth, count) for worth, count in digits if not (isinstance(count, IntImm) and count.value <= 1)]
    rest.sort(key=lambda digit: digit[0].value if isinstance(digit[0], IntImm) else math.inf)
    while rest:
        lowest = next((digit for digit in rest if analyzer.can_prove(digit[0] >= reach)), None)
        if lowest is None:
            return False
        worth, count = lowest
        reach = analyzer.simplify(reach + worth * (count - 1))
        rest.remove(lowest)
    return True


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
        return pointer_scope(self.members[0].alloc.buffer_var)

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
    count = constant_count(alloc.extents)
    return None if count is None else count * element_bits(alloc.dtype)


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
        end += aligned(part.bits, align)
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
    scope = pointer_scope(alloc.buffer_var)
    if is_tagged(scope):
        return True
    bits = constant_bits(alloc)
    return not (bits is not None and bits <= 32) and not scope.startswith(("local", "warp"))


def _fits(storage: Storage, life: Lifetime) -> bool:
    alloc = life.alloc
    scope = pointer_scope(alloc.buffer_var)
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
