"""Marks the parts of a function that run on a device."""

from __future__ import annotations

from compiler.ir.expr.primexpr import const
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.calls.device_targets import FunctionTarget, function_target
from compiler.tir.transform.calls.kernel_code import with_device_memory
from compiler.tir.transform.pass_base import FunctionRewrite

DEVICE_REGIONS = ("thread_extent", "pipeline_exec_scope", "device_scope")
"""Attributes whose bodies run on a device."""


class AnnotateDeviceRegions(FunctionRewrite):
    """Mark the parts of a function that launch threads with the target that they run on.

    For example, in a function whose target is ``cuda`` with the host ``llvm``::

        with T.launch_thread("threadIdx.x", 8) as tx:         with T.attr(T.target("cuda"), "target", 0):
            B[tx] = A[tx]                                 →       with T.launch_thread("threadIdx.x", 8) as tx:
                                                                      B[tx] = A[tx]

    Functions whose target has no host are for the device as they are.  Memory of threads that is allocated around a
    part, such as that of scope ``local``, is allocated in it: the host has none. Raises LoweringError if a function
    does not say which target it is for.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        target = function_target(func, "AnnotateDeviceRegions")
        if target.host is None:
            return func
        return func.with_body(_Annotate(target.without_host()).visit(with_device_memory(func.body)))


class _Annotate(StmtMutator):
    def __init__(self, target: FunctionTarget) -> None:
        self._target = target

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == "target":
            return n
        if n.attr_key in DEVICE_REGIONS:
            return AttrStmt(self._target, "target", const(0), n)
        return self.visit_Node(n)
