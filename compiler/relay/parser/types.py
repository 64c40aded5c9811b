"""Reads types and the extents in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import Cast, FloorDiv, FloorMod, IntImm, Max, Min, PrimExpr, Var, match_types
from compiler.ir.printing.relay_tokens import DTYPE
from compiler.ir.types import FuncType, Type, TypeVar
from compiler.relay.parser.lexer import Cursor
from compiler.relay.ty import (
    AnyDim,
    Dim,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    scalar_type,
)

_CALLS: dict[str, type] = {"min": Min, "max": Max, "floordiv": FloorDiv, "floormod": FloorMod}


class TypeParser:
    """Reads types."""

    def __init__(self, cursor: Cursor, metadata: Mapping[str, Sequence[Any]] | None = None) -> None:
        self.cursor = cursor
        self._metadata = metadata or {}
        self.global_types: dict[str, GlobalTypeVar] = {}
        self.type_variables: list[dict[str, TypeVar]] = []
        self._dimensions: dict[str, Var] = {}

    def of_metadata(self) -> Any:
        """Read ``meta[kind][index]``, and return the node of the metadata section that it stands for."""
        cursor = self.cursor
        start = cursor.expect("meta")
        cursor.expect("[")
        kind = cursor.expect_kind("name", "the kind of a constant").text
        cursor.expect("]")
        cursor.expect("[")
        index = cursor.expect_whole("the number of a constant")
        cursor.expect("]")
        nodes = self._metadata.get(kind, ())
        if index >= len(nodes):
            has = f"has {len(nodes)} of them" if nodes else "has none: print it with show_meta_data=True"
            cursor.fail(f"expected the value of meta[{kind}][{index}] in the metadata section, which {has}", start)
        return nodes[index]

    def type_parameters(self) -> tuple[TypeVar, ...]:
        """Read ``[A, B]`` if it is there, and open a scope with these variables; :meth:`close_types` closes it."""
        variables: dict[str, TypeVar] = {}
        cursor = self.cursor
        if cursor.accept("["):
            while not cursor.at("]"):
                name = cursor.expect_kind("name", "the name of a type variable").text
                variables[name] = TypeVar(name)
                if not cursor.accept(","):
                    break
            cursor.expect("]")
        self.type_variables.append(variables)
        return tuple(variables.values())

    def close_types(self) -> None:
        """Close the innermost scope of type variables."""
        self.type_variables.pop()

    def type(self) -> Type:
        """Read a type."""
        cursor = self.cursor
        token = cursor.token
        if cursor.at("("):
            return TupleType(tuple(self.types("(", ")")))
        if token.kind != "name":
            cursor.wrong("a type")
        cursor.take()
        match token.text:
            case "Tensor":
                return self._tensor()
            case "fn":
                return self._function()
            case "ref":
                cursor.expect("(")
                value = self.type()
                cursor.expect(")")
                return RefType(value)
            case "_":
                return IncompleteType()
            case name if DTYPE.fullmatch(name):
                return scalar_type(self._dtype(name))
            case name:
                func = self._named(name)
                if cursor.at("[") or isinstance(func, GlobalTypeVar):
                    return TypeCall(func, tuple(self.types("[", "]")) if cursor.at("[") else ())
                return func

    def types(self, first: str, last: str) -> list[Type]:
        """Read types between brackets, with commas."""
        cursor = self.cursor
        cursor.expect(first)
        types: list[Type] = []
        while not cursor.at(last):
            types.append(self.type())
            if not cursor.accept(","):
                break
        cursor.expect(last)
        return types

    def _named(self, name: str) -> Type:
        for scope in reversed(self.type_variables):
            if name in scope:
                return scope[name]
        if name not in self.global_types:
            token = self.cursor.tokens[self.cursor.index - 1]
            self.cursor.fail(f"expected a type, and no type is named {name!r}", token)
        return self.global_types[name]

    def _function(self) -> FuncType:
        params = self.type_parameters()
        args = self.types("(", ")")
        self.cursor.expect("->")
        result = self.type()
        self.close_types()
        return FuncType(tuple(args), result, params)

    def _tensor(self) -> TensorType:
        cursor = self.cursor
        cursor.expect("[")
        cursor.expect("(")
        dims: list[Dim] = []
        while not cursor.at(")"):
            dims.append(self.dimension())
            if not cursor.accept(","):
                break
        cursor.expect(")")
        cursor.expect(",")
        token = cursor.expect_kind("name", "a data type")
        cursor.expect("]")
        try:
            return TensorType(tuple(dims), token.text)
        except TVMError as exc:
            cursor.fail(str(exc), token)

    def _dtype(self, name: str) -> str:
        """Return a data type by its name; without a width it has 32 bits."""
        full = f"{name}32" if name in ("int", "uint", "float") else name
        try:
            dt.parse(full)
        except TVMError as exc:
            self.cursor.fail(str(exc), self.cursor.tokens[self.cursor.index - 1])
        return full

    def dimension(self) -> PrimExpr:
        """Read an extent: a sum of products."""
        extent = self._product()
        while self.cursor.at("+") or self.cursor.at("-"):
            plus = self.cursor.take().text == "+"
            extent = extent + self._product() if plus else extent - self._product()
        return extent

    def _product(self) -> PrimExpr:
        extent = self._factor()
        while self.cursor.accept("*"):
            extent = extent * self._factor()
        return extent

    def _factor(self) -> PrimExpr:
        cursor = self.cursor
        if cursor.accept("?"):
            return AnyDim()
        if cursor.at("meta"):
            extent: PrimExpr = self.of_metadata()
            return extent
        if cursor.accept("("):
            extent = self.dimension()
            cursor.expect(")")
            return extent
        negative = cursor.accept("-")
        if cursor.token.kind == "number":
            token = cursor.take()
            if not token.text.isdigit():
                cursor.fail("expected an extent", token)
            return IntImm("int32", -int(token.text) if negative else int(token.text))
        name = cursor.expect_kind("name", "an extent").text
        if name in _CALLS:
            a, b = self._pair()
            called: PrimExpr = _CALLS[name](*match_types(a, b, name))
            return called
        if DTYPE.fullmatch(name):
            cursor.expect("(")
            value = self.dimension()
            cursor.expect(")")
            return Cast(self._dtype(name), value)
        return self._variable(name)

    def _pair(self) -> tuple[PrimExpr, PrimExpr]:
        self.cursor.expect("(")
        a = self.dimension()
        self.cursor.expect(",")
        b = self.dimension()
        self.cursor.expect(")")
        return a, b

    def _variable(self, name: str) -> Var:
        dtype = "int32"
        if self.cursor.accept(":"):
            dtype = self._dtype(self.cursor.expect_kind("name", "a data type").text)
        if name not in self._dimensions:
            self._dimensions[name] = Var(name, dtype)
        return self._dimensions[name]
