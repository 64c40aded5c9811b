"""Scans: tensors computed step by step along the first dimension, each step from earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.arith import Analyzer, IntSet, union
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.coercion import is_const_int
from compiler.ir.expr.primexpr import (
    Call,
    DataProducer,
    IntImm,
    IterVar,
    Max,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    Var,
    const,
)
from compiler.ir.functor import nodes_of, operands_first
from compiler.ir.node import node
from compiler.ir.origin import derived_from, mint_source
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tag import current_tag
from compiler.te.definition.tensor import Operation, Tensor
from compiler.tir.expressions.builtin import IF_THEN_ELSE

if TYPE_CHECKING:
    from compiler.arith.int_set import IntervalSet
    from compiler.te.definition.tensor import Region

Tensors = Tensor | Sequence[Tensor]


@node
class ScanOp(Operation):
    """Computes its outputs step by step along their first dimension; made by :func:`scan`.

    Attributes
    ----------
    scan_axis : IterVar
        The steps; it begins after the initial elements.
    spatial_axis_ : tuple of IterVar
        One for each dimension of each output but the first.
    update : tuple of Tensor
        What computes the elements of a step.
    state_placeholder : tuple of Tensor
        Stand for the outputs in what computes a step.
    inputs : tuple of Tensor
        Where the body begins, beside the state.
    """

    scan_axis: IterVar
    spatial_axis_: tuple[IterVar, ...]
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state_placeholder: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]

    def __post_init__(self) -> None:
        self._set_outputs([(t.shape, t.dtype) for t in self.state_placeholder])

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self.init + self.update

    @property
    def root_iter_vars(self) -> tuple[IterVar, ...]:
        return (self.scan_axis, *self.spatial_axis_)

    @property
    def expressions(self) -> tuple[PrimExpr, ...]:
        return tuple(extent for t in self.outputs for extent in t.shape)

    def with_inputs(self, mapping: Mapping[Tensor, Tensor]) -> ScanOp:
        init, update, inputs = (tuple(mapping.get(t, t) for t in ts) for ts in (self.init, self.update, self.inputs))
        with derived_from(self.span):
            return ScanOp(
                self.name,
                self.tag,
                self.attrs,
                self.scan_axis,
                self.spatial_axis_,
                init,
                update,
                self.state_placeholder,
                inputs,
            )

    def spatial_axes(self, index: int) -> tuple[IterVar, ...]:
        """Return the axes of an output but the first one."""
        begin = sum(t.ndim - 1 for t in self.update[:index])
        return self.spatial_axis_[begin : begin + self.update[index].ndim - 1]

    def regions_read(self, producer: Operation, sets: Mapping[Var, IntervalSet], analyzer: Analyzer) -> list[Region]:
        regions: list[Region] = []
        for i, (init, update) in enumerate(zip(self.init, self.update, strict=True)):
            rest = [sets[axis.var] for axis in self.spatial_axes(i)]
            if init.op is producer:
                regions.append((init, [IntSet.from_range(Range(0, init.shape[0])), *rest]))
            if update.op is producer:
                regions.append((update, [sets[self.scan_axis.var], *rest]))
        return regions

    def domains_for(self, regions: list[Region], analyzer: Analyzer) -> dict[IterVar, Range]:
        steps = domain(self.scan_axis)
        needed = union([region[0] for _, region in regions], analyzer).cover_range(
            Range.from_min_extent(0, self.outputs[0].shape[0]), analyzer
        )
        # The initial elements are computed even where fewer are needed.
        count = analyzer.simplify(Max(needed.min + needed.extent - steps.min, const(0, steps.min.dtype)))
        domains = {self.scan_axis: Range.from_min_extent(steps.min, count)}
        fixed = fixed_axes(self) if len(self.update) == 1 else {}
        for i in range(len(self.update)):
            for d, axis in enumerate(self.spatial_axes(i), 1):
                domains[axis] = domain(axis)
                if fixed.get(axis):
                    read = union([region[d] for t, region in regions if t.value_index == i], analyzer)
                    domains[axis] = read.cover_range(domain(axis), analyzer)
        return domains

    def realized(self, index: int, domains: Mapping[IterVar, Range]) -> tuple[Range, ...]:
        steps = domains[self.scan_axis]
        time = Range.from_min_extent(0, steps.min + steps.extent)
        return (time, *(domains[axis] for axis in self.spatial_axes(index)))

    def __repr__(self) -> str:
        return f"scan({self.name}, {hex(id(self))})"

    __str__ = __repr__


def scan(
    init: Tensors,
    update: Tensors,
    state_placeholder: Tensors,
    inputs: Tensors | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Any:
    """Declare a tensor, or a list of them, whose elements along the first dimension are computed from those before.

    Parameters
    ----------
    init : Tensor or sequence of Tensor
        The initial elements: along the first dimension as many as ``init`` has.
    update : Tensor or sequence of Tensor
        What computes each further element, from elements of the state before it.
    state_placeholder : Tensor or sequence of Tensor
        Placeholders that stand for the result in ``update``.
    inputs : Tensor or sequence of Tensor, optional
        Where the operations that a step carries out begin; other operations between them and ``update`` are part of
        a step then, although they do not read the state.

    Examples
    --------
    >>> X = te.placeholder((m, n), name="X")
    >>> state = te.placeholder((m, n))
    >>> init = te.compute((1, n), lambda _, i: X[0, i])
    >>> update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
    >>> sums = te.scan(init, update, state, inputs=[X])
    """
    inits, updates, states, begins = (
        _listed(t) for t in (init, update, state_placeholder, [] if inputs is None else inputs)
    )
    _check(inits, updates, states)
    with derived_from(mint_source(f"{name} = scan")):
        begin = inits[0].shape[0]
        steps = Range.from_min_extent(begin, Analyzer().simplify(updates[0].shape[0] - begin))
        axis = IterVar(steps, Var(f"{name}.idx", begin.dtype), IterVar.Ordered)
        spatial = tuple(
            IterVar(Range(0, extent), Var(f"{name}.out{i}.i{d}", extent.dtype), IterVar.DimInfo)
            for i, t in enumerate(updates)
            for d, extent in enumerate(t.shape[1:], 1)
        )
        kind = current_tag("scan", tag)
        op = ScanOp(name, kind, dict(attrs or {}), axis, spatial, inits, updates, states, begins)
    return list(op.outputs) if len(op.outputs) > 1 else op.output(0)


def _listed(tensors: Tensors) -> tuple[Tensor, ...]:
    listed = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    for t in listed:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"scan: expected tensors, got {show(t)}")
    return listed


def _check(init: Sequence[Tensor], update: Sequence[Tensor], state: Sequence[Tensor]) -> None:
    if not init or not len(init) == len(update) == len(state):
        raise ArgumentError(
            f"scan: init, update and state_placeholder must have the same number of tensors, got {len(init)},"
            f" {len(update)} and "
            f"{len(state)}"
        )
    for first, step, placeholder in zip(init, update, state, strict=True):
        if isinstance(first.op, PlaceholderOp) or isinstance(step.op, PlaceholderOp):
            raise ArgumentError("scan: init and update must be computed, got a placeholder; copy it with te.compute")
        if not isinstance(placeholder.op, PlaceholderOp):
            raise ArgumentError(f"scan: state_placeholder must be placeholders, got {placeholder.name!r}")
        if not first.dtype == step.dtype == placeholder.dtype:
            raise ArgumentError(
                f"scan: init, update and state must have the same data type, got {first.dtype}, {step.dtype} and "
                f"{placeholder.dtype}"
            )
        if not first.ndim == step.ndim == placeholder.ndim >= 1:
            raise ArgumentError(
                f"scan: init, update and state must have the same dimensions, got {first.ndim}, {step.ndim} and "
                f"{placeholder.ndim}"
            )
        for d, extents in enumerate(zip(first.shape, step.shape, placeholder.shape, strict=True)):
            # Of the first dimension, the initial elements are a part.
            one, *others = extents[1:] if d == 0 else extents
            for extent in others:
                if not Analyzer().can_prove_equal(one, extent):
                    raise ArgumentError(
                        f"scan: dimension {d} must have the same extent everywhere, got {one} and {extent}"
                    )


def scan_body(op: ScanOp) -> list[Operation]:
    """Return the operations that a step carries out, each after what it reads.

    They compute the update, directly or not, from the state or the ``inputs`` of the scan.
    """
    begins = {t.op for t in (*op.state_placeholder, *op.inputs)}
    reaches: dict[Operation, bool] = {}
    for operation in _in_order([t.op for t in op.update], begins):
        reaches[operation] = any(t.op in begins or reaches.get(t.op, False) for t in operation.input_tensors)
    updates = {t.op for t in op.update}
    return [operation for operation, inside in reaches.items() if inside or operation in updates]


def warn_of_reads_outside(operations: Iterable[Operation]) -> None:
    """Warn of the reads of computations that are certain to leave their tensors, each once.

    All operations of a computation are needed: a read of a state is inside where the scan leaves out the steps that
    would read before it.
    """
    order = list(operations)
    first_steps: dict[DataProducer, IterVar] = {
        t: op.scan_axis for op in order if isinstance(op, ScanOp) for t in op.state_placeholder
    }
    for op in order:
        if not isinstance(op, ComputeOp):
            continue
        for read in op.outside:
            steps = first_steps.get(read.tensor)
            if steps is None or read.dimension or not _begins_after(steps, -read.low):
                read.warn()
        object.__setattr__(op, "outside", ())


def _begins_after(steps: IterVar, count: int) -> bool:
    begin = domain(steps).min
    return not isinstance(begin, IntImm) or begin.value >= count


def _in_order(outputs: Sequence[Operation], stop: set[Operation]) -> list[Operation]:
    """Return the operations behind some outputs, each after what it reads, up to those where to stop."""
    return operands_first(
        [op for op in reversed(outputs) if op not in stop],
        lambda op: [t.op for t in reversed(op.input_tensors) if t.op not in stop],
    )


def fixed_axes(op: ScanOp) -> dict[IterVar, bool]:
    """Return for each spatial axis whether a part of the result along it depends on the same part of the state only."""
    links = _AxisLinks(op)
    axes: dict[IterVar, bool] = {}
    for i in range(len(op.update)):
        for d, axis in enumerate(op.spatial_axes(i), 1):
            axes[axis] = links.is_fixed(op.state_placeholder[i], d)
    return axes


_Place = tuple[Tensor, int]
"""A dimension of a tensor."""


def _as_written(index: PrimExpr) -> PrimExpr:
    """Return the index of a read without the guard that :func:`compute` puts around it where an extent may be one."""
    if isinstance(index, Call) and index.op is IF_THEN_ELSE and is_const_int(index.args[1], 0):
        return index.args[2]
    return index


class _AxisLinks:
    """The dimensions of tensors of a scan's body that are read at the same index as they are computed."""

    def __init__(self, op: ScanOp) -> None:
        self._parents: dict[_Place, _Place] = {}
        self._inexact: set[_Place] = set()
        self._states = {(t, d) for t in op.state_placeholder for d in range(1, t.ndim)}
        for operation in scan_body(op):
            if isinstance(operation, ComputeOp):
                for index in range(operation.num_outputs):
                    self._add(operation, operation.output(index))
        for state, update in zip(op.state_placeholder, op.update, strict=True):
            for d in range(1, state.ndim):
                self._link((state, d), (update, d))

    def is_fixed(self, state: Tensor, d: int) -> bool:
        """Return whether a dimension of the state is linked to itself alone, and always by the same index."""
        root = self._find((state, d))
        if any(self._find(place) == root for place in self._inexact):
            return False
        return sum(self._find(place) == root for place in self._states) == 1

    def _find(self, place: _Place) -> _Place:
        while place in self._parents:
            place = self._parents[place]
        return place

    def _link(self, a: _Place, b: _Place) -> None:
        first, second = self._find(a), self._find(b)
        if first != second:
            self._parents[first] = second

    def _add(self, op: ComputeOp, output: Tensor) -> None:
        places = {axis.var: (output, d) for d, axis in enumerate(op.axis)}
        body = op.body[output.value_index]
        for load in nodes_of(body.source[body.value_index] if isinstance(body, Reduce) else body, ProducerLoad):
            for d, index in enumerate(load.indices):
                index = _as_written(index)
                place = places.get(index) if isinstance(index, Var) else None
                if place is not None:
                    self._link(place, (load.producer, d))
                else:
                    self._inexact.add((load.producer, d))
