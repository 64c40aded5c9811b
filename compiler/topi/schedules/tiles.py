"""Products whose sums stay in tile registers: x86's AMX."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar
from compiler.target.target import Target
from compiler.te import ComputeOp, Stage
from compiler.tir.statements.stmt import TILE_PRODUCT
from compiler.topi.nn.product_sums import TILE_ROWS, fills_tiles, has_tiles
from compiler.topi.schedules.kit import divisor, even_tile, extent
from compiler.topi.tag import Tag

_REGISTERS = 8
_STORED = (Tag.PAD, Tag.PANELS)
_STEPS = {"bfloat16": ("float32", 2), "int8": ("int32", 4)}


def multiplies_tiles(anchor: ComputeOp, target: Target) -> bool:
    """Return whether a target computes a sum of products in tiles, the last axis of whose reduction is of groups."""
    if any(isinstance(t.op, ComputeOp) and t.op.tag not in _STORED for t in anchor.input_tensors):
        return False  # steps before the sum are computed with it
    dtypes = {t.dtype for t in anchor.input_tensors}
    kind = "bfloat16" if dtypes == {"bfloat16"} else "int8" if dtypes <= {"int8", "uint8"} else ""
    if not has_tiles(target, kind) or anchor.output(0).dtype != _STEPS[kind][0]:
        return False
    weight = anchor.input_tensors[-1].shape[-1]
    groups = extent(anchor.reduce_axis[-1])
    is_grouped = getattr(weight, "value", None) == _STEPS[kind][1]
    return is_grouped and groups is not None and fills_tiles(groups)


def tile_shape(rows: int, blocks: int | None, halves: int = 1) -> tuple[int, int]:
    """Return how many rows, and how many of ``blocks`` of ``halves`` times 16 columns, the registers hold at once.

    They are eight: for sums, for data, and one for weights.
    """
    # Sums of two tiles of rows by four of columns would be all of them.
    height = even_tile(rows, TILE_ROWS if halves > 2 else 2 * TILE_ROWS)
    parts = -(-height // TILE_ROWS)
    most = (_REGISTERS - parts - 1) // (parts * halves)
    return height, divisor(blocks, most)


def in_tiles(stage: Stage, rows: IterVar, lanes: IterVar) -> None:
    """Let code generation compute a stage in tile registers, ``rows`` by other axes of columns, ``lanes`` the last one.

    The loops are left as they are written, for processors without them.
    """
    *outer, last = stage.op.reduce_axis
    many, few = stage.split(last, factor=divisor(extent(last), TILE_ROWS))
    others = [axis for axis in stage.leaf_iter_vars if axis not in (*outer, many, few, rows, lanes)]
    stage.reorder(*outer, many, *others, rows, lanes, few)
    stage.pragma((*outer, many)[0], TILE_PRODUCT.removeprefix("pragma_"))
