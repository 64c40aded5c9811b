"""Merges the shared memory allocations of a kernel into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Ramp, Var, const, is_const_int
from compiler.ir.functor import Visitor
from compiler.ir.memory import aligned
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.transform import PassContext, register_config_option
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import ACCESS_PTR, tvm_access_ptr
from compiler.tir.statements.allocations import constant_count, element_count, pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator, statements_of
from compiler.tir.transform.memory.storage_lifetime import Lifetime, Lifetimes
from compiler.tir.transform.pass_base import PrimFuncPass

register_config_option("tir.merge_static_smem", (bool, int))

DYNAMIC = "shared.dyn"
STATIC = ("shared", "shared.static")
_ASYNC_COPY = Op.get("tir.ptx_cp_async")
_VECTOR = 16
"""Bytes that a thread accesses at once at most, which larger parts are aligned to."""
_READ_WRITE = 3
"""How a pointer may be used, as bits of an address."""


class MergeSharedMemoryAllocations(PrimFuncPass):
    """Let all dynamic shared memory of a kernel be one allocation; what is not alive together shares its parts.

    For example, where ``a`` is not used any more when ``b`` is stored to::

        a = T.allocate([128], "float32", "shared.dyn")         buf_dyn_shmem = T.allocate([512], "uint8", "shared.dyn")
        b = T.allocate([64], "float16", "shared.dyn")    →     …

    Each part begins at a multiple of its element's size.  With the configuration ``tir.merge_static_smem`` shared
    memory of a fixed size is merged as well.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        body = _Merge((DYNAMIC,), "buf_dyn_shmem", DYNAMIC).visit(func.body)
        if ctx.config.get("tir.merge_static_smem", False):
            body = _Merge(STATIC, "buf_shmem", STATIC[0]).visit(body)
        return func.with_body(body)


class MergeDynamicSharedMemoryAllocations(MergeSharedMemoryAllocations):
    """Do what ``MergeSharedMemoryAllocations`` does; the name of the pass in TVM's releases up to 0.15."""


class _Merge(StmtMutator):
    """Merges the allocations of some scopes within each kernel."""

    def __init__(self, scopes: Sequence[str], name: str, scope: str) -> None:
        self._scopes = scopes
        self._name = name
        self._scope = scope

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key != "thread_extent":
            return self.visit_Node(n)
        allocated = [a for a in statements_of(n.body, Allocate) if pointer_scope(a.buffer_var) in self._scopes]
        if len(allocated) < 2:
            return n
        touches = _LastTouches()
        touches.visit(n.body)
        offsets, size = _Plan(allocated, Lifetimes(n.body).lifetimes, touches.of_pointers).offsets()
        pointer = Var(self._name, "handle", PointerType(PrimType("uint8"), self._scope))
        body = _Redirect(pointer, offsets, allocated).visit(n.body)
        return rebuild(n, body=Allocate(pointer, "uint8", (size,), const(True), body))


class _LastTouches(Visitor):
    """Numbers the last uses of pointers; in the statement that is the last one, the first use counts."""

    def __init__(self) -> None:
        self.of_pointers: dict[Var, int] = {}
        self._in_statement: set[Var] = set()

    def visit_Stmt(self, n: Stmt) -> None:
        self._in_statement = set()
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._in_statement = set()
        self.visit_Node(n)
        self._touch(n.buffer.data)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.visit_Node(n)
        self._touch(n.buffer.data)

    def visit_Var(self, n: Var) -> None:
        self._touch(n)

    def _touch(self, pointer: Var) -> None:
        if pointer not in self._in_statement:
            self._in_statement.add(pointer)
            self.of_pointers.pop(pointer, None)
            self.of_pointers[pointer] = max(self.of_pointers.values(), default=0) + 1


class MemoryReuse:
    """Which allocations of a kernel may come to lie in the same memory."""

    def __init__(self, body: Stmt, scope: str, ctx: PassContext) -> None:
        merged = scope == DYNAMIC or (scope in STATIC and bool(ctx.config.get("tir.merge_static_smem", False)))
        self._lifetimes = Lifetimes(body).lifetimes if merged else {}

    def may_share(self, a: Var, b: Var) -> bool:
        """Return whether two allocations may share memory, one after the other."""
        first, second = self._lifetimes.get(a), self._lifetimes.get(b)
        return first is not None and second is not None and not _overlap(first, second)


@dataclass
class _Part:
    """A part of the memory, and the allocations that lie in it, never two at a time."""

    size: int
    alignment: int
    tenants: list[Lifetime]


