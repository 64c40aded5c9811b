"""Values of the parser: declarations, scopes, loops and types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.context_stack import ContextStack
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.lanes import vscale_factor
from compiler.ir.expr.primexpr import (
    Add,
    ExprLike,
    ExprOperators,
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    Ramp,
    Range,
    SizeVar,
    Var,
    const,
    convert,
    is_const_int,
)
from compiler.ir.expr.scalars import int_value
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.statement import Annotations
from compiler.tir.statements.stmt import Evaluate, For, ForKind, SeqStmt, Stmt, no_op

__all__ = [
    "Branch", "BufferDeclaration", "BufferSlice", "DataType", "Declaration", "FunctionAttributes", "HandleType", "Loop",
    "MatchedBuffer", "ParameterLayout", "Scope", "Wrap", "declared", "declared_in_program", "declared_variable",
    "extent_between", "reading", "regions", "sequence_of", "unwrapped",
]  # fmt: skip

Wrap = Callable[[Stmt], Stmt]
"""Puts a statement around its body."""


@dataclass(frozen=True)
class Declaration:
    """A variable or buffer that no statement defines; it is called what it is assigned to."""

    make: Callable[[str], Var | IterVar | Buffer]


def declared(declaration: Declaration, name: str) -> Any:
    """Return what a word of the language gives: a declaration to the program that uses it, else what it declares.

    A variable or buffer that no program names is called ``name``.
    """
    return declaration.make(name) if _READERS.current() is None else declared_in_program(declaration, name)


def declared_in_program(declaration: Declaration, name: str) -> Any:
    """Return what a word gives that has a meaning in a program alone, as :func:`declared` does there."""
    reader = _READERS.current()
    if reader is None or not reader.calls_python:
        return declaration
    return reader.declare_unnamed(declaration, name)


class Reader(Protocol):
    """What reads a program."""

    calls_python: bool  # whether a function of Python runs that the program calls: what it declares has no name

    def declare_unnamed(self, declaration: Declaration, name: str) -> Var | IterVar | Buffer:
        """Make what a function of Python declares a part of the program."""
        ...


_READERS: ContextStack[Reader] = ContextStack("script_readers")


@contextmanager
def reading(reader: Reader) -> Iterator[None]:
    """Let the words of the language declare for a program while it is read."""
    _READERS.push(reader)
    try:
        yield
    finally:
        _READERS.pop()


@dataclass(frozen=True)
class BufferDeclaration(Declaration):
    """``T.Buffer(shape, dtype, …)``."""


@dataclass(frozen=True)
class MatchedBuffer(Declaration):
    """``T.match_buffer(source, shape, dtype, …)``: the buffer that a parameter points to, or that a region is."""

    source: Var | BufferRegion


@dataclass(frozen=True)
class FunctionAttributes:
    """``T.func_attr({…})``."""

    attrs: Mapping[str, object]


@dataclass(frozen=True)
class ParameterLayout:
    """``T.preflattened_buffer(buffer, shape, …)``: what a parameter points to, of which ``buffer`` is a flat view."""

    buffer: Buffer
    original: Buffer


@dataclass(frozen=True)
class Scope:
    """A statement with a body: the rest of its block, or the block of a ``with``."""

    # from the name that it is assigned to, to what that name stands for and what puts the statement around its body
    enter: Callable[[str], tuple[object, Wrap]]
    # elements along each dimension of the memory that the name points to, if it does
    extents: tuple[PrimExpr, ...] = ()

    @classmethod
    def unnamed(cls, wrap: Wrap) -> Scope:
        """Return a scope that gives the name it is assigned to nothing to stand for."""
        return cls(lambda name: (None, wrap))


@dataclass(frozen=True)
class Branch:
    """``with T.If(condition):``, and ``with T.Then():`` or ``with T.Else():`` in it."""

    word: str
    condition: PrimExpr | None = None


@dataclass(frozen=True)
class Loop:
    """The header of a ``for``."""

    min: PrimExpr
    extent: PrimExpr
    kind: ForKind = ForKind.SERIAL
    thread: str = ""  # the tag of the thread axis that the loop is bound to
    annotations: Annotations = field(default_factory=dict)

    def around(self, var: Var, body: Stmt) -> For:
        """Return the loop."""
        axis = IterVar(None, Var("", var.dtype), IterVar.ThreadIndex, self.thread) if self.thread else None
        return For(var, self.min, self.extent, self.kind, body, axis, self.annotations)


@dataclass(frozen=True)
class DataType:
    """``T.float32``: the type of a parameter or variable; called, a constant or a free variable of it."""

    dtype: str

    def variable(self, name: str) -> Var:
        """Return a variable of the type."""
        return Var(name, self.dtype)

    def __call__(self, expr: ExprLike = None, is_size_var: bool = False) -> PrimExpr | Declaration:
        """Return a constant, or declare a free variable.

        ``"inf"``, ``"-inf"`` and ``"nan"`` are floats, an expression is converted; without a value a variable is
        declared, with ``is_size_var`` one that is never negative.
        """
        if expr is None:
            kind = SizeVar if is_size_var else Var
            variable: PrimExpr | Declaration = declared(Declaration(lambda name: kind(name, self.dtype)), "v")
            return variable
        if isinstance(expr, str):
            if not dt.is_float(self.dtype):
                raise ArgumentError(f"T.{self.dtype}: expected a number, got {show(expr)}")
            return FloatImm(self.dtype, float(expr))
        return const(expr, self.dtype)


@dataclass(frozen=True)
class HandleType(DataType):
    """A pointer; called with a data type, a pointer to elements of that type."""

    dtype: str = "handle"  # type of the elements that it points to; `T.float32` is one, too

    def __call__(  # type: ignore[override]
        self, dtype: Any = None, storage_scope: Any = "global", *, is_size_var: bool = False
    ) -> Declaration:
        element = dtype.dtype if isinstance(dtype, DataType) else dtype
        pointer = None if element is None else PointerType(PrimType(element), storage_scope)
        kind = SizeVar if is_size_var else Var
        variable: Declaration = declared(Declaration(lambda name: kind(name, "handle", pointer)), "v")
        return variable

    def __getitem__(self, of: object) -> Declaration:
        """Return ``T.Ptr[T.int32]``, as releases before 0.12 spell ``T.handle("int32")``."""
        return self(*of) if isinstance(of, tuple) else self(of)


class BufferSlice(ExprOperators):
    """``A[i:i + 4, j]``: a vector load where an expression is needed, a region where one is."""

    __slots__ = ("buffer", "indices")

    def __init__(self, buffer: Buffer, indices: tuple[PrimExpr | slice, ...]) -> None:
        self.buffer = buffer
        self.indices = indices

    def vector_indices(self) -> tuple[PrimExpr, ...]:
        """Return the indices with slices as ramps."""
        indices = tuple([_ramp(i) if isinstance(i, slice) else i for i in self.indices])
        if any(dt.lanes(index.dtype) > 1 for index in indices[:-1]):
            raise ArgumentError("only the last index of an access may be a vector")
        return indices

    def asobject(self) -> BufferLoad:
        """Return the load of the elements."""
        return BufferLoad(self.buffer, self.vector_indices())


def declared_variable(name: str, kind: object) -> Var:
    """Return a variable of a type that stands for itself in a program: ``T.int32``, ``T.handle("float32")``."""
    if isinstance(kind, str):
        return Var(name, kind)
    if isinstance(kind, DataType):
        return kind.variable(name)
    made = kind.make(name) if isinstance(kind, Declaration) else kind
    if not isinstance(made, Var):
        raise ArgumentError(f"expected the type of a variable such as T.int32, got {show(kind)}")
    return made


def _ramp(part: slice) -> PrimExpr:
    step = 1 if part.step is None else int_value(convert(part.step))
    length = extent_between(convert(part.start), convert(part.stop))
    if step == 1 and vscale_factor(length) > 1:
        return Ramp(convert(part.start), const(1, length.dtype), length)
    if not isinstance(length, IntImm) or length.value % step or length.value // step < 1:
        raise ArgumentError(f"the length of a slice must be a constant multiple of its step, got {show(length)}")
    base = convert(part.start)
    if length.value == step:
        return base
    return Ramp(base, const(step, base.dtype), length.value // step)


def regions(target: object) -> tuple[Buffer, tuple[Range, ...]]:
    """Return the buffer and the box of ``A[0:4, j]``; an index alone is a range of one."""
    if isinstance(target, BufferRegion):
        return target.buffer, target.region
    if isinstance(target, Buffer):
        return target, tuple([Range.from_fields(const(0, dim.dtype), dim) for dim in target.shape])
    if not isinstance(target, (BufferSlice, BufferLoad)):
        raise ArgumentError(f"expected a region of a buffer such as A[0:4, 0:8], got {show(target)}")
    return target.buffer, tuple([_range(i) for i in target.indices])


def _range(part: PrimExpr | slice) -> Range:
    if not isinstance(part, slice):
        return Range.from_fields(part, const(1, part.dtype))
    if part.step not in (None, 1):
        raise ArgumentError(f"a region has no gaps: expected a step of 1, got {show(part.step)}")
    low = convert(part.start)
    return Range.from_fields(low, extent_between(low, convert(part.stop)))


def extent_between(low: PrimExpr, high: PrimExpr) -> PrimExpr:
    """Return ``high - low``; ``e`` where ``high`` is written ``low + e``."""
    if isinstance(low, IntImm) and isinstance(high, IntImm):
        return IntImm((high - low).dtype, high.value - low.value)
    if is_const_int(low, 0):
        return high
    if isinstance(high, Add) and structural_equal(high.a, low):
        return high.b
    return Analyzer().simplify(high - low)


def sequence_of(stmts: Sequence[Stmt]) -> Stmt:
    """Return statements in order as one; among others, ``T.evaluate(0)`` is left out."""
    flat = [part for stmt in stmts for part in (stmt.seq if isinstance(stmt, SeqStmt) else (stmt,))]
    kept = [stmt for stmt in flat if not (isinstance(stmt, Evaluate) and is_const_int(stmt.value, 0))]
    if len(kept) > 1:
        return SeqStmt(tuple(kept))
    if kept:
        return kept[0]
    return flat[0] if len(flat) == 1 else no_op()


def unwrapped(value: object) -> Any:
    """Return an attribute's value as Python's own: truth values, floats, lists and mappings of them."""
    if isinstance(value, FloatImm) and value.dtype == "float32":
        return float(value.value)
    if isinstance(value, IntImm) and value.dtype == "bool":
        return bool(value.value)
    if isinstance(value, Mapping):
        return {str(key): unwrapped(item) for key, item in value.items()}
    return [unwrapped(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
