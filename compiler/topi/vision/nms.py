"""Non-maximum suppression, and filtering boxes by score."""

from __future__ import annotations

from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var, convert
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.sorting import argsort
from compiler.topi.compute import by_loops, compute
from compiler.topi.operands import Index, dims
from compiler.topi.tag import Tag
from compiler.topi.vision.compaction import compacted, row_or

__all__ = ["SuppressionSpec", "get_valid_counts", "non_max_suppression", "suppress"]

ABSENT, KEPT, SUPPRESSED = 0, 1, 2
"""What becomes of a box: it is behind those that count, it is kept, or it overlaps a better one."""


def get_valid_counts(
    data: Tensor, score_threshold: Tensor | float = 0.0, id_index: int = 0, score_index: int = 1
) -> list[Tensor]:
    """Return how many boxes have a score above a threshold, these boxes, and their indices; -1 stands behind them.

    Boxes are ``(N, boxes, columns)``; ``id_index`` is the column of the class, which must not be negative, or none.
    """
    batch, boxes, _ = dims(data)

    def passes(b: PrimExpr, row: PrimExpr) -> PrimExpr:
        least = score_threshold() if isinstance(score_threshold, Tensor) else convert(score_threshold)
        scored = data(b, row, score_index) > least.astype(data.dtype)
        if id_index < 0:
            return scored
        return te.all(scored, data(b, row, id_index) >= tir.const(0, data.dtype))

    count, sources = compacted(batch, boxes, passes)
    return [count, row_or(data, sources, -1, "valid_boxes"), sources]


@dataclass(frozen=True, slots=True)
class SuppressionSpec:
    """The attributes of a suppression of boxes, as of :func:`non_max_suppression`."""

    force: bool
    top_k: int
    coord_start: int
    score_index: int
    id_index: int
    to_bottom: bool


def suppressed_states(
    data: Tensor, order: Tensor, valid_count: Tensor, limit: Tensor, overlap: Tensor, spec: SuppressionSpec
) -> Tensor:
    """Return what becomes of each box, absent, kept or suppressed, in the order of their scores.

    ``order``, ``(N, boxes)``, are the boxes, the best one first; at most ``limit`` are kept, or all if it is negative;
    ``overlap`` is the share of their union that two boxes may have in common.
    """
    batch, boxes, _ = dims(data)

    def loops(ib: IRBuilder, *memory: BufferVar) -> None:
        box, place, count, most, share, state = memory
        with ib.for_range(0, batch, "b", kind="parallel") as b:
            kept = ib.allocate("int32", (1,), name="kept", scope="local")
            kept[0] = tir.const(0, "int32")
            last = ib.let("last", _looked_at(count[b], spec.top_k))
            with ib.for_range(0, boxes, "j") as j:
                state[b, j] = tir.const(ABSENT, "int32")
                here = place[b, j]
                open_place = tir.any(most[()] < 0, kept[0] < most[()])
                with ib.if_scope(tir.all(j < last, open_place)):
                    state[b, j] = tir.const(KEPT, "int32")
                    with ib.for_range(0, j, "k") as k:
                        other = place[b, k]
                        rivals = [state[b, k].equal(KEPT)]
                        if not spec.force and spec.id_index >= 0:
                            rivals.append(box[b, here, spec.id_index].equal(box[b, other, spec.id_index]))
                        with ib.if_scope(tir.all(*rivals)):
                            common = shared_area(_edges(box, b, here, spec), _edges(box, b, other, spec))
                            with ib.if_scope(common >= share[()]):
                                state[b, j] = tir.const(SUPPRESSED, "int32")
                    with ib.if_scope(state[b, j].equal(KEPT)):
                        kept[0] = kept[0] + 1

    return by_loops([data, order, valid_count, limit, overlap], [((batch, boxes), "int32")], loops, "state")[0]


def _looked_at(count: PrimExpr, top_k: int) -> PrimExpr:
    return tir.min(count, tir.const(top_k, "int32")) if top_k > 0 else count


def _edges(box: BufferVar, b: Index, row: Index, spec: SuppressionSpec) -> list[PrimExpr]:
    return [box[b, row, spec.coord_start + d] for d in range(4)]


