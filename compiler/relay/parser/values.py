"""Reads constants and attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm
from compiler.relay.expr import Constant
from compiler.relay.parser.lexer import Cursor, Token
from compiler.relay.parser.types import TypeParser
from compiler.relay.text_metadata import unquoted
from compiler.runtime.arrays.ndarray import NDArray, array, numpy_dtype
from compiler.target.virtual_device import VirtualDevice

_NUMBER = re.compile(r"^(?P<digits>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|inf|nan)(?:(?P<letter>[fiu])(?P<width>\d*))?$")
_KINDS = {"f": "float", "i": "int", "u": "uint"}
INT32 = np.iinfo("int32")


T = TypeVar("T")


class ValueParser(TypeParser):
    """Reads constants and attributes; the values of large constants come from ``metadata``."""

    def __init__(self, cursor: Cursor, metadata: Mapping[str, Sequence[Any]] | None = None) -> None:
        super().__init__(cursor, metadata)
        self._constants: dict[int, Constant] = {}

    def at_number(self) -> bool:
        """Return whether a number comes next."""
        ahead = 0
        while self.cursor.ahead(ahead).text == "-" and self.cursor.ahead(ahead).kind == "sign":
            ahead += 1
        token = self.cursor.ahead(ahead)
        return token.kind == "number" or (token.kind == "name" and re.match(r"^(inf|nan)f\d*$", token.text) is not None)

    def scalar(self) -> Constant:
        """Read a number as a constant: ``3``, ``1f``, ``2i64``."""
        negative = self._negative()
        token = self.cursor.take()
        digits, dtype = self._number(token)
        size = float(digits) if dtype.startswith("float") else int(digits)
        value = -size if negative else size
        if token.text.isdigit() and not INT32.min <= value <= INT32.max:
            dtype = "int64"
        try:
            tensor = np.asarray(value, numpy_dtype(dtype))
        except (TVMError, OverflowError) as exc:
            self.cursor.fail(str(exc), token)
        return Constant(array(tensor))

    def _negative(self) -> bool:
        """Go on behind the signs before a number, and return whether they negate it."""
        negative = False
        while self.cursor.accept("-"):
            negative = not negative
        return negative

    def _number(self, token: Token) -> tuple[str, str]:
        """Return the digits of a number and its data type."""
        match = _NUMBER.match(token.text)
        if match is None:
            self.cursor.fail("expected a number", token)
        digits, letter, width = match["digits"], match["letter"], match["width"] or "32"
        integral = digits.isdigit()
        if not integral and letter in ("i", "u"):
            self.cursor.fail("expected a whole number", token)
        return digits, f"{_KINDS[letter]}{width}" if letter else "int32" if integral else "float32"

    def constant_of_metadata(self) -> Any:
        """Read ``meta[relay.Constant][0]``, or another node that texts refer to, such as ``meta[VirtualDevice][0]``."""
        value = self.of_metadata()
        if not isinstance(value, (Constant, NDArray)):
            return value
        if id(value) not in self._constants:
            self._constants[id(value)] = value if isinstance(value, Constant) else Constant(value)
        return self._constants[id(value)]

    def at_attribute(self) -> bool:
        """Return whether ``name=`` comes next."""
        return self.cursor.token.kind in ("name", "string") and self.cursor.ahead().text == "="

    def attribute(self) -> tuple[str, Any]:
        """Read ``name=value``."""
        token = self.cursor.take()
        self.cursor.expect("=")
        return unquoted(token.text) if token.kind == "string" else token.text, self.value()

    def value(self) -> Any:
        """Read the value of an attribute."""
        cursor = self.cursor
        if self.at_number():
            return self._plain_number()
        token = cursor.token
        if token.kind == "string":
            return unquoted(cursor.take().text)
        if token.kind == "name" and token.text in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[cursor.take().text]
        if cursor.accept("["):
            return tuple(self._items("]", self.value))
        if cursor.accept("{"):
            return dict(self._items("}", self.attribute))
        if cursor.accept("VirtualDevice"):
            return self._virtual_device()
        if cursor.at("meta"):
            return self.constant_of_metadata()
        if cursor.at("?") or token.text in self._dimensions:
            return self.dimension()
        return self.type()

    def _virtual_device(self) -> VirtualDevice:
        """Read what follows ``VirtualDevice``: ``(device_type=1, virtual_device_id=0)`` or ``(?)``."""
        self.cursor.expect("(")
        start = self.cursor.token
        if self.cursor.accept("?"):
            self.cursor.expect(")")
            return VirtualDevice()
        given = dict(self._items(")", self.attribute))
        try:
            return VirtualDevice.of_fields(**given)
        except (TypeError, TVMError) as exc:
            self.cursor.fail(f"expected the fields of a VirtualDevice: {exc}", start)

    def _plain_number(self) -> int | float | IntImm:
        negative = self._negative()
        token = self.cursor.take()
        digits, dtype = self._number(token)
        if dtype.startswith("float"):
            return -float(digits) if negative else float(digits)
        value = -int(digits) if negative else int(digits)
        return value if dtype == "int32" else IntImm(dtype, value)

    def _items(self, last: str, read: Callable[[], T]) -> list[T]:
        items = []
        while not self.cursor.at(last):
            items.append(read())
            if not self.cursor.accept(","):
                break
        self.cursor.expect(last)
        return items
