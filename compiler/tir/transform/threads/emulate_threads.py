"""Emulates device kernels on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Var, cast, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import user_place
from compiler.tir.analysis.features import features
from compiler.tir.analysis.thread_axes import ThreadAxis, launch_of
from compiler.tir.analysis.uniformity import Uniformity
from compiler.tir.expressions.builtin import ACCESS_PTR
from compiler.tir.expressions.device_ops import ATOMIC_ADD
from compiler.tir.statements.allocations import allocated, element_count, pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore, moved_index
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, DeclBuffer, Evaluate, For, ForKind, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.calls.kernel_code import KernelCode, with_device_memory
from compiler.tir.transform.loops.convert_for_loops_to_serial import SerialLoops
from compiler.tir.transform.loops.vector_lanes import choose_lanes
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.threads.barrier_regions import BarrierRegions, Barriers
from compiler.tir.transform.threads.emulate_shuffles import EmulateShuffles
from compiler.tir.transform.threads.emulate_tensor_cores import EmulateTensorCores
from compiler.tir.transform.threads.thread_vectors import ContiguousMemory, UnrollShortLoops


class EmulateThreads(FunctionRewrite):
    """Make loops of the threads that kernels launch: what a device would compute, for a CPU.

    Blocks run in parallel.  The threads of a block take turns from barrier to barrier; shared memory is the block's,
    and local memory that is used beyond a barrier has a part for each thread.  For example::

        bx = T.launch_thread("blockIdx.x", 4)           for bx in T.parallel(4):
        tx = T.launch_thread("threadIdx.x", 8)              S = T.allocate([8], "float32", "shared")
        S = T.allocate([8], "float32", "shared")            for tx in range(8):
        S[tx] = A[bx * 8 + tx]                      →           S[tx] = A[bx * 8 + tx]
        T.tvm_storage_sync("shared")                        for tx in range(8):
        B[bx * 8 + tx] = S[7 - tx]                              B[bx * 8 + tx] = S[7 - tx]

    Barriers and reductions across threads must have been inserted: run ``ThreadSync`` and ``LowerThreadAllreduce``
    before. Raises LoweringError if a barrier is under a condition that differs between threads, one axis is launched
    with two extents, or fewer threads than a warp has compute with tensor cores.

    Parameters
    ----------
    warp_size : int
        How many threads run in lockstep.

    References
    ----------
    Stratton, Stone, Hwu: MCUDA: An Efficient Implementation of CUDA Kernels for Multi-core CPUs, 2008.
    """

    warp_size: int = 32

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        occurring = features(func)
        if "thread_extent" not in occurring.attrs and ForKind.THREAD_BINDING not in occurring.kinds:
            return func
        distinct = bool(func.attrs.get("tir.noalias"))
        return func.with_body(_Kernels(self.warp_size, distinct).visit(with_device_memory(func.body)))


class _Kernels(StmtMutator):
    """Replaces each kernel of a function."""

    def __init__(self, warp_size: int, distinct: bool) -> None:
        self._warp_size = warp_size
        self._distinct = distinct

    def visit_Stmt(self, n: Stmt) -> Stmt:
        if launch_of(n) is None:
            return self.visit_Node(n)
        return _Kernel(n, self._warp_size, self._distinct).emulated()


class _Kernel(KernelCode):
    """One kernel, and the loops that do what it does."""

    def __init__(self, kernel: Stmt, warp_size: int, distinct: bool) -> None:
        super().__init__(kernel)
        self._warp_size = warp_size
        self._distinct = distinct

    def emulated(self) -> Stmt:
        """Return the loops over blocks, with all that the threads of a block do."""
        shuffles = EmulateShuffles(self.position, self.count, self._warp_size)
        products = EmulateTensorCores(self.position, self.count)
        loops = [(self.variables[axis.tag], axis.extent) for axis in self.threads]
        code = SerialLoops().visit(self.code)  # a thread of a device has no other threads to share a loop with
        lanes = choose_lanes(shuffles.visit(products.lowered(code)), loops, self._distinct)
        if lanes.loop is not None:
            loops.append((lanes.loop.loop_var, lanes.loop.extent))
        loops.sort(key=lambda loop: loop[0] is not lanes.axis)
        slot = self._slot(loops) if lanes.loop is None else self.position
        memory = _BlockMemory(lanes.code, slot, self.position, self.count, self.memory_width(self._warp_size))
        code = memory.visit(lanes.code)
        uniformity = Uniformity((*(var for var, _ in loops), *memory.private))
        body = BarrierRegions(uniformity, partial(_each_thread, loops, memory), memory.keep).split(code)
        for buffer in shuffles.exchanges:
            body = allocated(buffer, body)
        for allocation in reversed(memory.allocations):
            body = rebuild(allocation, body=body)
        return self._each_block(body, memory.atomic)

    def _slot(self, loops: Sequence[tuple[Var, PrimExpr]]) -> PrimExpr:
        """Return where a thread's own memory is among that of all: threads of the innermost loop are neighbours."""
        slot: PrimExpr = const(0)
        count: PrimExpr = const(1)
        for var, extent in loops:
            slot = slot + cast("int32", var) * count
            count = count * cast("int32", extent)
        return self.analyzer.simplify(slot)

    def _each_block(self, body: Stmt, in_order: bool) -> Stmt:
        """Return the loop over all blocks; they run one after the other where they add to the same memory."""
        kind = ForKind.SERIAL if in_order else ForKind.PARALLEL
        sizes: list[int] = [axis.extent.value for axis in self.blocks if isinstance(axis.extent, IntImm)]
        if len(sizes) < len(self.blocks):
            return self._nested(self.blocks, body, kind)
        if not sizes:
            return body
        block = Var("block", "int32")
        values: dict[Var, PrimExpr] = {}
        for position, axis in enumerate(self.blocks):
            inner = prod(sizes[position + 1 :])
            var, outermost = self.variables[axis.tag], position == 0
            place = block // inner if outermost else block // inner % sizes[position]
            values[var] = cast(var.dtype, self.analyzer.simplify(place))
        return For(block, const(0), const(prod(sizes)), kind, substitute(body, values))

    def _nested(self, axes: Sequence[ThreadAxis], body: Stmt, kind: ForKind) -> Stmt:
        for axis in reversed(axes):
            var, own = self.variables[axis.tag], kind if axis is axes[0] else ForKind.SERIAL
            body = For(var, const(0, var.dtype), axis.extent, own, body)
        return body


