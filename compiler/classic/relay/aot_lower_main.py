"""``AOTLowerMain``: the main function of a graph whose calls are lowered, as loop IR that makes the calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from compiler.driver.relay.memory import type_bytes
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call as PrimCall
from compiler.ir.expr.primexpr import IntImm, PrimExpr, StringImm, const
from compiler.ir.expr.primexpr import Let as PrimLet
from compiler.ir.expr.primexpr import Var as PrimVar
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import PointerType, PrimType
from compiler.relay.expr import Call, Constant, GraphExpr, Let, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.operator import op_name
from compiler.relay.ty import TensorType, tensor_types
from compiler.runtime.modules.module import ENTRY
from compiler.target.virtual_device import CompilationConfig
from compiler.tir.expressions.builtin import reinterpret
from compiler.tir.expressions.named_calls import call_extern, call_packed
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.constant_memory import AllocateConst
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, Evaluate, For, ForKind, LetStmt, Stmt, seq

_ALIGNMENT = 16
_CALL_CPACKED = Op.get("tir.tvm_call_cpacked")
_CHECK_RETURN = Op.get("tir.tvm_check_return")


class CallType(Enum):
    """How the main function calls others."""

    Packed = 0
    CPacked = 1
    Unpacked = 2


class AOTLowerMain(ModulePass):
    """Replace ``main``, which calls lowered functions, by a function of loop IR, ``mod_name___tvm_main__``.

    Its parameters are buffers of the inputs and the outputs.  Each intermediate result has memory of its own, which the
    function allocates, and constants are part of it.

    Parameters
    ----------
    call_type : CallType
        Whether functions are registered ones (``Packed``), C functions that are called as these are (``CPacked``), or C
        functions that get bare pointers (``Unpacked``).

    Examples
    --------
    ``AOTLowerMain("test", config, CallType.Unpacked)``::

        def @main(%a: Tensor[(5, 7), float32]) { call_lowered(@add, (%a,)) }
        ->
        def __tvm_main__(a: T.handle, output: T.handle):
            a_buffer = T.match_buffer(a, (5, 7), align=16)
            output_buffer = T.match_buffer(output, (5, 7), align=16)
            T.tvm_check_return(0, -1, T.call_extern("int32", "add", a_buffer.data, output_buffer.data))
    """

    mod_name: str
    config: CompilationConfig
    call_type: CallType

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with ``__tvm_main__`` in the place of ``main``.

        Raises BuildError if ``main`` does something else than call lowered functions, or has unknown shapes.
        """
        var = mod.get_global_var("main")
        function = mod[var]
        if not isinstance(function, Function):
            raise BuildError(f"AOTLowerMain: main must be a function of a graph, got {type(function).__name__}")
        lowered = _Lowering(function, CallType(self.call_type)).function()
        symbol = f"{self.mod_name}_{ENTRY}"
        lowered = lowered.with_attr({"global_symbol": symbol, "target": self.config.host_target, "devices": []})
        others = {v: f for v, f in mod.items() if v is not var}
        return mod.with_functions({**others, GlobalVar(ENTRY): lowered})


class _Place(NamedTuple):
    """The memory of a tensor: its number in the order in which places were given, its type, and who has it."""

    number: int
    type: TensorType
    owner: GraphExpr


