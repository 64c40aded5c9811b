"""Runs loop IR in Python, watching every access: the judge of what passes and backends make of a program.

It executes a function at any stage of lowering, loops of every kind one iteration after the other, and raises
:class:`OutOfBounds` for an access outside of a buffer and :class:`UninitializedRead` for one of local memory that
was never written.  The tree is compiled to closures first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, BoundError, BuildError, TVMError
from compiler.ir.functor import Functor
from compiler.ir.node import Node
from compiler.ir.primexpr import (
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Var,
    is_const_int,
)
from compiler.tir import builtin
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.evaluation import Thunk, Value, binary_operation, cast_value, from_numpy, numpy_dtype, to_numpy
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    Stmt,
    While,
)

Run = Callable[[], None]


class OutOfBounds(BoundError):
    """An element outside of its buffer was read or written."""


class UninitializedRead(TVMError):
    """An element of local memory was read before anything was written to it."""


class AssertionFailed(TVMError):
    """The condition of an assertion did not hold."""


@dataclass(slots=True)
class Memory:
    """A flat piece of memory; ``written`` says of each element whether it was written, None if all were."""

    data: np.ndarray[Any, Any]
    written: bytearray | None = None


@dataclass(slots=True)
class View:
    """Where the elements of a buffer lie: index ``i`` of a dimension is valid from ``low`` for ``extent`` values."""

    low: tuple[int, ...]
    extent: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0


class _Returned(Exception):
    """The function returned before its end."""


def interpret(func: PrimFunc, arrays: Sequence[Any]) -> None:
    """Run a function on arrays, which it changes in place.

    Parameters
    ----------
    func : PrimFunc
        At any stage of lowering that still has its buffer map.
    arrays : sequence of numpy.ndarray or scalar
        One for each parameter: an array for a buffer, of its shape and data type; a number for a scalar.

    Raises
    ------
    ArgumentError
        If the arrays do not fit the parameters.
    OutOfBounds, UninitializedRead, AssertionFailed, DivisionByZero
        If the program does what it must not do.
    """
    if len(arrays) != len(func.params):
        raise ArgumentError(f"interpret: expected {len(func.params)} arguments, got {len(arrays)}")
    program = _Compiler()
    copies = []
    for position, (param, value) in enumerate(zip(func.params, arrays, strict=True)):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            program.values[param] = _scalar(position, param, value)
        else:
            copies.append(_bind_array(program, position, buffer, value))
    run = program.visit(func.body)
    with np.errstate(all="ignore"):
        try:
            run()
        except _Returned:
            pass
        finally:
            for array, flat in copies:
                array[...] = flat.reshape(array.shape)


def _scalar(position: int, param: Var, value: Any) -> Value:
    if isinstance(value, np.ndarray) and value.ndim:
        raise ArgumentError(f"interpret: argument {position} ({param.name}) must be a {param.dtype}, got an array")
    return cast_value(value, "float64" if isinstance(value, (float, np.floating)) else "int64", param.dtype)


def _bind_array(
    program: _Compiler, position: int, buffer: Buffer, value: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Give a parameter its memory, and the variables of its shape their values; return the array and the memory."""
    what = f"interpret: argument {position} ({buffer.name})"
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{what} must be an array, got {type(value).__name__}")
    if value.dtype != numpy_dtype(buffer.dtype):
        raise ArgumentError(f"{what} must be of type {buffer.dtype}, got {value.dtype}")
    if value.ndim != len(buffer.shape):
        raise ArgumentError(f"{what} must have {len(buffer.shape)} dimensions, got {value.ndim}")
    strides = [math.prod(value.shape[i + 1 :]) for i in range(value.ndim)]
    for expected, actual in (*zip(buffer.shape, value.shape, strict=True), (buffer.elem_offset, 0)):
        program.bind(expected, actual, what)
    for expected, actual in zip(buffer.strides, strides, strict=False):
        program.bind(expected, actual, what)
    flat = np.ascontiguousarray(value).reshape(-1).copy()
    program.values[buffer.data] = Memory(flat)
    return value, flat


