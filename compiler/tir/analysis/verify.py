"""Verification of functions."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar, Let, PrimExpr, Var
from compiler.ir.functor import Visitor, post_order
from compiler.ir.node import Node
from compiler.ir.structural import structural_equal
from compiler.tir.statements.block import contains_block
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, For, ForKind, LetStmt, Stmt

CPU_KINDS = ("llvm", "c", "ext_dev", "hexagon")
"""Kinds of targets whose code touches memory without thread axes."""


def verify_memory(func: PrimFunc) -> bool:
    """Return whether memory is touched only where the function's target can do so.

    On a GPU the memory of the parameters may be read and written only under a thread axis; a CPU may do so anywhere,
    and so may a function without a target.
    """
    return host_access(func) is None


def host_access(func: PrimFunc) -> BufferLoad | BufferStore | None:
    """Return the first access to memory where the function's target cannot make it: see :func:`verify_memory`."""
    if getattr(func.attrs.get("target"), "kind", "llvm") in CPU_KINDS:
        return None
    visitor = _HostAccess()
    visitor.visit(func.body)
    return visitor.violation


class _HostAccess(Visitor):
    """Looks for accesses outside of all thread axes to memory that was not allocated right there."""

    def __init__(self) -> None:
        self.violation: BufferLoad | BufferStore | None = None
        self._local: set[Var] = set()

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key != "thread_extent":
            self.visit_Node(n)

    def visit_For(self, n: For) -> None:
        if n.kind is not ForKind.THREAD_BINDING:
            self.visit_Node(n)

    def visit_Allocate(self, n: Allocate) -> None:
        self._local.add(n.buffer_var)
        self.visit_Node(n)

    def _check(self, n: BufferLoad | BufferStore) -> None:
        if self.violation is None and n.buffer.data not in self._local:
            self.violation = n
        self.visit_Node(n)

    visit_BufferLoad = visit_BufferStore = _check


def verify_ssa(func: PrimFunc) -> bool:
    """Return whether every variable is defined at most once; an expression's let may be used several times."""
    visitor = _SingleDefinition()
    visitor.define(*func.params)
    visitor.visit(func.body)
    return visitor.holds


class _SingleDefinition(Visitor):
    def __init__(self) -> None:
        self.holds = True
        self._defined: set[Node] = set()
        self._values: dict[Var, PrimExpr] = {}

    def define(self, *variables: Var) -> None:
        for var in variables:
            self.holds &= var not in self._defined
            self._defined.add(var)

    def visit_Stmt(self, n: Stmt) -> None:
        if isinstance(n, For):
            self.define(n.loop_var)
        elif isinstance(n, LetStmt):
            self.define(n.var)
        elif isinstance(n, Allocate):
            self.define(n.buffer_var)
        elif isinstance(n, AttrStmt) and isinstance(n.node, IterVar) and n.attr_key == "thread_extent":
            self._defined.add(n.node.var)  # several kernels may share one thread axis
        self.visit_Node(n)

    def visit_Let(self, n: Let) -> None:
        # The body of an expression's let is visited without its variable, which is no use of it.
        if n.var not in self._values or not structural_equal(n.value, self._values[n.var]):
            self.define(n.var)
            self._values[n.var] = n.value
        self.visit(n.value)
        self.visit(n.body)

    def visit_Var(self, n: object) -> None:
        """A use."""


def is_lowered(func: PrimFunc) -> bool:
    """Return whether a function is as lowering leaves it: no blocks, memory of one dimension, vectors written out."""
    return not (contains_block(func.body) or any(map(_is_unlowered, post_order(func.body))))


def _is_unlowered(n: Node) -> bool:
    if isinstance(n, For):
        return n.kind is ForKind.VECTORIZED
    if isinstance(n, (BufferLoad, BufferStore)):
        return len(n.indices) != 1
    return isinstance(n, BufferRealize)
