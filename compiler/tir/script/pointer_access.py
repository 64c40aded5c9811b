"""Pointer accesses of older releases: ``T.load("float32", A.data, i)``, ``A.data[i]``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence

from compiler.ir import dtype as dt
from compiler.ir.error import show
from compiler.ir.expr.primexpr import Broadcast, Call, PrimExpr, Var, cast, const, convert, is_const_int
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.script import expression_words
from compiler.tir.script.expressions import Expressions
from compiler.tir.script.operators import Value
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import IfThenElse

__all__ = ["PointerAccess"]


class PointerAccess(Expressions):
    """Reads accesses through pointers: elements of flat views of the memory, one for each pointer and type."""

    def begin_pointers(self) -> None:
        """Forget the memory of the function before."""
        self.buffer_of_pointer: dict[Var, Buffer] = {}
        self._views: dict[tuple[Var, str], Buffer] = {}
        self._extents: dict[Var, tuple[PrimExpr, ...]] = {}

    def declare_memory(self, pointer: object, extents: tuple[PrimExpr, ...]) -> None:
        """Note how much memory a pointer points to."""
        if isinstance(pointer, Var) and extents:
            self._extents[pointer] = extents

    def declare_buffer(self, buffer: Buffer) -> None:
        """Note a buffer, so that it is known by its pointer."""
        self.buffer_of_pointer.setdefault(buffer.data, buffer)

    def is_view(self, buffer: Buffer) -> bool:
        """Return whether a buffer is a view of memory that was made for accesses through its pointer."""
        return any(buffer is view for view in self._views.values())

    def behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, dtype: str | None) -> BufferLoad:
        """Return the element that a pointer and an index stand for."""
        if not isinstance(pointer, Var):
            raise self.source.error(n, f"expected a pointer, such as A.data, got {show(pointer)}")
        if pointer.dtype != "handle":
            raise self.source.error(n, f"{pointer.name!r} is not a pointer but a variable of {pointer.dtype}")
        return BufferLoad(self._view(n, pointer, dtype), (index,))

    def stored_behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, value: PrimExpr) -> BufferLoad:
        """Return the element that a store to a pointer changes: of the type of the value where the pointer has none."""
        typed = isinstance(pointer.type_annotation, PointerType) or pointer in self.buffer_of_pointer
        return self.behind_pointer(n, pointer, index, None if typed else dt.element(value.dtype))

    def _view(self, n: ast.AST, pointer: Var, dtype: str | None) -> Buffer:
        """Return the flat view of what a pointer points to: the buffer itself where that is flat."""
        kind = pointer.type_annotation
        pointee = kind.element_type if isinstance(kind, PointerType) else None
        element = dtype or (dt.element(pointee.dtype) if isinstance(pointee, PrimType) else None)
        if element is None:
            what = f"{pointer.name!r} is a pointer to elements of unknown type"
            raise self.source.error(n, f"{what}: declare `T.Buffer(…, data={pointer.name})`")
        declared = self.buffer_of_pointer.get(pointer)
        if declared is not None and declared.dtype == element and _is_flat(declared):
            return declared
        view = self._views.get((pointer, element))
        if view is None:
            size: PrimExpr = const(1)
            for dim in self._extents.get(pointer, ()) if declared is None else declared.shape:
                size = dim if is_const_int(size, 1) else size * dim
            view = self._views[pointer, element] = decl_buffer((size,), element, pointer.name, data=pointer)
        return view

    def pointer_access(
        self, n: ast.AST, word: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
    ) -> Value:
        """Return what ``T.load`` or ``T.store`` mean."""
        bound = inspect.signature(word).bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        index, condition = convert(given["index"]), convert(given["predicate"])
        if isinstance(condition, Broadcast):
            condition = condition.value
        always = is_const_int(condition) and not is_const_int(condition, 0)
        if word is expression_words.load:
            element = self.behind_pointer(n, given["var"], index, dt.element(given["dtype"]))
            zero = const(0, element.dtype)
            return element if always else Call(element.dtype, IF_THEN_ELSE, (condition, element, zero))
        value = convert(given["value"])
        target = self.stored_behind_pointer(n, given["var"], index, value)
        store = BufferStore(target.buffer, cast(target.dtype, value), target.indices)
        return store if always else IfThenElse(condition, store)


def _is_flat(buffer: Buffer) -> bool:
    return len(buffer.shape) == 1 and not buffer.strides and is_const_int(buffer.elem_offset, 0)
