"""Explains the memory accesses of kernels warp by warp.

A thread's arithmetic operations include those of matrix and dot product instructions.  A product of matrices by tensor
cores is an instruction of a warp: each thread counts its share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, Call, IntImm, PrimExpr, Ramp, StringImm, Var
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.types import PointerType
from compiler.tir.analysis.thread_axes import launch_of
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.expressions.evaluation import Array
from compiler.tir.expressions.tensor_core_ops import MATRIX_OPS
from compiler.tir.layout.matrix_fragments import operand_dtype
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For, IfThenElse, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import statements_of
from compiler.tir.transform.calls.kernel_code import KernelCode, with_device_memory
from compiler.tir.warp_access.index_values import DataDependentError
from compiler.tir.warp_access.site import WARP, AccessSite, Axis, StmtContext
from compiler.tir.warp_access.transactions import SECTOR, Addresses, Pattern, bank_ways, pattern_of, sectors

_WARP = 32
_FRAGMENT_PRODUCTS = ("tir.tvm_mma_sync", "tir.tvm_bmma_sync")
_SHAPE_PRODUCTS = ("tir.ptx_mma", "tir.ptx_mma_sp")
_DOT_PRODUCTS = {"tir.dp4a": 4, "__dp4a": 4}
"""Products that an instruction adds up, by operator or by C function."""


def fragment_extents(shape: str) -> int:
    """Return how many products ``m * n * k`` make one product of fragments of a shape such as ``16, 16, 16``."""
    return prod(map(int, shape.split(",")))


def instruction_operations(call: Call, fragments: Mapping[Var, int]) -> float:
    """Return the operations that a thread does by an instruction, a product and a sum counted as two."""
    name = call.op.name if isinstance(call.op, Op) else ""
    if name in _FRAGMENT_PRODUCTS:
        accumulator = call.args[0]
        return 2 * fragments.get(accumulator, 0) / _WARP if isinstance(accumulator, Var) else 0.0
    if name in _SHAPE_PRODUCTS:
        shape = call.args[0]
        return 2 * prod(map(int, re.findall(r"\d+", shape.value))) / _WARP if isinstance(shape, StringImm) else 0.0
    if name.startswith("tir.call_") and call.args and isinstance(call.args[0], StringImm):
        name = call.args[0].value
    return 2.0 * _DOT_PRODUCTS.get(name, 0)


def matrix_types(call: Call) -> str:
    """Return what an instruction of tensor cores multiplies and adds up."""
    name = call.op.name if isinstance(call.op, Op) else ""
    if name in _FRAGMENT_PRODUCTS:
        operand, total = (_element(call.args[at]) for at in (2, 0))
    elif name in _SHAPE_PRODUCTS:
        words = [word.value if isinstance(word, StringImm) else "" for word in (call.args[3], call.args[5])]
        operand, total = (operand_dtype(word) or word for word in words)
    else:
        return ""
    return f"{operand} to {total}"


def _element(pointer: PrimExpr) -> str:
    annotation = pointer.type_annotation if isinstance(pointer, Var) else None
    return str(annotation.element_type.dtype) if isinstance(annotation, PointerType) else ""


def value_operations(value: PrimExpr) -> int:
    """Return the floating-point operations of an expression, those of indices left out."""
    count = _Arithmetic()
    count.visit(value)
    return count.operations


class _Arithmetic(Visitor):
    def __init__(self) -> None:
        self.operations = 0

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        """An index is none."""

    def visit_BinaryOp(self, n: BinaryOp) -> None:
        if dt.is_float(n.dtype):
            self.operations += dt.lanes(n.dtype)
        self.visit_Node(n)


MAX_SAMPLES = 512
"""Accesses of one statement that are looked at; of more, so many are taken at equal distances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpAccess:
    """One access of the loop IR."""

    node: BufferLoad | BufferStore | Call
    writes: bool
    # name and storage scope of the memory
    buffer: str
    scope: str
    size: int
    executions: int  # how often warps make the access in one launch
    # Shape (samples, lanes): the bytes from the beginning of the buffer that the lanes access, -1 for idle lanes, in
    # the order of blocks, warps and iterations. None if only a run knows them.
    addresses: Addresses | None
    exact: bool  # whether all executions are among the samples
    site: AccessSite

    @property
    def pattern(self) -> Pattern | None:
        """What the lanes' places look like; None if only a run knows them."""
        return None if self.addresses is None else pattern_of(self.addresses, self.size)

    @property
    def sectors(self) -> float | None:
        """Sectors of an access, on average over those that touch any."""
        return None if self.addresses is None else _mean(sectors(self.addresses, self.size))

    @property
    def least_sectors(self) -> float | None:
        """Sectors that hold as many distinct bytes as the lanes access, if they lay side by side."""
        if self.addresses is None:
            return None
        lanes = np.sort(self.addresses, axis=1)
        is_first = np.diff(lanes, axis=1, prepend=-1) > 0  # of its kind; idle lanes have no place
        return _mean(-(-is_first.sum(axis=1) * self.size // SECTOR))

    @property
    def ways(self) -> int | None:
        """The worst bank conflict, 1 if there is none; None of global memory, and where only a run knows it."""
        return (
            None
            if self.addresses is None or self.scope == "global"
            else int(bank_ways(self.addresses, self.size).max(initial=0))
        )

    @property
    def moved(self) -> float | None:
        """Bytes of all sectors that all executions touch."""
        if self.addresses is None:
            return None
        return float(sectors(self.addresses, self.size).mean()) * SECTOR * self.executions


@dataclass(slots=True)
class KernelAccesses:
    """What the warps of one kernel do."""

    name: str
    # blocks of the launch, and threads of a block
    blocks: int
    threads: int
    accesses: list[WarpAccess] = field(default_factory=list)
    # what warps do with matrices in registers, what stands around it, and how many of the accesses come before
    matrix_calls: list[tuple[Call, StmtContext, int]] = field(default_factory=list)
    # by buffer of global memory: the bytes that lie between its first and its last element, as its shape says
    footprint: dict[str, int] = field(default_factory=dict)
    # floating-point operations of all threads, and those of dot products and of tensor cores, whatever their type
    flops: float = 0.0
    # those of tensor cores, by what they multiply and add up, e.g. `float16 to float32`
    matrix_flops: dict[str, float] = field(default_factory=dict)

    @property
    def moved(self) -> float:
        """Bytes between global memory and the processors, caches left out."""
        return sum(access.moved or 0.0 for access in self.accesses if access.scope == "global")

    @property
    def least(self) -> int:
        """Bytes of the global buffers that are accessed: each must be moved once, where that many are moved at all."""
        return sum(min(size, self._moved_of(buffer)) for buffer, size in self.footprint.items())

    def _moved_of(self, buffer: str) -> int:
        """Return the bytes of sectors that are moved of a buffer, or the whole of it where only a run knows them."""
        moved = [access.moved for access in self.accesses if access.scope == "global" and access.buffer == buffer]
        sizes = [each for each in moved if each is not None]
        return round(sum(sizes)) if len(sizes) == len(moved) else self.footprint[buffer]


def explain_kernels(module: IRModule) -> list[KernelAccesses]:
    """Explain the accesses of kernels."""
    made = []
    for var, func in module.items():
        launch = outermost_launch(func) if isinstance(func, PrimFunc) else None
        if launch is not None:
            made.append(_explained(var.name_hint, launch))
    return [kernel for kernel in made if kernel is not None]


def outermost_launch(func: PrimFunc) -> Stmt | None:
    """Return the statement that launches the first kernel of a function, with everything below it."""
    statements = statements_of(with_device_memory(func.body), AttrStmt, For)
    return next((n for n in statements if launch_of(n) is not None), None)


def _explained(name: str, launch: Stmt) -> KernelAccesses | None:
    kernel = KernelCode(launch)
    extents = {
        kernel.variables[axis.tag]: axis.extent.value
        for axis in (*kernel.blocks, *kernel.threads)
        if isinstance(axis.extent, IntImm)
    }
    if len(extents) < len(kernel.variables):
        return None
    blocks, threads = ([kernel.variables[axis.tag] for axis in axes] for axes in (kernel.blocks, kernel.threads))
    walk = _AccessVisitor(blocks, threads, extents)
    made = walk.kernel = KernelAccesses(name, prod(extents[v] for v in blocks), prod(extents[v] for v in threads))
    walk.visit(kernel.code)
    return made


class _AccessVisitor(Visitor):
    """Visits the code of a thread, and looks at each access for warps, blocks and iterations."""

    kernel: KernelAccesses

    def __init__(self, blocks: list[Var], threads: list[Var], extents: dict[Var, int]) -> None:
        self._blocks = tuple((var, extents[var]) for var in blocks)
        self._threads = tuple((var, extents[var]) for var in threads)
        self._loops: list[Axis] = []
        self._conditions: list[tuple[PrimExpr, bool]] = []
        self._lets: list[LetStmt] = []
        self._fragments: dict[Var, int] = {}

    @property
    def _around(self) -> StmtContext:
        """What stands around the statement that is visited."""
        return StmtContext(self._blocks, self._threads, tuple(self._loops), tuple(self._lets), tuple(self._conditions))

    def visit_For(self, n: For) -> None:
        if not isinstance(n.extent, IntImm) or not isinstance(n.min, IntImm) or n.min.value:
            return  # how often it runs is not known
        self._loops.append((n.loop_var, n.extent.value))
        self.visit(n.body)
        self._loops.pop()

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._lets.append(n)
        self.visit(n.body)
        self._lets.pop()

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self._branches(n.condition, n.then_case, n.else_case)

    def visit_Call(self, n: Call) -> None:
        if n.op is IF_THEN_ELSE:
            self._branches(*n.args)
        else:
            if isinstance(n.op, Op) and n.op.name in MATRIX_OPS:
                self.kernel.matrix_calls.append((n, self._around, len(self.kernel.accesses)))
            self._count(instruction_operations(n, self._fragments), matrix_types(n))
            self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "fragment_shape" and isinstance(n.node, Var) and isinstance(n.value, StringImm):
            self._fragments[n.node] = fragment_extents(n.value.value)
        self.visit_Node(n)

    def _branches(self, condition: PrimExpr, *bodies: Node | None) -> None:
        """Visit what the threads do of which a condition holds, then what the others do."""
        self.visit(condition)
        for body, holds in zip(bodies, (True, False), strict=True):
            if body is not None:
                self._conditions.append((condition, holds))
                self.visit(body)
                self._conditions.pop()

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.visit_Node(n)
        self._note(n, n.buffer, n.indices, n.dtype, writes=False)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.visit(n.value)
        self._note(n, n.buffer, n.indices, n.value.dtype, writes=True)
        self._count(value_operations(n.value))

    def _count(self, operations: float, matrix: str = "") -> None:
        """Add up the operations that each thread does where it comes to a statement."""
        if operations:
            launches = prod(extent for _, extent in (*self._blocks, *self._loops))
            added = operations * launches * _busy(self._around)
            self.kernel.flops += added
            if matrix:
                self.kernel.matrix_flops[matrix] = self.kernel.matrix_flops.get(matrix, 0.0) + added

    def _note(
        self, n: BufferLoad | BufferStore, buffer: Buffer, indices: tuple[PrimExpr, ...], dtype: str, writes: bool
    ) -> None:
        scope = buffer.storage_scope or "global"
        if len(indices) != 1 or not (scope == "global" or scope.startswith("shared")):
            return
        element = dt.storage_bytes(dt.element(buffer.dtype))
        site = AccessSite(self._around, indices[0], element)
        executions = prod(site.surroundings.extents)
        try:
            addresses = site.addresses(samples(site.surroundings))
        except DataDependentError:
            addresses = None
        self.kernel.accesses.append(
            WarpAccess(
                node=n,
                writes=writes,
                buffer=buffer.name,
                scope=scope,
                size=element * (dt.lanes(dtype) if _is_dense(indices[0]) else 1),
                executions=executions,
                addresses=addresses,
                exact=executions <= MAX_SAMPLES,
                site=site,
            )
        )
        if scope == "global":
            shape = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
            self.kernel.footprint[buffer.name] = prod(shape) * element * (2 if self._reads_and_writes(buffer) else 1)

    def _reads_and_writes(self, buffer: Buffer) -> bool:
        return len({a.writes for a in self.kernel.accesses if a.buffer == buffer.name}) > 1


def samples(around: StmtContext) -> list[Array]:
    """Return some places at equal distances among all executions, or all of them."""
    total = prod(around.extents)
    chosen = np.unique(np.linspace(0, total - 1, min(total, MAX_SAMPLES)).astype("int64"))
    return list(np.unravel_index(chosen, around.extents))


def _busy(around: StmtContext) -> float:
    """Return how many threads of a block come to a statement, on average."""
    try:
        return float(around.lanes(samples(around)).active.mean()) * around.warps * WARP
    except DataDependentError:
        return float(around.thread_count)


def _is_dense(index: PrimExpr) -> bool:
    return isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1


def _mean(counts: Array) -> float:
    touched = counts[counts > 0]
    return float(touched.mean()) if touched.size else 0.0
