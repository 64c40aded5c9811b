"""TVMScript functions that create buffers and allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, StringImm, Var, as_exprs, const, convert
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import PREFETCH
from compiler.tir.script.definitions import (
    BufferDeclaration,
    Declaration,
    MatchedBuffer,
    ParameterLayout,
    Scope,
    Wrap,
    declared,
    regions,
    unwrapped,
)
from compiler.tir.script.operators import call_op
from compiler.tir.statements.buffer import Buffer as BufferNode
from compiler.tir.statements.buffer import BufferRegion
from compiler.tir.statements.decl_buffer import decl_buffer as make_buffer
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.producer_stmt import Prefetch as PrefetchNode
from compiler.tir.statements.stmt import REALIZE_SCOPE, Allocate, AttrStmt, DeclBuffer, Stmt

__all__ = [
    "Buffer", "allocate", "buffer_decl", "buffer_var", "decl_buffer", "match_buffer", "prefetch", "preflattened_buffer",
    "realize",
]  # fmt: skip


class BufferWord:
    """``T.Buffer``: the type of a parameter that is a buffer, or a view of memory; called as by :meth:`__call__`."""

    def __call__(
        self,
        shape: object,
        dtype: str = "float32",
        data: Var | None = None,
        strides: Sequence[object] | None = None,
        elem_offset: ExprLike = None,
        scope: str = "global",
        align: int = -1,
        offset_factor: int = 0,
        buffer_type: str = "default",
        axis_separators: Sequence[int] | None = None,
    ) -> Any:
        """Declare a buffer: the type of a parameter, or a view of memory that exists already.

        Parameters
        ----------
        data : Var, optional
            The pointer, e.g. what ``T.allocate`` gives; a pointer of its own if left out.
        strides : sequence of int, PrimExpr or str, optional
            In elements; a string names a variable.  Compact rows if left out.
        scope : str
            Where the memory is, for a pointer of its own: ``global``, ``shared``, ``local``, …
        align : int
            Alignment of ``data`` in bytes, -1 for the runtime's default.
        offset_factor : int
            The offset is a multiple of this; given without ``elem_offset``, the offset is a variable.
        buffer_type : str
            ``default``, or ``auto_broadcast``: the stride of a dimension of one element is 0.
        axis_separators : sequence of int, optional
            Where the dimensions are split into groups when the buffer is flattened.

        Examples
        --------
        >>> A: T.Buffer((16, 16), "float32")                # a parameter
        >>> B_1 = T.Buffer((16,), data=B)                   # a view
        """
        given = (shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
        return declared(BufferDeclaration(lambda name: new_buffer(name, *given)), "buffer")

    def __getitem__(self, args: object) -> Any:
        """Declare a buffer as older releases write it: ``T.Buffer[(16, 16), "float32"]``."""
        is_shape = isinstance(args, tuple) and not any(isinstance(part, (str, tuple, list)) for part in args)
        return self(args) if is_shape or not isinstance(args, tuple) else self(*args)


Buffer = BufferWord()


def new_buffer(
    name: str,
    shape: object,
    dtype: str,
    data: Var | None,
    strides: Sequence[object] | None,
    elem_offset: ExprLike,
    scope: str,
    align: int,
    offset_factor: int,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> BufferNode:
    """Return the buffer that a declaration describes."""
    if isinstance(shape, str):
        raise ArgumentError(f"T.Buffer: the shape must be a tuple of extents, got {show(shape)}")
    rows = [_layout_part(stride, f"{name}_s{index}") for index, stride in enumerate(strides or ())]
    kind = "" if buffer_type == "default" else buffer_type
    return make_buffer(
        shape,
        dtype,
        name,
        data,
        rows,
        None if elem_offset is None else _layout_part(elem_offset, f"{name}_elem_offset"),
        scope or "global",
        align,
        offset_factor,
        kind,
        axis_separators or (),
    )


def _layout_part(value: object, name: str) -> Any:
    """Return a stride or an offset; a string names a variable, a declaration stands for a new one."""
    if isinstance(value, Declaration):
        return value.make(name)
    return Var(value) if isinstance(value, str) else value


def preflattened_buffer(
    postflattened_buffer: BufferNode,
    shape: object,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[object] | None = None,
    elem_offset: ExprLike = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
) -> ParameterLayout:
    """Say of which shape a parameter is that the program accesses flat, as releases 0.9 to 0.11 write it.

    The parameters are those of :func:`Buffer`; the pointer is always that of the flat buffer.
    """
    flat = postflattened_buffer
    given = (shape, dtype, flat.data, strides, elem_offset, scope, align, offset_factor, buffer_type, None)
    return ParameterLayout(flat, new_buffer(flat.name, *given))


def match_buffer(
    param: object,
    shape: object = None,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[object] | None = None,
    elem_offset: ExprLike = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
    type: str = "",
) -> MatchedBuffer:
    """Say which buffer a parameter points to, or let one stand for a region: ``A = T.match_buffer(a, (n, m))``.

    The parameter is a ``T.handle``. Within a block a region such as ``B[0:4, j]`` gives the buffer its extents and data
    type where no shape is given. Other parameters are those of :func:`Buffer`; ``type`` is the ``buffer_type`` of older
    releases: ``default`` or ``auto``.
    """
    buffer_type = type or buffer_type
    given = (shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
    if isinstance(param, Var) and shape is not None:
        return MatchedBuffer(lambda name: new_buffer(name, *given), param)
    source = BufferRegion(*regions(param))
    given = (
        *((tuple(r.extent for r in source.region), source.buffer.dtype) if shape is None else (shape, dtype)),
        data,
        strides,
        elem_offset,
        source.buffer.storage_scope if scope == "global" else scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
    )
    return MatchedBuffer(lambda name: new_buffer(name, *given), source)


def decl_buffer(
    shape: object,
    dtype: str = "float32",
    data: Var | None = None,
    strides: Sequence[object] | None = None,
    elem_offset: ExprLike = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Sequence[int] | None = None,
) -> Scope:
    """Declare a buffer by a statement: ``B = T.decl_buffer((4,), data=p)`` makes a ``DeclBuffer``.

    Without ``data`` its memory is allocated, too. The parameters are those of :func:`Buffer`.
    """
    given = (shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)

    def enter(name: str) -> tuple[object, Wrap]:
        buffer = new_buffer(name or "buffer", *given)

        def wrap(body: Stmt) -> Stmt:
            declared = DeclBuffer(buffer, body)
            always = const(True, "bool")
            return declared if data is not None else Allocate(buffer.data, buffer.dtype, buffer.shape, always, declared)

        return buffer, wrap

    return Scope(enter)


def allocate(
    extents: object,
    dtype: str,
    scope: str = "global",
    condition: ExprLike = True,
    annotations: Mapping[str, object] | None = None,
) -> Scope:
    """Allocate memory for the rest of the block: ``B = T.allocate([16], "float32", "local")``.

    It gives the pointer, which ``T.Buffer(…, data=B)`` makes a buffer of; scopes are ``global``, ``shared``, ``local``,
    …
    """

    def enter(name: str) -> tuple[object, Wrap]:
        pointer = Var(name or "buffer", "handle", PointerType(PrimType(dtype), scope))
        notes = unwrapped(annotations or {})
        return pointer, lambda body: Allocate(pointer, dtype, as_exprs(extents), convert(condition), body, notes)

    return Scope(enter, as_exprs(extents))


def realize(region: object, scope: str | None = None, condition: ExprLike = True) -> Scope:
    """Let a region of a buffer exist for the rest of the block: ``T.realize(A[0:16, 0:8], "shared")``.

    Without a scope, the buffer's pointer says where it is.
    """
    buffer, bounds = regions(region)

    def wrap(body: Stmt) -> Stmt:
        realized = BufferRealize(buffer, bounds, convert(condition), body)
        return realized if scope is None else AttrStmt(buffer, REALIZE_SCOPE, StringImm(scope), realized)

    return Scope.unnamed(wrap)


def prefetch(target: object, *args: ExprLike) -> Stmt | PrimExpr:
    """Hint that memory is read soon.

    A buffer is followed by its region, a list of ``T.Range``; an address by the hints of the processor's instruction.
    """
    if isinstance(target, BufferNode):
        (bounds,) = args
        return PrefetchNode(target, tuple(bounds))
    return call_op(PREFETCH, target, *args)


def buffer_var(dtype: str, storage_scope: str = "global") -> Any:
    """Declare a pointer, as older releases write ``T.handle(dtype, storage_scope)``."""
    pointer = PointerType(PrimType(dtype), storage_scope)
    return declared(Declaration(lambda name: Var(name, "handle", pointer)), "v")


buffer_decl = Buffer
