"""What each primitive does with parallel, vectorized, unrolled, bound and annotated loops, and with ``T.init``.

:data:`LOOP_KINDS` has a row for every primitive that changes programs; one without a row cannot be registered.  Loops
and refusals are made from the rows: :func:`check_loop` rejects a loop, :func:`loop_like` makes one in place of another.

Classic TVM does the same but for these: its ``decompose_reduction`` leaves the annotations out of the loops that set
initial values; its ``loop_partition`` sets initial values in the first part only, even where an element begins in
another one; and after a step it does not ask again whether the iterations of a parallel, vectorized or bound loop are
independent (:mod:`~compiler.tir.schedule.facts.concurrent_loops`), which here rejects the step if they are no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.node import rebuild
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.stmt import For, ForKind, Stmt


class Effect(Enum):
    """What becomes of something a loop is."""

    KEPT = "the loop keeps it"
    COPIED = "the loop keeps it, and loops made after it for a block of their own have it as well"
    SERIAL = "the loops in its place are serial"
    REPLACED = "another kind takes its place"
    REFUSED = "the loop is rejected"


class Init(Enum):
    """What becomes of ``T.init`` of a block."""

    KEPT = "the block keeps it"
    MOVED = "another block has it"
    COPIED = "a block made after it has it as well"
    BEGINS = "a part that begins all its elements keeps it; elsewhere it is a condition, or left out if none begins"
    REFUSED = "a block with it is rejected"


@dataclass(frozen=True, slots=True)
class LoopEffects:
    """What becomes of each of the things that a loop can be, besides serial."""

    parallel: Effect
    vectorized: Effect
    unrolled: Effect
    bound: Effect
    annotated: Effect

    @classmethod
    def all(cls, effect: Effect) -> LoopEffects:
        """Return the same effect for everything."""
        return cls(effect, effect, effect, effect, effect)

    def of(self, loop: For) -> Effect:
        """Return what becomes of a loop; one that is refused for any reason is refused."""
        by_kind = {
            ForKind.PARALLEL: self.parallel,
            ForKind.VECTORIZED: self.vectorized,
            ForKind.UNROLLED: self.unrolled,
            ForKind.THREAD_BINDING: self.bound,
        }
        if loop.annotations and self.annotated is Effect.REFUSED:
            return Effect.REFUSED
        return by_kind.get(loop.kind, self.annotated if loop.annotations else Effect.KEPT)


@dataclass(frozen=True, slots=True)
class LoopRow:
    """What a primitive does with loops."""

    given: LoopEffects  # for the loops that it is called with, or is to work at
    own: LoopEffects  # for other loops around the block that it works on, inside of a given loop where there is one
    init: Init = Init.KEPT


_KEPT = LoopEffects.all(Effect.KEPT)
_COPIED = LoopEffects.all(Effect.COPIED)
_SERIAL = LoopEffects.all(Effect.SERIAL)
_REBUILT = LoopEffects(Effect.SERIAL, Effect.SERIAL, Effect.SERIAL, Effect.REFUSED, Effect.REFUSED)
_KIND = LoopEffects(Effect.REPLACED, Effect.REPLACED, Effect.REPLACED, Effect.REPLACED, Effect.KEPT)
_REDUCED = LoopEffects(Effect.REFUSED, Effect.REFUSED, Effect.REFUSED, Effect.REFUSED, Effect.COPIED)
_DESCRIBED = LoopEffects(Effect.REFUSED, Effect.REFUSED, Effect.REFUSED, Effect.REFUSED, Effect.SERIAL)
"""The loops of a description are serial, and the intrinsic's own take their place."""
_IN_ORDER = LoopEffects(Effect.REFUSED, Effect.REFUSED, Effect.KEPT, Effect.REFUSED, Effect.KEPT)
_UNTOUCHED = LoopRow(_KEPT, _KEPT)

