"""Memory scope constraints of a function's parameters, for the corresponding Relay function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from compiler.ir.error import ArgumentError, InternalError, counted
from compiler.ir.expr.primexpr import Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.ir.types import FuncType, PointerType, PrimType
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

_ANYWHERE = "global"


def get_prim_func_arg_and_result_memory_constraints(func: PrimFunc, relay_func_type: FuncType) -> list[str]:
    """Return the memory scopes of the arguments of a function, then that of its result.

    The function has a parameter for each tensor of the arguments, then of the result of the Relay function whose type
    is ``relay_func_type``; all tensors of a tuple have one scope. Raises InternalError if the tensors of a tuple have
    different scopes.
    """
    scopes = []
    for position, buffers in enumerate(_buffers(func, relay_func_type)):
        scopes_of_tuple = list(dict.fromkeys(buffer.scope() for buffer in buffers))
        if len(scopes_of_tuple) > 1:
            raise InternalError(
                f"get_prim_func_arg_and_result_memory_constraints: the tensors of tuple {position} must be in one "
                f"memory scope, got {', '.join(scopes_of_tuple)}"
            )
        scopes.append(scopes_of_tuple[0] if scopes_of_tuple else "")
    return scopes


def apply_prim_func_arg_and_result_memory_constraints(
    func: PrimFunc, relay_func_type: FuncType, arg_and_result_memory_scopes: Sequence[str]
) -> PrimFunc:
    """Return a function whose parameters are in given memory scopes.

    There is one scope for each argument, then that of the result, as of
    :func:`get_prim_func_arg_and_result_memory_constraints`; empty for ``global``. Raises ArgumentError if there are not
    as many scopes as arguments and results.
    """
    groups = list(_buffers(func, relay_func_type))
    if len(groups) != len(arg_and_result_memory_scopes):
        raise ArgumentError(
            f"apply_prim_func_arg_and_result_memory_constraints: expected {counted(len(groups), 'memory scope')}, "
            f"got {len(arg_and_result_memory_scopes)}"
        )
    pointers: dict[Var, Var] = {}
    for buffers, scope in zip(groups, arg_and_result_memory_scopes, strict=True):
        for buffer in buffers:
            if buffer.scope() != (scope or _ANYWHERE):
                kind = PointerType(PrimType(buffer.dtype), scope or _ANYWHERE)
                pointers[buffer.data] = Var(buffer.data.name, "handle", kind)
    *moved, body = substitute((*func.buffer_map.values(), func.body), pointers)
    return rebuild(func, buffer_map=dict(zip(func.buffer_map, moved, strict=True)), body=body)


def _buffers(func: PrimFunc, kind: FuncType) -> Iterator[list[Buffer]]:
    """Yield the buffers of each argument, then those of the result."""
    params = iter(func.params)
    for arg_or_result in (*kind.arg_types, kind.ret_type):
        count = len(list(_tensors(arg_or_result)))
        group = list(islice(params, count))
        if len(group) < count:
            raise ArgumentError(f"{kind} has more tensors than the function has parameters, {len(func.params)}")
        yield [func.buffer_map[param] for param in group if param in func.buffer_map]


def _tensors(kind: object) -> Iterator[object]:
    """Yield the tensors of a type, those of tuples one by one."""
    fields = getattr(kind, "fields", None)
    if fields is None:
        yield kind
    else:
        for field in fields:
            yield from _tensors(field)
