"""Code generation with LLVM's back ends for GPUs: PTX for ``nvptx``, GCN assembly for ``rocm``."""

from __future__ import annotations

import re

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, TargetError
from compiler.ir.expr.primexpr import Call, IterVar, StringImm
from compiler.ir.functor import nodes_of
from compiler.ir.memory import ALIGNMENT
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.runtime.modules.signature import Signature
from compiler.target.codegen.llvm import pipeline
from compiler.target.codegen.llvm.allocations import stack_elements
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.expressions import Expressions
from compiler.target.codegen.llvm.generate import GeneratedModule, tidy
from compiler.target.codegen.llvm.gpus import DEVICES, LLVMDevice
from compiler.target.codegen.llvm.selection.missing_types import placing_missing_types
from compiler.target.codegen.llvm.state import FunctionState, ModuleState, suffix
from compiler.target.codegen.llvm.statements import Statements
from compiler.target.codegen.llvm.tracing.debug_locations import DebugLocations
from compiler.target.codegen.llvm.types import I32, I64, POINTER, VOID, memory_type, register_type
from compiler.target.codegen.signatures import signatures_of
from compiler.target.target import Target
from compiler.tir.expressions import builtin
from compiler.tir.expressions.device_ops import WARP_ACTIVEMASK
from compiler.tir.printing import printer
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, Evaluate
from compiler.tir.transform.calls.kernel_code import refuse_tensor_cores

_LAST_LANE = 31
_SHARED = 3
"""The address space of shared memory, on both kinds of devices."""


def kernel_code(module: IRModule, target: Target, with_locations: bool = False) -> GeneratedModule:
    """Compile kernels; debug locations refer to lines and columns of the printed module."""
    device = DEVICES[target.kind]
    cpu = target.mcpu or target.arch or device.cpu
    features = f" -mattr={device.features}" if device.features else ""
    machine = Target(f"llvm -mtriple={device.triple} -mcpu={cpu}{features}")
    llvm = ir.Module("strata")
    llvm.triple, llvm.data_layout = device.triple, pipeline.data_layout(machine)
    debug = DebugLocations(llvm, printer.script(module).positions) if with_locations else None
    shared = ModuleState(llvm, debug, machine, parallel=False)
    functions = [(var.name_hint, func) for var, func in module.items() if isinstance(func, PrimFunc)]
    signatures: list[Signature] = []
    for (_, func), (signature, _) in zip(functions, signatures_of(functions, parallel=False), strict=True):
        refuse_tensor_cores(func.body, f"build for {target.kind}")
        with placing_missing_types([func]):
            _write(shared, device, func, signature)
        signatures.append(signature)
    text = _with_stack(tidy(str(llvm)), device)
    _require_code(text, target, device, module)
    return GeneratedModule(machine, signatures, text, with_locations)


def _write(shared: ModuleState, device: LLVMDevice, func: PrimFunc, signature: Signature) -> None:
    types = [register_type(v.dtype) for v in func.params]
    function = ir.Function(shared.module, ir.FunctionType(VOID, types), signature.symbol)
    function.calling_convention = device.convention
    function.attributes.add("nounwind")
    builder = Builder(function.append_basic_block("entry"))
    state = _KernelState(shared, function, builder)
    for var, argument in zip(func.params, function.args, strict=True):
        argument.name = var.name
        state.values[var] = argument
        if var.dtype == "handle" and signature.noalias:
            argument.add_attribute("noalias")
            state.distinct.add(var)
    _KernelStatements(state, device).visit(func.body)
    builder.ret_void()


class _KernelState(FunctionState):
    """The state of a kernel, which returns void and cannot fail."""

    def leave(self, code: int | ir.Value) -> None:
        raise BuildError("build: a kernel cannot fail; the pass context's tir.disable_assert leaves assertions out")


class _KernelExpressions(Expressions):
    def __init__(self, state: FunctionState, device: LLVMDevice) -> None:
        super().__init__(state)
        self._device = device

    def visit_Call(self, n: Call) -> ir.Value:
        name = self._device.warp.get(n.op.name) if isinstance(n.op, Op) else None
        if name is None:
            return super().visit_Call(n)
        declare, call = self.state.shared.declare, self.state.builder.call
        if n.op is WARP_ACTIVEMASK:
            return call(declare(name, I32, []), [])
        if dt.bits(n.dtype) != 32 or dt.lanes(n.dtype) != 1:
            raise BuildError(f"build: threads of a warp can only exchange 32-bit values, got {n.dtype}")
        mask, value, lane = (self.visit(argument) for argument in n.args[:3])
        exchange = declare(f"{name}.{suffix(value.type)}", value.type, [I32, value.type, I32, I32])
        return call(exchange, [mask, value, lane, ir.Constant(I32, _LAST_LANE)])