class _Compiler(Functor):
    """Turns expressions into functions that return their value, statements into functions that run them.

    ``values`` holds what variables are at the moment: numbers, and the memory behind pointers.  ``views`` holds the
    layout of the buffers whose layout is not simply their shape.
    """

    def __init__(self) -> None:
        self.values: dict[Var, Value] = {}
        self._realized: set[Buffer] = set()
        self.views: dict[Buffer, View] = {}

    def bind(self, expected: PrimExpr, actual: int, what: str) -> None:
        """Let a variable have a value; anything else must have it already."""
        if isinstance(expected, Var) and expected not in self.values:
            self.values[expected] = actual
        elif self.visit(expected)() != actual:
            raise ArgumentError(f"{what}: expected {expected} elements, got {actual}")

    # Expressions

    def visit_PrimExpr(self, n: PrimExpr) -> Thunk:
        raise BuildError(f"interpret: {type(n).__name__} has no value: {n}")

    def visit_IntImm(self, n: IntImm) -> Thunk:
        value = bool(n.value) if n.dtype == "bool" else n.value
        return lambda: value

    def visit_FloatImm(self, n: FloatImm) -> Thunk:
        value = numpy_dtype(n.dtype).type(n.value)
        return lambda: value

    def visit_StringImm(self, n: StringImm) -> Thunk:
        return lambda: n.value

    def visit_Var(self, n: Var) -> Thunk:
        values = self.values

        def evaluate() -> Value:
            try:
                return values[n]
            except KeyError:
                raise BuildError(f"interpret: the variable {n.name} has no value") from None

        return evaluate

    def visit_BinaryOp(self, n: BinaryOp) -> Thunk:
        return binary_operation(type(n), n.a.dtype, self.visit(n.a), self.visit(n.b))

    def visit_Not(self, n: Not) -> Thunk:
        a = self.visit(n.a)
        return (lambda: ~a()) if dt.lanes(n.dtype) > 1 else (lambda: not a())

    def visit_Cast(self, n: Cast) -> Thunk:
        value, source, target = self.visit(n.value), n.value.dtype, n.dtype
        return lambda: cast_value(value(), source, target)

    def visit_Select(self, n: Select) -> Thunk:
        condition, a, b = self.visit(n.condition), self.visit(n.true_value), self.visit(n.false_value)

        def evaluate() -> Value:
            chosen, true_value, false_value = condition(), a(), b()
            if isinstance(chosen, np.ndarray):
                return np.where(chosen, true_value, false_value)
            return true_value if chosen else false_value

        return evaluate

    def visit_Ramp(self, n: Ramp) -> Thunk:
        base, stride, steps = self.visit(n.base), self.visit(n.stride), np.arange(n.lanes)
        kind = numpy_dtype(n.dtype)
        return lambda: (base() + stride() * steps).astype(kind)

    def visit_Broadcast(self, n: Broadcast) -> Thunk:
        value, lanes, kind = self.visit(n.value), n.lanes, numpy_dtype(n.dtype)
        return lambda: np.tile(np.asarray(value(), kind), lanes)

    def visit_Shuffle(self, n: Shuffle) -> Thunk:
        vectors = [self.visit(v) for v in n.vectors]
        indices = [self.visit(i) for i in n.indices]
        return lambda: from_numpy(
            np.concatenate([np.atleast_1d(v()) for v in vectors])[[int(i()) for i in indices]].squeeze(), n.dtype
        )

    def visit_Let(self, n: Let) -> Thunk:
        value, body, values = self.visit(n.value), self.visit(n.body), self.values

        def evaluate() -> Value:
            values[n.var] = value()
            return body()

        return evaluate

    def visit_BufferLoad(self, n: BufferLoad) -> Thunk:
        element = self._element(n.buffer, n.indices, "read")
        whole = dt.is_integral(n.dtype) and dt.lanes(n.dtype) == 1

        def evaluate() -> Value:
            memory, flat = element()
            written = memory.written
            if written is not None and (type(flat) is not int or not written[flat]):
                self._check_written(written, flat, n)
            return memory.data.item(flat) if whole else memory.data[flat]

        return evaluate

    def _check_written(self, written: bytearray, flat: Any, n: BufferLoad) -> None:
        lanes = flat.tolist() if isinstance(flat, np.ndarray) else (flat,)
        for i in lanes:
            if not written[i]:
                raise UninitializedRead(
                    f"read of {n.buffer.name}, element {i} of its memory: nothing was written there ({n})"
                )

    def visit_Call(self, n: Call) -> Thunk:
        special = _CALLS.get(n.op)
        if special is not None:
            return special(self, n)
        reference = getattr(n.op, "reference", None)
        if reference is None:
            raise BuildError(f"interpret: {getattr(n.op, 'name', n.op)} cannot be evaluated")
        args = [(self.visit(a), a.dtype) for a in n.args]
        return lambda: from_numpy(reference(*[to_numpy(a(), kind) for a, kind in args]), n.dtype)

    # Memory

    def _element(self, buffer: Buffer, indices: tuple[PrimExpr, ...], access: str) -> Callable[[], tuple[Memory, Any]]:
        """Return the function that finds the memory of an element and its place there, and checks that it is there."""
        compiled = [self.visit(i) for i in indices]
        view_of, values, pointer = self._view(buffer, len(indices)), self.values, buffer.data
        kind, lanes = numpy_dtype(buffer.dtype), dt.lanes(buffer.dtype)

        def find() -> tuple[Memory, Any]:
            view, memory = view_of(), values[pointer]
            if memory.data.dtype != kind:
                memory = Memory(memory.data.view(kind))
            flat: Any = view.offset
            for i, low, extent, stride in zip(compiled, view.low, view.extent, view.stride, strict=True):
                index = i()
                if type(index) is int:
                    inside = low <= index < low + extent
                else:
                    index = index.astype(np.int64)
                    inside = bool(((index >= low) & (index < low + extent)).all())
                if not inside:
                    raise _out_of_bounds(buffer, access, [f() for f in compiled], view)
                flat = flat + (index - low) * stride
            if lanes > 1:
                flat = np.add.outer(flat * lanes, np.arange(lanes)).reshape(-1)
            _check_memory(memory, flat, f"{access} of {buffer.name}")
            return memory, flat

        if len(indices) != 1 or lanes > 1 or buffer in self._realized or not _is_plain_vector(buffer):
            return find
        (index_of,), (extent,) = compiled, buffer.shape
        limit = int(extent)  # type: ignore[call-overload]

        def find_fast() -> tuple[Memory, Any]:
            """Look into a vector of memory, the common case after flattening."""
            index, memory = index_of(), values[pointer]
            if type(index) is int and 0 <= index < limit and index < memory.data.size and memory.data.dtype == kind:
                return memory, index
            return find()

        return find_fast

    def _view(self, buffer: Buffer, rank: int) -> Callable[[], View]:
        """Return the function that gives the layout of a buffer."""
        if rank != len(buffer.shape):
            raise BoundError(f"interpret: {buffer.name} has {len(buffer.shape)} dimensions, got {rank} indices")
        fixed = [*buffer.shape, *buffer.strides, buffer.elem_offset]
        views = self.views
        constants = [e.value for e in fixed if isinstance(e, IntImm)]
        if len(constants) == len(fixed):
            shape, strides = constants[:rank], constants[rank:-1]
            constant = _layout(shape, strides, constants[-1])
            return lambda: views.get(buffer, constant)
        shape_of = [self.visit(e) for e in buffer.shape]
        strides_of = [self.visit(e) for e in buffer.strides]
        offset_of = self.visit(buffer.elem_offset)

        def view() -> View:
            found = views.get(buffer)
            if found is not None:
                return found
            return _layout([f() for f in shape_of], [f() for f in strides_of], offset_of())

        return view

    # Statements

    def visit_Stmt(self, n: Stmt) -> Run:
        raise BuildError(f"interpret: {type(n).__name__} cannot be run")

    def visit_BufferStore(self, n: BufferStore) -> Run:
        element, value = self._element(n.buffer, n.indices, "write"), self.visit(n.value)

        def run() -> None:
            new = value()
            memory, flat = element()
            memory.data[flat] = new
            if memory.written is not None:
                for i in flat.tolist() if isinstance(flat, np.ndarray) else (flat,):
                    memory.written[i] = 1

        return run

    def visit_BufferRealize(self, n: BufferRealize) -> Run:
        if n.buffer.data in self.values:
            return self.visit(n.body)  # type: ignore[no-any-return]  # a parameter: its memory exists already
        bounds = [(self.visit(r.min), self.visit(r.extent)) for r in n.bounds]
        self._realized.add(n.buffer)
        body, kind = self.visit(n.body), numpy_dtype(n.buffer.dtype)

        def run() -> None:
            low, extent = tuple(f() for f, _ in bounds), tuple(f() for _, f in bounds)
            outer_view, outer_memory = self.views.get(n.buffer), self.values.get(n.buffer.data)
            self.views[n.buffer] = View(low, extent, _compact(extent))
            self.values[n.buffer.data] = _uninitialized(math.prod(extent), kind)
            body()
            _restore(self.views, n.buffer, outer_view)
            _restore(self.values, n.buffer.data, outer_memory)

        return run

    def visit_Allocate(self, n: Allocate) -> Run:
        extents, body, kind = [self.visit(e) for e in n.extents], self.visit(n.body), numpy_dtype(n.dtype)
        lanes = dt.lanes(n.dtype)

        def run() -> None:
            self.values[n.buffer_var] = _uninitialized(math.prod(f() for f in extents) * lanes, kind)
            body()

        return run

    def visit_DeclBuffer(self, n: DeclBuffer) -> Run:
        return self.visit(n.body)  # type: ignore[no-any-return]

    def visit_LetStmt(self, n: LetStmt) -> Run:
        value, body, values = self.visit(n.value), self.visit(n.body), self.values

        def run() -> None:
            values[n.var] = value()
            body()

        return run

    def visit_AttrStmt(self, n: AttrStmt) -> Run:
        body = self.visit(n.body)
        if n.attr_key in ("thread_extent", "virtual_thread") and isinstance(n.node, IterVar):
            return self._loop(n.node.var, lambda: 0, self.visit(n.value), body)
        return body  # type: ignore[no-any-return]

    def visit_For(self, n: For) -> Run:
        return self._loop(n.loop_var, self.visit(n.min), self.visit(n.extent), self.visit(n.body))

    def _loop(self, var: Var, low: Thunk, extent: Thunk, body: Run) -> Run:
        values = self.values

        def run() -> None:
            first = low()
            for i in range(first, first + extent()):
                values[var] = i
                body()

        return run

    def visit_While(self, n: While) -> Run:
        condition, body = self.visit(n.condition), self.visit(n.body)

        def run() -> None:
            while condition():
                body()

        return run

    def visit_SeqStmt(self, n: SeqStmt) -> Run:
        parts = [self.visit(s) for s in n.seq]

        def run() -> None:
            for part in parts:
                part()

        return run

    def visit_IfThenElse(self, n: IfThenElse) -> Run:
        condition, then_case = self.visit(n.condition), self.visit(n.then_case)
        else_case = self.visit(n.else_case) if n.else_case is not None else _nothing

        def run() -> None:
            if condition():
                then_case()
            else:
                else_case()

        return run

    def visit_AssertStmt(self, n: AssertStmt) -> Run:
        condition, message, body = self.visit(n.condition), self.visit(n.message), self.visit(n.body)

        def run() -> None:
            if not condition():
                raise AssertionFailed(f"assertion failed: {message()}")
            body()

        return run

    def visit_Evaluate(self, n: Evaluate) -> Run:
        return self.visit(n.value)  # type: ignore[no-any-return]

    def visit_Prefetch(self, n: Prefetch) -> Run:
        return _nothing

    # Calls that are not functions of their arguments' values

    def _if_then_else(self, n: Call) -> Thunk:
        condition, a, b = (self.visit(arg) for arg in n.args)
        return lambda: a() if condition() else b()

    def _return(self, n: Call) -> Thunk:
        value = self.visit(n.args[0])

        def run() -> None:
            value()
            raise _Returned

        return run

    def _reinterpret(self, n: Call) -> Thunk:
        value, source = self.visit(n.args[0]), n.args[0].dtype
        kind = numpy_dtype(n.dtype)

        def evaluate() -> Value:
            bits = np.atleast_1d(to_numpy(value(), source)).view(kind)
            return from_numpy(bits if dt.lanes(n.dtype) > 1 else bits[0], n.dtype)

        return evaluate

    def _leading_zeros(self, n: Call) -> Thunk:
        value, width = self.visit(n.args[0]), dt.bits(n.args[0].dtype)
        return lambda: width - (value() & ((1 << width) - 1)).bit_length()

    def _half(self, n: Call) -> Thunk:
        value, lanes = self.visit(n.args[0]), dt.lanes(n.dtype)
        if n.op is builtin.VECTOR_LOW:
            return lambda: from_numpy(value()[:lanes].squeeze(), n.dtype)
        return lambda: from_numpy(value()[-lanes:].squeeze(), n.dtype)

    def _combine(self, n: Call) -> Thunk:
        low, high = (self.visit(arg) for arg in n.args)
        return lambda: from_numpy(np.concatenate([np.atleast_1d(low()), np.atleast_1d(high())]), n.dtype)

    def _no_effect(self, n: Call) -> Thunk:
        return _nothing


