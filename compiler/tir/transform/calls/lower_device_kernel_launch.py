"""Lowers kernel launches to calls of the device's launcher."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IterVar, PrimExpr, StringImm
from compiler.ir.expr.substitute import substitute
from compiler.ir.function import CallingConv, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.expressions.builtin import CALL_EXTERN, CALL_PACKED
from compiler.tir.statements.allocations import element_count, pointer_scope
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt
from compiler.tir.statements.stmt_functor import StmtExprMutator, statements_of
from compiler.tir.transform.calls.device_targets import FunctionTarget, device_type
from compiler.tir.transform.pass_base import PrimFuncPass

DEVICE_KERNEL_LAUNCH = int(CallingConv.DEVICE_KERNEL_LAUNCH)
"""The value of ``calling_conv`` of functions that a device's driver launches."""
DYNAMIC_SHARED_MEMORY = "tir.use_dyn_shared_memory"
"""The launch parameter that says how many bytes of shared memory a block gets."""


class LowerDeviceKernelLaunch(ModulePass):
    """Replace calls between functions of different targets by launches and calls of symbols.

    For example, ``kernel`` for a GPU and ``main`` for the CPU::

        def main(A, n):                                   def main(A, n):
            kernel(A.data, n)                                 T.call_packed("kernel", A.data, n, n, 32)

        def kernel(A, n):                          →      def kernel(A, n):
            bx = T.launch_thread("blockIdx.x", n)             T.func_attr({"calling_conv": 2,
            tx = T.launch_thread("threadIdx.x", 32)               "tir.kernel_launch_params":
            …                                                         ["blockIdx.x", "threadIdx.x"], …})
                                                              …

    The launch parameters are the extents of the thread axes in the order of their launches, and the bytes of dynamic
    shared memory.  Between targets of one kind calls stay; between kinds for one device, such as ``llvm`` and ``c``,
    they become calls of the symbol. Raises LoweringError if a kernel allocates dynamic shared memory twice: merge its
    allocations first.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        kernels = {
            var.name_hint: _Kernel.of(var, func)
            for var, func in mod.items()
            if isinstance(func, PrimFunc) and "target" in func.attrs
        }
        callers = {
            var: _LowerCalls(func.attrs["target"], kernels).lower(func) if var.name_hint in kernels else func
            for var, func in mod.items()
        }
        return mod.with_functions(
            {var: _with_convention(func, kernels.get(var.name_hint)) for var, func in callers.items()}
        )


@dataclass
class _Kernel:
    """What a launch must know of a function."""

    symbol: str
    func: PrimFunc
    target: FunctionTarget
    launch: dict[str, PrimExpr] = field(default_factory=dict)
    launched: bool = False
    called_by_symbol: bool = False

    @classmethod
    def of(cls, var: GlobalVar, func: PrimFunc) -> _Kernel:
        launch: dict[str, PrimExpr] = {}
        for attr in statements_of(func.body, AttrStmt):
            if attr.attr_key == "thread_extent" and isinstance(attr.node, IterVar):
                launch.setdefault(attr.node.thread_tag, attr.value)
        dynamic = [n for n in statements_of(func.body, Allocate) if pointer_scope(n.buffer_var) == "shared.dyn"]
        if len(dynamic) > 1:
            raise LoweringError(
                f"LowerDeviceKernelLaunch: kernel {var.name_hint!r} has several allocations of dynamic shared memory; "
                "merge them with MergeSharedMemoryAllocations"
            )
        for n in dynamic:
            launch[DYNAMIC_SHARED_MEMORY] = element_count(n.extents) * (dt.bits(n.dtype) * dt.lanes(n.dtype) // 8)
        return cls(str(func.attrs.get("global_symbol", var.name_hint)), func, func.attrs["target"], launch)


class _LowerCalls(StmtExprMutator):
    def __init__(self, target: FunctionTarget, kernels: dict[str, _Kernel]) -> None:
        self._target = target
        self._kernels = kernels

    def lower(self, func: PrimFunc) -> PrimFunc:
        """Return the function with its calls lowered."""
        return func.with_body(self.visit(func.body))

    def visit_Call(self, n: Call) -> PrimExpr:
        args = self._visit_tuple(n.args)
        callee = self._kernels.get(n.op.name_hint) if isinstance(n.op, GlobalVar) else None
        if callee is None or str(callee.target.kind) == str(self._target.kind):
            return rebuild(n, args=args)
        symbol = StringImm(callee.symbol)
        if device_type(callee.target) == device_type(self._target):
            callee.called_by_symbol = True
            return rebuild(n, op=CALL_EXTERN, args=(symbol, *args))
        callee.launched = True
        values = dict(zip(callee.func.params, args, strict=True))
        extents = [substitute(extent, values) for extent in callee.launch.values()]
        return rebuild(
            n, dtype="int32" if n.dtype == "void" else n.dtype, op=CALL_PACKED, args=(symbol, *args, *extents)
        )


def _with_convention(func: PrimFunc, kernel: _Kernel | None) -> PrimFunc:
    """Return a function that says how it is called."""
    if kernel is None or not (kernel.launched or kernel.called_by_symbol):
        return func
    attrs = {"global_symbol": kernel.symbol, "tir.is_global_func": True}
    if kernel.launched:
        attrs |= {"calling_conv": DEVICE_KERNEL_LAUNCH, "tir.kernel_launch_params": list(kernel.launch)}
    return func.with_attr(attrs)