def _each_thread(loops: Sequence[tuple[Var, PrimExpr]], memory: _BlockMemory, region: Stmt) -> Stmt:
    """Return the loops over threads around a region, the innermost one first among them."""
    if memory.interleaved.intersection(free_vars(region)):
        region = UnrollShortLoops().visit(region)
    for old, extent in loops:
        var = Var(old.name, old.dtype)
        region = For(var, const(0, var.dtype), extent, ForKind.SERIAL, substitute(region, {old: var}))
    return region


class _BlockMemory(StmtExprMutator):
    """Moves the memory of a block, and the threads' own that is used beyond a barrier, out of the threads' code.

    A thread's own memory is at ``slot`` among that of all threads, memory of a warp is shared by ``width`` threads.
    """

    def __init__(self, code: Stmt, slot: PrimExpr, thread: PrimExpr, threads: PrimExpr, width: int) -> None:
        self._around = Barriers(code).around
        self._contiguous = ContiguousMemory(code).pointers
        self._slot = slot
        self._thread = thread
        self._threads = threads
        self._width = width
        self._shifts: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
        """By pointer: the position of a thread's or warp's part, and the bytes of a part."""
        self._parts: dict[Buffer, Buffer] = {}
        self.allocations: list[Allocate] = []  # the memory of a block
        self.private: set[Var] = set()  # pointers to memory that each thread has its own of
        self.interleaved: set[Var] = set()  # those in which an element is beside that of the next thread
        self.atomic = False  # whether threads add to memory in one step

    def visit_Allocate(self, n: Allocate) -> Stmt:
        scope = pointer_scope(n.buffer_var)
        if scope.startswith("shared"):
            self.allocations.append(n)
        elif scope == "warp":
            warps = (self._threads + (self._width - 1)) // self._width
            self._contiguous.add(n.buffer_var)
            self._divide(n, self._thread // self._width, warps)
        else:
            self.private.add(n.buffer_var)
            if n not in self._around:
                return self.visit_Node(n)
            self._divide(n, self._slot, self._threads)
        return self.visit(n.body)

    def _divide(self, n: Allocate, position: PrimExpr, parts: PrimExpr) -> None:
        """Make one allocation of all parts."""
        if n.buffer_var not in self._contiguous:
            self.interleaved.add(n.buffer_var)
        elements = element_count(cast("int32", extent) for extent in n.extents)
        self._shifts[n.buffer_var] = (position, elements * dt.storage_bytes(n.dtype))
        self.allocations.append(rebuild(n, extents=(parts * elements,)))

    def keep(self, n: LetStmt) -> tuple[Stmt, Stmt]:
        """Return the definition of a value for each thread, and its body, which reads that of its thread."""
        buffer = decl_buffer((self._threads,), n.var.dtype, n.var.name, scope="local")
        self.private.add(buffer.data)
        self.allocations.append(Allocate(buffer.data, buffer.dtype, buffer.shape, const(True), n.body))
        element = BufferLoad(buffer, (self._slot,))
        return BufferStore(buffer, n.value, (self._slot,)), substitute(n.body, {n.var: element})

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        return DeclBuffer(self._part(n.buffer), self.visit(n.body))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        indices = self._visit_tuple(n.indices)
        return rebuild(n, buffer=self._part(n.buffer), indices=self._shifted(n, indices))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        return rebuild(n, buffer=self._part(n.buffer), value=value, indices=self._shifted(n, indices))

    def _part(self, buffer: Buffer) -> Buffer:
        """Return the buffer of all parts."""
        if buffer.data not in self._shifts:
            return buffer
        if buffer not in self._parts:
            _, size = self._shifts[buffer.data]
            self._parts[buffer] = rebuild(buffer, shape=(self._threads * size // dt.storage_bytes(buffer.dtype),))
        return self._parts[buffer]

    def _shifted(self, n: BufferLoad | BufferStore, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        shift = self._shifts.get(n.buffer.data)
        if shift is None:
            return indices
        if len(indices) != 1:
            raise LoweringError(f"emulation: buffer {n.buffer.name} must be flat; run FlattenBuffer first")
        position, size = shift
        if n.buffer.data in self.interleaved:
            threads, thread = (cast(indices[0].dtype, each) for each in (self._threads, position))
            return (indices[0] * threads + thread,)
        return (moved_index(indices[0], position * (size // dt.storage_bytes(n.buffer.dtype))),)

    def visit_Call(self, n: Call) -> PrimExpr:
        args: tuple[PrimExpr, ...] = self._visit_tuple(n.args)
        if n.op is not ACCESS_PTR or not isinstance(args[1], Var) or args[1] not in self._shifts:
            return rebuild(n, args=args)
        position, size = self._shifts[args[1]]
        kind, pointer, offset, *rest = args
        return rebuild(n, args=(kind, pointer, offset + position * (size // dt.storage_bytes(kind.dtype)), *rest))

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        call = n.value
        if not isinstance(call, Call) or call.op is not ATOMIC_ADD:
            return self.visit_Node(n)
        address, value = call.args
        element = address.args[0] if isinstance(address, Call) and address.args else None
        if not isinstance(element, BufferLoad):
            raise LoweringError(f"emulation: atomic_add{user_place(n.span)} must be given the address of an element")
        self.atomic = True
        return self.visit(BufferStore(element.buffer, element + value, element.indices))
