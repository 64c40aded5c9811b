"""Lowers a schedule to a PrimFunc over buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, LoweringError, show
from compiler.ir.expr.primexpr import PrimExpr, ProducerLoad, Range, Var, const
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext, register_config_option
from compiler.ir.types import PointerType, PrimType
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.bounds import infer_bound
from compiler.te.scheduling.ops import StatementBuilder, ThreadMerger
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import FROM_SCHEDULE, PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import AttrStmt, BufferStore, Stmt


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalLayout:
    """The layout of a tensor, or of the region of it that exists at a time."""

    index_maps: tuple[IndexMap, ...]
    """What is applied to the indices, one map after another."""
    axis_separators: tuple[int, ...]
    """Before which dimensions of the buffer separators stand."""
    begin: tuple[PrimExpr, ...] = ()
    """The first index of the region in each dimension of the tensor, in elements; empty if it is zero."""

    def shape(self, shape: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return the shape of the buffer of a tensor, or region, of ``shape``."""
        dims = tuple(shape)
        for index_map in self.index_maps:
            dims = index_map.map_shape(dims)
        return dims

    def indices(self, indices: Sequence[PrimExpr], analyzer: Analyzer) -> tuple[PrimExpr, ...]:
        """Return where in the buffer an element of the tensor lies."""
        place = tuple(indices)
        if self.begin:
            place = tuple([index - first for index, first in zip(place, self.begin, strict=True)])
        for index_map in self.index_maps:
            place = index_map.map_indices(place, analyzer)
        return place

    def of_region(
        self, name: str, region: Sequence[Range], shape: Sequence[PrimExpr], analyzer: Analyzer
    ) -> PhysicalLayout:
        """Return the layout of a region of a tensor, whose indices count from where it begins.

        Over the tensor's shape the maps are one to one.
        """
        for bound, dim in zip(region, shape, strict=True):
            if not analyzer.can_prove(bound.extent <= dim):
                raise LoweringError(
                    f"transform_layout: a region of {bound.extent} elements of {name!r} is stored, and the layout is "
                    f"defined for {dim}"
                )
        return PhysicalLayout(self.index_maps, self.axis_separators, tuple([bound.min for bound in region]))


KEEP_TRIVIAL_LOOPS = "tir.debug_keep_trivial_loop"
"""The option of pass contexts that keeps loops of one iteration."""
register_config_option(KEEP_TRIVIAL_LOOPS, (bool, int))

Argument: TypeAlias = Tensor | Buffer | Var
"""A parameter of a function, as the user gives it."""
Binds: TypeAlias = Mapping[Tensor, Buffer]
"""Buffers that stand for tensors."""
Exprs: TypeAlias = tuple[PrimExpr, ...]
Layouts: TypeAlias = Mapping[Tensor, PhysicalLayout]
"""The layouts of the buffers of some tensors."""


def schedule_to_prim_func(
    schedule: Schedule, args: Sequence[Argument], name: str = "main", binds: Binds | None = None
) -> PrimFunc:
    """Return the loops that a schedule describes, over buffers with as many dimensions as their tensors.

    ``BufferRealize`` says which part of a buffer exists where.
    """
    normalized = schedule.normalize()
    bounds = infer_bound(normalized)
    current = {s.origin_op.output(i): t for s in normalized.stages for i, t in enumerate(s.op.outputs)}
    layouts = _layouts(normalized)
    parameters = Parameters(args, binds or {}, current, layouts)
    names = {new: old.name for old, new in current.items()}
    keep = bool(PassContext.current().config.get(KEEP_TRIVIAL_LOOPS))
    builder = StatementBuilder(normalized, bounds, set(parameters.buffers), keep_trivial_loops=keep)
    body = builder.body()
    to_buffers = _ToBuffers(parameters.buffers, names, builder.aliases, layouts, bounds.analyzer)
    return parameters.function(to_buffers.visit(body), name)


def _layouts(schedule: Schedule) -> dict[Tensor, PhysicalLayout]:
    """Return the layouts of the tensors that ``transform_layout`` was applied to."""
    return {
        tensor: PhysicalLayout(stage.layout_transforms, stage.axis_separators)
        for stage in schedule.stages
        if stage.layout_transforms
        for tensor in stage.op.outputs
    }


def statement_to_prim_func(args: Sequence[Argument], body: Stmt, binds: Binds | None = None) -> PrimFunc:
    """Return a function whose body is a statement over tensors."""
    parameters = Parameters(args, binds or {}, {}, {})
    return parameters.function(_ToBuffers(parameters.buffers, {}, {}, {}, Analyzer()).visit(body), "main")


