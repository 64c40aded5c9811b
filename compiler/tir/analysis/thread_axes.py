"""The thread axes that a kernel launches."""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.origin import user_place
from compiler.ir.primexpr import IterVar, PrimExpr, Var
from compiler.tir.stmt import AttrStmt, For, Stmt
from compiler.tir.stmt_functor import StmtVisitor

__all__ = ["ThreadAxis", "is_thread", "thread_axes"]


@dataclass(slots=True)
class ThreadAxis:
    """One thread axis of a kernel.

    Attributes
    ----------
    tag : str
        Its name, e.g. ``threadIdx.x``.
    extent : PrimExpr
        The number of threads or blocks along the axis.
    launch : AttrStmt or For
        The statement that launches it first.
    variables : list of Var
        The variables that stand for a thread's position along the axis.
    """

    tag: str
    extent: PrimExpr
    launch: AttrStmt | For
    variables: list[Var] = field(default_factory=list)


def is_thread(tag: str) -> bool:
    """Return whether a tag names an axis of the threads of a block, and not one of blocks.

    Parameters
    ----------
    tag : str
        E.g. ``threadIdx.x``.

    Returns
    -------
    bool
    """
    return tag.startswith("threadIdx")


def thread_axes(kernel: Stmt) -> dict[str, ThreadAxis]:
    """Return the thread axes that a kernel launches, in the order of their first launches.

    Parameters
    ----------
    kernel : Stmt
        The outermost launch of the kernel, with everything in it.

    Returns
    -------
    dict of str to ThreadAxis
        By their tags.

    Raises
    ------
    LoweringError
        If one axis is launched with two extents.
    """
    visitor = _Axes()
    visitor.visit(kernel)
    return visitor.axes


class _Axes(StmtVisitor):
    def __init__(self) -> None:
        self.axes: dict[str, ThreadAxis] = {}
        self._analyzer = Analyzer()

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self._note(n, n.node.thread_tag, n.value, n.node.var)
        self.visit(n.body)

    def visit_For(self, n: For) -> None:
        if n.thread_binding is not None:
            self._note(n, n.thread_binding.thread_tag, n.extent, n.loop_var, n.thread_binding.var)
        self.visit(n.body)

    def _note(self, launch: AttrStmt | For, tag: str, extent: PrimExpr, *variables: Var) -> None:
        axis = self.axes.setdefault(tag, ThreadAxis(tag, extent, launch))
        if axis.extent is not extent and not self._analyzer.can_prove_equal(axis.extent, extent):
            raise LoweringError(
                f"a kernel launches {tag} with the extents {axis.extent}{user_place(axis.launch.span)} and "
                f"{extent}{user_place(launch.span)}: all loops of a kernel that are bound to one thread axis must have "
                "one extent; split one of them, or bind it to another axis"
            )
        axis.variables += variables
