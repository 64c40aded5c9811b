"""Products whose sums stay in registers by blocks: tiles of x86's AMX, and two by two of AArch64."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import IterVar
from compiler.target.target import Target
from compiler.te import ComputeOp, Stage
from compiler.tir.statements.stmt import TILE_PRODUCT
from compiler.topi.nn.product_sums import TILE_ROWS, fills_tiles, has_matrices, has_tiles
from compiler.topi.schedules.kit import divisor, even_tile, extent
from compiler.topi.tag import Tag

_REGISTERS = 8
_STORED = (Tag.PAD, Tag.PANELS)
_STEPS = {"bfloat16": ("float32", 2), "int8": ("int32", 4)}


def multiplies_tiles(anchor: ComputeOp, target: Target) -> bool:
    """Return whether a target computes a sum of products in tiles, the last axis of whose reduction is of groups."""
    kind, groups = _grouped(anchor)
    return has_tiles(target, kind) and fills_tiles(groups)


def multiplies_matrices(anchor: ComputeOp, target: Target) -> bool:
    """Return whether a target computes a sum of products by two rows and two columns at once, by two groups."""
    kind, groups = _grouped(anchor)
    is_signed = anchor.input_tensors[-1].dtype != "uint8"
    rows = extent(anchor.axis[-2]) if len(anchor.axis) > 1 else 1
    return is_signed and has_matrices(target, kind) and groups % 2 == 0 and rows is not None and rows > 1


def _grouped(anchor: ComputeOp) -> tuple[str, int]:
    """Return what is multiplied in groups that stand side by side in the weight, and how many there are; else none."""
    if any(isinstance(t.op, ComputeOp) and t.op.tag not in _STORED for t in anchor.input_tensors):
        return "", 1  # steps before the sum are computed with it
    dtypes = {t.dtype for t in anchor.input_tensors}
    kind = "bfloat16" if dtypes == {"bfloat16"} else "int8" if dtypes <= {"int8", "uint8"} else ""
    sums = (anchor.output(0).dtype, getattr(anchor.input_tensors[-1].shape[-1], "value", None))
    groups = extent(anchor.reduce_axis[-1])
    return (kind, groups) if kind and sums == _STEPS[kind] and groups is not None else ("", 1)


def tile_shape(rows: int, blocks: int | None, halves: int = 1) -> tuple[int, int]:
    """Return how many rows, and how many of ``blocks`` of ``halves`` times 16 columns, the registers hold at once.

    They are eight: for sums, for data, and one for weights.
    """
    # Sums of two tiles of rows by four of columns would be all of them.
    height = even_tile(rows, TILE_ROWS if halves > 2 else 2 * TILE_ROWS)
    parts = -(-height // TILE_ROWS)
    most = (_REGISTERS - parts - 1) // (parts * halves)
    return height, divisor(blocks, most)


def in_tiles(stage: Stage, rows: IterVar, lanes: IterVar, few_groups: Sequence[int] = range(1, TILE_ROWS + 1)) -> None:
    """Let code generation compute a stage in blocks, ``rows`` by other axes of columns, ``lanes`` the last one.

    The loops are left as they are written, for processors without them; the last has the most of ``few_groups``
    iterations that the sum is divided by.
    """
    *outer, last = stage.op.reduce_axis
    many, few = stage.split(last, factor=max(n for n in few_groups if (extent(last) or 1) % n == 0))
    others = [axis for axis in stage.leaf_iter_vars if axis not in (*outer, many, few, rows, lanes)]
    stage.reorder(*outer, many, *others, rows, lanes, few)
    stage.pragma((*outer, many)[0], TILE_PRODUCT.removeprefix("pragma_"))