class Parameters:
    """The parameters of a function, the buffers of the tensors among them, and layouts that differ from theirs."""

    def __init__(
        self, args: Sequence[Argument], binds: Binds, current: Mapping[Tensor, Tensor], layouts: Layouts
    ) -> None:
        self._layouts = layouts
        self.buffers: dict[Tensor, Buffer] = {current.get(t, t): buffer for t, buffer in binds.items()}
        for tensor in self.buffers:
            if tensor in layouts:
                raise LoweringError(
                    f"transform_layout: the layout of {tensor.name!r} is transformed, so binds may not have a"
                    f" buffer for it"
                )
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
                layout = self._layouts.get(tensor)
                if layout is None:
                    self.buffers[tensor] = decl_buffer(given.shape, given.dtype, given.name)
                else:
                    shape, separators = layout.shape(given.shape), layout.axis_separators
                    self.buffers[tensor] = decl_buffer(shape, given.dtype, given.name, axis_separators=separators)
        return self.buffers[tensor]

    def function(self, body: Stmt, name: str) -> PrimFunc:
        """Return a function with these parameters."""
        attrs = {"global_symbol": name, FROM_SCHEDULE: True}
        return PrimFunc(tuple(self.params), body, buffer_map=self.buffer_map, attrs=attrs)


class _ToBuffers(ThreadMerger):
    """Replaces tensors by buffers: those of the parameters, and one for each realized tensor."""

    def __init__(
        self,
        buffers: Binds,
        names: Mapping[Tensor, str],
        aliases: Mapping[Tensor, Tensor],
        layouts: Layouts,
        analyzer: Analyzer,
    ) -> None:
        super().__init__(aliases)
        self._buffers = dict(buffers)
        self._names = names
        self._layouts = dict(layouts)
        self._analyzer = analyzer
        for tensor in layouts:
            if self._tensor(tensor) is not tensor:
                self._refuse_layout(tensor, "is computed into the buffer of another stage")

    def _buffer(self, tensor: Tensor) -> Buffer:
        buffer = self._buffers.get(self._tensor(tensor))
        if buffer is None:
            raise LoweringError(f"lower: placeholder {tensor.name!r} is read and must be among args")
        return buffer

    def _declare(self, tensor: Tensor, scope: str, shape: Exprs, axis_separators: tuple[int, ...] = ()) -> Buffer:
        if tensor not in self._buffers:
            name = self._names.get(tensor, tensor.name)
            with derived_from(tensor.op.span):
                data = Var(name, "handle", PointerType(PrimType(tensor.dtype), scope))
                self._buffers[tensor] = decl_buffer(shape, tensor.dtype, name, data, axis_separators=axis_separators)
        return self._buffers[tensor]

    def _refuse_layout(self, tensor: Tensor, reason: str) -> NoReturn:
        name = self._names.get(tensor, tensor.name)
        raise LoweringError(f"transform_layout: the layout of {name!r} cannot be transformed: it {reason}")

    def _indices(self, tensor: Tensor, indices: Exprs) -> Exprs:
        visited: Exprs = self._visit_tuple(indices)
        layout = self._layouts.get(self._tensor(tensor))
        return visited if layout is None else layout.indices(visited, self._analyzer)

    def visit_ProducerLoad(self, n: ProducerLoad) -> PrimExpr:
        return BufferLoad(self._buffer(n.producer), self._indices(n.producer, n.indices))

    def visit_ProducerStore(self, n: ProducerStore) -> Stmt:
        return BufferStore(self._buffer(n.producer), self.visit(n.value), self._indices(n.producer, n.indices))

    def visit_ProducerRealize(self, n: ProducerRealize) -> Stmt:
        layout = self._layouts.get(n.producer)
        if layout is not None:
            return self._realize_transformed(n, layout)
        buffer = self._declare(n.producer, n.storage_scope, n.producer.shape)
        return BufferRealize(buffer, n.bounds, n.condition, self.visit(n.body))

    def _realize_transformed(self, n: ProducerRealize, layout: PhysicalLayout) -> Stmt:
        """Return the realization of a buffer that is as large as the region in its layout."""
        tensor = n.producer
        if tensor not in self._buffers:
            name = self._names.get(tensor, tensor.name)
            layout = layout.of_region(name, n.bounds, tensor.shape, self._analyzer)
            self._layouts[tensor] = layout
            shape = layout.shape([bound.extent for bound in n.bounds])
            self._declare(tensor, n.storage_scope, shape, layout.axis_separators)
        buffer = self._buffers[tensor]
        bounds = tuple([Range.from_fields(const(0, dim.dtype), dim) for dim in buffer.shape])
        return BufferRealize(buffer, bounds, n.condition, self.visit(n.body))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if isinstance(n.node, Tensor):
            if n.attr_key != "double_buffer_scope" and self._tensor(n.node) in self._layouts:
                self._refuse_layout(n.node, f"has the attribute {n.attr_key!r}")
            # Outside of the scope of a realized tensor: the alignment of its rows.
            buffer = self._declare(n.node, _scope_of(n), n.node.shape)
            return AttrStmt(buffer, n.attr_key, n.value, self.visit(n.body))
        if n.attr_key == "buffer_bind_scope":
            placeholder, tensor = n.node
            if self._tensor(tensor) in self._layouts:
                self._refuse_layout(tensor, f"an operation accesses as buffer {placeholder.name!r}")
            return AttrStmt((placeholder, self._buffer(tensor)), n.attr_key, self.visit(n.value), self.visit(n.body))
        return super().visit_AttrStmt(n)


def _scope_of(n: AttrStmt) -> str:
    """Return the storage scope of the tensor that an attribute is about."""
    body = n.body
    while isinstance(body, AttrStmt) and isinstance(body.node, Tensor):
        body = body.body
    return body.storage_scope if isinstance(body, ProducerRealize) and body.producer is n.node else "global"
