"""Values in a few words: shape and dtype of a tensor, extent of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from app.recorder.hints.assignments import Place
from app.recorder.scripts.frames import script_frame
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr
from compiler.ir.origin import locate
from compiler.runtime.arrays.ndarray import NDArray
from compiler.te.definition.tensor import Tensor
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.buffer import Buffer

MAX_CALLS = 2_000
"""Calls whose values are noted; a search makes many."""
MAX_ELEMENTS = 8
"""Elements of a tuple that are told."""

Texts = tuple[str, ...]
"""What is told of each of some values; empty for one of which nothing is."""


class CallValues:
    """What calls of the script gave, by their places; nothing where calls of one place gave different things."""

    def __init__(self) -> None:
        self._texts: dict[Place, Texts | None] = {}

    def note(self, place: Place, texts: Texts) -> None:
        """Note what a call gave."""
        if place in self._texts or len(self._texts) < MAX_CALLS:
            known = self._texts.setdefault(place, texts)
            self._texts[place] = texts if known == texts else None

    def note_loops(self, schedule: Schedule, primitive: str, results: Iterable[object]) -> None:
        """Note the extents of loops as a primitive returns them: they may be gone later."""
        texts = tuple(_meaning_text(schedule.meaning(rv)) for rv in results)
        frame = script_frame() if any(texts) else None
        if frame is not None:
            at = locate(frame)
            self.note(Place(at.end_line, at.end_column, primitive), texts)

    def of(self, place: Place | None) -> Texts:
        """Return what the calls of a place gave; empty if nothing is known of them."""
        return (self._texts.get(place) or ()) if place is not None else ()


def _meaning_text(meaning: StmtSRef | int | None) -> str:
    if isinstance(meaning, int):
        return str(meaning)
    return (
        _number_text(meaning.loop.extent)
        if meaning is not None and meaning.stmt is not None and not meaning.is_block
        else ""
    )


def value_texts(value: object, extents: Mapping[IterVar, PrimExpr]) -> Texts:
    """Return what is told of a value, of each element of a tuple."""
    if type(value) is tuple:
        return tuple(value_text(element, extents) for element in value[:MAX_ELEMENTS])
    return (value_text(value, extents),)


def value_text(value: object, extents: Mapping[IterVar, PrimExpr]) -> str:
    """Return ``(64, 64) float32``, the extent of an axis, or nothing.

    The classes are exact: one of the script's may run anything when it is asked.
    """
    kind = type(value)
    if kind in (Tensor, Buffer, NDArray, np.ndarray):
        return array_text(value.shape, value.dtype)  # type: ignore[attr-defined]
    if kind is IterVar and isinstance(value, IterVar):
        extent = extents.get(value, value.dom.extent if value.dom is not None else None)
        return "" if extent is None else _number_text(extent)
    return ""


def array_text(shape: Iterable[object], dtype: object) -> str:
    """Return a shape and a dtype, as drawings of graphs tell types."""
    return f"({', '.join(map(_number_text, shape))}) {dtype}"


def _number_text(number: object) -> str:
    return str(number.value if isinstance(number, IntImm) else number)