def shared_area(a: list[PrimExpr], b: list[PrimExpr]) -> PrimExpr:
    """Return the area that two boxes share, divided by the area of both together; 0 if that is not positive."""
    zero = tir.const(0, a[0].dtype)
    shared, area_a, area_b = tir.const(1, zero.dtype), tir.const(1, zero.dtype), tir.const(1, zero.dtype)
    for d in range(2):
        low_a, high_a = tir.min(a[d], a[d + 2]), tir.max(a[d], a[d + 2])
        low_b, high_b = tir.min(b[d], b[d + 2]), tir.max(b[d], b[d + 2])
        shared = shared * tir.max(tir.min(high_a, high_b) - tir.max(low_a, low_b), zero)
        area_a = area_a * (high_a - low_a)
        area_b = area_b * (high_b - low_b)
    union = area_a + area_b - shared
    return tir.Select(union > zero, shared / union, zero)


def non_max_suppression(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: Tensor | int = -1,
    iou_threshold: Tensor | float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
) -> list[Tensor] | Tensor:
    """Return the best of boxes that overlap, ``(N, boxes, columns)``.

    The results are the names of the boxes that are kept, ``(N, boxes)``, and their number, ``(N, 1)``, or with
    ``return_indices=False`` the boxes, in the order of their scores.

    Parameters
    ----------
    valid_count : Tensor
        ``(N,)`` of type int32: how many boxes there are.
    indices : Tensor
        ``(N, boxes)``: what each box is called in the result.
    max_output_size : Tensor or int
        How many boxes are kept at most, all if it is negative; a tensor has no dimensions.
    iou_threshold : Tensor or float
        Share of their union that two boxes may have in common; a tensor has no dimensions.
    force_suppress : bool
        Whether boxes of different classes suppress each other.
    top_k : int
        How many of the best boxes are looked at; all if it is not positive.
    coord_start : int
        Column of the first of the four coordinates, left, top, right and bottom.
    id_index : int
        Column of the class; none if it is negative.
    invalid_to_bottom : bool
        Whether boxes that are not kept go behind those that are.
    """
    spec = SuppressionSpec(force_suppress, top_k, coord_start, score_index, id_index, invalid_to_bottom)
    limit = _scalar(max_output_size, "int32", "max_output_size")
    overlap = _scalar(iou_threshold, data.dtype, "iou_threshold")
    made = suppress(data, valid_count, indices, limit, overlap, spec, return_indices)
    return made if return_indices else made[0]


def _scalar(value: Tensor | float, dtype: str, name: str) -> Tensor:
    """Return a number as a tensor without dimensions."""
    return value if isinstance(value, Tensor) else compute((), lambda: tir.const(value, dtype), name, Tag.INJECTIVE)


def suppress(
    data: Tensor,
    valid_count: Tensor,
    indices: Tensor,
    max_output_size: Tensor,
    iou_threshold: Tensor,
    spec: SuppressionSpec,
    return_indices: bool,
) -> list[Tensor]:
    """Return the best of boxes that overlap, as :func:`non_max_suppression` does, whose limits are tensors."""
    batch, boxes, _ = dims(data)
    lowest = tir.min_value(data.dtype)

    def score(b: Var, row: Var) -> PrimExpr:
        return tir.Select(row < valid_count(b), data(b, row, spec.score_index), lowest)

    scores = compute((batch, boxes), score, name="score", tag=Tag.STAGED)
    order = argsort(scores, axis=1, is_ascend=False, dtype="int32")
    state = suppressed_states(data, order, valid_count, max_output_size, iou_threshold, spec)
    count, places = compacted(batch, boxes, lambda b, j: state(b, j).equal(KEPT))
    if return_indices:
        kept = compute((batch, 1), lambda b, _: count(b), name="kept", tag=Tag.INJECTIVE)
        return [_names(indices, order, places), kept]
    sorted_boxes = _marked(data, order, state)
    return [row_or(sorted_boxes, places, -1, "boxes") if spec.to_bottom else sorted_boxes]


def _names(indices: Tensor, order: Tensor, places: Tensor) -> Tensor:
    def element(b: Var, row: Var) -> PrimExpr:
        place = places(b, row)
        name = indices(b, order(b, te.max(place, 0))).astype("int32")
        return te.if_then_else(place >= 0, name, tir.const(-1, "int32"))

    return compute(places.shape, element, name="names", tag=Tag.INJECTIVE)


def _marked(data: Tensor, order: Tensor, state: Tensor) -> Tensor:
    """Return the boxes in order; all columns of those that are not kept are -1."""
    none = tir.const(-1, data.dtype)

    def element(b: Var, row: Var, column: Var) -> PrimExpr:
        return te.if_then_else(state(b, row).equal(KEPT), data(b, order(b, row), column), none)

    return compute(data.shape, element, name="sorted_boxes", tag=Tag.INJECTIVE)
