"""Rewriting the layouts of constants: ``attrs={"layout_free_placeholders": [B]}`` of an operation that reads ``B``.

A new layout has a dimension for each loop of the schedule that runs over one of the tensor's, in the order of the
loops, so that elements lie as they are read.  For a product whose columns are split by 8, with the sum in between::

    for j.0: for i: for k: for j.1: C[…] += A[…] * B[k, j]    →    C[…] += A[…] * packed[j / 8 % 4, k % 32, j % 8]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, ProducerLoad, Var
from compiler.ir.functor import nodes_of
from compiler.ir.origin import derived_from
from compiler.target.target import Target, TargetLike
from compiler.te.definition.compute_body import LoadMutator, map_body
from compiler.te.definition.operation import ComputeOp, compute, placeholder
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.lowering.bounds import infer_bound
from compiler.te.lowering.create_prim_func import LAYOUT_FREE
from compiler.te.relations.relation import Domains
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.stage_state import position
from compiler.tir.expressions.arithmetic import all as all_of
from compiler.tir.expressions.arithmetic import floordiv, floormod
from compiler.tir.expressions.builtin import if_then_else

_NAME = "auto_scheduler_layout_transform"
_MOST_FUSED = 3


class LayoutRewriteOption:
    """What becomes of layout-free placeholders: nothing, a copy is packed, or the parameter itself has to be packed."""

    NO_REWRITE, INSERT_TRANSFORM_STAGE, REWRITE_FOR_PRE_TRANSFORMED = 0, 1, 2

    @staticmethod
    def get_target_default(target: TargetLike, in_relay_integration: bool = False) -> int:
        """Return ``INSERT_TRANSFORM_STAGE`` for processors, ``NO_REWRITE`` for others."""
        if Target(target).kind != "llvm":
            return LayoutRewriteOption.NO_REWRITE
        options = (LayoutRewriteOption.INSERT_TRANSFORM_STAGE, LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED)
        return options[in_relay_integration]


class Digit(NamedTuple):
    """A dimension of a new layout: ``index[of] / stride % extent`` of the old one."""

    of: int
    stride: int
    extent: int


Layout = Sequence[Digit]


def layouts_for(schedule: Schedule) -> dict[Tensor, Layout]:
    """Return the layouts in which layout-free placeholders are read best; none of those that are not read plainly."""
    normal = schedule.normalize()
    domains, found = infer_bound(normal).domains, dict[Tensor, Layout]()
    for stage in normal.stages:
        op = stage.op
        for tensor in op.attrs.get(LAYOUT_FREE, ()) if isinstance(op, ComputeOp) else ():
            readers = [other.op for other in normal.stages if tensor in other.op.input_tensors]
            if op in readers and tensor not in found and all(isinstance(reader, ComputeOp) for reader in readers):
                layout = _layout(stage, tensor, domains)
                found.update({tensor: layout} if layout else {})
    return found


def _layout(stage: Stage, tensor: Tensor, domains: Domains) -> Layout | None:
    shape = [dim.value for dim in tensor.shape if isinstance(dim, IntImm)]
    indices = next(_reads(stage.op, tensor))
    if len(shape) < len(tensor.shape) or not all(isinstance(index, Var) for index in indices):
        return None
    digits: list[Digit] = []
    reached = [1] * len(shape)
    for axis, extent in reversed(_loops(stage, domains)):
        of = next((d for d, index in enumerate(indices) if index is axis.var), None)
        if of is not None:
            digits.insert(0, Digit(of, reached[of], extent))
            reached[of] *= extent
    left = [(d, at, -(-dim // at)) for d, (dim, at) in enumerate(zip(shape, reached, strict=True)) if at < dim]
    return [*(Digit(*each) for each in left), *digits]


def _reads(op: Operation, tensor: Tensor) -> Iterator[Sequence[PrimExpr]]:
    bodies = op.body if isinstance(op, ComputeOp) else ()
    yield from (n.indices for n in nodes_of(bodies, ProducerLoad) if n.producer is tensor)


def _loops(stage: Stage, domains: Domains) -> list[tuple[IterVar, int]]:
    """Return the loops around a stage's elements with constant extents, and which axis of the stage they run over."""
    leaves, meaning = stage.leaf_iter_vars, {axis: axis for axis in stage.op.root_iter_vars}
    made, inner = list[tuple[IterVar, int]](), stage
    while True:
        parts = [part for leaf in leaves for part in _unfused(inner, leaf)]
        rooted = [(meaning.get(_root(inner, part)), domains[part].extent) for part in parts]
        made[:0] = [(axis, n.value) for axis, n in rooted if axis is not None and isinstance(n, IntImm)]
        outer = inner.attach_stage
        if outer is None:
            return made
        leaves = outer.leaf_iter_vars[: position(outer.leaf_iter_vars, inner.attach_ivar) + 1]
        meaning = _seen_from(outer.op, inner.op, meaning)
        inner = outer


