"""Lowering of schedules: the statement of a schedule over buffers, and a PrimFunc of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from compiler.ir.error import ArgumentError, LoweringError, show
from compiler.ir.origin import derived_from
from compiler.ir.primexpr import PrimExpr, ProducerLoad, Var
from compiler.ir.types import PointerType, PrimType
from compiler.te.bounds import infer_bound
from compiler.te.schedule import Schedule
from compiler.te.schedule_ops import StatementBuilder, ThreadMerger
from compiler.te.tensor import Tensor
from compiler.tir.buffer import Buffer, BufferLoad, decl_buffer
from compiler.tir.function import FROM_SCHEDULE, PrimFunc
from compiler.tir.stmt import AttrStmt, BufferRealize, BufferStore, ProducerRealize, ProducerStore, Stmt

__all__ = ["Argument", "Binds", "Parameters", "schedule_to_prim_func", "statement_to_prim_func"]

Argument: TypeAlias = Tensor | Buffer | Var
"""A parameter of a function, as the user gives it."""
Binds: TypeAlias = Mapping[Tensor, Buffer]
"""Buffers that stand for tensors."""


def schedule_to_prim_func(
    schedule: Schedule, args: Sequence[Argument], name: str = "main", binds: Binds | None = None
) -> PrimFunc:
    """Return the loops that a schedule describes.

    Parameters
    ----------
    schedule : Schedule
        What to compute, and how.
    args : sequence of Tensor, Buffer or Var
        The parameters of the function, in order.
    name : str
        The function's global symbol.
    binds : mapping of Tensor to Buffer, optional
        Buffers to use for some tensors.

    Returns
    -------
    PrimFunc
        Its body reads and writes buffers with as many dimensions as their tensors; ``BufferRealize`` says which part
        of a buffer exists where.
    """
    normalized = schedule.normalize()
    bounds = infer_bound(normalized)
    current = {s.origin_op.output(i): t for s in normalized.stages for i, t in enumerate(s.op.outputs)}
    parameters = Parameters(args, binds or {}, current)
    names = {new: old.name for old, new in current.items()}
    builder = StatementBuilder(normalized, bounds, set(parameters.buffers))
    return parameters.function(_ToBuffers(parameters.buffers, names, builder.aliases).visit(builder.body()), name)


def statement_to_prim_func(args: Sequence[Argument], body: Stmt, binds: Binds | None = None) -> PrimFunc:
    """Return a function whose body is a statement over tensors.

    Parameters
    ----------
    args : sequence of Tensor, Buffer or Var
        The parameters of the function, in order.
    body : Stmt
        Stores to tensors and realizes those that are no parameters.
    binds : mapping of Tensor to Buffer, optional
        Buffers to use for some tensors.

    Returns
    -------
    PrimFunc
        The statement over buffers.
    """
    parameters = Parameters(args, binds or {}, {})
    return parameters.function(_ToBuffers(parameters.buffers, {}, {}).visit(body), "main")


class Parameters:
    """The parameters of a function, and the buffers of the tensors among them.

    Parameters
    ----------
    args : sequence of Tensor, Buffer or Var
        The parameters, as the user gives them.
    binds : mapping of Tensor to Buffer
        Buffers to use for some tensors.
    current : mapping of Tensor to Tensor
        What is computed in place of the user's tensors.
    """

    def __init__(self, args: Sequence[Argument], binds: Binds, current: Mapping[Tensor, Tensor]) -> None:
        self.buffers: dict[Tensor, Buffer] = {current.get(t, t): buffer for t, buffer in binds.items()}
        self.buffer_map: dict[Var, Buffer] = {}
        self.params: list[Var] = []
        for arg in args:
            if isinstance(arg, (Tensor, Buffer)):
                handle = Var(arg.name, "handle")
                self.buffer_map[handle] = arg if isinstance(arg, Buffer) else self._buffer(arg, current.get(arg, arg))
                self.params.append(handle)
            elif isinstance(arg, Var):
                self.params.append(arg)
            else:
                raise ArgumentError(f"lower: args must be tensors, buffers or variables, got {show(arg)}")
        if len(set(map(id, self.buffer_map.values()))) < len(self.buffer_map):
            raise ArgumentError("lower: each tensor must be given once in args")

    def _buffer(self, given: Tensor, tensor: Tensor) -> Buffer:
        if tensor not in self.buffers:
            with derived_from(given.span):
                self.buffers[tensor] = decl_buffer(given.shape, given.dtype, given.name)
        return self.buffers[tensor]

    def function(self, body: Stmt, name: str) -> PrimFunc:
        """Return a function with these parameters."""
        attrs = {"global_symbol": name, FROM_SCHEDULE: True}
        return PrimFunc(tuple(self.params), body, self.buffer_map, attrs)


class _ToBuffers(ThreadMerger):
    """Puts buffers in the place of tensors: those of the parameters, and one for each tensor that is realized."""

    def __init__(self, buffers: Binds, names: Mapping[Tensor, str], aliases: Mapping[Tensor, Tensor]) -> None:
        super().__init__(aliases)
        self._buffers = dict(buffers)
        self._names = names

    def _buffer(self, tensor: Tensor) -> Buffer:
        buffer = self._buffers.get(self._tensor(tensor))
        if buffer is None:
            raise LoweringError(f"lower: placeholder {tensor.name!r} is read, and must be among args")
        return buffer

    def _declare(self, tensor: Tensor, scope: str) -> Buffer:
        if tensor not in self._buffers:
            name = self._names.get(tensor, tensor.name)
            with derived_from(tensor.op.span):
                data = Var(name, "handle", PointerType(PrimType(tensor.dtype), scope))
                self._buffers[tensor] = decl_buffer(tensor.shape, tensor.dtype, name, data)
        return self._buffers[tensor]

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        return BufferLoad(self._buffer(n.producer), self._visit_tuple(n.indices))

    def visit_ProducerStore(self, n: ProducerStore) -> Stmt:
        return BufferStore(self._buffer(n.producer), self.visit(n.value), self._visit_tuple(n.indices))

    def visit_ProducerRealize(self, n: ProducerRealize) -> Stmt:
        buffer = self._declare(n.producer, n.storage_scope)
        return BufferRealize(buffer, n.bounds, n.condition, self.visit(n.body))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if isinstance(n.node, Tensor):
            # Outside of the scope of a realized tensor: the alignment of its rows.
            buffer = self._declare(n.node, _scope_of(n))
            return AttrStmt(buffer, n.attr_key, n.value, self.visit(n.body))
        if n.attr_key == "buffer_bind_scope":
            placeholder, tensor = n.node
            return AttrStmt((placeholder, self._buffer(tensor)), n.attr_key, self.visit(n.value), self.visit(n.body))
        return super().visit_AttrStmt(n)


def _scope_of(n: AttrStmt) -> str:
    """Return the storage scope of the tensor that an attribute is about."""
    body = n.body
    while isinstance(body, AttrStmt) and isinstance(body.node, Tensor):
        body = body.body
    return body.storage_scope if isinstance(body, ProducerRealize) and body.producer is n.node else "global"