_CALLS: dict[Any, Callable[[_Compiler, Call], Thunk]] = {
    builtin.IF_THEN_ELSE: _Compiler._if_then_else,
    builtin.RET: _Compiler._return,
    builtin.REINTERPRET: _Compiler._reinterpret,
    builtin.CLZ: _Compiler._leading_zeros,
    builtin.VECTOR_LOW: _Compiler._half,
    builtin.VECTOR_HIGH: _Compiler._half,
    builtin.VECTOR_COMBINE: _Compiler._combine,
    builtin.PREFETCH: _Compiler._no_effect,
    builtin.ASSUME: _Compiler._no_effect,
    builtin.STORAGE_SYNC: _Compiler._no_effect,
}


def _nothing() -> None:
    return None


def _compact(extent: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(extent[i + 1 :]) for i in range(len(extent)))


def _layout(shape: Sequence[int], strides: Sequence[int], offset: int) -> View:
    return View((0,) * len(shape), tuple(shape), tuple(strides) or _compact(shape), offset)


def _uninitialized(size: int, kind: np.dtype[Any]) -> Memory:
    size = max(size, 0)
    return Memory(np.zeros(size, kind), bytearray(size))


def _restore(table: dict[Any, Any], key: Node, outer: Any) -> None:
    if outer is None:
        del table[key]
    else:
        table[key] = outer


def _is_plain_vector(buffer: Buffer) -> bool:
    """Return whether a buffer is one row of known length that starts where its memory does."""
    return isinstance(buffer.shape[0], IntImm) and not buffer.strides and is_const_int(buffer.elem_offset, 0)


def _check_memory(memory: Memory, flat: Any, what: str) -> None:
    first, last = (flat, flat) if isinstance(flat, int) else (flat.min(), flat.max())
    if first < 0 or last >= memory.data.size:
        where = first if first < 0 else last
        raise OutOfBounds(f"{what} at element {where} is outside of its memory of {memory.data.size} elements")


def _out_of_bounds(buffer: Buffer, access: str, indices: list[Any], view: View) -> OutOfBounds:
    shown = ", ".join(str(i.tolist() if isinstance(i, np.ndarray) else i) for i in indices)
    limits = ", ".join(
        f"{low}:{low + extent}" if low else str(extent) for low, extent in zip(view.low, view.extent, strict=True)
    )
    return OutOfBounds(f"{access} of {buffer.name}[{shown}] is outside of its shape ({limits})")
