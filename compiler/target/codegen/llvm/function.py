"""Code generation for functions, and the signatures against which arguments are checked."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from compiler.ir.expr.primexpr import Var
from compiler.runtime.modules.signature import Parameter, Signature
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.state import DeclaredFunction, FunctionState, ModuleState
from compiler.target.codegen.llvm.statements import Statements
from compiler.target.codegen.llvm.types import I32, POINTER, register_type
from compiler.target.codegen.signatures import passed_type, signatures_of
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import post_order_visit


def declare_functions(shared: ModuleState, functions: Sequence[tuple[str, PrimFunc]]) -> list[Signature]:
    """Declare the functions of a module, so that they can call each other, and return their signatures."""
    signatures = []
    for (name, func), (signature, sizes) in zip(functions, signatures_of(functions, shared.parallel), strict=True):
        types = [register_type(passed_type(v.dtype)) for v in (*func.params, *sizes)]
        types += [I32] * signature.threads + [POINTER] * bool(signature.returns)
        function = shared.define(signature.symbol, I32, types)
        declared = DeclaredFunction(function, func, signature, sizes)
        shared.functions[name] = shared.functions[signature.name] = declared
        signatures.append(signature)
    return signatures


def write_function(shared: ModuleState, declared: DeclaredFunction) -> None:
    """Generate the body of a declared function."""
    function, func, signature = declared.code, declared.func, declared.signature
    variables = [*func.params, *declared.sizes]
    builder = Builder(function.append_basic_block("entry"))
    threads = function.args[len(variables)] if signature.threads else None
    state = FunctionState(shared, function, builder, threads=threads, accumulated=_accumulated(func))
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


def _accumulated(func: PrimFunc) -> frozenset[Var]:
    """Return the pointer variables of buffers that some statement both reads and writes."""
    found: set[Var] = set()

    def look(store: object) -> None:
        if not isinstance(store, BufferStore) or (data := store.buffer.data) in found:
            return
        read: list[Var] = []
        post_order_visit(store.value, lambda n: read.append(n.buffer.data) if isinstance(n, BufferLoad) else None)
        if data in read:
            found.add(data)

    post_order_visit(func.body, look)
    return frozenset(found)


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