class _Lowering:
    """Gives every tensor a place, then writes the calls in order."""

    def __init__(self, function: Function, call_type: CallType) -> None:
        self._function = function
        self._call_type = call_type
        self._numbered: list[_Place] = []
        self._places: dict[GraphExpr, list[_Place]] = {}
        self._statements: list[Stmt] = []
        self._written: set[GraphExpr] = set()
        self._constants: dict[Constant, PrimVar] = {}
        for param in function.params:
            self._give_place(param)
        self._results = self._allocate(function.body)
        self._inputs = {
            place.number: _buffer(place, f"{_c_name(param.name_hint)}{index if len(places) > 1 else ''}")
            for param in function.params
            for places in [self._places[param]]
            for index, place in enumerate(places)
        }
        several = len(self._results) > 1
        self._outputs = [_buffer(place, f"output{i if several else ''}") for i, place in enumerate(self._results)]
        self._own: dict[int, PrimVar] = {}

    # places

    def _give_place(self, expr: GraphExpr) -> list[_Place]:
        places: list[_Place] = []
        for t in tensor_types([_type(expr)]):
            if not t.is_static:
                raise BuildError(f"AOTLowerMain: shapes must be known, got {t}")
            places.append(_Place(len(self._numbered) + len(places), t, expr))
        self._numbered += places
        self._places[expr] = places
        return places

    def _allocate(self, expr: GraphExpr) -> list[_Place]:
        """Return the places of an expression's tensors; a call's result has its before the arguments have theirs."""
        if expr not in self._places:
            self._places[expr] = self._allocated(expr)
        return self._places[expr]

    def _allocated(self, expr: GraphExpr) -> list[_Place]:
        match expr:
            case Call() if op_name(expr) == "on_device":
                return self._allocate(expr.args[0])
            case Call():
                places = self._give_place(expr)
                for arg in _arguments(expr):
                    self._allocate(arg)
                return places
            case Constant():
                return self._give_place(expr)
            case Tuple():
                return [place for field in expr.fields for place in self._allocate(field)]
            case TupleGetItem():
                fields = _type(expr.tuple_value).fields
                before = len(tensor_types(fields[: expr.index]))
                count = len(tensor_types([fields[expr.index]]))
                return self._allocate(expr.tuple_value)[before : before + count]
            case Let():
                self._places[expr.var] = self._allocate(expr.value)
                return self._allocate(expr.body)
            case _:
                raise BuildError(f"AOTLowerMain: {type(expr).__name__} needs the virtual machine")

    # statements

    def function(self) -> PrimFunc:
        """Return the function."""
        self._write(self._function.body)
        body = seq([*self._statements, *self._copies()])
        for number in sorted(self._own):
            size = type_bytes(self._numbered[number].type)
            body = Allocate(self._own[number], "int8", (const(size),), const(True), body)
        for constant, pointer in reversed(self._constants.items()):
            value = constant.data
            body = AllocateConst(pointer, value.dtype, tuple(map(const, value.shape)), value, body)
        inputs, outputs = ([(PrimVar(_handle(b), "handle"), b) for b in each] for each in self._buffers())
        main = PrimFunc(tuple(var for var, _ in (*inputs, *outputs)), body, buffer_map=dict((*inputs, *outputs)))
        return main.with_attr(
            {
                "input_vars": [var for var, _ in inputs],
                "output_vars": [var for var, _ in outputs],
                "runner_function": True,
            }
        )

    def _buffers(self) -> tuple[Sequence[Buffer], Sequence[Buffer]]:
        return list(self._inputs.values()), self._outputs

    def _write(self, expr: GraphExpr) -> None:
        """Write what an expression needs, then its own call."""
        if expr in self._written:
            return
        self._written.add(expr)
        match expr:
            case Call() if op_name(expr) == "on_device":
                self._write(expr.args[0])
            case Call():
                for arg in _arguments(expr):
                    self._write(arg)
                self._statements.append(self._called(expr))
            case Tuple():
                for field in expr.fields:
                    self._write(field)
            case TupleGetItem():
                self._write(expr.tuple_value)
            case Let():
                self._write(expr.value)
                self._write(expr.body)

    def _called(self, call: Call) -> Stmt:
        name = _callee(call).name_hint
        places = [place for arg in _arguments(call) for place in self._places[arg]] + self._places[call]
        pointers = [self._pointer(place) for place in places]
        if self._call_type is CallType.CPacked:
            nothing = reinterpret("handle", const(0, "uint64"))
            return Evaluate(PrimCall("int32", _CALL_CPACKED, (StringImm(name), *pointers, nothing)))
        if self._call_type is CallType.Packed:
            made = call_packed(name, *pointers)
        else:
            made = call_extern("int32", name, *pointers)
        return Evaluate(PrimCall("int32", _CHECK_RETURN, (const(0), const(-1), made)))

    def _pointer(self, place: _Place) -> PrimVar:
        """Return the pointer to a tensor: a parameter's, a constant's, or one that the function allocates."""
        if place.number in self._inputs:
            return self._inputs[place.number].data
        if isinstance(place.owner, Constant):
            return self._constant(place.owner)
        for result, buffer in zip(self._results, self._outputs, strict=True):
            if result.number == place.number:
                return buffer.data
        if place.number not in self._own:
            kind = PointerType(PrimType("int8"), "global.workspace")
            self._own[place.number] = PrimVar(f"sid_{place.number}", "handle", kind)
        return self._own[place.number]

    def _constant(self, constant: Constant) -> PrimVar:
        if constant not in self._constants:
            kind = PointerType(PrimType(constant.data.dtype))
            self._constants[constant] = PrimVar(f"constant_{len(self._constants)}", "handle", kind)
        return self._constants[constant]

    def _copies(self) -> Iterator[Stmt]:
        """Copy results that nothing writes to their outputs: inputs, constants, and what another output is."""
        for place, buffer in zip(self._results, self._outputs, strict=True):
            source = self._pointer(place)
            if source is not buffer.data:
                yield _copied(source, buffer.data, type_bytes(place.type))


def _type(expr: GraphExpr) -> Any:
    assert not isinstance(expr, Op), "an operator is no value"
    return expr.checked_type


def _callee(call: Call) -> GlobalVar:
    callee = call.args[0] if call.args else None
    if op_name(call) != "call_lowered" or not isinstance(callee, GlobalVar):
        raise BuildError(f"AOTLowerMain: main may only call lowered functions, with call_lowered, but calls {call.op}")
    return callee


def _arguments(call: Call) -> Sequence[GraphExpr]:
    _callee(call)
    inputs = call.args[1]
    return inputs.fields if isinstance(inputs, Tuple) else (inputs,)


def _buffer(place: _Place, name: str) -> Buffer:
    shape = place.type.concrete_shape
    return decl_buffer(
        shape, place.type.dtype, f"{name}_buffer", elem_offset=0, data_alignment=_ALIGNMENT, offset_factor=1
    )


def _handle(buffer: Buffer) -> str:
    return buffer.name.removesuffix("_buffer")


def _c_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _copied(source: PrimVar, target: PrimVar, size: int) -> Stmt:
    """Return the loop that copies bytes."""
    shape = (IntImm("uint64", size),)
    read, write = (decl_buffer(shape, "uint8", name) for name in ("tmp_read", "tmp_write"))
    i = PrimVar("i", "int32")
    value: PrimExpr = PrimLet(read.data, source, BufferLoad(read, (i,)))
    loop = For(i, const(0), const(size), ForKind.SERIAL, BufferStore(write, value, (i,)))
    return LetStmt(write.data, target, loop)
