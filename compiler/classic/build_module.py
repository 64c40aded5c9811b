"""``tvm.driver.build_module``: lowering and building."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import Var
from compiler.ir.extension import public_module
from compiler.ir.module import IRModule
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer

__all__ = ["build", "get_binds", "lower", "schedule_to_module"]


def get_binds(
    args: Sequence[Tensor | Buffer | Var], compact: bool = False, binds: Mapping[Tensor, Buffer] | None = None
) -> tuple[dict[Tensor, Buffer], list[Buffer | Var]]:
    """Return a buffer for each tensor among the parameters of a function, and the parameters with buffers for tensors.

    Buffers are compact unless ``binds`` says otherwise.
    """
    buffers = dict(binds or {})
    parameters: list[Buffer | Var] = []
    for arg in args:
        if isinstance(arg, Tensor):
            if arg not in buffers:
                buffers[arg] = decl_buffer(arg.shape, arg.dtype, arg.name)
            parameters.append(buffers[arg])
        elif isinstance(arg, (Buffer, Var)):
            parameters.append(arg)
        else:
            expected("get_binds", "args", "a Tensor, a Buffer or a Var each", arg)
    return buffers, parameters


def schedule_to_module(
    sch: Schedule,
    args: Sequence[Tensor | Buffer | Var] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """Return the loops that a schedule describes, before any pass, over buffers of their tensors' dimensions."""
    return IRModule({name: schedule_to_prim_func(sch, list(args or ()), name, binds)})


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.driver.build_module", __all__)
