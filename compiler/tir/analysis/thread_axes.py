"""The thread axes that a kernel launches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.ir.origin import user_place
from compiler.tir.statements.stmt import AttrStmt, For, Stmt
from compiler.tir.statements.stmt_functor import statements_of


class Launch(NamedTuple):
    """What a statement launches: an axis, its extent, and the variables of a thread's position."""

    tag: str
    extent: PrimExpr
    variables: tuple[Var, ...]


def launch_of(n: Stmt) -> Launch | None:
    """Return what a statement launches, None for any other statement; virtual threads are launched by nothing."""
    if isinstance(n, AttrStmt) and n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
        launch = Launch(n.node.thread_tag, n.value, (n.node.var,))
    elif isinstance(n, For) and n.thread_binding is not None:
        launch = Launch(n.thread_binding.thread_tag, n.extent, (n.loop_var, n.thread_binding.var))
    else:
        return None
    return launch if launch.tag.startswith(("blockIdx", "threadIdx")) else None


@dataclass(slots=True)
class ThreadAxis:
    """One thread axis of a kernel."""

    tag: str
    extent: PrimExpr  # the number of threads or blocks along the axis
    launch: AttrStmt | For
    # the variables that stand for a thread's position along the axis
    variables: list[Var] = field(default_factory=list)


def is_thread(tag: str) -> bool:
    """Return whether a tag names an axis of the threads of a block, and not one of blocks."""
    return tag.startswith("threadIdx")


def thread_axes(kernel: Stmt) -> dict[str, ThreadAxis]:
    """Return the thread axes that a kernel launches, in the order of their first launches."""
    axes: dict[str, ThreadAxis] = {}
    analyzer = Analyzer()
    for n in statements_of(kernel, AttrStmt, For):
        launch = launch_of(n)
        if launch is None:
            continue
        axis = axes.setdefault(launch.tag, ThreadAxis(launch.tag, launch.extent, n))
        if axis.extent is not launch.extent and not analyzer.can_prove_equal(axis.extent, launch.extent):
            raise LoweringError(
                f"a kernel launches {launch.tag} with the extents {axis.extent}{user_place(axis.launch.span)} and "
                f"{launch.extent}{user_place(n.span)}: all loops of a kernel that are bound to the same thread axis"
                f" must have the same extent; split one of them, or bind it to another axis"
            )
        axis.variables += launch.variables
    return axes
