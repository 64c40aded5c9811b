"""Lowering of schedules: stages to loops over buffers, and a schedule to a PrimFunc."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from compiler.ir.error import ArgumentError, LoweringError, ScheduleError, show
from compiler.ir.functor import Mutator
from compiler.ir.origin import derived_from
from compiler.ir.primexpr import IterVar, PrimExpr, ProducerLoad, Var, const
from compiler.ir.structural import structural_equal
from compiler.ir.substitute import free_vars
from compiler.ir.types import PointerType, PrimType
from compiler.te.bounds import Bounds, attach_path, infer_bound
from compiler.te.loop_nest import ComputeNest
from compiler.te.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.schedule import Schedule
from compiler.te.stage import AttachType, Stage
from compiler.te.storage import storage_scope
from compiler.te.tensor import Tensor
from compiler.tir.buffer import Buffer, BufferLoad, decl_buffer
from compiler.tir.builtin import tvm_tuple
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import THREAD_KEYS, AttrStmt, BufferRealize, BufferStore, Stmt, seq

__all__ = ["Argument", "Binds", "schedule_to_prim_func"]

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
    builder = _Builder(normalized, bounds)
    params, buffer_map = builder.parameters(args, binds or {})
    _check_variables(normalized, params, buffer_map)
    body = builder.body()
    attrs = {"global_symbol": name, "from_legacy_te_schedule": True}
    return PrimFunc(params, body, buffer_map, attrs)


def _check_variables(schedule: Schedule, params: Sequence[Var], buffer_map: Mapping[Var, Buffer]) -> None:
    """Refuse variables that nothing gives a value: parameters and the shapes of arguments do, and a stage's axes."""
    defined = {*params}
    for buffer in buffer_map.values():
        defined.update(free_vars((*buffer.shape, *buffer.strides, buffer.elem_offset)))
    for stage in schedule.stages:
        for var in _variables_used(stage):
            if var not in defined:
                raise LoweringError(
                    f"lower: {stage.op.name!r} uses the variable {var.name!r}, which is neither one of its axes, "
                    "nor among args, nor in the shape of a tensor there; a reduction axis must be reduced over"
                )


def _variables_used(stage: Stage) -> list[Var]:
    """Return the variables that a computation and its schedule use, the axes left out."""
    op = stage.op
    if not isinstance(op, ComputeOp):
        return []
    operands = [e for relation in stage.relations for e in relation.operands.values()]
    axes = {a.var for a in op.root_iter_vars}
    used = free_vars((*op.body, *(domain(a).extent for a in op.root_iter_vars), *operands))
    return [var for var in used if var not in axes]


