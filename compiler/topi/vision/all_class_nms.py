"""``vision.all_class_non_max_suppression``: the best boxes of each class.

The boxes whose score counts are a binary heap, from which the best one is taken until enough are kept: only as many are
put in order as are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import tir
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.compute import by_loops
from compiler.topi.operands import Extent, Index, dims
from compiler.topi.vision.nms import shared_area

__all__ = ["all_class_non_max_suppression"]


def all_class_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_boxes_per_class: Tensor,
    iou_threshold: Tensor,
    score_threshold: Tensor,
    output_format: str = "onnx",
) -> list[Tensor]:
    """Choose for each image and class the boxes with the best scores that do not overlap.

    Boxes are two opposite corners, ``(N, B, 4)``, their scores ``(N, classes, B)``. At most so many are chosen, or all
    if the number is negative; two may have ``iou_threshold`` of their union in common; scores must exceed a threshold.

    The rows of the result, of int64, are for ``onnx`` (image, class, box), ``(N * classes * B, 3)``, with zeros after
    the last one, and how many there are, ``(1,)``; for ``tensorflow`` (class, box) of each image, ``(N, classes * B,
    2)``, their scores, and how many there are, ``(N,)``.
    """
    if output_format not in ("onnx", "tensorflow"):
        expected("all_class_non_max_suppression", "output_format", "'onnx' or 'tensorflow'", output_format)
    chosen, counts = _choices(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold)
    return _listed(chosen, counts) if output_format == "onnx" else _listed_by_image(chosen, counts, scores)


def _choices(boxes: Tensor, scores: Tensor, limit: Tensor, overlap: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """Return the chosen boxes of each class, best first, ``(N, classes, B)``, and their numbers, ``(N, classes)``."""
    batch, classes, count = dims(scores)
    numbers = {t.dtype for t in (boxes, scores, overlap, least)}
    dtype = "float64" if "float64" in numbers else "float32"

    def loops(ib: IRBuilder, *memory: BufferVar) -> None:
        box, score, most, share, lowest, heaps, chosen, counts = memory
        with ib.for_range(0, batch * classes, "task", kind="parallel") as task:
            image, label = task // classes, task % classes
            bound = ib.let("bound", _only(lowest, least).astype(dtype))
            common = ib.let("common", _only(share, overlap).astype(dtype))
            asked = ib.let("asked", _only(most, limit).astype("int64"))
            heap = _Heap(ib, heaps, score, (image, label))
            with ib.for_range(0, count, "j") as j, ib.if_scope(score[image, label, j].astype(dtype) > bound):
                heap.append(j)
            heap.order()
            kept = _number(ib, "kept")
            with ib.while_loop(tir.all(heap.size[0] > 0, tir.any(asked < 0, kept[0].astype("int64") < asked))):
                candidate = ib.let("candidate", heap.take())
                covered, k = _number(ib, "covered"), _number(ib, "k")
                edges = [box[image, candidate, d].astype(dtype) for d in range(4)]
                with ib.while_loop(tir.all(k[0] < kept[0], covered[0].equal(0))):
                    better = ib.let("better", chosen[image, label, k[0]])
                    others = [box[image, better, d].astype(dtype) for d in range(4)]
                    with ib.if_scope(shared_area(edges, others) > common):
                        covered[0] = 1
                    k[0] = k[0] + 1
                with ib.if_scope(covered[0].equal(0)):
                    chosen[image, label, kept[0]] = candidate
                    kept[0] = kept[0] + 1
            counts[image, label] = kept[0]

    results = [((batch, classes, count), "int32"), ((batch, classes, count), "int32"), ((batch, classes), "int32")]
    _, chosen, counts = by_loops([boxes, scores, limit, overlap, least], results, loops, "choices")
    return chosen, counts


class _Heap:
    """The boxes of a class as a heap in a row of memory: the best one first.

    Of equal scores the box that stands first is the better one.
    """

    def __init__(self, ib: IRBuilder, memory: BufferVar, score: BufferVar, row: tuple[Index, Index]) -> None:
        self.size = _number(ib, "size")
        self._ib, self._memory, self._score, self._row = ib, memory, score, row

    def append(self, box: PrimExpr) -> None:
        """Put a box behind the others, whatever its score."""
        self._put(self.size[0], box)
        self.size[0] = self.size[0] + 1

    def order(self) -> None:
        """Make a heap of boxes in any order."""
        half = self._ib.let("half", self.size[0] // 2)
        with self._ib.for_range(0, half, "s") as s:
            self._sift_down(half - 1 - s)

    def take(self) -> PrimExpr:
        """Take the best box away."""
        best = self._ib.let("best", self._at(0))
        self.size[0] = self.size[0] - 1
        self._put(0, self._at(self.size[0]))
        self._sift_down(tir.const(0, "int32"))
        return best

    def _sift_down(self, start: PrimExpr) -> None:
        """Let a box change places with the better one of its children until neither is better than it."""
        ib = self._ib
        place, child = _number(ib, "place", start), _number(ib, "child", 2 * start + 1)
        with ib.while_loop(child[0] < self.size[0]):
            right = child[0] + 1
            with ib.if_scope(right < self.size[0]), ib.if_scope(self._is_better(self._at(right), self._at(child[0]))):
                child[0] = right
            upper, lower = ib.let("upper", self._at(place[0])), ib.let("lower", self._at(child[0]))
            with ib.if_scope(self._is_better(lower, upper)):
                self._put(place[0], lower)
                self._put(child[0], upper)
                place[0] = child[0]
                child[0] = 2 * place[0] + 1
            with ib.else_scope():
                child[0] = self.size[0]

    def _is_better(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        of_a, of_b = (self._score[(*self._row, box)] for box in (a, b))
        return tir.any(of_a > of_b, tir.all(of_a.equal(of_b), a < b))

    def _at(self, place: Index) -> PrimExpr:
        return self._memory[(*self._row, place)]

    def _put(self, place: Index, box: PrimExpr) -> None:
        self._memory[(*self._row, place)] = box


def _number(ib: IRBuilder, name: str, value: PrimExpr | int = 0) -> BufferVar:
    """Return a variable of type int32."""
    variable = ib.allocate("int32", (1,), name=name, scope="local")
    variable[0] = value
    return variable


def _only(values: BufferVar, tensor: Tensor) -> PrimExpr:
    """Return the first element of a tensor."""
    return values[(0,) * len(tensor.shape)]


def _listed(chosen: Tensor, counts: Tensor) -> list[Tensor]:
    batch, classes, count = dims(chosen)

    def loops(ib: IRBuilder, box: BufferVar, number: BufferVar, rows: BufferVar, total: BufferVar) -> None:
        total[0] = tir.const(0, "int64")
        with ib.for_range(0, batch * classes, "task") as task:
            image, label = task // classes, task % classes
            with ib.for_range(0, number[image, label], "k") as k:
                _write_row(rows, (total[0],), (image, label, box[image, label, k]))
                total[0] = total[0] + 1
        _fill(ib, rows, (), total[0], batch * classes * count, 3)

    return by_loops([chosen, counts], [((batch * classes * count, 3), "int64"), ((1,), "int64")], loops, "rows")


def _listed_by_image(chosen: Tensor, counts: Tensor, scores: Tensor) -> list[Tensor]:
    batch, classes, count = dims(chosen)

    def loops(ib: IRBuilder, *memory: BufferVar) -> None:
        box, number, score, rows, values, total = memory
        with ib.for_range(0, batch, "image") as image:
            total[image] = tir.const(0, "int64")
            with ib.for_range(0, classes, "label") as label, ib.for_range(0, number[image, label], "k") as k:
                _write_row(rows, (image, total[image]), (label, box[image, label, k]))
                values[image, total[image]] = score[image, label, box[image, label, k]]
                total[image] = total[image] + 1
            _fill(ib, rows, (image,), total[image], classes * count, 2)
            with ib.for_range(0, classes * count - total[image], "rest") as rest:
                values[image, total[image] + rest] = tir.const(0, scores.dtype)

    room = (batch, classes * count)
    results = [((*room, 2), "int64"), (room, scores.dtype), ((batch,), "int64")]
    return by_loops([chosen, counts, scores], results, loops, "rows")


def _write_row(rows: BufferVar, at: tuple[PrimExpr, ...], values: Sequence[PrimExpr]) -> None:
    for column, value in enumerate(values):
        rows[(*at, column)] = value.astype("int64")


def _fill(
    ib: IRBuilder, rows: BufferVar, image: tuple[PrimExpr, ...], first: PrimExpr, end: Extent, columns: int
) -> None:
    """Write zeros into the rows behind those that are chosen."""
    with ib.for_range(0, end - first, "rest") as rest:
        _write_row(rows, (*image, first + rest), [tir.const(0, "int64")] * columns)
