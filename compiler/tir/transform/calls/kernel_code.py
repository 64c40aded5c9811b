"""The code of one thread of a kernel."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, Var, cast, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.tir.analysis.thread_axes import is_thread, launch_of, thread_axes
from compiler.tir.expressions.tensor_core_ops import MATRIX_OPS
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.stmt import Allocate, AttrStmt, For, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator

DEVICE_SCOPES = ("local", "shared", "shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")
"""Storage that threads have of their own, wherever it is allocated."""


def with_device_memory(body: Stmt) -> Stmt:
    """Move what is allocated around a kernel, but is memory of its threads, into the kernel.

    For example::

        L = T.allocate([1], "float32", "local")         tx = T.launch_thread("threadIdx.x", 8)
        tx = T.launch_thread("threadIdx.x", 8)     →    L = T.allocate([1], "float32", "local")
    """
    return _DeviceMemory().visit(body)


def refuse_tensor_cores(kernel: Stmt, operation: str) -> None:
    """Reject a kernel that computes with tensor cores, which code is generated for in CUDA C alone.

    Raises LoweringError if an operator of tensor cores is called; the message names the user's line.
    """
    for n in nodes_of(kernel, Call):
        if isinstance(n.op, Op) and n.op.name in MATRIX_OPS:
            raise LoweringError(
                f"{operation}: {n.op.name.removeprefix('tir.')}{user_place(n.span)} computes with tensor cores: target "
                "'cuda' has code for it in CUDA C, PTX and SASS, and emulation runs it; leave tensorize out for other "
                "targets"
            )


class _DeviceMemory(StmtMutator):
    def __init__(self) -> None:
        self._pending: dict[Var, Allocate] = {}
        self._moved: set[Var] = set()

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if pointer_scope(n.buffer_var) not in DEVICE_SCOPES:
            return self.visit_Node(n)
        self._pending[n.buffer_var] = n
        body = self.visit(n.body)
        del self._pending[n.buffer_var]
        return body if n.buffer_var in self._moved else rebuild(n, body=body)

    def _launch(self, n: AttrStmt | For) -> Stmt:
        return self._into(n) if launch_of(n) else self.visit_Node(n)

    visit_AttrStmt = visit_For = _launch

    def _into(self, n: AttrStmt | For) -> Stmt:
        used = [self._pending[var] for var in free_vars(n.body) if var in self._pending]
        self._moved.update(allocation.buffer_var for allocation in used)
        body = n.body
        for allocation in used:
            body = rebuild(allocation, body=body)
        return rebuild(n, body=body)


class KernelCode:
    """A kernel, taken apart into its axes and what each thread does.

    A thread has the place ``position`` in its block of ``count`` threads. Raises LoweringError if one axis is launched
    with two extents.
    """

    def __init__(self, kernel: Stmt) -> None:
        axes = thread_axes(kernel)
        self.analyzer = Analyzer()
        # the axes of blocks in the order of their launches, those of the threads of a block with x first
        self.blocks = [axis for axis in axes.values() if not is_thread(axis.tag)]
        self.threads = sorted((axis for axis in axes.values() if is_thread(axis.tag)), key=lambda axis: axis.tag)
        # by tag: the one variable that stands for the position along an axis
        self.variables = {axis.tag: Var(axis.tag.replace(".", "_"), axis.extent.dtype) for axis in axes.values()}
        values = {var: self.variables[axis.tag] for axis in axes.values() for var in axis.variables}
        # what a thread does: the kernel without launches
        self.code: Stmt = substitute(_RemoveLaunches().visit(kernel), values)
        position: PrimExpr = const(0)
        count: PrimExpr = const(1)
        for axis in self.threads:
            position = position + cast("int32", self.variables[axis.tag]) * count
            count = count * cast("int32", axis.extent)
        self.position, self.count = self.analyzer.simplify(position), self.analyzer.simplify(count)

    def memory_width(self, warp_size: int) -> int:
        """Return how many threads share memory of the scope ``warp``: a warp's, or fewer where threadIdx.x has less."""
        widths = [
            axis.extent.value for axis in self.threads if axis.tag == "threadIdx.x" and isinstance(axis.extent, IntImm)
        ]
        return min(warp_size, *widths) if widths else warp_size


class _RemoveLaunches(StmtMutator):
    """Removes the launches of thread axes, whose variables stay."""

    def _launch(self, n: AttrStmt | For) -> Stmt:
        return self.visit(n.body) if launch_of(n) else self.visit_Node(n)

    visit_AttrStmt = visit_For = _launch