LOOP_KINDS: Mapping[str, LoopRow] = {
    # loops
    "split": LoopRow(_REBUILT, _KEPT),
    "fuse": LoopRow(_REBUILT, _KEPT),
    "merge": LoopRow(_REBUILT, _REBUILT),
    "loop_partition": LoopRow(_REBUILT, _COPIED, Init.BEGINS),
    "reorder": _UNTOUCHED,
    "add_unit_loop": _UNTOUCHED,
    "parallel": LoopRow(_KIND, _KEPT),
    "vectorize": LoopRow(_KIND, _KEPT),
    "unroll": LoopRow(_KIND, _KEPT),
    "bind": LoopRow(_KIND, _KEPT),
    # blocks that move
    "compute_at": LoopRow(_KEPT, _SERIAL),
    "reverse_compute_at": LoopRow(_KEPT, _SERIAL),
    "compute_inline": LoopRow(_KEPT, _SERIAL, Init.REFUSED),
    "reverse_compute_inline": LoopRow(_KEPT, _SERIAL, Init.REFUSED),
    # blocks that are divided
    "blockize": LoopRow(_COPIED, _COPIED, Init.MOVED),
    "tensorize": LoopRow(_DESCRIBED, _KEPT, Init.MOVED),
    "decompose_reduction": LoopRow(_COPIED, _COPIED, Init.MOVED),
    "decompose_padding": LoopRow(_COPIED, _COPIED, Init.REFUSED),
    "rfactor": LoopRow(_REDUCED, _COPIED, Init.COPIED),
    # copies and layouts, which get serial loops of their own
    "cache_read": _UNTOUCHED,
    "cache_write": _UNTOUCHED,
    "cache_inplace": _UNTOUCHED,
    "cache_index": _UNTOUCHED,
    "read_at": _UNTOUCHED,
    "write_at": _UNTOUCHED,
    "reindex": _UNTOUCHED,
    "reindex_cache_read": _UNTOUCHED,
    "reindex_cache_write": _UNTOUCHED,
    "transform_layout": _UNTOUCHED,
    "transform_block_layout": LoopRow(_SERIAL, _SERIAL),
    "set_axis_separator": _UNTOUCHED,
    "pad_einsum": _UNTOUCHED,
    "strassen": LoopRow(_REBUILT, _REBUILT),
    "winograd": LoopRow(_REBUILT, _REBUILT),
    "rolling_buffer": LoopRow(_IN_ORDER, _KEPT),
    # marks and memory
    "annotate": _UNTOUCHED,
    "unannotate": _UNTOUCHED,
    "annotate_buffer_access": _UNTOUCHED,
    "reorder_block_iter_var": _UNTOUCHED,
    "unsafe_hide_buffer_access": _UNTOUCHED,
    "storage_align": _UNTOUCHED,
    "set_scope": _UNTOUCHED,
    "unsafe_set_dtype": _UNTOUCHED,
    "enter_postproc": _UNTOUCHED,
}
"""What each primitive does with loops, by its name; those that change no program have no row."""


def check_loop(primitive: str, sref: StmtSRef) -> None:
    """Reject a loop that a primitive does not take, for its kind or its annotations."""
    loop = sref.loop
    if LOOP_KINDS[primitive].given.of(loop) is not Effect.REFUSED:
        return
    if loop.thread_binding is not None or loop.kind == ForKind.SERIAL:
        what = f"thread binding {loop.thread_binding.thread_tag}" if loop.thread_binding is not None else "annotation "
        what += ", ".join(loop.annotations) if loop.thread_binding is None else ""
        refuse(
            f"The primitive can't be applied because the loop {{0}} has annotation or thread binding: it has {what}",
            loop,
        )
    kind = loop.kind.name.lower()
    refuse(f"The loop {{0}} must be serial, but it is {kind}", loop)


def loop_like(primitive: str, old: For, var: Var, bounds: tuple[PrimExpr, PrimExpr], body: Stmt) -> For:
    """Return the loop that a primitive makes in place of one that it was called with."""
    effect = LOOP_KINDS[primitive].given.of(old)
    assert effect is not Effect.REFUSED, f"{primitive} rejects the loop {old.loop_var.name!r}"
    if effect is Effect.SERIAL:
        return For(var, *bounds, ForKind.SERIAL, body)
    return rebuild(old, loop_var=var, min=bounds[0], extent=bounds[1], body=body)


def loop_again(primitive: str, old: For, var: Var, body: Stmt) -> For:
    """Return the loop that a primitive makes after one around its block, for a block of its own."""
    if LOOP_KINDS[primitive].own.of(old) is Effect.COPIED:
        return rebuild(old, loop_var=var, body=body)
    return For(var, old.min, old.extent, ForKind.SERIAL, body)