class _Builder:
    """Builds the statement of a whole schedule from its stages."""

    def __init__(self, schedule: Schedule, bounds: Bounds) -> None:
        self._schedule = schedule
        self._bounds = bounds
        self._buffers: dict[Tensor, Buffer] = {}
        self._arguments: set[Tensor] = set()
        self._attached: dict[IterVar, list[Stage]] = defaultdict(list)
        for stage in schedule.stages:
            if stage.attach_ivar is not None:
                self._attached[stage.attach_ivar].append(stage)

    def parameters(self, args: Sequence[Argument], binds: Binds) -> tuple[tuple[Var, ...], dict[Var, Buffer]]:
        """Give every argument a parameter, and tensors the buffers that they stand for."""
        for tensor, buffer in binds.items():
            self._buffers[self._current(tensor)] = buffer
        params: list[Var] = []
        buffer_map: dict[Var, Buffer] = {}
        for arg in args:
            if isinstance(arg, (Tensor, Buffer)):
                handle = Var(arg.name, "handle")
                buffer_map[handle] = self._argument(arg)
                params.append(handle)
            elif isinstance(arg, Var):
                params.append(arg)
            else:
                raise ArgumentError(f"lower: args must be tensors, buffers or variables, got {show(arg)}")
        if len(set(map(id, buffer_map.values()))) < len(buffer_map):
            raise ArgumentError("lower: each tensor must be given once in args")
        self._arguments = set(self._buffers)
        return tuple(params), buffer_map

    def _argument(self, arg: Tensor | Buffer) -> Buffer:
        if isinstance(arg, Buffer):
            return arg
        tensor = self._current(arg)
        if tensor not in self._buffers:
            with derived_from(arg.span):
                self._buffers[tensor] = decl_buffer(arg.shape, arg.dtype, arg.name)
        return self._buffers[tensor]

    def _current(self, tensor: Tensor) -> Tensor:
        """Return the tensor that the schedule computes in place of the user's; one that is not used stays."""
        stage = self._schedule.find(tensor)
        return tensor if stage is None else stage.op.output(tensor.value_index)

    def buffer(self, tensor: Tensor) -> Buffer:
        """Return the buffer of a tensor, which is an argument or realized around the statement that is built."""
        buffer = self._buffers.get(tensor)
        if buffer is None:
            raise LoweringError(f"lower: placeholder {tensor.name!r} is read, and must be among args")
        return buffer

    def body(self) -> Stmt:
        """Return the statement of all stages, each buffer realized around its producer and its consumers."""
        for stage in self._schedule.stages:
            if not isinstance(stage.op, PlaceholderOp):
                self._declare(stage)
        roots = [s for s in self._schedule.stages if s.attach_type is AttachType.ROOT]
        body: Stmt = _Finish(self.buffer).visit(self._pipelines(reversed(roots), None))
        return body

    def _declare(self, stage: Stage) -> None:
        scope = storage_scope(stage, self._threads_around(stage))
        with derived_from(stage.op.span):
            for t, origin in zip(stage.op.outputs, stage.origin_op.outputs, strict=True):
                if t not in self._buffers:
                    data = Var(origin.name, "handle", PointerType(PrimType(t.dtype), scope))
                    self._buffers[t] = decl_buffer(t.shape, t.dtype, origin.name, data)

    def _threads_around(self, stage: Stage) -> list[IterVar]:
        path = set(attach_path(stage))
        attrs = (item for s in self._schedule.stages for item in s.iter_var_attrs.items())
        return [attr.bind_thread for axis, attr in attrs if axis in path and attr.bind_thread is not None]

    def _pipelines(self, stages: Iterable[Stage], body: Stmt | None) -> Stmt:
        """Put stages before ``body``, the first one nearest to it."""
        for stage in stages:
            if not isinstance(stage.op, PlaceholderOp):
                body = self._pipeline(stage, body)
        return seq([]) if body is None else body

    def _pipeline(self, stage: Stage, consumer: Stmt | None) -> Stmt:
        assert isinstance(stage.op, ComputeOp)
        nest = ComputeNest(
            stage,
            self._bounds.domains,
            self._bounds.analyzer,
            self._with_attached,
            self._store,
            self._load,
            has_room_for_domain=self._arguments.isdisjoint(stage.op.outputs),
        )
        producer = nest.build()
        with derived_from(stage.op.span | stage.place_span):
            if stage.double_buffered:
                for t in stage.op.outputs:
                    producer = AttrStmt(self.buffer(t), "double_buffer_scope", const(1), producer)
            pipeline = producer if consumer is None else seq([producer, consumer])
            for t in reversed(stage.op.outputs):
                pipeline = self._realize(stage, t, pipeline)
        return pipeline

    def _realize(self, stage: Stage, tensor: Tensor, body: Stmt) -> Stmt:
        buffer = self.buffer(tensor)
        region = tuple(self._bounds.domains[a] for a in stage.op.axis)
        body = BufferRealize(buffer, region, const(True), body)
        for d, axis in enumerate(stage.op.axis):
            attr = stage.iter_var_attrs.get(axis)
            if attr is not None and attr.dim_align is not None:
                body = AttrStmt(buffer, "buffer_dim_align", tvm_tuple(d, *attr.dim_align), body)
        return body

    def _with_attached(self, axis: IterVar, body: Stmt) -> Stmt:
        attached = self._attached.get(axis)
        return self._pipelines(reversed(attached), body) if attached else body

    def _store(self, op: ComputeOp, index: int, value: PrimExpr, indices: tuple[PrimExpr, ...]) -> Stmt:
        return BufferStore(self.buffer(op.output(index)), value, indices)

    def _load(self, op: ComputeOp, index: int, indices: tuple[PrimExpr, ...]) -> PrimExpr:
        return BufferLoad(self.buffer(op.output(index)), indices)


class _Finish(Mutator):
    """Reads the buffers of tensors, and names each thread axis once: inner stages share the threads around them."""

    def __init__(self, buffer: Callable[[Tensor], Buffer]) -> None:
        self._buffer = buffer
        self._threads: dict[Var, PrimExpr] = {}

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        return BufferLoad(self._buffer(n.producer), self._visit_tuple(n.indices))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key not in THREAD_KEYS:
            return self.visit_Node(n)  # type: ignore[no-any-return]
        outer = self._threads.get(n.node.var)
        if outer is not None:
            if not structural_equal(outer, n.value):
                raise ScheduleError(
                    f"bind: thread axis {n.node.thread_tag!r} must have one extent, got {outer} and {n.value} inside"
                )
            return self.visit(n.body)  # type: ignore[no-any-return]
        self._threads[n.node.var] = n.value
        result: Stmt = self.visit_Node(n)
        del self._threads[n.node.var]
        return result
