"""Compiles loops over static shapes to a single function of machine code.

A loop of a graph is a function that calls itself in last place.  The virtual machine runs any of them instruction by
instruction, but small kernels take less time than their calls do.  Where all shapes are static, the loop becomes loop
IR that calls its kernels, and LLVM puts the small ones in its body::

    def vm_mod_loop(state: T.Buffer(…), output: T.Buffer(…)):
        …
        while running[0]:
            half: T.int64 = turn[0]
            if going[half * 64]:
                vm_mod_fused_multiply(T.address_of(states[half * 64]), …, T.address_of(states[(1 - half) * 64]))
                turn[0] = 1 - half
            else:
                …
                running[0] = False

What changes from turn to turn is in memory twice: a turn reads one half and writes the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from compiler.driver.build_device import is_device
from compiler.driver.relay.aot.main_function import with_pointers
from compiler.driver.relay.graph import as_group
from compiler.driver.relay.groups import can_lower
from compiler.driver.relay.kernels import KernelCompiler, NamedFunction
from compiler.driver.relay.lower import LoweredKernel
from compiler.driver.relay.memory import type_bytes
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call as TirCall
from compiler.ir.expr.primexpr import PrimExpr, const
from compiler.ir.expr.primexpr import Var as TirVar
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.memory import ALIGNMENT
from compiler.ir.module import IRModule
from compiler.ir.types import PointerType, PrimType, Type
from compiler.relay.analysis import free_vars
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function, is_primitive
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TensorType, TupleType
from compiler.runtime.arrays.ndarray import NDArray
from compiler.tir.expressions.builtin import address_of
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, Evaluate, For, ForKind, IfThenElse, LetStmt, Stmt, While, seq

MAX_CALLS = 256
"""Calls of kernels in a turn; each result has memory of its own."""
MAX_MEAN_WORK = 1 << 20
"""Operations and bytes of a kernel, on average, from which on the time of its call does not count."""


@dataclass(frozen=True, slots=True)
class NativeLoop:
    """A loop as machine code, which takes captured values, those that the loop begins with, constants and results."""

    code: NamedFunction
    captured: tuple[Var, ...]
    constants: list[NDArray]


def native_loop(var: Var, function: Function, kernels: KernelCompiler) -> NativeLoop | None:
    """Return a loop over static shapes as machine code; None where calls of kernels take little of the time."""
    if is_device(kernels.target) or kernels.target.kind != "llvm":
        return None
    captured = tuple(v for v in free_vars(function) if v is not var)
    params = (*captured, *function.params)
    if not all(_is_static(p.checked_type) for p in params) or not _is_result(function.body.checked_type):
        return None
    writer = _Writer(var, function, params, kernels)
    try:
        writer.write()
    except _NoNativeLoop:
        return None
    if not writer.turns or not writer.is_worthwhile():
        return None
    return NativeLoop(kernels.loop(writer.module), captured, writer.constants)


class _NoNativeLoop(Exception):
    """A function does what only the virtual machine does."""


def _is_static(t: Type) -> bool:
    if not isinstance(t, TensorType) or not t.is_static:
        return False
    parsed = dt.parse(t.dtype)
    return parsed.code == "bool" or (parsed.code in ("float", "int", "uint") and parsed.bits >= 8)


def _is_result(t: Type) -> bool:
    return all(map(_is_static, t.fields)) if isinstance(t, TupleType) else _is_static(t)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an array is: at bytes of memory, which may be in the first or the second half of it."""

    data: TirVar
    type: TensorType
    half: PrimExpr | None = None

    @property
    def bytes(self) -> int:
        return _padded(self.type)

    def pointer(self) -> PrimExpr:
        return self.data if self.half is None else address_of(BufferLoad(self._view("int8"), (self._first("int8"),)))

    def element(self, index: PrimExpr) -> BufferLoad:
        return BufferLoad(self._view(self.type.dtype), (self._first(self.type.dtype) + index,))

    def _first(self, dtype: str) -> PrimExpr:
        return _index(0) if self.half is None else self.half * _index(self.bytes // dt.storage_bytes(dtype))

    def _view(self, dtype: str) -> Buffer:
        count = self.bytes * (1 if self.half is None else 2) // dt.storage_bytes(dtype)
        return decl_buffer((count,), dtype, f"{self.data.name}_{dtype}", data=self.data)


_Value: TypeAlias = _Place | tuple["_Value", ...]


def _index(value: int) -> PrimExpr:
    return const(value, "int64")


def _padded(t: TensorType) -> int:
    return -(-max(type_bytes(t), 1) // ALIGNMENT) * ALIGNMENT


def _leaves(value: _Value) -> list[_Place]:
    return [value] if isinstance(value, _Place) else [leaf for part in value for leaf in _leaves(part)]


_FLAG = TensorType((), "bool")
_NUMBER = TensorType((), "int64")


class _Writer:
    """Writes a loop as statements; where an expression is first needed, its kernel is called."""

    def __init__(self, var: Var, function: Function, params: Sequence[Var], kernels: KernelCompiler) -> None:
        self._var, self._function, self._kernels = var, function, kernels
        self._inputs = [decl_buffer(p.checked_type.shape, p.checked_type.dtype, f"p{i}") for i, p in enumerate(params)]
        self._given = [_Place(b.data, p.checked_type) for b, p in zip(self._inputs, params, strict=True)]
        self._memory: dict[TirVar, int] = {}
        self._called: dict[str, LoweredKernel] = {}
        self._calls = self._copies = 0
        self._constants: dict[int, tuple[NDArray, Buffer]] = {}
        self._scopes: list[dict[GraphExpr, _Value]] = [dict(zip(params, self._given, strict=True))]
        self._wanted: dict[GraphExpr, _Place] = {}
        self._statements: list[Stmt] = []
        self._half = TirVar("half", "int64")
        self._turn, self._running = self._allocate(_NUMBER, "turn"), self._allocate(_FLAG, "running")
        self._states = self._allocate_states()
        self.turns = 0
        result = function.body.checked_type
        self._is_tuple = isinstance(result, TupleType)
        types = result.fields if isinstance(result, TupleType) else (result,)
        self._outputs = [decl_buffer(t.shape, t.dtype, f"output{i}") for i, t in enumerate(types)]
        self._results = [_Place(b.data, t) for b, t in zip(self._outputs, types, strict=True)]
        self._body: Stmt | None = None

    @property
    def constants(self) -> list[NDArray]:
        """The values of the parameters between what is given and the results."""
        return [value for value, _ in self._constants.values()]

    def is_worthwhile(self) -> bool:
        """Return whether calls would take much of the time, beside kernels and copies that the machine saves."""
        work = self._copies + sum((k.flops or 0) + k.bytes for k in self._called.values())
        return work <= MAX_MEAN_WORK * len(self._called)

    # the whole

    def write(self) -> None:
        """Write the loop."""
        for param, (now, _) in self._states.items():
            self._scopes[0][param] = now
        with self._block() as turn:
            self._last(self._function.body)
        number, flag = self._turn.element(_index(0)), self._running.element(_index(0))
        self._set(self._turn, _index(0))
        self._set(self._running, const(True))
        first = dict(
            zip(self._function.params, self._given[len(self._given) - len(self._function.params) :], strict=True)
        )
        copies = [_copied(first[p], _Place(now.data, now.type, const(0))) for p, (now, _) in self._states.items()]
        loop = While(flag, LetStmt(self._half, number, seq(turn)))
        self._body = seq([*self._statements, *copies, loop])

    def module(self, name: str) -> IRModule:
        """Return the loop under a name, and the kernels that it calls."""
        assert self._body is not None, "write comes first"
        body = self._body
        for memory, size in reversed(self._memory.items()):
            body = Allocate(memory, "int8", (const(size),), const(True), body)
        buffers = [*self._inputs, *(b for _, b in self._constants.values()), *self._outputs]
        handles = [TirVar(b.name, "handle") for b in buffers]
        loop = PrimFunc(tuple(handles), body, buffer_map=dict(zip(handles, buffers, strict=True)))
        functions: dict[GlobalVar | str, BaseFunc] = {
            name: loop.with_attr({"global_symbol": name, "tir.noalias": True, "target": self._kernels.target})
        }
        for kernel, lowered in self._called.items():
            # Another symbol than that of the kernel as the machine calls it: a library has both.
            own = with_pointers(lowered.prim_func).with_attr("global_symbol", f"{name}_{kernel}")
            functions[GlobalVar(kernel)] = own
        return IRModule(functions)

    def _allocate(self, t: TensorType, name: str, halves: int = 1) -> _Place:
        data = TirVar(name, "handle", PointerType(PrimType("int8"), "global"))
        self._memory[data] = _padded(t) * halves
        return _Place(data, t)

    def _allocate_states(self) -> dict[Var, tuple[_Place, _Place]]:
        """Return where each parameter is in this turn, and in the next one; without those that no turn changes."""
        changing = _changed(self._var, self._function)
        states: dict[Var, tuple[_Place, _Place]] = {}
        for index, param in enumerate(self._function.params):
            if index in changing:
                data = self._allocate(param.checked_type, f"state{index}", halves=2).data
                now, following = self._half, _index(1) - self._half
                states[param] = _Place(data, param.checked_type, now), _Place(data, param.checked_type, following)
        return states

    # statements

    @contextmanager
    def _block(self) -> Iterator[list[Stmt]]:
        """Collect statements; what is computed inside is forgotten: other branches have not computed it."""
        outer, self._statements = self._statements, []
        self._scopes.append({})
        try:
            yield self._statements
        finally:
            self._statements = outer
            self._scopes.pop()

    def _branches(self, expr: If, follow: Callable[[GraphExpr], None]) -> None:
        condition = self._value(expr.cond)
        assert isinstance(condition, _Place), "a condition is a scalar"
        with self._block() as then:
            follow(expr.true_branch)
        with self._block() as other:
            follow(expr.false_branch)
        self._statements.append(IfThenElse(condition.element(_index(0)), seq(then), seq(other)))

    def _set(self, place: _Place, value: PrimExpr) -> None:
        element = place.element(_index(0))
        self._statements.append(BufferStore(element.buffer, value, element.indices))

    def _last(self, expr: GraphExpr) -> None:
        """Write what a turn ends with: the next one, or the loop's results."""
        while isinstance(expr, Let):
            self._bind(expr)
            expr = expr.body
        if isinstance(expr, If):
            self._branches(expr, self._last)
        elif isinstance(expr, Call) and expr.op is self._var:
            self._again(expr.args)
        else:
            self._finish(expr)

    def _bind(self, expr: Let) -> None:
        if isinstance(expr.value, Function) and not is_primitive(expr.value):
            raise _NoNativeLoop
        self._scopes[-1][expr.var] = self._value(expr.value)

    def _again(self, args: Sequence[GraphExpr]) -> None:
        following = {
            index: (args[index], self._states[param][1])
            for index, param in enumerate(self._function.params)
            if param in self._states
        }
        for value, place in following.values():
            self._want(value, place)
        for value, place in following.values():
            self._copy(self._value(value), place)
        self._wanted.clear()
        self._set(self._turn, _index(1) - self._half)
        self.turns += 1

    def _finish(self, expr: GraphExpr) -> None:
        parts = expr.fields if self._is_tuple and isinstance(expr, Tuple) else (expr,)
        if len(parts) == len(self._results):
            for part, place in zip(parts, self._results, strict=True):
                self._want(part, place)
        for source, place in zip(_leaves(self._value(expr)), self._results, strict=True):
            self._copy(source, place)
        self._wanted.clear()
        self._set(self._running, const(False))

    def _want(self, expr: GraphExpr, place: _Place) -> None:
        """Let a call that is still to be written store its result where it is needed."""
        if isinstance(expr, Call) and isinstance(expr.checked_type, TensorType):
            self._wanted.setdefault(expr, place)

    def _copy(self, source: _Value, target: _Place) -> None:
        assert isinstance(source, _Place), "states and results are arrays"
        if source is not target:
            self._copies += target.bytes
            self._statements.append(_copied(source, target))

    # values

    def _value(self, expr: GraphExpr) -> _Value:
        for scope in reversed(self._scopes):
            if expr in scope:
                return scope[expr]
        made = self._scopes[-1][expr] = self._compute(expr)
        return made

    def _compute(self, expr: GraphExpr) -> _Value:
        match expr:
            case Constant():
                return self._constant(expr.data, expr.checked_type)
            case Tuple():
                return tuple([self._value(f) for f in expr.fields])
            case TupleGetItem():
                fields = self._value(expr.tuple_value)
                assert isinstance(fields, tuple), "an element is of a tuple"
                return fields[expr.index]
            case Let():
                self._bind(expr)
                return self._value(expr.body)
            case If():
                return self._if(expr)
            case Call() if isinstance(expr.op, RelayOp) or is_primitive(expr.op):
                return self._call(expr)
            case _:
                raise _NoNativeLoop

    def _constant(self, value: NDArray, t: TensorType) -> _Place:
        if id(value) not in self._constants:
            buffer = decl_buffer(t.shape, t.dtype, f"constant{len(self._constants)}")
            self._constants[id(value)] = value, buffer
        return _Place(self._constants[id(value)][1].data, t)

    def _if(self, expr: If) -> _Value:
        result = self._memory_for(expr.checked_type)
        targets = _leaves(result)

        def follow(branch: GraphExpr) -> None:
            for source, target in zip(_leaves(self._value(branch)), targets, strict=True):
                self._copy(source, target)

        self._branches(expr, follow)
        return result

    def _memory_for(self, t: Type) -> _Value:
        if isinstance(t, TupleType):
            return tuple([self._memory_for(field) for field in t.fields])
        if not isinstance(t, TensorType) or not _is_static(t):
            raise _NoNativeLoop
        return self._allocate(t, f"value{len(self._memory)}")

    def _call(self, call: Call) -> _Value:
        place = self._wanted.pop(call, None)
        inputs = [leaf for arg in call.args for leaf in _leaves(self._value(arg))]
        group = as_group(call)
        self._calls += 1
        if not can_lower(group) or self._calls > MAX_CALLS:
            raise _NoNativeLoop
        named = self._kernels.kernel(group)
        lowered = named.kernel.lowered
        if lowered.replaced is not None:  # to be compared with what the operators say, kernel by kernel
            raise _NoNativeLoop
        self._called[named.name] = lowered
        result = place or self._memory_for(call.checked_type)
        constants = [self._constant(c, TensorType(c.shape, c.dtype)) for c in lowered.constants]
        pointers = [p.pointer() for p in (*inputs, *constants, *_leaves(result))]
        self._statements.append(Evaluate(TirCall("int32", GlobalVar(named.name), tuple(pointers))))
        return result


def _changed(var: Var, function: Function) -> set[int]:
    """Return which parameters are others in the next turn."""
    changed: set[int] = set()
    todo: list[GraphExpr] = [function.body]
    while todo:
        match todo.pop():
            case Let(body=body):
                todo.append(body)
            case If(true_branch=then, false_branch=other):
                todo += [then, other]
            case Call() as call if call.op is var:
                pairs = zip(call.args, function.params, strict=True)
                changed |= {index for index, (arg, param) in enumerate(pairs) if arg is not param}
    return changed


def _copied(source: _Place, target: _Place) -> Stmt:
    count = math.prod(target.type.concrete_shape)
    i = TirVar("i", "int64")
    to = target.element(i)
    return For(i, _index(0), _index(count), ForKind.SERIAL, BufferStore(to.buffer, source.element(i), to.indices))
