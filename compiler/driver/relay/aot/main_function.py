"""The main function of an ahead-of-time model: kernel calls in order, with statically planned memory.

It is an ordinary function of loop IR, so that every code generator can print or compile it; so are its kernels, which
get bare pointers::

    def tvmgen_default___tvm_main__(x: T.Buffer(…), p0: T.Buffer(…), output: T.Buffer(…)):
        sid_1 = T.allocate([128], "int8", "global")
        tvmgen_default_fused_nn_dense(x.data, p0.data, sid_1)
        tvmgen_default_fused_nn_softmax(sid_1, output.data)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.driver.relay.graph import GraphProgram
from compiler.driver.relay.lower import LoweredKernel
from compiler.driver.relay.memory import MemoryPlan, type_bytes, value_owners
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, Var, const
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.ir.node import rebuild
from compiler.ir.types import PointerType, PrimType
from compiler.relay.ty import TensorType
from compiler.runtime.modules.module import ENTRY
from compiler.target.target import Target
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, Evaluate, For, ForKind, Stmt, seq


@dataclass(frozen=True, slots=True, eq=False)
class MainFunction:
    """A model as loop IR.

    Attributes
    ----------
    module : IRModule
        The main function under ``__tvm_main__``, whose parameters are the inputs, the constants and the outputs, and
        the kernels, which get bare pointers.
    inputs, constants, outputs : list of str
        Names of the main function's buffers, in its order.
    workspace : dict of str to int
        Bytes of each piece of memory that the main function allocates.
    """

    module: IRModule
    inputs: list[str]
    constants: list[str]
    outputs: list[str]
    workspace: dict[str, int]

    @property
    def function(self) -> PrimFunc:
        """The main function."""
        function = self.module[ENTRY]
        assert isinstance(function, PrimFunc), "the main function is loop IR"
        return function


def main_function(
    program: GraphProgram, memory: MemoryPlan, kernels: Sequence[LoweredKernel | None], symbol: str, target: Target
) -> MainFunction:
    """Write the main function of a model.

    A call has no kernel if the result is the input's memory under another shape.
    """
    return _MainFunctionWriter(program, memory, kernels).finish(symbol, target)


class _MainFunctionWriter:
    def __init__(self, program: GraphProgram, memory: MemoryPlan, kernels: Sequence[LoweredKernel | None]) -> None:
        self._program = program
        self._owners = value_owners(program)
        self._kernels = {kernel.name: kernel for kernel in kernels if kernel is not None}
        self._symbols = {name: GlobalVar(name) for name in self._kernels}
        self._calls = list(zip(program.calls, kernels, strict=True))
        self._pointers: dict[int, Var] = {}
        self._taken: set[str] = set()
        constants = zip(program.constant_names, (value for value, _ in program.constants), strict=True)
        self._inputs = [self._parameter(name, value) for name, value in program.inputs]
        self._constants = [self._parameter(name, value) for name, value in constants]
        self._copies: list[Stmt] = []
        self._outputs = [self._output(i, value) for i, value in enumerate(program.outputs)]
        self._workspace = self._shared_memory(memory)

    def _parameter(self, name: str, value: int) -> Buffer:
        buffer = self._buffer(name, self._program.types[value])
        self._pointers[value] = buffer.data
        return buffer

    def _buffer(self, name: str, t: TensorType) -> Buffer:
        unique = take_name(re.sub(r"\W", "_", name) or "_", self._taken)
        return decl_buffer(t.shape, t.dtype, unique)

    def _output(self, index: int, value: int) -> Buffer:
        """Return the buffer of a result: its kernel writes there, unless the value has a place already."""
        several = len(self._program.outputs) > 1
        buffer = self._buffer(f"output{index}" if several else "output", self._program.types[value])
        owner = self._owners[value]
        if owner in self._pointers:
            self._copies.append(_copied(self._pointers[owner], buffer))
        else:
            self._pointers[owner] = buffer.data
        return buffer

    def _shared_memory(self, memory: MemoryPlan) -> dict[Var, int]:
        """Allocate what is neither parameter nor result: a piece of memory for each buffer of the plan."""
        pieces: dict[int, Var] = {}
        sizes: dict[Var, int] = {}
        for value in (v for call in self._program.calls for v in call.outputs):
            owner = self._owners[value]
            if owner in self._pointers:
                continue
            storage = memory.storage[owner]
            if storage not in pieces:
                pieces[storage] = Var(f"sid_{storage}", "handle", PointerType(PrimType("int8"), "global"))
            piece = self._pointers[owner] = pieces[storage]
            sizes[piece] = max(sizes.get(piece, 0), type_bytes(self._program.types[owner]))
        return sizes

    def finish(self, symbol: str, target: Target) -> MainFunction:
        body = seq([*self._called(), *self._copies])
        for piece, size in reversed(self._workspace.items()):
            body = Allocate(piece, "int8", (const(size),), const(True), body)
        buffers = [*self._inputs, *self._constants, *self._outputs]
        handles = [Var(buffer.name, "handle") for buffer in buffers]
        main = PrimFunc(tuple(handles), body, buffer_map=dict(zip(handles, buffers, strict=True)))
        main = main.with_attr({"global_symbol": symbol, "runner_function": True, "target": target})
        functions: dict[GlobalVar | str, BaseFunc] = {ENTRY: main}
        for name, var in self._symbols.items():
            functions[var] = with_pointers(self._kernels[name].prim_func).with_attr("global_symbol", name)
        return MainFunction(
            IRModule(functions),
            [b.name for b in self._inputs],
            [b.name for b in self._constants],
            [b.name for b in self._outputs],
            {piece.name: size for piece, size in self._workspace.items()},
        )

    def _called(self) -> Iterable[Stmt]:
        for call, kernel in self._calls:
            if call.reference:
                name = call.operator.name
                raise BuildError(f'aot: {name} has no definition as tensor expressions; the "graph" executor runs it')
            if kernel is not None:
                values = [*call.inputs, *call.outputs]
                pointers = tuple(self._pointers[self._owners[value]] for value in values)
                yield Evaluate(Call("int32", self._symbols[kernel.name], pointers))


def _copied(source: Var, target: Buffer) -> Stmt:
    """Return the loop that copies a value that has a place already, such as an input that is a result."""
    flat = target.get_flattened_buffer()
    read = rebuild(flat, data=source, name=f"{source.name}_1")
    i = Var("i", "int32")
    return For(i, const(0), flat.shape[0], ForKind.SERIAL, BufferStore(flat, BufferLoad(read, (i,)), (i,)))


def with_pointers(func: PrimFunc) -> PrimFunc:
    """Return a function that gets its buffers as bare pointers."""
    return rebuild(func, params=tuple(func.buffer_map[p].data for p in func.params), buffer_map={})
