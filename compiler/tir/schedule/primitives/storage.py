"""Storage primitives: alignment, scope and data type."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, PrimExpr, cast
from compiler.ir.node import rebuild
from compiler.tir.schedule.buffers import ReplaceBuffers, renamed_buffer
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import buffer_of
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.cache import BufferIndex
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, rewritten
from compiler.tir.statements.block import ALIGNMENTS
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import BufferStore, Stmt


@primitive("StorageAlign", block=BLOCK)
def storage_align(
    state: ScheduleState, block: StmtSRef, buffer_index: int, axis: int, factor: int, offset: int
) -> None:
    """Let the rows of a buffer be apart by ``factor * k + offset`` elements, against conflicts of memory banks.

    For example ``sch.storage_align("B", 0, axis=0, factor=128, offset=127)``::

        with T.block("B"):       →       with T.block("B"):
            …                                T.block_attr({"buffer_dim_align": [[0, 0, 128, 127]]})

    A negative ``axis`` counts from after the last dimension; the factor is positive. Raises ScheduleError if the buffer
    is not allocated by a block, or a number is out of range.
    """
    buffer = buffer_of(block, buffer_index, "write")
    _allocating_block(block, buffer)
    if factor <= 0:
        refuse(
            f"The input factor {factor} of the storage_align on block {{0}} is expected to be a positive number.", block
        )
    count = len(buffer.shape)
    if not -count <= axis < count:
        refuse(
            f"The write buffer {buffer.name} of the block {{0}} has {count} dimensions, so axis must be in "
            f"[{-count}, {count}), got {axis}",
            block,
        )
    entry = [buffer_index, axis % count, factor, offset]
    given = _alignments(block)
    entries = [entry if list(e[:2]) == entry[:2] else list(e) for e in given]
    if entry not in entries:
        entries.append(entry)
    new = rewritten(block.block, annotations={**block.block.annotations, ALIGNMENTS: entries})
    state.replace(block, new, {block.block: new})


def _alignments(block: StmtSRef) -> list[Sequence[int]]:
    given = block.block.annotations.get(ALIGNMENTS, ())
    entries: list[Sequence[int]] = []
    for entry in given:
        numbers = [_number(item) for item in entry] if isinstance(entry, (list, tuple)) else []
        if len(numbers) != 4 or None in numbers:
            refuse(
                "The block annotation for storage align of block {0} is expected to be an array of 4-integer-tuples "
                f"(buffer_index, axis, factor, offset), got {given}",
                block,
            )
        entries.append([number for number in numbers if number is not None])
    return entries


def _number(value: object) -> int | None:
    if isinstance(value, IntImm):
        return value.value
    return value if isinstance(value, int) else None


def _allocating_block(block: StmtSRef, buffer: Buffer) -> StmtSRef:
    blocks = (around for around in ancestors(block) if around.is_block)
    home = next((around for around in blocks if any(buffer is other for other in around.block.alloc_buffers)), None)
    if home is None:
        refuse(
            f"The buffer {buffer.name} is not allocated by a block. This means the buffer is either a function "
            "parameter or defined in `match_buffer` of a block.",
            block,
        )
    return home


@primitive("SetScope", block=BLOCK, buffer_index=BufferIndex("write"))
def set_scope(state: ScheduleState, block: StmtSRef, buffer_index: int, storage_scope: str) -> None:
    """Let a buffer lie in other memory.

    For example ``sch.set_scope("B", 0, "shared")``::

        B = T.alloc_buffer((128,))       →       B_shared = T.alloc_buffer((128,), scope="shared")

    Raises ScheduleError if the buffer is not allocated by a block.
    """
    buffer = buffer_of(block, buffer_index, "write")
    home = _allocating_block(block, buffer)
    if buffer.storage_scope != storage_scope:
        replacement = renamed_buffer(buffer, f"{buffer.name}_{storage_scope}", storage_scope)
        _replace_buffer(state, home, ReplaceBuffers({buffer: rebuild(replacement, strides=buffer.strides)}))


@primitive("UnsafeSetDType", block=BLOCK, buffer_index=BufferIndex("write"))
def unsafe_set_dtype(state: ScheduleState, block: StmtSRef, buffer_index: int, dtype: str) -> None:
    """Let the elements of a buffer be of another data type; values are converted, and may lose precision.

    For example ``sch.unsafe_set_dtype("B", 0, "float16")``::

        B = T.alloc_buffer((128,), "float32")       →       B = T.alloc_buffer((128,), "float16")
        B[vi] = A[vi] * 2.0                                 B[vi] = T.Cast("float16", A[vi] * 2.0)

    Raises ScheduleError if the buffer is not allocated by a block.
    """
    dt.parse(dtype)
    buffer = buffer_of(block, buffer_index, "write")
    home = _allocating_block(block, buffer)
    if buffer.dtype != dtype:
        typed = renamed_buffer(rebuild(buffer, dtype=dtype), buffer.name, buffer.storage_scope)
        _replace_buffer(state, home, _ChangeType(buffer, typed))


def _replace_buffer(state: ScheduleState, home: StmtSRef, replace: ReplaceBuffers) -> None:
    new = replace.visit(home.block)
    state.replace(home, new, replace.reuse)


class _ChangeType(ReplaceBuffers):
    """Replaces a buffer by one of another data type, with conversions where it is accessed."""

    def __init__(self, old: Buffer, new: Buffer) -> None:
        ReplaceBuffers.__init__(self, {old: new})
        self._old = old

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        new = ReplaceBuffers.visit_BufferLoad(self, n)
        return cast(n.dtype, new) if n.buffer is self._old else new

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value = self.visit(n.value)
        if n.buffer is self._old:
            value = cast(self._replaced(n.buffer).dtype, value)
        return self._accessed(n, value=value, indices=self._visit_tuple(n.indices))
