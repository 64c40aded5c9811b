"""Reads expressions, blocks and patterns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import NO_ATTRS, DictAttrs
from compiler.ir.error import TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.op import registered_ops
from compiler.ir.serialization.type_keys import TYPE_KEY, make_node
from compiler.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem, Var, const
from compiler.relay.function import Function
from compiler.relay.function_devices import with_devices
from compiler.relay.operator import RelayOp, relay_ops
from compiler.relay.parser.lexer import Cursor, Token
from compiler.relay.parser.values import ValueParser
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.target.virtual_device import VirtualDevice

_FIELD = re.compile(r"^(.*)\.(\d+)$")
_INFIX: tuple[Mapping[str, str], ...] = (
    {"==": "equal", "!=": "not_equal"},
    {"<": "less", ">": "greater", "<=": "less_equal", ">=": "greater_equal"},
    {"+": "add", "-": "subtract"},
    {"*": "multiply", "/": "divide"},
)
"""Operators between their operands, the weakest first."""

T = TypeVar("T")
_WORDS: Mapping[str, tuple[Callable[..., RelayExpr], int]] = {
    "ref": (RefCreate, 1),
    "ref_read": (RefRead, 1),
    "ref_write": (RefWrite, 2),
}


class ExpressionParser(ValueParser):
    """Reads expressions in the scope of what was read before."""

    def __init__(self, cursor: Cursor, metadata: Mapping[str, Sequence[Any]] | None = None) -> None:
        super().__init__(cursor, metadata)
        self.constructors: dict[str, Constructor] = {}
        self.global_vars: dict[str, GlobalVar] = {}
        self.global_uses: dict[str, Token] = {}
        self._scopes: list[dict[str, RelayExpr]] = [{}]
        self._devices: dict[Var, VirtualDevice] = {}
        """Where parameters are, of which the text says so."""
        self._numbered: dict[str, RelayExpr] = {}
        """``%0``, ``%1``, …: seen from the line that has them to the end of the text."""

    # blocks

    def block(self, last: str) -> RelayExpr:
        """Read the lines of a block, and the expression that it is, up to its closing bracket or the end (``""``)."""
        self._scopes.append({})
        result = self._lines(last)
        if not self._at_end(last):
            self.cursor.wrong(repr(last) if last else "the end of the text")
        self._scopes.pop()
        return result

    def _lines(self, last: str) -> RelayExpr:
        """Read lines that bind something, and an expression that uses what they bind."""
        lets: list[tuple[Var, RelayExpr]] = []
        while True:
            result = self._line(lets)
            if result is None:
                continue
            if not self.cursor.accept(";"):
                break
            if self._at_end(last):
                break
            lets.append((Var("_"), result))
        for var, value in reversed(lets):
            result = Let(var, value, result)
        return result

    def _at_end(self, last: str) -> bool:
        return self.cursor.at(last) if last else self.cursor.token.kind == "end"

    def _line(self, lets: list[tuple[Var, RelayExpr]]) -> RelayExpr | None:
        """Read a line that binds something, or return an expression."""
        cursor = self.cursor
        if cursor.accept("free_var"):
            self._declaration()
            cursor.expect(";")
            return None
        if cursor.accept("let"):
            var = self._new_variable()
            cursor.expect("=")
            self._scopes[-1][var[0]] = var[1]
            lets.append((var[1], self.expression()))
            cursor.expect(";")
            return None
        if cursor.token.kind == "local" and cursor.ahead().text == "=":
            name = cursor.take().text[1:]
            cursor.expect("=")
            scope = self._numbered if name.isdigit() else self._scopes[-1]
            scope[name] = self.expression()
            cursor.expect(";")
            return None
        return self.expression()

    def braces(self) -> RelayExpr:
        """Read a block in braces."""
        self.cursor.expect("{")
        body = self.block("}")
        self.cursor.expect("}")
        return body

    def _declaration(self) -> Var:
        name, var = self._new_variable()
        self._scopes[-1][name] = var
        return var

    def _new_variable(self) -> tuple[str, Var]:
        name = self.cursor.expect_kind("local", "a variable such as %x").text[1:]
        said = self.cursor.at("{") and self.cursor.ahead().text == "virtual_device" and self.cursor.accept("{")
        device = dict(self._items("}", self.attribute))["virtual_device"] if said else None
        annotation = self.type() if self.cursor.accept(":") and not self.cursor.accept("_") else None
        var = Var(name, annotation)
        if device is not None:
            self._devices[var] = device
        return name, var

    # expressions

    def expression(self, level: int = 0) -> RelayExpr:
        """Read an expression, with operators between operands that are at least as strong as ``level``."""
        if level == len(_INFIX):
            applied: RelayExpr = self._applied()
            return applied
        left = self.expression(level + 1)
        while self.cursor.token.kind == "sign" and self.cursor.token.text in _INFIX[level]:
            token = self.cursor.take()
            op = self._operator(_INFIX[level][token.text], token)
            left = Call(op, (left, self.expression(level + 1)))
        return left

    def _applied(self) -> Any:
        """Read something, and the arguments and fields that follow it."""
        start = self.cursor.token
        expr: Any = self._primary()
        while True:
            if self.cursor.at("("):
                expr = self._call(expr, start)
            elif self.cursor.at(".") and self.cursor.ahead().kind == "number":
                self.cursor.take()
                for index in self._indices():
                    expr = TupleGetItem(expr, index)
            elif isinstance(expr, Constructor) and not expr.inputs:
                return Call(expr, ())
            else:
                return expr

    def _indices(self) -> list[int]:
        """Read the numbers of elements of tuples, of which ``1.0`` are two."""
        token = self.cursor.take()
        parts = token.text.split(".")
        if not all(part.isdigit() for part in parts):
            self.cursor.fail(f"expected the number of an element, got {token.text!r}", token)
        return list(map(int, parts))

    def _with_attributes(self, read: Callable[[], T]) -> tuple[list[T], dict[str, Any]]:
        """Read what stands in parentheses: items, and attributes by name."""
        items: list[T] = []
        attrs: dict[str, Any] = {}

        def item() -> None:
            if self.at_attribute():
                name, value = self.attribute()
                attrs[name] = value
            else:
                items.append(read())

        self.cursor.expect("(")
        self._items(")", item)
        return items, attrs

    def _call(self, callee: GraphExpr, start: Token) -> Call:
        args, attrs = self._with_attributes(self.expression)
        if isinstance(callee, RelayOp):
            if len(args) != len(callee.inputs):
                takes = f"takes {len(callee.inputs)} arguments ({', '.join(callee.inputs) or 'none'})"
                self.cursor.fail(f"{callee.name} {takes}, got {len(args)}", start)
            try:
                return Call(callee, tuple(args), callee.complete_attrs({**callee.attrs_type.UNWRITTEN, **attrs}))
            except TVMError as exc:
                self.cursor.fail(str(exc), start)
        if isinstance(callee, Constructor) and len(args) != len(callee.inputs):
            self.cursor.fail(f"{callee.name_hint} takes {len(callee.inputs)} values, got {len(args)}", start)
        return Call(callee, tuple(args), self._typed_attrs(attrs, start))

    def _typed_attrs(self, attrs: dict[str, Any], start: Token) -> Attrs:
        """Return the attributes of a call of a function, of the class that ``attrs_type_key`` names."""
        type_key = attrs.pop(TYPE_KEY, None)
        if type_key is None:
            return DictAttrs(attrs) if attrs else NO_ATTRS
        try:
            made: Attrs = make_node(str(type_key), **attrs)
            return made
        except TVMError as exc:
            self.cursor.fail(str(exc), start)

    def _primary(self) -> GraphExpr:
        cursor, token = self.cursor, self.cursor.token
        if self.at_number():
            return self.scalar()
        if token.kind == "local":
            return self._local(cursor.take())
        if token.kind == "global":
            return self._global(cursor.take())
        if cursor.accept("("):
            return self._parenthesised()
        if token.kind != "name":
            cursor.wrong("an expression")
        if token.text in _FORMS:
            return _FORMS[token.text](self)
        cursor.take()
        if token.text in ("True", "False"):
            return const(token.text == "True")
        if token.text in _WORDS and cursor.at("("):
            return self._word(token)
        return self.constructors.get(token.text) or self._operator(token.text, token)

    def _local(self, token: Token) -> RelayExpr:
        name = token.text[1:]
        fields: list[int] = []
        while True:
            for scope in (self._numbered, *reversed(self._scopes)):
                if name in scope:
                    expr = scope[name]
                    for index in reversed(fields):
                        expr = TupleGetItem(expr, index)
                    return expr
            shorter = _FIELD.match(name)
            if shorter is None:
                self.cursor.fail(f"variable {token.text} is not defined here", token)
            name = shorter[1]
            fields.append(int(shorter[2]))

    def _global(self, token: Token) -> GlobalVar:
        name = token.text[1:]
        self.global_uses.setdefault(name, token)
        return self.global_vars.setdefault(name, GlobalVar(name))

    def _operator(self, name: str, token: Token) -> RelayOp:
        op = registered_ops().get(name)
        if not isinstance(op, RelayOp):
            near = difflib.get_close_matches(name, [*relay_ops(), *self.constructors], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.cursor.fail(f"expected an expression, and no operator or constructor is named {name!r}{hint}", token)
        return op

    def _word(self, token: Token) -> RelayExpr:
        make, count = _WORDS[token.text]
        self.cursor.expect("(")
        args = self._items(")", self.expression)
        if len(args) != count:
            self.cursor.fail(f"{token.text} takes {count} arguments, got {len(args)}", token)
        return make(*args)

    def _parenthesised(self) -> RelayExpr:
        """Read a tuple, or a block in parentheses."""
        cursor = self.cursor
        bound = cursor.token.kind == "local" and cursor.ahead().text == "="
        if cursor.at("let") or cursor.at("free_var") or bound:
            body = self.block(")")
            cursor.expect(")")
            return body
        fields: list[RelayExpr] = []
        while not cursor.at(")"):
            fields.append(self.expression())
            if not cursor.accept(","):
                break
        closing = cursor.expect(")")
        comma = cursor.tokens[cursor.index - 2].text == ","
        return fields[0] if len(fields) == 1 and not comma and closing else Tuple(tuple(fields))

    def _let_expression(self) -> RelayExpr:
        """Read a ``let`` in place of an expression: its body ends where the expression ends."""
        self._scopes.append({})
        lets: list[tuple[Var, RelayExpr]] = []
        while self.cursor.at("let"):
            self._line(lets)
        expr = self.expression()
        self._scopes.pop()
        for var, value in reversed(lets):
            expr = Let(var, value, expr)
        return expr

    def _if(self) -> If:
        cursor = self.cursor
        cursor.expect("if")
        cursor.expect("(")
        cond = self.expression()
        cursor.expect(")")
        first = self.braces()
        cursor.expect("else")
        return If(cond, first, self._if() if cursor.at("if") else self.braces())

    def _literal(self) -> Function:
        self.cursor.expect("fn")
        return self.function()

    def function(self) -> Function:
        """Read a function from its type parameters on."""
        type_params = self.type_parameters()
        self._scopes.append({})
        params, attrs = self._with_attributes(self._declaration)
        ret_type = self.type() if self.cursor.accept("->") else None
        body = self.braces()
        self._scopes.pop()
        self.close_types()
        result = attrs.pop("virtual_device", None)
        func = Function(tuple(params), body, ret_type, type_params, DictAttrs(attrs) if attrs else NO_ATTRS)
        if result is None and not any(param in self._devices for param in params):
            return func
        anywhere = VirtualDevice()
        return with_devices(func, [self._devices.get(param, anywhere) for param in params], result or anywhere)

    # matching

    def _match(self) -> Match:
        cursor = self.cursor
        cursor.expect("match")
        complete = not cursor.accept("?")
        cursor.expect("(")
        data = self.expression()
        cursor.expect(")")
        cursor.expect("{")
        clauses = self._items("}", self._clause)
        return Match(data, tuple(clauses), complete)

    def _clause(self) -> Clause:
        self._scopes.append({})
        pattern = self._pattern()
        self.cursor.expect("=>")
        body = self.braces() if self.cursor.at("{") else self._lines("}")
        self._scopes.pop()
        return Clause(pattern, body)

    def _pattern(self) -> Pattern:
        cursor = self.cursor
        if cursor.token.kind == "local":
            return PatternVar(self._declaration())
        if cursor.accept("("):
            return PatternTuple(tuple(self._items(")", self._pattern)))
        token = cursor.expect_kind("name", "a pattern")
        if token.text == "_":
            return PatternWildcard()
        constructor = self.constructors.get(token.text)
        if constructor is None:
            cursor.fail(f"expected a pattern, and no constructor is named {token.text!r}", token)
        parts = self._items(")", self._pattern) if cursor.accept("(") else []
        if len(parts) != len(constructor.inputs):
            cursor.fail(f"{token.text} takes {len(constructor.inputs)} values, got {len(parts)}", token)
        return PatternConstructor(constructor, tuple(parts))


_FORMS: dict[str, Callable[[ExpressionParser], RelayExpr]] = {
    "fn": ExpressionParser._literal,
    "if": ExpressionParser._if,
    "let": ExpressionParser._let_expression,
    "match": ExpressionParser._match,
    "meta": ExpressionParser.constant_of_metadata,
}