class _Plan:
    """Places of allocations: those of constant size share parts, others have their own at the end.

    Small parts lie before large ones, and of the same size those that are free first.
    """

    def __init__(
        self, allocations: Iterable[Allocate], lifetimes: dict[Var, Lifetime], last_touches: Mapping[Var, int]
    ) -> None:
        self._allocations = list(allocations)
        self._lifetimes = lifetimes
        self._last_touches = last_touches

    def _place(self, part: _Part) -> tuple[int, int]:
        """Return what parts are ordered by."""
        return part.size, max(self._last_touches.get(tenant.alloc.buffer_var, 0) for tenant in part.tenants)

    def offsets(self) -> tuple[dict[Var, PrimExpr], PrimExpr]:
        """Return where each allocation begins, and the size of all, in bytes."""
        fixed = [n for n in self._allocations if all(isinstance(e, IntImm) for e in n.extents)]
        offsets: dict[Var, PrimExpr] = {}
        end = 0
        for part in sorted(self._parts(sorted(fixed, key=_size, reverse=True)), key=self._place):
            begin = aligned(end, part.alignment if part.size < _VECTOR else max(part.alignment, _VECTOR))
            offsets |= {tenant.alloc.buffer_var: const(begin) for tenant in part.tenants}
            end = begin + part.size
        size: PrimExpr = const(end)
        for n in self._allocations:
            if n not in fixed:
                step = dt.storage_bytes(n.dtype)
                offsets[n.buffer_var] = Analyzer().simplify((size + (step - 1)) // step * step)
                size = offsets[n.buffer_var] + _symbolic_size(n)
        return offsets, size

    def _parts(self, allocations: list[Allocate]) -> list[_Part]:
        """Let each allocation, the largest first, lie where no other one is alive with it."""
        parts: list[_Part] = []
        for n in allocations:
            life = self._lifetimes[n.buffer_var]
            alignment = dt.storage_bytes(n.dtype)
            shared = next((part for part in parts if not any(_overlap(life, other) for other in part.tenants)), None)
            if shared is None:
                parts.append(_Part(_size(n), alignment, [life]))
            else:
                shared.tenants.append(life)
                shared.alignment = max(shared.alignment, alignment)
        return parts


def _overlap(a: Lifetime, b: Lifetime) -> bool:
    if a.depth != b.depth or a.last < 0 or b.last < 0:
        return True  # what is beside one loop and within another is not ordered by time alone
    return a.first <= b.last and b.first <= a.last


def _size(n: Allocate) -> int:
    count = constant_count(n.extents)
    assert count is not None
    return count * dt.storage_bytes(n.dtype)


def _symbolic_size(n: Allocate) -> PrimExpr:
    size: PrimExpr = const(dt.storage_bytes(n.dtype))
    for extent in n.extents:
        size = size * extent
    return size


class _Redirect(StmtExprMutator):
    """Moves accesses to their parts of the one allocation."""

    def __init__(self, pointer: Var, offsets: dict[Var, PrimExpr], allocations: Iterable[Allocate]) -> None:
        self._pointer = pointer
        self._offsets = offsets
        self._allocations = {n.buffer_var: n for n in allocations}
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if n.buffer_var in self._offsets:
            return self.visit(n.body)
        return self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        subject = self._pointer if isinstance(n.node, Var) and n.node in self._offsets else n.node
        return rebuild(n, node=subject, value=self.visit(n.value), body=self.visit(n.body))

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return rebuild(n, buffer=self._buffer(n.buffer), body=self.visit(n.body))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return rebuild(n, buffer=self._buffer(n.buffer), indices=self._indices(n.buffer, n.indices))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        indices = self._indices(n.buffer, n.indices)
        return rebuild(n, buffer=self._buffer(n.buffer), value=self.visit(n.value), indices=indices)

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is ACCESS_PTR and isinstance(pointer := n.args[1], Var) and pointer in self._offsets:
            kind, _, offset, *rest = n.args
            elements = self._elements(pointer, kind.dtype)
            return rebuild(
                n, args=(kind, self._pointer, self.visit(offset) + elements, *self._visit_tuple(tuple(rest)))
            )
        if n.op is _ASYNC_COPY and isinstance(pointer := n.args[0], Var) and pointer in self._offsets:
            _, offset, *rest = n.args
            elements = self.visit(offset) + self._elements(pointer, n.dtype)
            place = elements * dt.storage_bytes(n.dtype)
            return rebuild(n, args=(self._pointer, place, *self._visit_tuple(tuple(rest))))
        return self.visit_Node(n)

    def visit_Var(self, n: Var) -> PrimExpr:
        """Put the address of its part in place of a pointer."""
        if n not in self._offsets:
            return n
        memory = self._allocations[n]
        elements = self._elements(n, memory.dtype)
        return tvm_access_ptr(memory.dtype, self._pointer, elements, element_count(memory.extents), _READ_WRITE)

    def _buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer in the one allocation."""
        if buffer.data not in self._offsets:
            return buffer
        if buffer not in self._buffers:
            self._buffers[buffer] = rebuild(buffer, data=self._pointer)
        return self._buffers[buffer]

    def _indices(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        new = self._visit_tuple(indices)
        if buffer.data not in self._offsets:
            return new
        elements = self._elements(buffer.data, buffer.dtype)
        if is_const_int(elements, 0):
            return new
        first = new[0]
        moved = rebuild(first, base=first.base + elements) if isinstance(first, Ramp) else first + elements
        return (moved, *new[1:])

    def _elements(self, pointer: Var, dtype: str) -> PrimExpr:
        return Analyzer().simplify(self._offsets[pointer] // dt.storage_bytes(dtype))
