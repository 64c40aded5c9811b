"""Specialisation of functions for values of their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var, convert
from compiler.ir.expr.substitute import substitute
from compiler.ir.structural import structural_equal
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.statement import Stmt

BufferMap = Mapping[Var, Buffer]


def specialized_parts(
    params: Sequence[Var], body: Stmt, buffer_map: BufferMap, param_map: Mapping[Var, ExprLike | Buffer]
) -> tuple[tuple[Var, ...], Stmt, dict[Var, Buffer]]:
    """Return what a function is made of with values for some parameters: those are then no parameters any more."""
    values: dict[Var, PrimExpr] = {}
    for param, given in param_map.items():
        if isinstance(given, Buffer):
            if param not in buffer_map:
                expected("specialize", "a scalar's value", "an expression", given, f"parameter {param.name!r}")
            _match(buffer_map[param], given, values)
        elif param in buffer_map:
            expected("specialize", "a buffer", "another buffer", given, f"parameter {param.name!r}")
        else:
            value = convert(given)
            if dt.is_integral(param.dtype) and not dt.is_integral(value.dtype):
                expected("specialize", "a scalar's value", "an integer", given, f"parameter {param.name!r}")
            values[param] = value.astype(param.dtype)
    new_body, buffers = substitute((body, tuple(buffer_map.values())), values, fold=True)
    left = tuple([param for param in params if param not in values])
    return left, new_body, dict(zip(buffer_map, buffers, strict=True))


def _match(old: Buffer, new: Buffer, values: dict[Var, PrimExpr]) -> None:
    """Enter the values that the variables of a buffer have if it is another one."""
    if len(old.shape) != len(new.shape):
        raise ArgumentError(
            f"specialize: {old.name!r} has {len(old.shape)} dimensions, got a buffer with {len(new.shape)}"
        )
    for variable, value in _pairs(old, new):
        if isinstance(variable, Var):
            if not structural_equal(values.setdefault(variable, value), value):
                raise ArgumentError(
                    f"specialize: {variable.name!r} cannot be both {show(values[variable])} and {show(value)}"
                )
        elif not structural_equal(variable, value):
            raise ArgumentError(f"specialize: {old.name!r} has {show(variable)} where the buffer has {show(value)}")


def _pairs(old: Buffer, new: Buffer) -> Iterable[tuple[PrimExpr, PrimExpr]]:
    yield from zip(old.shape, new.shape, strict=True)
    yield from zip(old.strides, new.strides, strict=False)
    yield old.elem_offset, new.elem_offset
