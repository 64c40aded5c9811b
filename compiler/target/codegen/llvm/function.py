"""A function of loop IR as an LLVM function, and the signature that callers check arguments against."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.functor import Visitor
from compiler.ir.module import GlobalVar
from compiler.ir.node import Node
from compiler.ir.primexpr import Call, Var
from compiler.runtime.signature import Parameter, Signature, SizeNames
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.state import DeclaredFunction, FunctionState, ModuleState
from compiler.target.codegen.llvm.statements import Statements
from compiler.target.codegen.llvm.subroutines import returned_type
from compiler.target.codegen.llvm.types import I32, POINTER, register_type
from compiler.tir import builtin
from compiler.tir.buffer import AUTO_BROADCAST, Buffer, BufferLoad
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import BufferStore, For, ForKind


def declare_functions(shared: ModuleState, functions: Sequence[tuple[str, PrimFunc]]) -> list[Signature]:
    """Declare the functions of a module, so that each can call any other, and return how they are called.

    Parameters
    ----------
    shared : ModuleState
        Gets the functions.
    functions : sequence of (str, PrimFunc)
        Each with its name in the module.

    Returns
    -------
    list of Signature
        In the same order.
    """
    facts = {name: Facts() for name, _ in functions}
    for name, func in functions:
        facts[name].visit(func.body)
    _propagate_threads(facts)
    return [_declare(shared, name, func, facts[name]) for name, func in functions]


def _propagate_threads(facts: Mapping[str, Facts]) -> None:
    """Let whatever calls a function that has parallel loops be given the number of threads as well."""
    changed = True
    while changed:
        changed = False
        for fact in facts.values():
            if not fact.parallel and any(facts[name].parallel for name in fact.callees if name in facts):
                fact.parallel = changed = True


def _declare(shared: ModuleState, name: str, func: PrimFunc, facts: Facts) -> Signature:
    public = str(func.attrs.get("global_symbol", name))
    sizes = SizeNames()
    for param in func.params:
        sizes.name(param)
    parameters = [_parameter(p, func.buffer_map.get(p), sizes, facts) for p in func.params]
    hidden = [v for v in sizes.variables() if v not in func.params]
    threads = facts.parallel and shared.parallel
    types = [_passed_type(v.dtype) for v in (*func.params, *hidden)]
    types += [I32] * threads + [POINTER] * bool(facts.returns)
    function = ir.Function(shared.module, ir.FunctionType(I32, types), symbol_name(public))
    function.attributes.add("nounwind")
    signature = Signature(
        name=public,
        symbol=function.name,
        parameters=parameters,
        sizes={text: v.dtype for v, text in sizes.variables().items() if v not in func.params},
        noalias=bool(func.attrs.get("tir.noalias", False)),
        threads=threads,
        returns=facts.returns,
    )
    shared.functions[name] = shared.functions[public] = DeclaredFunction(function, func, signature, tuple(hidden))
    return signature


def write_function(shared: ModuleState, declared: DeclaredFunction) -> None:
    """Write the body of a declared function.

    Parameters
    ----------
    shared : ModuleState
    declared : DeclaredFunction
    """
    function, func, signature = declared.code, declared.func, declared.signature
    variables = [*func.params, *declared.sizes]
    builder = Builder(function.append_basic_block("entry"))
    threads = function.args[len(variables)] if signature.threads else None
    state = FunctionState(shared, function, builder, threads=threads)
    for var, argument in zip(variables, function.args, strict=False):
        argument.name = var.name
        narrow = register_type(var.dtype)
        state.values[var] = argument if argument.type == narrow else builder.fptrunc(argument, narrow)
    for param, argument, described in zip(func.params, function.args, signature.parameters, strict=False):
        if described.shape is not None:
            _array_argument(state, param, func.buffer_map.get(param), argument, described, signature.noalias)
    if threads is not None:
        threads.name = "threads"
    if signature.returns:
        state.result, state.returns = function.args[-1], signature.returns
        state.result.name = "result"
    Statements(state).visit(func.body)
    builder.ret(ir.Constant(I32, 0))


def _passed_type(dtype: str) -> ir.Type:
    """Return the type that an argument is passed as: C has no half precision."""
    return register_type("float32") if dtype == "float16" else register_type(dtype)


def _array_argument(
    state: FunctionState, param: Var, buffer: Buffer | None, argument: ir.Argument, described: Parameter, noalias: bool
) -> None:
    data = buffer.data if buffer is not None else param
    state.values[data] = argument
    state.alignments[data] = described.alignment
    if noalias:
        argument.add_attribute("noalias")
        state.distinct.add(data)
    argument.attributes.align = described.alignment


def _parameter(param: Var, buffer: Buffer | None, sizes: SizeNames, facts: Facts) -> Parameter:
    if buffer is None:
        if param.dtype == "handle":
            return Parameter(name=param.name, dtype="handle", shape=[], written=param in facts.written)
        return Parameter(name=param.name, dtype=param.dtype)
    lanes = [dt.lanes(buffer.dtype)] if dt.lanes(buffer.dtype) > 1 else []  # arrays have them as one more dimension
    if isinstance(buffer.elem_offset, Var):
        sizes.name(buffer.elem_offset)
    return Parameter(
        name=buffer.name,
        dtype=buffer.dtype,
        shape=[*(sizes.size(e) for e in buffer.shape), *lanes],
        strides=[sizes.size(e * lanes[0] if lanes else e) for e in buffer.strides]
        + [1] * bool(buffer.strides and lanes),
        alignment=max(buffer.data_alignment, dt.storage_bytes(dt.element(buffer.dtype))),
        written=buffer.data in facts.written,
        broadcast=buffer.buffer_type == AUTO_BROADCAST,
    )


def symbol_name(name: str) -> str:
    """Return a name for machine code that no function of the C library has, which LLVM would take it for."""
    clean = re.sub(r"[^A-Za-z0-9_.]", "_", name) or "_"
    if not clean[0].isalpha() and clean[0] != "_":
        clean = "_" + clean
    process = ctypes.CDLL(None)
    taken = clean.startswith("llvm.") or (clean.isidentifier() and hasattr(process, clean))
    return f"{clean}.kernel" if taken else clean


class Facts(Visitor):
    """Which memory a body writes, whether it has parallel loops, what it returns and which functions it calls.

    Attributes
    ----------
    written : set of Var
    parallel : bool
    returns : str
        Data type of the value that ``tir.ret`` returns; empty without one.
    callees : set of str
        Names of functions of the module.
    """

    def __init__(self) -> None:
        self.written: set[Var] = set()
        self.parallel = False
        self.returns = ""
        self.callees: set[str] = set()

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.written.add(n.buffer.data)
        self.visit_Node(n)

    def visit_For(self, n: For) -> None:
        self.parallel |= n.kind is ForKind.PARALLEL
        self.visit_Node(n)

    def visit_Call(self, n: Call) -> None:
        """Whoever gets a pointer may write through it."""
        if n.op is builtin.RET and n.args and not dt.is_void(n.args[0].dtype):
            self.returns = self.returns or returned_type(n.args[0].dtype)
        if isinstance(n.op, GlobalVar):
            self.callees.add(n.op.name_hint)
        for arg in n.args:
            if isinstance(arg, Var):
                self.written.add(arg)
            elif n.op is builtin.ADDRESS_OF and isinstance(arg, BufferLoad):
                self.written.add(arg.buffer.data)
        self.visit_Node(n)

    def visit_Var(self, n: Node) -> None:
        """Nothing below."""
