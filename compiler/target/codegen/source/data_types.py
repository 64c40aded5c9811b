"""Checks that a language and its device support the data types of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.origin import user_place
from compiler.ir.types import PointerType, PrimType
from compiler.target.codegen.cures import cure
from compiler.target.codegen.data_type_uses import DataTypeUses
from compiler.target.codegen.source.language import Language
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore

_STORED_AS_BITS = frozenset({"bfloat16", "e4m3_float8", "e5m2_float8"})
"""Data types that lowering converts to integers, after which they can no longer be recognised."""


def require_data_types(language: Language, func: PrimFunc) -> None:
    """Check that a language and its device support the data types of a function's values and memory.

    A device without half precision has ``supports_float16=0`` in the function's attribute ``target``.
    """
    missing = _missing(language, func)
    _DataTypes(language, func, missing, lambda element: element not in language.types or element in missing).require_of(
        func
    )


def require_stored_types(language: Language, module: IRModule) -> None:
    """Check that a language can store the data types that lowering converts to integers."""
    refused = _STORED_AS_BITS.intersection(language.missing)
    for func in module.functions.values():
        if refused and isinstance(func, PrimFunc):
            _DataTypes(language, func, language.missing, refused.__contains__).visit(func.body)


def _missing(language: Language, func: PrimFunc) -> dict[str, str]:
    """Return suggestions for the data types that the language or the function's device lacks."""
    target = func.attrs.get("target")
    if target is None or target.attrs.get("supports_float16", True):
        return dict(language.missing)
    return {**language.missing, "float16": "its option supports_float16 is 0: compute in float32"}


def _pointed_to(buffer: Buffer) -> str:
    """Return the element type with which a buffer's pointer is declared: bool is stored in bytes."""
    kind = buffer.data.type_annotation
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType) and kind.element_type.dtype:
        return dt.element(kind.element_type.dtype)
    return dt.element(buffer.dtype)


class _DataTypes(DataTypeUses):
    """Raises errors for unsupported data types, with suggestions for missing ones."""

    def __init__(
        self, language: Language, func: PrimFunc, missing: Mapping[str, str], refused: Callable[[str], bool]
    ) -> None:
        self._language = language
        self._missing = missing
        self._refused = refused
        self._unstored = language.device.unstored if language.device else {}
        self._params = set(func.params)

    def require(self, dtype: str, what: str, n: Node) -> None:
        element = dt.element(dtype)
        if element == "handle" or not self._refused(element):
            return
        raise BuildError(
            f"build: target {self._language.name!r} has no values of type {element}, which {what}{user_place(n.span)} "
            f"has{cure(element, self._missing)}"
        )

    def buffer(self, buffer: Buffer, n: BufferLoad | BufferStore) -> None:
        """Check that the device can store the element type of a buffer that is passed to a kernel."""
        element = _pointed_to(buffer)
        if buffer.data in self._params and element in self._unstored:
            raise BuildError(
                f"build: target {self._language.name!r} has no memory of type {element}, which {buffer.name}"
                f"{user_place(n.span)} is of; {self._unstored[element]}"
            )
        super().buffer(buffer, n)