def _seen_from(reader: Operation, op: Operation, meaning: Mapping[IterVar, IterVar]) -> dict[IterVar, IterVar]:
    """Return what the axes of a reader mean that indexes an operation by them."""
    places = {axis.var: axis for axis in reader.root_iter_vars}
    pairs = [pair for out in op.outputs for read in _reads(reader, out) for pair in zip(read, op.axis, strict=True)]
    return {places[i]: meaning[axis] for i, axis in pairs if isinstance(i, Var) and i in places and axis in meaning}


def _unfused(stage: Stage, axis: IterVar) -> list[IterVar]:
    """Return the loops that a loop was fused of, or itself."""
    relation = next((r for r in stage.relations if axis in r.children and len(r.parents) > 1), None)
    return [axis] if relation is None else [part for each in relation.parents for part in _unfused(stage, each)]


def _root(stage: Stage, axis: IterVar) -> IterVar:
    """Return the axis that a loop was split from; one that was fused of several belongs to none of them."""
    relation = next((r for r in stage.relations if axis in r.children and len(r.parents) == 1), None)
    return axis if relation is None else _root(stage, relation.parents[0])


def rewritten(
    ops: Sequence[Operation], layouts: Mapping[Tensor, Layout], is_packed_before: bool
) -> tuple[dict[Tensor, Tensor], dict[Tensor, Tensor]]:
    """Return what becomes of the tensors of operations, and the packed ones by those that they were."""
    packed = {
        tensor: placeholder([digit.extent for digit in layout], tensor.dtype, tensor.op.name)
        if is_packed_before
        else _packing(tensor, layout)
        for tensor, layout in layouts.items()
    }
    new: dict[Tensor, Tensor] = dict(packed) if is_packed_before else {}

    def load(tensor: Tensor, indices: tuple[PrimExpr, ...]) -> PrimExpr | None:
        if tensor in packed:
            return ProducerLoad(packed[tensor], tuple(_digit(indices, digit) for digit in layouts[tensor]))
        return ProducerLoad(new[tensor], indices) if tensor in new else None

    for op in ops:
        if isinstance(op, ComputeOp) and any(t in packed or t in new for t in op.input_tensors):
            free = {LAYOUT_FREE: [packed.get(t, t) for t in op.attrs[LAYOUT_FREE]]} if LAYOUT_FREE in op.attrs else {}
            with derived_from(op.span):
                body = map_body(op.body, LoadMutator(load).visit)
                made: Operation = ComputeOp(op.name, op.tag, DictAttrs(op.attrs, **free), op.axes, body)
        else:
            made = op.with_inputs(new) if any(t in new for t in op.input_tensors) else op
        new.update((a, b) for a, b in zip(op.outputs, made.outputs, strict=True) if a is not b and a not in packed)
    return new, packed


def _digit(indices: Sequence[PrimExpr], digit: Digit) -> PrimExpr:
    return floormod(floordiv(indices[digit.of], digit.stride), digit.extent)


def _packing(tensor: Tensor, layout: Layout) -> Tensor:
    """Return a copy of a tensor in a layout; zero where that has more elements."""

    def element(*indices: Var) -> PrimExpr:
        parts = zip(indices, layout, strict=True)
        terms = [(digit.of, index * digit.stride) for index, digit in parts]
        old = [sum((term for of, term in terms if of == d), IntImm("int32", 0)) for d in range(len(tensor.shape))]
        sizes = [math.prod(digit.extent for digit in layout if digit.of == d) for d in range(len(old))]
        shape = [dim for dim in tensor.shape if isinstance(dim, IntImm)]
        inside = [at < dim for at, dim, size in zip(old, shape, sizes, strict=True) if size > dim.value]
        value = tensor(*old)
        return if_then_else(all_of(*inside), value, 0) if inside else value

    names = [f"ax{n}" for n in range(len(layout))]
    made = compute([digit.extent for digit in layout], element, _NAME, varargs_names=names)
    assert isinstance(made, Tensor)
    return made


def spread(stage: Stage) -> None:
    """Let a stage that packs run in parallel."""
    fused = stage.op.axis[: min(-(-len(stage.op.axis) // 2), _MOST_FUSED)]
    stage.parallel(stage.fuse(*fused) if len(fused) > 1 else fused[0])
