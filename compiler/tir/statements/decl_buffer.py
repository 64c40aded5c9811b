"""Declaration of buffers."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IntImm, PrimExpr, Var, as_exprs, const, convert
from compiler.ir.types import PointerType, PrimType
from compiler.tir.statements.buffer import AUTO_BROADCAST, DEFAULT, Buffer

_BUFFER_TYPES = {"": DEFAULT, "default": DEFAULT, "auto": AUTO_BROADCAST, "auto_broadcast": AUTO_BROADCAST}


def decl_buffer(
    shape: ExprLike,
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | Buffer | None = None,
    strides: ExprLike = (),
    elem_offset: ExprLike = None,
    scope: str = "global",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: ExprLike = (),
) -> Buffer:
    """Declare a buffer.

    Raises ArgumentError if the buffer type is unknown, or an axis separator is out of range.

    Parameters
    ----------
    shape : sequence of int or PrimExpr
        Extent of each dimension, in elements.
    name : str
        Name of the buffer and of a new pointer.
    data : Var or Buffer, optional
        The pointer, or a buffer whose pointer is used; a new variable by default.
    strides : sequence of int or PrimExpr, optional
        In elements; compact by default.
    elem_offset : int or PrimExpr, optional
        Offset of the first element from the pointer, in elements; by default 0, or a new variable if there is an
        ``offset_factor``.
    scope : str
        Storage scope of a new pointer, e.g. ``global``, ``shared``, ``local``.
    data_alignment : int
        Alignment of the pointer in bytes; -1 for the alignment of the runtime's arrays (64).
    offset_factor : int
        A factor that ``elem_offset`` is a multiple of; 0 if unknown.
    buffer_type : str
        ``auto_broadcast`` for a buffer whose dimensions of extent 1 are broadcast; its strides are then variables.
    axis_separators : sequence of int, optional
        The positions at which the dimensions are separated into groups; flattening keeps one dimension per group.
    """
    if buffer_type not in _BUFFER_TYPES:
        raise ArgumentError(f"decl_buffer: buffer_type must be '' or 'auto_broadcast', got {show(buffer_type)}")
    dt.parse(dtype)
    dims, separators = as_exprs(shape), as_exprs(axis_separators if axis_separators is not None else ())
    _check_separators(separators, len(dims))
    index_dtype = dims[0].dtype if dims else "int32"
    rows = as_exprs(strides if strides is not None else ())
    if buffer_type and not rows:
        rows = tuple([Var("stride", dim.dtype) for dim in dims])
    if elem_offset is not None:
        offset = convert(elem_offset)
    else:
        offset = Var(f"{name}_elem_offset", index_dtype) if offset_factor else const(0, index_dtype)
    kind = PointerType(PrimType(dtype), scope or "global")
    pointer = Var(name, "handle", kind) if data is None else data.data if isinstance(data, Buffer) else data
    return Buffer(
        pointer,
        dtype,
        dims,
        rows,
        offset,
        name,
        data_alignment,
        offset_factor or 1,
        separators,
        _BUFFER_TYPES[buffer_type],
    )


def _check_separators(separators: tuple[PrimExpr, ...], rank: int) -> None:
    places = [s.value for s in separators if isinstance(s, IntImm)]
    if len(places) != len(separators) or places != sorted(places) or any(not 0 <= place <= rank for place in places):
        raise ArgumentError(
            f"decl_buffer: axis_separators must be ascending numbers from 0 to {rank}, got {show(separators)}"
        )
