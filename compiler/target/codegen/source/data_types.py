"""Refusing functions that compute with data types which their language or device lacks."""

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
from compiler.tir.buffer import Buffer, BufferLoad
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import BufferStore

__all__ = ["require_data_types", "require_stored_types"]

_STORED_AS_BITS = frozenset({"bfloat16", "e4m3_float8", "e5m2_float8"})
"""Data types that lowering stores as integers, where nothing tells any more what they were."""


def require_data_types(language: Language, func: PrimFunc) -> None:
    """Check that a language has the data types of a function's values and memory, and the device those it may lack.

    Parameters
    ----------
    language : Language
    func : PrimFunc
        Its attribute ``target`` says with ``supports_float16=0`` that the device has no half precision.

    Raises
    ------
    BuildError
        The message names what has the type, the line of the program, and the type to use instead.
    """
    missing = _missing(language, func)
    _DataTypes(language, func, missing, lambda element: element not in language.types or element in missing).require_of(
        func
    )


def require_stored_types(language: Language, module: IRModule) -> None:
    """Check that a language can store the data types of functions that are lowered to integers on the way to it.

    Parameters
    ----------
    language : Language
    module : IRModule
        Functions in which these types have not been lowered.

    Raises
    ------
    BuildError
        The message names what has the type, the line of the program, and the type to use instead.
    """
    refused = _STORED_AS_BITS.intersection(language.missing)
    for func in module.functions.values():
        if refused and isinstance(func, PrimFunc):
            _DataTypes(language, func, language.missing, refused.__contains__).visit(func.body)


def _missing(language: Language, func: PrimFunc) -> dict[str, str]:
    """Return what to use in place of data types that the language, or the function's device, lacks."""
    target = func.attrs.get("target")
    if target is None or target.attrs.get("supports_float16", True):
        return dict(language.missing)
    return {**language.missing, "float16": "its option supports_float16 is 0: compute in float32"}


def _pointed_to(buffer: Buffer) -> str:
    """Return the data type that a buffer's pointer is declared with: loads of bool say the bytes that hold them."""
    kind = buffer.data.type_annotation
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType) and kind.element_type.dtype:
        return dt.element(kind.element_type.dtype)
    return dt.element(buffer.dtype)


class _DataTypes(DataTypeUses):
    """Refuses what is of a data type that is refused, and says what to use in place of those that are missing."""

    def __init__(
        self, language: Language, func: PrimFunc, missing: Mapping[str, str], refused: Callable[[str], bool]
    ) -> None:
        self._language = language
        self._missing = missing
        self._refused = refused
        self._unstored = language.device.unstored if language.device else {}
        self._params = set(func.params)

    def require(self, dtype: str, what: str, n: Node) -> None:
        """Reject a data type of something that a node has."""
        element = dt.element(dtype)
        if element == "handle" or not self._refused(element):
            return
        raise BuildError(
            f"build: target {self._language.name!r} has no values of type {element}, which {what}{user_place(n.span)} "
            f"has{cure(element, self._missing)}"
        )

    def buffer(self, buffer: Buffer, n: BufferLoad | BufferStore) -> None:
        """Reject memory that is passed to a kernel, where the device stores no elements of this type."""
        element = _pointed_to(buffer)
        if buffer.data in self._params and element in self._unstored:
            raise BuildError(
                f"build: target {self._language.name!r} has no memory of type {element}, which {buffer.name}"
                f"{user_place(n.span)} is of; {self._unstored[element]}"
            )
        super().buffer(buffer, n)
