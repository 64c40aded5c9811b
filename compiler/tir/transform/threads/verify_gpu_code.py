"""Rejects kernels that exceed the limits of the target's devices."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.error import LoweringError
from compiler.ir.origin import user_place
from compiler.tir.analysis.thread_axes import is_thread, launch_of, thread_axes
from compiler.tir.analysis.verify_gpu_code import Violation, gpu_violations
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, For
from compiler.tir.statements.stmt_functor import StmtVisitor
from compiler.tir.transform.pass_base import FunctionRewrite

_TEXTS: dict[str, tuple[str, str]] = {
    "max_threads_per_block": ("a block has {value:,} threads", "split the axes that are bound to threads smaller"),
    "max_thread_x": (
        "threadIdx.x has {value:,} threads",
        "split the axis smaller, or bind a part of it to threadIdx.y",
    ),
    "max_thread_y": (
        "threadIdx.y has {value:,} threads",
        "split the axis smaller, or bind a part of it to threadIdx.x",
    ),
    "max_thread_z": (
        "threadIdx.z has {value:,} threads",
        "split the axis smaller, or bind a part of it to threadIdx.x",
    ),
    "max_vthread": ("a virtual thread has {value:,} copies", "split its axis smaller"),
    "max_shared_memory_per_block": (
        "a block has {value:,} bytes of shared memory",
        "stage a smaller part at a time, by computing the shared stages at an inner loop, or share with fewer threads",
    ),
    "max_dynamic_shared_memory_per_block": (
        "a block has {value:,} bytes of shared memory, static and dynamic",
        "stage a smaller part at a time, by computing the shared stages at an inner loop, or share with fewer threads",
    ),
    "max_local_memory_per_block": ("threads have {value:,} bytes of local memory", "make the tile of a thread smaller"),
    "max_vector_bytes": ("an access is {value:,} bytes wide", "split the vectorized axis smaller"),
    "max_kernels": ("the function has {value:,} kernels", "compute stages at others, so that they share a kernel"),
    "one extent": (
        "one thread axis has the extents {value:,} and {allowed:,}",
        "split one of the loops to the other's",
    ),
}
"""By limit: what is too much, and what would make it legal."""


class VerifyGPUCode(FunctionRewrite):
    """Check that kernels keep the limits of a GPU, and launch blocks outside of their threads; nothing changes.

    For example, with ``max_threads_per_block`` 1024::

        with T.launch_thread("threadIdx.x", 2048) as tx:     # refused
            B[tx] = A[tx]

    Raises LoweringError if a kernel breaks a limit: the message names the schedule's line, the limit, and what would
    make it legal. ``constraints`` are the limits, as ``tir.analysis.verify_gpu_code`` names them.
    """

    constraints: Mapping[str, int]

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        _check(func, self.constraints)
        return func


def _check(func: PrimFunc, constraints: Mapping[str, int]) -> None:
    _Launches().visit(func.body)
    violations = gpu_violations(func, constraints)
    if violations:
        raise LoweringError(_message(func, violations[0]))


def _message(func: PrimFunc, violation: Violation) -> str:
    what, cure = _TEXTS[violation.limit]
    place = "" if violation.node is None else user_place(violation.node.span)
    value: int | str = violation.value or "an unknown number of"
    text = what.replace("{value:,}", "{value}") if violation.value == 0 else what
    name, limit = func.attrs.get("global_symbol", "main"), f"{violation.limit} is {violation.allowed:,}"
    return f"VerifyGPUCode: function {name!r}: {text.format(value=value)}{place}, and {limit}; {cure}"


class _Launches(StmtVisitor):
    """Refuses block axes that are launched inside of thread axes, and axes that are launched with two extents."""

    def __init__(self) -> None:
        self._in_kernel = False
        self._thread: str | None = None

    def _note(self, n: AttrStmt | For) -> None:
        launch, outer, in_kernel = launch_of(n), self._thread, self._in_kernel
        if launch is not None and not in_kernel:
            thread_axes(n)
            self._in_kernel = True
        if launch is not None and is_thread(launch.tag):
            self._thread = launch.tag
        elif launch is not None and outer is not None:
            raise LoweringError(
                f"VerifyGPUCode: {launch.tag} is launched inside of {outer}{user_place(n.span)}: threads are"
                f" inside blocks, not the reverse; reorder the axes, or bind the outer one to blocks and the"
                f" inner one to threads"
            )
        self.visit(n.body)
        self._thread, self._in_kernel = outer, in_kernel

    visit_AttrStmt = visit_For = _note
