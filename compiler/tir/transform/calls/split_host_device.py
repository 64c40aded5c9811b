"""Splits device regions into functions of their own."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.expr.primexpr import Call, StringImm, Var, const
from compiler.ir.expr.substitute import free_vars
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import PrimType
from compiler.runtime.device import DEVICE_TYPES
from compiler.tir.analysis import undefined_vars
from compiler.tir.analysis.memory import used_buffers
from compiler.tir.expressions.builtin import ret
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import renew_defs
from compiler.tir.statements.stmt import Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtMutator, statements_of
from compiler.tir.transform.calls.device_targets import FunctionTarget, device_type
from compiler.tir.transform.pass_base import PrimFuncPass

REPORTS_ERRORS = tuple(DEVICE_TYPES[name] for name in ("cpu", "hexagon", "ext_dev"))
"""Devices whose kernels return whether they succeeded."""


class SplitHostDevice(ModulePass):
    """Make a function of each part that is marked with a target of its own, and call it in the part's place.

    For example, after :class:`AnnotateDeviceRegions`::

        def main(A, B):                                    def main(A, B):
            with T.attr(T.target("cuda"), "target", 0):        main_kernel(A.data, B.data)
                tx = T.launch_thread("threadIdx.x", 8)  →
                B[tx] = A[tx]                              def main_kernel(A_data, B_data):
                                                               T.func_attr({"target": T.target("cuda"), …})
                                                               tx = T.launch_thread("threadIdx.x", 8)
                                                               B[tx] = A[tx]

    Pointers are the first parameters, both they and the scalars in the order of their names.  A kernel for a CPU
    returns 0 if it succeeds, and its call checks that.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = dict(mod.items())
        kernels: dict[GlobalVar, PrimFunc] = {}
        taken = {var.name_hint for var in functions}
        for var, func in list(functions.items()):
            if isinstance(func, PrimFunc):
                split = _Split(str(func.attrs.get("global_symbol", var.name_hint)), taken, kernels)
                functions[var] = func.with_body(split.visit(func.body))
        return mod.with_functions({**functions, **kernels}) if kernels else mod


class _Split(StmtMutator):
    """Replaces the parts of a function by calls, and keeps the functions that they become."""

    def __init__(self, name: str, taken: set[str], kernels: dict[GlobalVar, PrimFunc]) -> None:
        self._name = f"{name}_kernel"
        self._taken = taken
        self._kernels = kernels

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        if n.attr_key != "target":
            return self.visit_Node(n)
        return self._call(n.node, n.body)

    def _call(self, target: FunctionTarget, body: Stmt) -> Stmt:
        # A mark of memory, such as the shape of fragments, stands around its allocation.
        own = {n.buffer_var for n in statements_of(body, tir.Allocate)}
        given = (var for var in undefined_vars(body) if var not in own)
        params = tuple(sorted(given, key=lambda var: (var.dtype != "handle", var.name)))
        succeeds = device_type(target) in REPORTS_ERRORS
        kernel = GlobalVar(take_name(self._name, self._taken))
        self._kernels[kernel] = _kernel(params, body, target, succeeds)
        if not succeeds:
            return tir.Evaluate(Call("void", kernel, params))
        code = Var("kernel_error_code", "int32")
        check = tir.AssertStmt(code.equal(0), StringImm("Error executing compute kernel"), no_op())
        return tir.LetStmt(code, Call("int32", kernel, params), check)


def _kernel(params: tuple[Var, ...], body: Stmt, target: FunctionTarget, succeeds: bool) -> PrimFunc:
    """Return the function of a part, with definitions of its own: its pointers stand for buffers declared first."""
    buffers = _undeclared_buffers(body, params)
    if succeeds:
        body = tir.SeqStmt((body, tir.Evaluate(ret(const(0)))))
    for buffer in reversed(buffers):
        body = tir.DeclBuffer(buffer, body)
    ret_type = PrimType("int32") if succeeds else None
    attrs = {"target": target, "tir.noalias": True, "tir.is_global_func": True}
    return renew_defs(PrimFunc(params, body, ret_type, attrs=attrs))


def _undeclared_buffers(body: Stmt, params: tuple[Var, ...]) -> list[Buffer]:
    """Return the buffers of the parameters' memory that a part uses without declaring them."""
    declared = {n.buffer for n in statements_of(body, tir.DeclBuffer)}
    read, written = used_buffers(body)
    given = set(params)
    layouts = {buffer: free_vars((*buffer.shape, *buffer.strides, buffer.elem_offset)) for buffer in (*read, *written)}
    return [
        buffer
        for buffer, layout in layouts.items()
        if buffer.data in given and given.issuperset(layout) and buffer not in declared
    ]