class _KernelStatements(Statements):
    def __init__(self, state: FunctionState, device: LLVMDevice) -> None:
        super().__init__(state)
        self.expressions = _KernelExpressions(state, device)
        self._device = device

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            name = self._device.axes.get(n.node.thread_tag)
            if name is None:
                raise TargetError(f"build: the device has no thread axis {n.node.thread_tag!r}")
            index = self.state.builder.call(self.state.shared.declare(name, I32, []), [], name=n.node.var.name)
            self.state.wide[n.node.var] = self.state.builder.zext(index, I64)
        self.visit(n.body)

    def visit_Evaluate(self, n: Evaluate) -> None:
        if isinstance(n.value, Call) and n.value.op is builtin.STORAGE_SYNC:
            self._wait(n.value)
        else:
            super().visit_Evaluate(n)

    def _wait(self, n: Call) -> None:
        scope = n.args[0].value if isinstance(n.args[0], StringImm) else str(n.args[0])
        if scope == "warp":
            self._wait_for_warp()
            return
        if not scope.startswith("shared"):
            raise BuildError(f"build: there is no barrier for memory of scope {scope!r}")
        self.state.builder.call(self.state.shared.declare(self._device.barrier, VOID, []), [])

    def _wait_for_warp(self) -> None:
        builder, (name, operands) = self.state.builder, self._device.warp_barrier
        barrier = self.state.shared.declare(name, VOID, [I32] * len(operands))
        if self._device.fence:
            builder.fence("release", self._device.fence)
        builder.call(barrier, [ir.Constant(I32, value) for value in operands])
        if self._device.fence:
            builder.fence("acquire", self._device.fence)

    def visit_Allocate(self, n: Allocate) -> None:
        scope = pointer_scope(n.buffer_var)
        count = stack_elements(n)
        if count is None:
            raise BuildError(
                f"build: {n.buffer_var.name} of scope {scope!r} must be of a small constant size in a kernel"
            )
        if not scope.startswith("shared"):
            super().visit_Allocate(n)
            return
        module = self.state.shared.module
        typ = ir.ArrayType(memory_type(dt.element(n.dtype)), count * dt.lanes(n.dtype))
        memory = ir.GlobalVariable(module, typ, module.get_unique_name(n.buffer_var.name), addrspace=_SHARED)
        memory.linkage, memory.align, memory.initializer = "internal", ALIGNMENT, ir.Constant(typ, ir.Undefined)
        self.state.alignments[n.buffer_var] = ALIGNMENT
        self.state.distinct.add(n.buffer_var)
        self.state.values[n.buffer_var] = self.state.builder.addrspacecast(memory, POINTER)
        self.visit(n.body)


_ALLOCA = re.compile(r'^(\s*)%(\w\S*|"[^"]*") = alloca (.*?)((?:, !dbg !\d+)?)$', re.M)


def _with_stack(text: str, device: LLVMDevice) -> str:
    """Place allocas in the device's address space, which llvmlite does not support.

    ::

        %x = alloca [4 x float], align 64
        →
        %x.own = alloca [4 x float], align 64, addrspace(5)
        %x = addrspacecast ptr addrspace(5) %x.own to ptr
    """
    if device.stack == 0:
        return text

    def own(match: re.Match[str]) -> str:
        indent, name, what, place = match.groups()
        inner = f'%"{name.strip(chr(34))}.own"'
        cast = f"addrspacecast ptr addrspace({device.stack}) {inner} to ptr"
        return f"{indent}{inner} = alloca {what}, addrspace({device.stack}){place}\n{indent}%{name} = {cast}{place}"

    return _ALLOCA.sub(own, text)


def _require_code(text: str, target: Target, device: LLVMDevice, module: IRModule) -> None:
    """Raise an error for functions that the back end does not support, for which LLVM would abort the process."""
    for name in re.findall(r'^declare .*?@([\w.$-]+|"[^"]*")\(', text, re.M):
        own = name.startswith(("llvm.nvvm.", "llvm.amdgcn."))
        if not own and not re.match(device.functions, name):
            place = next((user_place(n.span) for n in _extern_calls(module) if _calls(n, name)), "")
            raise BuildError(
                f"build: target {target.kind!r} has no code for {name}{place}; use target 'cuda' or 'opencl',"
                f" which call the device's own function"
            )


def _calls(n: Call, name: str) -> bool:
    called = n.args[0]
    return isinstance(called, StringImm) and called.value == name


def _extern_calls(module: IRModule) -> list[Call]:
    bodies = tuple(func.body for _, func in module.items() if isinstance(func, PrimFunc))
    return [n for n in nodes_of(bodies, Call) if n.op in (builtin.CALL_EXTERN, builtin.CALL_PURE_EXTERN)]
